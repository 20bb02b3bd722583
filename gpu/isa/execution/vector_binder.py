"""Vector arithmetic, bound to its operands.

Operands come from vector registers as views of their rows, from scalar registers and constants as
64 equal lanes, in the types that `gpu.isa.semantics` declares. Results go to active lanes only;
while all lanes are active the test costs one attribute, and a plain numpy function writes straight
into the destination. SDWA and DPP are in `gpu.isa.execution.sdwa_dpp`.
"""

from __future__ import annotations

from functools import cache
from typing import Any, Final

import numpy as np

from gpu.isa import fp_environment
from gpu.isa.encoding.constants import constant
from gpu.isa.encoding.formats import SRC_LDS_DIRECT, VGPR
from gpu.isa.execution.instruction_writer import BoundInstruction, InstructionWriter, undispatched
from gpu.isa.execution.packed import bind_packed, half_of, high_half_of_constant, with_half
from gpu.isa.execution.scalar_binder import source_text, write_destination
from gpu.isa.execution.sdwa_dpp import DppLanes, narrow_result, select_part
from gpu.isa.execution.vector_special import SPECIAL
from gpu.isa.instruction import Instruction, OperandAccess, OperandRow
from gpu.isa.operand_types import TYPES, OperandType
from gpu.isa.semantics import SEMANTICS, Environment, Semantics
from gpu.isa.semantics.floating.modifiers import clamped, magnitude, negated, scaled
from gpu.isa.semantics.saturation import SATURATING
from gpu.isa.wave_registers import BINARY_DIGITS, known_masks, mask_of, remember_mask
from gpu.wave_size import LANES

_ROWS: Final = {"b": "u32", "u": "u32", "i": "i32", "f": "f32"}
"""The wave's list of rows by the letter of a type of 32 bits."""
_SHIFTS: Final[dict[str, np.ufunc]] = {
    "v_lshlrev_b32": np.left_shift,
    "v_lshrrev_b32": np.right_shift,
    "v_ashrrev_i32": np.right_shift,
    "v_lshlrev_b64": np.left_shift,
    "v_lshrrev_b64": np.right_shift,
    "v_ashrrev_i64": np.right_shift,
}
_PUTMASK: Final = undispatched(np.putmask)
_NAMED_OUT: Final = (np.minimum, np.maximum)
"""Functions of numpy that accept no third positional argument."""
_VCC: Final = "w.sgprs[106] | w.sgprs[107] << 32"


def bind_vector(instruction: Instruction) -> BoundInstruction | None:
    """Bind a vector instruction; None if it is not implemented here."""
    if instruction.fields.get("src0") == SRC_LDS_DIRECT:
        return None
    meaning = instruction.opcode.meaning
    special = SPECIAL.get(meaning)
    if special is not None:
        return special(instruction)
    semantics = SEMANTICS.get(meaning)
    if semantics is None:
        return None
    if instruction.fields.get("clamp") and meaning in SATURATING:
        semantics = SATURATING[meaning]
    if instruction.form == "VOP3P":
        return bind_packed(instruction, semantics)
    return _VectorBinder(instruction, semantics).bind()


class _Pair:
    """Room for 64 values of 64 bits whose halves come from two registers."""

    def __init__(self) -> None:
        words = np.zeros((LANES, 2), np.uint32)
        self.low, self.high = words[:, 0], words[:, 1]
        self.bits = words.reshape(-1).view(np.uint64)


@cache
def _pair(slot: int) -> _Pair:
    return _Pair()


@cache
def _lanes(slot: int, bits: int) -> np.ndarray[Any, np.dtype[Any]]:
    """Room for 64 equal values; one for each place of an operand, shared by all instructions."""
    return np.zeros(LANES, f"u{bits // 8}")


@cache
def _cell(slot: int) -> np.ndarray[Any, np.dtype[Any]]:
    return np.zeros((), np.uint32)


