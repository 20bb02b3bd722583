"""How a table of opcodes is written: one line a row, read into `Opcode` values.

A line is ``number name operands... flags...``::

    0x1c  v_addc_u32   u32 sdst:mask u32 u32 src2:mask

An operand is ``[field:]type[suffix]`` in the order in which it is printed. Without ``field:`` it is
the next one of the format's usual fields. The suffix ``+`` says that a destination is read as
well, ``-`` that it is only read, ``=`` that it is only written; ``/v`` that only a vector register
can be there, ``/s`` that none can, ``/r`` no constant.
Flags: ``reads=scc,vcc`` and ``writes=exec`` name registers that no field names; ``tier3`` marks
what is decoded and printed only; ``gfx8`` and ``gfx9`` mark rows of one generation;
``meaning=v_add_co_u32`` names the semantics where the mnemonic does not; the others are in `FLAGS`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from gpu.generation import Generation
from gpu.isa.instruction import EVERY_GENERATION, Opcode, OperandAccess, OperandRow, Unit
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
    "opsel",  # halves of 32-bit registers can be its 16-bit operands, and its result
})  # fmt: skip

_WRITTEN: Final = frozenset({"vdst", "sdst"})
_GENERATIONS: Final = {each.name.lower(): frozenset({each}) for each in Generation}


def rows(format: str, unit: Unit, usual: str, text: str, tier: int = 1) -> tuple[Opcode, ...]:
    """The rows of a table. ``usual``: the fields operands have in order."""
    lines = (line.split() for line in text.splitlines())
    return tuple(_row(format, unit, usual.split(), words, tier) for words in lines if words)


def by_number(table: Iterable[Opcode], generation: Generation) -> dict[int, Opcode]:
    """The rows of one generation."""
    found: dict[int, Opcode] = {}
    for opcode in table:
        if generation in opcode.generations:
            assert opcode.number not in found, f"{opcode.format}: two rows of {opcode.number}"
            found[opcode.number] = opcode
    return found


def _row(format: str, unit: Unit, usual: list[str], words: list[str], tier: int) -> Opcode:
    number, name, *rest = words
    operands: list[OperandRow] = []
    implicit: dict[str, tuple[str, ...]] = {"reads": (), "writes": ()}
    flags = set()
    meaning, generations = "", EVERY_GENERATION
    fields = iter(usual)
    for word in rest:
        key, _, value = word.partition("=")
        if value and key in implicit:
            implicit[key] = tuple(value.split(","))
        elif word in ("tier3", "tier4"):
            tier = int(word[-1])
        elif value and key == "unit":
            unit = Unit[value.upper()]
        elif value and key == "meaning":
            meaning = value
        elif word in _GENERATIONS:
            generations = _GENERATIONS[word]
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
        meaning,
        generations,
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
