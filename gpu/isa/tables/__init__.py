"""All opcodes of gfx803, by format and number.

Invariant: `OPCODES` holds every row once; `GFX803` in its tests says how many there are.
"""

from __future__ import annotations

from typing import Final

from gpu.isa.instruction import Opcode
from gpu.isa.tables import compares, graphics, lds, memory, scalar, vector

OPCODES: Final[dict[str, dict[int, Opcode]]] = {
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
    "DS": lds.DS,
    "FLAT": memory.FLAT,
    "MUBUF": memory.MUBUF,
    "MTBUF": memory.MTBUF,
    "MIMG": graphics.MIMG,
    "VINTRP": graphics.VINTRP,
    "EXP": graphics.EXP,
}


def vop3(number: int) -> Opcode | None:
    """The row behind a VOP3 number: one of its own or that of a shorter format."""
    if number >= vector.VOP3_OWN:
        return vector.VOP3.get(number)
    format = "VOPC" if number < 256 else "VOP2" if number < 320 else "VOP1"
    return OPCODES[format].get(number - vector.VOP3_BASE[format])


def every_opcode() -> list[Opcode]:
    """All rows, by format, then by number."""
    return [table[number] for table in OPCODES.values() for number in sorted(table)]