class _VectorBinder:
    """Binds one instruction."""

    def __init__(self, instruction: Instruction, semantics: Semantics) -> None:
        self.instruction = instruction
        self.fields = instruction.fields
        self.semantics = semantics
        self.writer = InstructionWriter()
        self.function = semantics.function
        self.by_scalar = self._shifts_by_scalar()
        if self.by_scalar:
            self.function = _SHIFTS[instruction.name]
        self.direct = isinstance(self.function, np.ufunc)
        self.lanes: DppLanes | None = None

    def bind(self) -> BoundInstruction:
        if self.instruction.form == "DPP":
            self.lanes = DppLanes(self.writer, self.fields)
        arguments = self._arguments()
        self._environment()
        if self.semantics.result == "mask":
            self._compare(self._call(arguments))
        else:
            self._compute(arguments)
        return self.writer.bind()

    # Operands

    def _arguments(self) -> list[str]:
        """Expressions for what the function takes, in its order."""
        operands = self.instruction.opcode.operands
        if self.by_scalar:
            return [self._source(1, operands[2], TYPES[self.semantics.operands[1]]), self._count()]
        sources = [op for op in operands if op.access is OperandAccess.READ and op.type != "mask"]
        arguments = [
            self._source(slot, operand, TYPES[type])
            for slot, (operand, type) in enumerate(zip(sources, self.semantics.operands))
        ]
        arguments.extend(
            self._vgpr(3, self.fields[operand.field], TYPES[operand.type])
            for operand in operands
            if operand.access is OperandAccess.BOTH
        )
        for operand in operands:
            if operand.access is OperandAccess.READ and operand.type == "mask":
                bits = source_text(self.writer, self.fields[operand.field], TYPES["mask"])
                arguments.append(f"{self.writer.value(mask_of)}({bits})")
        if "vcc" in self.instruction.opcode.reads:
            arguments.append(f"{self.writer.value(mask_of)}({_VCC})")
        if self.semantics.takes_mode:
            arguments.insert(0, "w.float_mode")
        return arguments

    def _shifts_by_scalar(self) -> bool:
        """Whether all lanes are shifted equally far, so that numpy's own shift does it."""
        encoded = self.instruction.form in ("VOP2", "VOP3")
        return encoded and self.instruction.name in _SHIFTS and self.fields["src0"] < VGPR

    def _count(self) -> str:
        writer, code = self.writer, self.fields["src0"]
        bits = TYPES[self.semantics.result].bits - 1
        dtype = TYPES[self.semantics.operands[0]].dtype
        known = constant(code, TYPES["u32"], self.fields.get("literal", 0))
        if known is not None:
            return writer.value(np.array(known & bits, dtype))
        cell = _cell(0)
        writer.line(
            f"{writer.value(cell)}[()] = {source_text(writer, code, TYPES['u32'])} & {bits}"
        )
        return writer.value(cell.view(dtype))

    def _source(self, slot: int, operand: OperandRow, type: OperandType) -> str:
        code, place = self.fields[operand.field], self._place(operand)
        if operand.field == "literal":
            return self._constant(slot, self.fields["literal"] & (1 << type.bits) - 1, type)
        known = constant(code, type, self.fields.get("literal", 0))
        high = type.bits == 16 and self._has("op_sel", place)
        if known is not None:
            return self._constant(place, high_half_of_constant(code) if high else known, type)
        if high:
            value = self._high_half(slot, code, type)
        elif code >= VGPR or self.instruction.form == "SDWA":
            value = self._selected(slot, operand, code, type)
        else:
            value = self._uniform(slot, code, type)
        return self._signs(place, value)

    def _high_half(self, slot: int, code: int, type: OperandType) -> str:
        writer, whole = self.writer, TYPES["b32"]
        if code >= VGPR:
            value = f"w.u32[{writer.value(code - VGPR)}]"
        else:
            value = self._lanes(slot, code, whole)
        return f"{writer.value(half_of)}({value}, 1).view({writer.value(type.dtype)})"

    @staticmethod
    def _place(operand: OperandRow) -> int:
        """Which bit of neg and abs concerns an operand."""
        return int(operand.field[-1]) if operand.field.startswith("src") else -1

    def _constant(self, place: int, bits: int, type: OperandType) -> str:
        assert type.dtype is not None
        lanes = np.full(LANES, bits, f"u{type.bits // 8}").view(type.dtype)
        if self._has("abs", place):
            lanes = magnitude(lanes)
        if self._has("neg", place):
            lanes = negated(lanes)
        lanes.flags.writeable = False
        return self.writer.value(lanes)

    def _has(self, modifier: str, place: int) -> bool:
        return place >= 0 and bool(self.fields.get(modifier, 0) >> place & 1)

    def _signs(self, place: int, value: str) -> str:
        if self._has("abs", place):
            value = f"{self.writer.value(magnitude)}({value})"
        if self._has("neg", place):
            value = f"{self.writer.value(negated)}({value})"
        return value

    def _selected(self, slot: int, operand: OperandRow, code: int, type: OperandType) -> str:
        """A vector register, or what SDWA or DPP takes of it. On GFX9, SDWA may take a part of a
        scalar register."""
        if self.instruction.form == "SDWA":
            if code >= VGPR:
                value = f"w.u32[{self.writer.value(code - VGPR)}]"
            else:
                value = self._lanes(slot, code, TYPES["b32"])
            return select_part(self.writer, self.fields, self._place(operand), value, type)
        value = self._vgpr(slot, code - VGPR, type)
        if self.lanes is not None and operand.field == "src0":
            return self.lanes.moved(value)
        return value

    def _vgpr(self, slot: int, number: int, type: OperandType) -> str:
        writer = self.writer
        first = writer.value(number)
        if type.registers == 4:
            return f"w.vgprs[{first}:{writer.value(number + 4)}]"
        if type.registers == 2:
            pair = _pair(slot)
            writer.line(f"{writer.value(pair.low)}[...] = w.u32[{first}]")
            writer.line(f"{writer.value(pair.high)}[...] = w.u32[{writer.value(number + 1)}]")
            return writer.value(pair.bits.view(type.dtype))
        if type.bits == 32:
            return f"w.{_ROWS[type.name[0]]}[{first}]"
        half = f"w.u32[{first}].astype({writer.value(np.uint16)})"
        if type.name[0] in "bu":
            return half
        return f"{half}.view({writer.value(type.dtype)})"

    def _uniform(self, slot: int, code: int, type: OperandType) -> str:
        """A scalar register for all lanes. Numpy's own functions take a single number faster, but
        exchange it with the first source of a sum or product, which shows if both are NaNs."""
        writer = self.writer
        exchanged = type.floating and slot > 0
        several = self.instruction.opcode.operand("src1") is not None
        if type.bits == 32 and self.direct and several and not exchanged:
            cell = _cell(slot)
            writer.line(f"{writer.value(cell)}[()] = {source_text(writer, code, type)}")
            return writer.value(cell.view(type.dtype))
        return self._lanes(slot, code, type)

    def _lanes(self, slot: int, code: int, type: OperandType) -> str:
        writer = self.writer
        value = source_text(writer, code, type)
        lanes = _lanes(slot, type.bits)
        if type.bits == 16:
            value = f"{value} & 65535"
        writer.line(f"{writer.value(lanes)}.fill({value})")
        return writer.value(lanes.view(type.dtype))

    # Computation

    def _environment(self) -> None:
        if self.semantics.environment is Environment.ANY:
            return
        writer = self.writer
        writer.line(
            f"e = w.float_mode.environments[{writer.value(int(self.semantics.environment))}]"
        )
        writer.line(f"if e != {writer.value(fp_environment)}.current:")
        writer.line(f"    {writer.value(fp_environment.use)}(e)")

    def _call(self, arguments: list[str], out: str = "") -> str:
        if self.instruction.name == "v_mov_b32":
            return arguments[0]
        if out:
            arguments = [*arguments, f"out={out}" if self.function in _NAMED_OUT else out]
        everything = ", ".join(arguments)
        return f"{self.writer.value(self.function)}({everything})"

    def _mask(self, value: str) -> None:
        """Lines that make ``bits`` of a mask, of active lanes only; most carries are no lane's."""
        writer = self.writer
        digits = writer.value(BINARY_DIGITS)
        active = self.lanes.active_bits() if self.lanes is not None else "w.exec"
        writer.line(f"d = {value}.tobytes()")
        writer.line("bits = 0")
        writer.line("if 1 in d:")
        writer.line(f"    bits = int(d[::-1].translate({digits}), 2) & {active}")
        if self.lanes is None:
            writer.line(f"    if bits not in {writer.value(known_masks)}:")
            writer.line(f"        {writer.value(remember_mask)}(bits, {value} & w.mask)")

    def _compare(self, result: str) -> None:
        self.writer.line(f"c = {result}")
        self._mask("c")
        write_destination(self.writer, self.fields["sdst"], 2, "bits")
        if "exec" in self.instruction.opcode.writes:
            self.writer.line("w.set_exec(bits)")

    def _compute(self, arguments: list[str]) -> None:
        writer = self.writer
        type = TYPES[self.semantics.result]
        if self._writes_directly(type):
            row = f"w.{_ROWS[type.name[0]]}[{writer.value(self.fields['vdst'])}]"
            writer.line("if w.full:")
            writer.line(f"    {self._call(arguments, row)}")
            writer.line("else:")
            writer.line(f"    {writer.value(_PUTMASK)}({row}, w.mask, {self._call(arguments)})")
            return
        carry = ", c" if self.semantics.gives_mask else ""
        writer.line(f"r{carry} = {self._call(arguments)}")
        self._limit(type)
        if self.instruction.form == "SDWA":
            type = narrow_result(writer, self.fields, type)
        elif "opsel" in self.instruction.opcode.flags and type.bits == 16:
            type = self._into_half()
        self._write(type)
        if carry:
            self._mask("c")
            write_destination(writer, self.fields["sdst"], 2, "bits")

    def _writes_directly(self, type: OperandType) -> bool:
        """Whether numpy can put the result where it belongs."""
        return (
            self.direct
            and type.bits == 32
            and self.instruction.form not in ("SDWA", "DPP")
            and not self.fields.get("clamp")
            and not self.fields.get("omod")
            and not self.semantics.takes_mode
        )

    def _into_half(self) -> OperandType:
        """The result into one half of the destination; the other stays."""
        writer = self.writer
        old, high = f"w.u32[{writer.value(self.fields['vdst'])}]", self.fields["op_sel"] >> 3
        writer.line(f"r = {writer.value(with_half)}({old}, r, {writer.value(high)})")
        return TYPES["b32"]

    def _limit(self, type: OperandType) -> None:
        """Output modifier and clamp of floating-point results."""
        if not type.floating:
            return
        writer = self.writer
        if self.fields.get("omod"):
            omod = writer.value(self.fields["omod"])
            writer.line(f"r = {writer.value(scaled)}(w.float_mode, r, {omod})")
        if self.fields.get("clamp"):
            writer.line(f"r = {writer.value(clamped)}(w.float_mode, r)")

    def _write(self, type: OperandType) -> None:
        """The result ``r`` into the active lanes of the destination."""
        writer = self.writer
        parts = ["r"]
        if type.bits == 16:
            if type.name[0] not in "bu":
                writer.line(f"r = r.view({writer.value(np.uint16)})")
        elif type.bits == 64:
            writer.line(f"r = r.view({writer.value(np.uint32)})")
            parts = ["r[::2]", "r[1::2]"]
        elif type.bits == 128:
            parts = ["r[0]", "r[1]", "r[2]", "r[3]"]
        letter = type.name[0] if type.bits == 32 else "u"
        rows = [
            f"w.{_ROWS[letter]}[{writer.value(self.fields['vdst'] + place)}]"
            for place in range(len(parts))
        ]
        putmask = writer.value(_PUTMASK)
        if self.lanes is not None:
            writer.line(f"m = {self.lanes.mask()}")
            writer.line(f"{putmask}({rows[0]}, m, r)")
            return
        writer.line("if w.full:")
        for row, part in zip(rows, parts):
            writer.line(f"    {row}[...] = {part}")
        writer.line("else:")
        for row, part in zip(rows, parts):
            writer.line(f"    {putmask}({row}, w.mask, {part})")
