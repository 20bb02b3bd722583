"""Vector compares (VOPC): sixteen conditions of six floating-point blocks, eight of integer ones,
each with a twin that writes EXEC too, and the class tests.

Source: the public GCN3 instruction set architecture manual, chapter "VOPC instructions".
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gpu.isa.instruction import Opcode, OperandAccess, OperandRow, Unit

FLOAT_CONDITIONS: Final = (
    "f", "lt", "eq", "le", "gt", "lg", "ge", "o", "u", "nge", "nlg", "ngt", "nle", "neq", "nlt",
    "tru",
)  # fmt: skip
INTEGER_CONDITIONS: Final = (
    "f", "lt", "eq", "le", "gt", "ne", "ge", "t",
)  # fmt: skip

CLASSES: Final = {16: "f32", 18: "f64", 20: "f16"}
"""Number of v_cmp_class; v_cmpx_class is one more."""
FLOAT_BLOCKS: Final = {32: "f16", 64: "f32", 96: "f64"}
"""Number of a block's first v_cmp; its v_cmpx are sixteen on."""
INTEGER_BLOCKS: Final = {
    160: "i16", 168: "u16",
    192: "i32", 200: "u32",
    224: "i64", 232: "u64",
}  # fmt: skip
"""Number of a block's first v_cmp; its v_cmpx are sixteen on."""


def _pair(
    number: int, stem: str, types: tuple[str, str], apart: int, *flags: str
) -> Iterator[Opcode]:
    for name, distance, writes in (("v_cmp_", 0, ()), ("v_cmpx_", apart, ("exec",))):
        operands = (
            OperandRow("sdst", "mask", OperandAccess.WRITE),
            OperandRow("src0", types[0]),
            OperandRow("src1", types[1]),
        )
        yield Opcode(
            name + stem, "VOPC", number + distance, Unit.VECTOR_ALU, operands,
            writes=writes, flags=frozenset(flags),
        )  # fmt: skip


def _compares() -> Iterator[Opcode]:
    for number, type in CLASSES.items():
        yield from _pair(number, f"class_{type}", (type, "b32"), 1, "noclamp", "noomod")
    for first, type in FLOAT_BLOCKS.items():
        for place, condition in enumerate(FLOAT_CONDITIONS):
            yield from _pair(first + place, f"{condition}_{type}", (type, type), 16, "noomod")
    for first, type in INTEGER_BLOCKS.items():
        for place, condition in enumerate(INTEGER_CONDITIONS):
            yield from _pair(first + place, f"{condition}_{type}", (type, type), 16)


VOPC: Final = tuple(_compares())
