"""Machine code as lines of text, with labels where branches go.

Invariant: every byte is in exactly one line; the lines' sizes add up to the code's.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from gpu.generation import Generation
from gpu.isa.encoding.constants import needs_no_literal
from gpu.isa.encoding.decoder import NotAnInstruction, decode_at
from gpu.isa.encoding.printer import text
from gpu.isa.instruction import Instruction
from slicc.text.lazy_dataclass import dataclass

WORD = 4


@dataclass(frozen=True, slots=True)
class Line:
    """``instruction`` is None for bytes that are none; ``text`` then holds them as data, and
    ``remark`` why. ``label``: the name of this address if a branch of the code comes here."""

    address: int
    code: bytes
    text: str
    instruction: Instruction | None = None
    label: str = ""
    remark: str = ""

    def __str__(self) -> str:
        words = " ".join(f"{word:08X}" for word in _words(self.code))
        shown = f"{self.text:60} // {self.address:012X}: {words}"
        goes_to = self.instruction.target if self.instruction else None
        target = f" -> {label_of(goes_to)}" if goes_to is not None else ""
        return shown + target + (f"  {self.remark}" if self.remark else "")


def label_of(address: int) -> str:
    """The name of a place that branches go to."""
    return f"L_{address:x}"


def disassemble(
    code: bytes, address: int = 0, generation: Generation = Generation.GFX8
) -> list[Line]:
    """The lines of code that begins at ``address``."""
    found = list(_lines(code, address, generation))
    targets = {line.instruction.target for line in found if line.instruction}
    return [
        replace(line, label=label_of(line.address)) if line.address in targets else line
        for line in found
    ]


def assembler_lines(
    code: bytes, address: int = 0, generation: Generation = Generation.GFX8
) -> list[Line]:
    """Disassembled code, with data for instructions that an assembler would encode otherwise."""
    return [
        replace(line, text=_data(line.code), remark=line.text)
        if line.instruction and would_be_shorter(line.instruction)
        else line
        for line in disassemble(code, address, generation)
    ]


def would_be_shorter(instruction: Instruction) -> bool:
    """Whether an assembler would put a literal into the instruction's own word.

    Linkers fill in literals, and some of them happen to be inline constants.
    """
    literal = instruction.fields.get("literal")
    if literal is None or instruction.opcode.operand("literal") is not None:
        return False
    return needs_no_literal(literal)


def _lines(code: bytes, address: int, generation: Generation) -> Iterator[Line]:
    at = 0
    while at < len(code):
        try:
            instruction = decode_at(code, at, address + at, generation)
            part = code[at : at + instruction.size]
            yield Line(address + at, part, text(instruction), instruction)
        except NotAnInstruction as refused:
            part = code[at : at + WORD]
            yield Line(address + at, part, _data(part), remark=refused.reason)
        at += len(part)


def _words(code: bytes) -> list[int]:
    return [int.from_bytes(code[at : at + WORD], "little") for at in range(0, len(code), WORD)]


def _data(code: bytes) -> str:
    if len(code) % WORD:
        return ".byte " + ", ".join(f"{byte:#04x}" for byte in code)
    return ".long " + ", ".join(f"{word:#010x}" for word in _words(code))
