"""How a table of opcodes is written: one line a row, read into `Opcode` values.

A line is ``number name operands... flags...``::

    0x1c  v_addc_u32   u32 sdst:mask u32 u32 src2:mask

An operand is ``[field:]type[suffix]`` in the order in which it is printed. Without ``field:`` it is
the next one of the format's usual fields. The suffix ``+`` says that a destination is read as
well, ``-`` that it is only read, ``=`` that it is only written; ``/v`` that only a vector register
can be there, ``/s`` that none can, ``/r`` no constant.
Flags: ``reads=scc,vcc`` and ``writes=exec`` name registers that no field names; ``tier3`` marks
what is decoded and printed only; the others are in `FLAGS`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gpu.isa.instruction import Opcode, OperandAccess, OperandRow, Unit
from gpu.isa.operand_types import TYPES

FLAGS: Final = frozenset({
    "clamp",  # an integer instruction that can clamp
    "noclamp",  # one with floating-point operands that cannot
    "noomod",  # a floating-point one without output modifier
    "omod",  # one that has it though its result is no floating-point number
    "mods",  # neg and abs although the operands' type is bits
    "nosuffix",  # one encoding only: no _e32 in its name
    "nosdwa",  # neither SDWA nor DPP forms
    "gds",  # only with the gds bit
    "scalar_target",  # operand is a branch target in simm16
})  # fmt: skip

_WRITTEN: Final = frozenset({"vdst", "sdst"})


def rows(format: str, unit: Unit, usual: str, text: str, tier: int = 1) -> dict[int, Opcode]:
    """The rows of a table by number. ``usual``: the fields operands have in order."""
    table: dict[int, Opcode] = {}
    for line in text.splitlines():
        words = line.split()
        if not words or words[0] == "#":
            continue
        opcode = _row(format, unit, usual.split(), words, tier)
        assert opcode.number not in table, f"{format}: two rows of number {words[0]}"
        table[opcode.number] = opcode
    return table


def _row(format: str, unit: Unit, usual: list[str], words: list[str], tier: int) -> Opcode:
    number, name, *rest = words
    operands: list[OperandRow] = []
    implicit: dict[str, tuple[str, ...]] = {"reads": (), "writes": ()}
    flags = set()
    fields = iter(usual)
    for word in rest:
        key, _, value = word.partition("=")
        if value and key in implicit:
            implicit[key] = tuple(value.split(","))
        elif word in ("tier3", "tier4"):
            tier = int(word[-1])
        elif value and key == "unit":
            unit = Unit[value.upper()]
        elif word in FLAGS:
            flags.add(word)
        else:
            operands.append(_operand(word, fields))
    return Opcode(
        name,
        format,
        int(number, 0),
        unit,
        tuple(operands),
        tier,
        implicit["reads"],
        implicit["writes"],
        frozenset(flags),
    )


def _operand(word: str, fields: Iterator[str]) -> OperandRow:
    field, colon, type = word.rpartition(":")
    if not colon:
        field = next(fields)
    type, _, kind = type.partition("/")
    access = OperandAccess.WRITE if field in _WRITTEN else OperandAccess.READ
    for suffix, meaning in (
        ("+", OperandAccess.BOTH),
        ("-", OperandAccess.READ),
        ("=", OperandAccess.WRITE),
    ):
        if type.endswith(suffix):
            type, access = type[:-1], meaning
    assert type in TYPES, f"{word}: no such type of operand"
    return OperandRow(field, type, access, kind)
