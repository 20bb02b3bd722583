"""All opcodes of gfx803 and of gfx900, by format and number.

Invariant: `ROWS` holds every row once, with the generations that have it; `GFX803` and `GFX900` in
the tests of this folder say how many there are.
"""

from __future__ import annotations

from typing import Final

from gpu.generation import Generation
from gpu.isa.instruction import Opcode
from gpu.isa.tables import compares, graphics, lds, memory, scalar, vector
from gpu.isa.tables.rows import by_number

ROWS: Final[dict[str, tuple[Opcode, ...]]] = {
    "SOP2": scalar.SOP2,
    "SOPK": scalar.SOPK,
    "SOP1": scalar.SOP1,
    "SOPC": scalar.SOPC,
    "SOPP": scalar.SOPP,
    "SMEM": memory.SMEM,
    "VOP1": vector.VOP1,
    "VOP2": vector.VOP2,
    "VOPC": compares.VOPC,
    "VOP3": vector.VOP3,
    "VOP3P": vector.VOP3P,
    "DS": lds.DS,
    "FLAT": memory.FLAT,
    "GLOBAL": memory.GLOBAL,
    "SCRATCH": memory.SCRATCH,
    "MUBUF": memory.MUBUF,
    "MTBUF": memory.MTBUF,
    "MIMG": graphics.MIMG,
    "VINTRP": graphics.VINTRP,
    "EXP": graphics.EXP,
}

OPCODES: Final[dict[Generation, dict[str, dict[int, Opcode]]]] = {
    generation: {
        format: numbered
        for format, table in ROWS.items()
        if (numbered := by_number(table, generation))
    }
    for generation in Generation
}


def vop3(number: int, generation: Generation) -> Opcode | None:
    """The row behind a VOP3 number: one of its own or that of a shorter format."""
    opcodes = OPCODES[generation]
    if number >= vector.VOP3_OWN:
        return opcodes["VOP3"].get(number)
    format = "VOPC" if number < 256 else "VOP2" if number < 320 else "VOP1"
    return opcodes[format].get(number - vector.VOP3_BASE[format])


def every_opcode(generation: Generation) -> list[Opcode]:
    """All rows of a generation, by format, then by number."""
    tables = OPCODES[generation].values()
    return [table[number] for table in tables for number in sorted(table)]
