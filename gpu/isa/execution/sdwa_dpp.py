"""What SDWA and DPP do to operands and results.

SDWA takes a byte or a half of a register, with zeros or its sign above it, and puts the result
into a byte or a half. DPP takes operand 0 from other lanes of the wave: a lane whose source does
not exist or is not active reads 0 with ``bound_ctrl``, and without it is not written.
"""

from __future__ import annotations

import numpy as np

from gpu.isa.execution.instruction_writer import InstructionWriter
from gpu.isa.operand_types import TYPES, OperandType
from gpu.isa.semantics.entry import Array
from gpu.isa.semantics.lane_permutes import dpp, dpp_lanes
from gpu.isa.semantics.sub_dword import PRESERVE, WHOLE, merged, selected
from gpu.isa.wave_registers import bits_of


def select_part(
    writer: InstructionWriter, fields: dict[str, int], place: int, value: str, type: OperandType
) -> str:
    """An expression for the part that operand ``place`` selects of ``value``, lanes of 32 bits."""
    selection = fields[f"src{place}_sel"]
    if selection != WHOLE:
        extend = bool(fields["sext"] >> place & 1)
        value = (
            f"{writer.value(selected)}({value}, {writer.value(selection)}, {writer.value(extend)})"
        )
    if type.bits == 16:
        value = f"{value}.astype({writer.value(np.uint16)})"
    return f"{value}.view({writer.value(type.dtype)})"


def narrow_result(
    writer: InstructionWriter, fields: dict[str, int], type: OperandType
) -> OperandType:
    """Lines that bring the result ``r`` into the selected part of the destination; the type it
    then has."""
    if type.bits == 16:
        bits, word = writer.value(np.uint16), writer.value(np.uint32)
        writer.line(f"r = r.view({bits}).astype({word})")
    else:
        writer.line(f"r = r.view({writer.value(np.uint32)})")
    if fields["dst_sel"] != WHOLE:
        old = f"w.u32[{writer.value(fields['vdst'])}]"
        selection, unused = fields["dst_sel"], fields["dst_unused"]
        old = old if unused == PRESERVE else "r"
        function = writer.value(merged)
        writer.line(f"r = {function}({old}, r, {writer.value(selection)}, {writer.value(unused)})")
    return TYPES["b32"]


def _zero_elsewhere(values: Array, there: Array) -> Array:
    return np.where(there, values, values.dtype.type(0))


class DppLanes:
    """The lanes operand 0 of one DPP instruction comes from, and those it writes."""

    def __init__(self, writer: InstructionWriter, fields: dict[str, int]) -> None:
        pattern = dpp(fields["dpp_ctrl"])
        self._writer = writer
        self._source = writer.value(pattern.source)
        self._bounded = bool(fields["bound_ctrl"])
        writer.line(f"there = w.mask[{self._source}]")
        if not pattern.inside.all():
            writer.line(f"there &= {writer.value(pattern.inside)}")
        lanes = dpp_lanes(fields["row_mask"], fields["bank_mask"])
        self._written = "w.mask" if lanes.all() else f"w.mask & {writer.value(lanes)}"
        if not self._bounded:
            self._written += " & there"

    def moved(self, value: str) -> str:
        """An expression for operand 0 after the move."""
        moved = f"{value}[{self._source}]"
        return f"{self._writer.value(_zero_elsewhere)}({moved}, there)" if self._bounded else moved

    def mask(self) -> str:
        """An expression for the lanes that are written."""
        return self._written

    def active_bits(self) -> str:
        """An expression for the lanes that are written, as bits of a number."""
        return f"{self._writer.value(bits_of)}({self._written})"
