"""Vector instructions in GPR-index mode: bits 7:0 of M0 are added to the numbers of those vector
registers that its bits 15:12 select.

Invariant: an instruction in the mode does what the same instruction does whose fields name the
registers that M0 makes of them; scalar registers and constants stay.

Source: GCN3 and Vega instruction set architectures, "VGPR indexing".
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Final

from gpu.isa.encoding.formats import VGPR
from gpu.isa.encoding.operands import last_vector_register, registers_of
from gpu.isa.execution.instruction_writer import BoundInstruction
from gpu.isa.execution.vector_binder import bind_vector
from gpu.isa.instruction import Instruction
from gpu.isa.wave_registers import INDEX_FIELDS, M0, RegisterError, Wave

_RELATIVE: Final = (("src0", VGPR), ("src1", VGPR), ("src2", VGPR), ("vdst", 0))
"""By bit of M0 from 12 on: the operand, and the code of v0 in its field."""


def moved(instruction: Instruction, m0: int) -> Instruction:
    """The instruction that one in index mode is."""
    fields = dict(instruction.fields)
    for place, (field, first) in enumerate(_RELATIVE):
        if m0 >> 12 + place & 1 and fields.get(field, -1) >= first:
            fields[field] += m0 & 0xFF
    reads, writes = registers_of(
        instruction.opcode, instruction.form, fields, instruction.generation
    )
    return replace(instruction, fields=fields, reads=reads, writes=writes, indexed=False)


def bind_indexed(instruction: Instruction) -> BoundInstruction | None:
    """Bind a vector instruction in index mode; None if it is not implemented."""
    if bind_vector(instruction) is None:
        return None

    @cache
    def bound(m0: int) -> tuple[BoundInstruction | None, int]:
        there = moved(instruction, m0)
        return bind_vector(there), last_vector_register(there.reads, there.writes)

    def execute(wave: Wave) -> None:
        function, last = bound(wave.sgprs[M0] & INDEX_FIELDS)
        if last >= len(wave.u32):
            raise RegisterError(f"there is no vector register v{last}: it has {len(wave.u32)}")
        assert function is not None, "it was bound before"
        function(wave)

    return execute
