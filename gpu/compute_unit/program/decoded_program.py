"""Machine code as bound instructions, found once per address.

Invariant: what an address is bound to depends on nothing of a wave but whether it is in GPR-index
mode; its registers are arguments.
A word that is unknown or not implemented is bound too: it fails when it is executed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from enum import Enum
from functools import lru_cache
from typing import Final

from gpu.compute_unit.memory_ops.access import Operation
from gpu.compute_unit.memory_ops.access_shape import movement_of
from gpu.compute_unit.memory_ops.ds_instructions import bind_local
from gpu.compute_unit.memory_ops.scalar_memory import bind_scalar
from gpu.compute_unit.memory_ops.vector_memory import FIND_PARTS, VectorOperation
from gpu.generation import Generation
from gpu.isa.encoding.decoder import decode_at
from gpu.isa.encoding.immediates import split_register
from gpu.isa.encoding.operands import scalars_named
from gpu.isa.encoding.printer import text
from gpu.isa.execution.binder import bind
from gpu.isa.execution.instruction_writer import BoundInstruction
from gpu.isa.execution.scalar_binder import MODE
from gpu.isa.instruction import Instruction, Unit
from gpu.isa.native.runs import BoundCode
from gpu.isa.wave_registers import INDEX_MODE, Wave
from gpu.memory.address_space import Unmapped
from runtime.requesters.port import AccessKind

ReadCode = Callable[[int, int], bytes]
"""Address, size: the bytes of the program. Raises Unmapped."""

LONGEST: Final = 8
"""Bytes of the longest instruction."""
UNITS: Final = tuple(Unit)
LONG_PACE: Final = len(UNITS)
"""See `DecodedInstruction`."""
INTERRUPT: Final = 1
"""The message of ``s_sendmsg`` that reaches the host."""
_LONG: Final = ("v_rcp", "v_rsq", "v_sqrt", "v_exp", "v_log", "v_sin", "v_cos")


class Control(Enum):
    """Instructions that the compute unit itself executes."""

    END = "s_endpgm"
    BARRIER = "s_barrier"
    WAIT = "s_waitcnt"
    SLEEP = "s_sleep"
    PRIORITY = "s_setprio"
    MESSAGE = "s_sendmsg"
    TRAP = "s_trap"
    RETURN = "s_rfe_b64"
    FETCH_AGAIN = "s_icache_inv"
    NOTHING = "s_nop"
    INVALIDATE = "buffer_wbinvl1"


_CONTROLS: Final = {control.value: control for control in Control} | {
    "s_wakeup": Control.NOTHING,
    "ds_nop": Control.NOTHING,
    "buffer_wbinvl1_vol": Control.INVALIDATE,
}


class DecodedInstruction:
    """One instruction of a program: exactly one of ``execute``, ``operation``, ``control``.

    ``value``: its 16-bit immediate, for controls. ``place``: of its unit in `UNITS`. ``pace``: the
    same, `LONG_PACE` for a vector operation that takes several times as long as others.
    ``scalars``: how many scalar registers from s0 on a wave needs. ``splits``: whether
    straight-line code ends with it: it may branch, or begin or end GPR-index mode.
    """

    __slots__ = (
        "control",
        "end",
        "execute",
        "instruction",
        "operation",
        "pace",
        "place",
        "scalars",
        "splits",
        "unit",
        "value",
    )

    def __init__(self, instruction: Instruction) -> None:
        self.instruction = instruction
        self.unit = instruction.opcode.unit
        self.place = self.pace = UNITS.index(self.unit)
        if self.unit is Unit.VECTOR_ALU and (
            "f64" in instruction.name or instruction.name.startswith(_LONG)
        ):
            self.pace = LONG_PACE
        self.end = instruction.address + instruction.size
        self.value = instruction.fields.get("simm16", 0)
        self.scalars = scalars_named(instruction.reads, instruction.writes)
        self.splits = self.unit is Unit.BRANCH or _sets_index_mode(instruction)
        self.execute: BoundInstruction | None = None
        self.operation: Operation | None = None
        self.control: Control | None = None

    def __str__(self) -> str:
        return text(self.instruction)

    def check_scalars(self, wave: Wave) -> None:
        """Raise `RegisterError` if the wave was not given all scalar registers that are named."""
        if self.scalars > wave.scalars:
            raise wave.no_scalar(self.scalars - 1)


def _sets_index_mode(instruction: Instruction) -> bool:
    if instruction.name in ("s_setreg_b32", "s_setreg_imm32_b32"):
        part = split_register(instruction.fields["simm16"])
        return part.number == MODE and part.offset + part.size > INDEX_MODE
    return instruction.name in ("s_set_gpr_idx_on", "s_set_gpr_idx_off")


def most_scalars(decoded: Iterable[DecodedInstruction]) -> int:
    """How many scalar registers from s0 on a wave needs for all of these."""
    return max((each.scalars for each in decoded), default=0)


def failing(code: BoundCode, decoded: Sequence[DecodedInstruction], wave: Wave) -> BoundCode:
    """Code with a function for each of these instructions, up to the first one whose scalar
    registers the wave was not given, which fails."""
    place = next(place for place, each in enumerate(decoded) if each.scalars > wave.scalars)
    return BoundCode([*code.bound[:place], decoded[place].check_scalars], code.first, code.rows)


class Program:
    """The code that one unit executes. ``read`` fetches bytes."""

    def __init__(self, read: ReadCode) -> None:
        self._read = read

    def at(self, address: int, generation: Generation, indexed: int = 0) -> DecodedInstruction:
        """The instruction at an address. Raises Unmapped, `NotAnInstruction`."""
        try:
            code = self._read(address, LONGEST)
        except Unmapped:  # fewer at the end of what is mapped
            code = self._read(address, LONGEST // 2)
        return bind_at(address, code, generation, indexed)


@lru_cache(maxsize=1 << 16)
def bind_at(
    address: int, code: bytes, generation: Generation, indexed: int = 0
) -> DecodedInstruction:
    """The instruction that these bytes are at this address. Raises `NotAnInstruction`.

    ``indexed``: `Wave.indexed` of the wave that is there. All units of all devices share the
    result: it has no state.
    """
    instruction = decode_at(code, 0, address, generation)
    instruction.indexed = bool(indexed) and instruction.unit is Unit.VECTOR_ALU
    return bind_one(instruction)


def bind_one(instruction: Instruction) -> DecodedInstruction:
    """What a compute unit does at one instruction."""
    decoded = DecodedInstruction(instruction)
    control = _CONTROLS.get(instruction.name)
    if control is not None:
        decoded.control = control
        return decoded
    operation = _bind_memory(instruction)
    if operation is not None:
        decoded.operation = operation
    else:
        decoded.execute = bind(instruction)
    return decoded


def _bind_memory(instruction: Instruction) -> Operation | None:
    unit, fields = instruction.opcode.unit, instruction.fields
    if unit is Unit.LDS:
        return bind_local(instruction)
    if unit is Unit.SCALAR_MEMORY:
        return bind_scalar(instruction)
    if unit is not Unit.VECTOR_MEMORY or fields.get("tfe"):
        return None
    move = movement_of(instruction.name)
    if move is None or instruction.opcode.format not in FIND_PARTS:
        return None
    if fields.get("lds") and (move.kind != AccessKind.LOAD or move.bytes > 4):
        return None
    return VectorOperation(instruction, move, FIND_PARTS[instruction.opcode.format](instruction))
