"""Read-modify-write operations on 32 and 64 bit words, as values.

A coalescer puts them into the write mask of a request; the level that owns the line applies
them to its block. Invariant: operands, old and new values are unsigned and fit the size.
"""

from __future__ import annotations

from typing import Final

from msgspec import Struct

from runtime.types.enumeration import Enumeration


class AtomicKind(Enumeration):
    """What is done to the old value.

    ``MIN`` and ``MAX`` compare signed numbers, ``UMIN`` and ``UMAX`` unsigned ones. ``INC`` and
    ``DEC`` wrap at the operand, as the GCN3 instructions do: increment gives 0 once the old value
    reaches the operand, decrement gives the operand from 0 or from above it. With an operand of all
    ones they are plain increment and decrement.
    """

    ADD: Final = 0
    SUB: Final = 1
    MIN: Final = 2
    MAX: Final = 3
    UMIN: Final = 4
    UMAX: Final = 5
    AND: Final = 6
    OR: Final = 7
    XOR: Final = 8
    EXCHANGE: Final = 9
    CAS: Final = 10
    INC: Final = 11
    DEC: Final = 12


class AtomicOp(Struct, frozen=True):
    """One operation. ``size`` is 4 or 8 bytes; ``compare`` is only used by ``CAS``."""

    kind: int
    operand: int = 0
    size: int = 4
    compare: int = 0

    def __post_init__(self) -> None:
        if self.size not in (4, 8):
            raise ValueError(f"an atomic operation works on 4 or 8 bytes, not {self.size}")
        if not 0 <= self.kind < AtomicKind.NUM:
            raise ValueError(f"no atomic operation has number {self.kind}")
        limit = 1 << 8 * self.size
        if not (0 <= self.operand < limit and 0 <= self.compare < limit):
            raise ValueError(f"operand of an atomic does not fit {self.size} unsigned bytes")

    def apply(self, old: int) -> int:
        """The new value of a word that holds ``old``; both unsigned."""
        kind = self.kind
        operand = self.operand
        mask = (1 << 8 * self.size) - 1
        if kind == AtomicKind.ADD:
            return (old + operand) & mask
        if kind == AtomicKind.SUB:
            return (old - operand) & mask
        if kind == AtomicKind.EXCHANGE:
            return operand
        if kind == AtomicKind.CAS:
            return operand if old == self.compare else old
        if kind == AtomicKind.AND:
            return old & operand
        if kind == AtomicKind.OR:
            return old | operand
        if kind == AtomicKind.XOR:
            return old ^ operand
        if kind == AtomicKind.INC:
            return 0 if old >= operand else old + 1
        if kind == AtomicKind.DEC:
            return operand if old == 0 or old > operand else old - 1
        if kind == AtomicKind.UMIN:
            return min(old, operand)
        if kind == AtomicKind.UMAX:
            return max(old, operand)
        # Adding the sign bit orders two's complement values like unsigned ones.
        sign = (mask >> 1) + 1
        if ((old + sign) & mask < (operand + sign) & mask) == (kind == AtomicKind.MIN):
            return old
        return operand
