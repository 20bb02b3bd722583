"""Vector instructions that are no function of lanes: they use one lane, scalar registers, or
registers whose number is in M0."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt

from gpu.isa.encoding.formats import VGPR
from gpu.isa.execution.instruction_writer import BoundInstruction, InstructionWriter
from gpu.isa.execution.scalar_binder import source_text, write_destination
from gpu.isa.instruction import Instruction
from gpu.isa.operand_types import TYPES
from gpu.isa.semantics.lane_permutes import first_lane
from gpu.isa.wave_registers import M0, RegisterError, Wave

VectorRegister = npt.NDArray[np.uint32]
_WORD: Final = TYPES["b32"]


def _nothing(instruction: Instruction) -> BoundInstruction:
    return InstructionWriter().bind()


def _read_first_lane(instruction: Instruction) -> BoundInstruction:
    writer = InstructionWriter()
    lane = f"{writer.value(first_lane)}(w.exec)"
    return _read(instruction, writer, lane)


def _read_lane(instruction: Instruction) -> BoundInstruction:
    writer = InstructionWriter()
    return _read(instruction, writer, _lane(instruction, writer))


def _lane(instruction: Instruction, writer: InstructionWriter) -> str:
    return f"{source_text(writer, instruction.fields['src1'], _WORD)} & 63"


def _read(instruction: Instruction, writer: InstructionWriter, lane: str) -> BoundInstruction:
    register = writer.value(instruction.fields["src0"] - VGPR)
    value = f"w.u32[{register}].item({lane})"
    write_destination(writer, instruction.fields["sdst"], 1, value)
    return writer.bind()


def _write_lane(instruction: Instruction) -> BoundInstruction:
    writer = InstructionWriter()
    value = source_text(writer, instruction.fields["src0"], _WORD)
    register = writer.value(instruction.fields["vdst"])
    writer.line(f"w.u32[{register}][{_lane(instruction, writer)}] = {value}")
    return writer.bind()


def _row(wave: Wave, number: int) -> VectorRegister:
    """A vector register whose number was computed."""
    if number >= len(wave.u32):
        raise RegisterError(f"there is no vector register v{number}: it has {len(wave.u32)}")
    row: VectorRegister = wave.u32[number]
    return row


def _move_relative(instruction: Instruction) -> BoundInstruction:
    """v_movreld, v_movrels, v_movrelsd: M0 is added to the destination's number, the source's, or
    both."""
    writer = InstructionWriter()
    relative = f" + w.sgprs[{writer.value(M0)}]"
    row = writer.value(_row)
    code = instruction.fields["src0"]
    if code >= VGPR:
        more = relative if "movrels" in instruction.name else ""
        source = f"{row}(w, {writer.value(code - VGPR)}{more})"
    else:
        source = source_text(writer, code, _WORD, instruction.fields.get("literal", 0))
    more = relative if instruction.name != "v_movrels_b32" else ""
    destination = f"{row}(w, {writer.value(instruction.fields['vdst'])}{more})"
    writer.line(f"{writer.value(np.putmask)}({destination}, w.mask, {source})")
    return writer.bind()


def _swap(instruction: Instruction) -> BoundInstruction:
    writer = InstructionWriter()
    first = f"w.u32[{writer.value(instruction.fields['vdst'])}]"
    second = f"w.u32[{writer.value(instruction.fields['src0'] - VGPR)}]"
    put = writer.value(np.putmask)
    writer.line(f"old = {first}.copy()")
    writer.line(f"{put}({first}, w.mask, {second})")
    writer.line(f"{put}({second}, w.mask, old)")
    return writer.bind()


SPECIAL: Final[dict[str, Callable[[Instruction], BoundInstruction]]] = {
    "v_nop": _nothing,
    "v_clrexcp": _nothing,
    "v_readfirstlane_b32": _read_first_lane,
    "v_readlane_b32": _read_lane,
    "v_writelane_b32": _write_lane,
    "v_swap_b32": _swap,
    "v_movreld_b32": _move_relative,
    "v_movrels_b32": _move_relative,
    "v_movrelsd_b32": _move_relative,
}
