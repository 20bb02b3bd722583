"""Binding of instructions to their operands.

`bind` binds every instruction that needs only the registers of one wave: scalar and vector
arithmetic, branches. Memory, LDS, messages, barriers and other instructions of units outside
`BOUND` are left to the compute unit. Instructions that are decoded but not implemented are bound to
a function that raises an error with their text.
"""

from __future__ import annotations

from typing import Final

from gpu.isa.encoding.printer import text
from gpu.isa.execution.index_mode import bind_indexed
from gpu.isa.execution.instruction_writer import BoundInstruction, NotImplementedInstruction
from gpu.isa.execution.scalar_binder import bind_scalar
from gpu.isa.execution.vector_binder import bind_vector
from gpu.isa.instruction import Instruction, Unit
from gpu.isa.wave_registers import Wave

BOUND: Final = frozenset({Unit.VECTOR_ALU, Unit.SCALAR_ALU, Unit.BRANCH})
"""Units whose instructions are bound here; the others' are the compute unit's."""


def bind(instruction: Instruction) -> BoundInstruction:
    """The function of a wave that executes this instruction.

    It expects wave.pc at the next instruction and changes it only if a branch is taken. The caller
    runs it within `gpu.isa.fp_environment.plain_afterwards`.
    """
    bound: BoundInstruction | None = None
    if instruction.opcode.tier == 1:
        if instruction.unit is Unit.VECTOR_ALU:
            bound = (bind_indexed if instruction.indexed else bind_vector)(instruction)
        elif instruction.unit in BOUND:
            bound = bind_scalar(instruction)
    return bound or _refusing(instruction)


def _refusing(instruction: Instruction) -> BoundInstruction:
    line = text(instruction)

    def refuse(wave: Wave) -> None:
        raise NotImplementedInstruction(f"not implemented: {line}")

    return refuse
