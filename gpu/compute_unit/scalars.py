"""Scalar operands of memory instructions, and base addresses from scalar registers."""

from __future__ import annotations

from collections.abc import Callable

from gpu.isa.wave import Wave

ReadScalar = Callable[[Wave], int]


def scalar_source(code: int) -> ReadScalar:
    """The 32-bit value that an operand code names: a register, or a number in the code itself."""
    if code < 128:
        return lambda wave: wave.sgprs[code]
    if 128 <= code <= 192:
        number = code - 128
    elif 193 <= code <= 208:
        number = 192 - code & 0xFFFF_FFFF
    else:
        raise ValueError(f"operand code {code} is neither a scalar register nor a small number")
    return lambda wave: number


def read_pair(wave: Wave, first: int) -> int:
    """64 bits from two scalar registers."""
    return wave.sgprs[first] | wave.sgprs[first + 1] << 32
