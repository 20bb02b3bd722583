"""Integer arithmetic of the protocol language: fixed widths on Python's unbounded integers.

Invariant: a function named after a width returns the value that a machine integer of that width
would hold. Division truncates towards zero; dividing by zero and shifting by an impossible
amount are verdicts about the protocol, not Python errors.
"""

from __future__ import annotations

from runtime.errors import ErrorKind, ProtocolError


def int32(value: int) -> int:
    """``value`` modulo 2**32, read as signed."""
    if -0x80000000 <= value <= 0x7FFFFFFF:
        return value
    return ((value + 0x80000000) & 0xFFFFFFFF) - 0x80000000


def uint32(value: int) -> int:
    """``value`` modulo 2**32."""
    return value & 0xFFFFFFFF


def int64(value: int) -> int:
    """``value`` modulo 2**64, read as signed."""
    return ((value + 0x8000000000000000) & 0xFFFFFFFFFFFFFFFF) - 0x8000000000000000


def uint64(value: int) -> int:
    """``value`` modulo 2**64."""
    return value & 0xFFFFFFFFFFFFFFFF


def divide(dividend: int, divisor: int) -> int:
    """The quotient, rounded towards zero."""
    if divisor == 0:
        raise ProtocolError(ErrorKind.DIVISION_BY_ZERO, f"{dividend} / 0")
    quotient = abs(dividend) // abs(divisor)
    return quotient if (dividend < 0) == (divisor < 0) else -quotient


def remainder(dividend: int, divisor: int) -> int:
    """What :func:`divide` leaves; it has the sign of the dividend."""
    if divisor == 0:
        raise ProtocolError(ErrorKind.DIVISION_BY_ZERO, f"{dividend} % 0")
    rest = abs(dividend) % abs(divisor)
    return -rest if dividend < 0 else rest


def shift_left(value: int, amount: int, bits: int) -> int:
    """``value << amount`` before wrapping; ``bits`` is the width of the operand's type."""
    if not 0 <= amount < bits:
        raise ProtocolError(ErrorKind.BAD_SHIFT, f"{value} << {amount} in {bits} bits")
    return value << amount


def shift_right(value: int, amount: int, bits: int) -> int:
    """``value >> amount``, keeping the sign; ``bits`` is the width of the operand's type."""
    if not 0 <= amount < bits:
        raise ProtocolError(ErrorKind.BAD_SHIFT, f"{value} >> {amount} in {bits} bits")
    return value >> amount
