"""Constants as operands: operand codes that stand for numbers, and literals.

Invariant: `constant` is the only place that says what bits a constant operand has in a type.
"""

from __future__ import annotations

from typing import Final

from gpu.isa.encoding.formats import SRC_LITERAL
from gpu.isa.operand_types import OperandType

FIRST_INTEGER: Final = 128
LAST_POSITIVE: Final = 192
"""128 to 192 are 0 to 64."""
LAST_INTEGER: Final = 208
"""193 to 208 are -1 to -16."""
FIRST_FLOAT: Final = 240
LAST_FLOAT: Final = 248

APERTURES: Final = frozenset(range(235, 240))
"""Where flat addresses mean LDS and scratch: base and limit of each, and a wave id of graphics."""

FLOATS: Final = ("0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0", "0.15915494")
"""Text of 240 to 248; the last is 1/(2 pi)."""
PATTERNS: Final = {
    16: (0x3800, 0xB800, 0x3C00, 0xBC00, 0x4000, 0xC000, 0x4400, 0xC400, 0x3118),
    32: (0x3F000000, 0xBF000000, 0x3F800000, 0xBF800000, 0x40000000, 0xC0000000,
         0x40800000, 0xC0800000, 0x3E22F983),
    64: (0x3FE0000000000000, 0xBFE0000000000000, 0x3FF0000000000000, 0xBFF0000000000000,
         0x4000000000000000, 0xC000000000000000, 0x4010000000000000, 0xC010000000000000,
         0x3FC45F306DC9C882),
}  # fmt: skip
"""Their bits, by the width of the operand's type."""


def constant(code: int, type: OperandType, literal: int = 0) -> int | None:
    """The bits of a constant operand in its type, or None if the code names a register.

    A 32-bit literal is the upper half of an f64, is sign-extended to i64 and zero-extended
    otherwise; of 16-bit types it is the low half.
    """
    every = (1 << type.bits) - 1
    if code == SRC_LITERAL:
        if type.bits == 64 and type.floating:
            return literal << 32
        if type.bits == 64 and type.signed:
            return literal - (literal >> 31 << 32) & every
        return literal & every
    if FIRST_INTEGER <= code <= LAST_POSITIVE:
        return code - FIRST_INTEGER
    if LAST_POSITIVE < code <= LAST_INTEGER:
        return LAST_POSITIVE - code & every
    if FIRST_FLOAT <= code <= LAST_FLOAT:
        return PATTERNS[type.bits][code - FIRST_FLOAT]
    return None


def needs_no_literal(literal: int) -> bool:
    """Whether some operand's type has an operand code for this 32-bit literal."""
    return (
        literal <= LAST_POSITIVE - FIRST_INTEGER
        or literal >= (1 << 32) - (LAST_INTEGER - LAST_POSITIVE)
        or literal in _SHORT
    )


_SHORT: Final = frozenset({
    *PATTERNS[16],
    *PATTERNS[32],
    *(pattern >> 32 for pattern in PATTERNS[64][:-1]),
})  # fmt: skip
"""Fractions as a literal holds them: of 64 bits the upper half, if the lower is zero."""
