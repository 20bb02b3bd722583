"""Which opcodes a program or a set of tests has used, counted by rows of the tables.

Invariant: a row counts once, whatever encoding was used.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from gpu.generation import Generation
from gpu.isa.instruction import Instruction, Opcode
from gpu.isa.tables import OPCODES

EXECUTED: Final = 1
"""The tier of opcodes that are executed."""


@dataclass(frozen=True, slots=True)
class FormatCoverage:
    """Rows of one format: used, executable, all."""

    format: str
    met: int
    carried_out: int
    all: int


class Coverage:
    """The rows of one generation that have been used."""

    def __init__(
        self,
        instructions: Iterable[Instruction] = (),
        generation: Generation = Generation.GFX8,
    ) -> None:
        self._tables = OPCODES[generation]
        self._met: set[tuple[str, int, str]] = set()
        for instruction in instructions:
            self.add(instruction.opcode)

    def add(self, opcode: Opcode) -> None:
        self._met.add(opcode.key)

    def __contains__(self, opcode: Opcode) -> bool:
        return opcode.key in self._met

    def formats(self) -> list[FormatCoverage]:
        """One entry a format, in the order of the tables."""
        return [
            FormatCoverage(
                format,
                sum(opcode in self for opcode in table.values()),
                sum(opcode.tier == EXECUTED for opcode in table.values()),
                len(table),
            )
            for format, table in self._tables.items()
        ]

    def missing(self, format: str) -> list[Opcode]:
        """Executable rows that have not been used, by number."""
        table = self._tables[format]
        return [
            table[number]
            for number in sorted(table)
            if table[number].tier == EXECUTED and table[number] not in self
        ]

    def __str__(self) -> str:
        lines = [f"{'format':8}{'met':>6}{'carried out':>13}{'all':>6}"]
        entries = self.formats()
        total = FormatCoverage(
            "sum",
            sum(entry.met for entry in entries),
            sum(entry.carried_out for entry in entries),
            sum(entry.all for entry in entries),
        )
        lines.extend(
            f"{entry.format:8}{entry.met:6}{entry.carried_out:13}{entry.all:6}"
            for entry in (*entries, total)
        )
        return "\n".join(lines)
