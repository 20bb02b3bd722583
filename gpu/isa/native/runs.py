"""Consecutive vector instructions as one call of native code.

`native_runs` replaces them in a list of bound instructions. A run reads the scalar registers that
it uses into slots, calls cpp/lanes.hpp once, and writes back those that it has changed; what is in
between stays bound in Python. Invariant: a wave has all the registers that a run names, which the
caller looks after (`BoundCode.rows`), and then a run cannot fail.
"""

from __future__ import annotations

import ctypes
import struct
from array import array
from collections.abc import Sequence
from typing import Final, NamedTuple

from gpu.isa.encoding.constants import constant
from gpu.isa.encoding.formats import VGPR
from gpu.isa.execution.instruction_writer import BoundInstruction, InstructionWriter
from gpu.isa.execution.vector_special import SPECIAL
from gpu.isa.instruction import Instruction, OperandAccess, OperandRow, Unit
from gpu.isa.native.lane_functions import OnRows, lane_functions, lane_library
from gpu.isa.operand_types import TYPES
from gpu.isa.semantics import SEMANTICS, Environment, Semantics
from gpu.isa.wave_registers import EXEC, VCC

HOT: Final = 16
"""How often code runs before it is made native, as far as it can be."""
_FORMS: Final = frozenset({"VOP1", "VOP2", "VOP3", "VOPC"})
_MODIFIERS: Final = ("abs", "neg", "omod", "clamp")
_SCALARS: Final = 128
_MOST_ROWS: Final = 2
_FIRST_SLOT: Final = 2
"""Behind EXEC and the floating-point environments."""
_SLOTS: Final = array("Q", bytes(8 * (_SCALARS + _FIRST_SLOT)))
"""One thread at a time runs instructions."""
_ADDRESS: Final = _SLOTS.buffer_info()[0]

_RUN: Final = struct.Struct("=QQ")
_OPERATION: Final = struct.Struct("=H6B")
"""The twin of Operation in cpp/lanes.hpp."""
_SOURCE: Final = struct.Struct("=IIQ")
_ROW, _SLOT, _TWO_SLOTS, _CONSTANT = range(4)
_SOURCES: Final = 3


class BoundCode(NamedTuple):
    """Straight-line code. ``bound``: what is executed, one behind the other; ``first``: which
    instruction each begins with. ``rows``: vector registers that a wave needs for it."""

    bound: list[BoundInstruction]
    first: Sequence[int]
    rows: int


class _NotNative(Exception):
    """An instruction that Python executes."""


def native_runs(instructions: Sequence[Instruction], code: BoundCode) -> BoundCode:
    """Code with runs in place of instructions where they are native; ``code`` has one function for
    each instruction."""
    library = lane_library()
    if library is None:
        return code
    bound: list[BoundInstruction] = []
    first: list[int] = []
    rows = code.rows
    run = _Run()
    for place, (instruction, each) in enumerate(zip(instructions, code.bound, strict=True)):
        if run.add(instruction):
            if run.count == 1:
                first.append(place)
            continue
        if run.count:
            bound.append(run.bind(library.execute))
            rows = max(rows, run.rows)
            run = _Run()
        bound.append(each)
        first.append(place)
    if run.count:
        bound.append(run.bind(library.execute))
        rows = max(rows, run.rows)
    return BoundCode(bound, first, rows)


class _Run:
    """Instructions that are executed by one call.

    ``read``, ``written``: scalar registers whose first use reads them, and those that change.
    """

    def __init__(self) -> None:
        self.count = 0
        self.rows = 0
        self._operations: list[bytes] = []
        self._read: set[int] = set()
        self._written: set[int] = set()
        self._floating = False

    def add(self, instruction: Instruction) -> bool:
        """Whether it is native and was added."""
        number = _function(instruction)
        if number is None:
            return False
        before = set(self._read), set(self._written), self.rows
        try:
            operation = self._packed(instruction, number, SEMANTICS[instruction.opcode.meaning])
        except _NotNative:
            self._read, self._written, self.rows = before
            return False
        self._operations.append(operation)
        self.count += 1
        return True

    def bind(self, execute: OnRows) -> BoundInstruction:
        """The function of a wave that executes them all."""
        memory = ctypes.create_string_buffer(
            _RUN.pack(_ADDRESS, self.count) + b"".join(self._operations)
        )
        writer = InstructionWriter()
        slots = writer.value(_SLOTS)
        writer.line(f"{slots}[0] = w.exec")
        if self._floating:
            writer.line(f"{slots}[1] = w.float_mode.packed")
        for register in sorted(self._read):
            slot = writer.value(_FIRST_SLOT + register)
            writer.line(f"{slots}[{slot}] = w.sgprs[{writer.value(register)}]")
        writer.line(f"{writer.value(execute)}({writer.value(memory)}, w.address)")
        for register in sorted(self._written):
            slot = writer.value(_FIRST_SLOT + register)
            writer.line(f"w.sgprs[{writer.value(register)}] = {slots}[{slot}]")
        return writer.bind()

    # Operands

    def _packed(self, instruction: Instruction, number: int, semantics: Semantics) -> bytes:
        fields, opcode = instruction.fields, instruction.opcode
        kinds = [kind for kind in semantics.operands if kind != "mask"]
        given = [op for op in opcode.operands if op.access is OperandAccess.READ]
        sources = [
            self._source(fields, operand, kind)
            for operand, kind in zip([op for op in given if op.type != "mask"], kinds)
        ]
        sources += [
            self._row(fields[operand.field], operand.type)
            for operand in opcode.operands
            if operand.access is OperandAccess.BOTH
        ]
        if len(sources) != len(kinds):
            raise _NotNative
        masks = [fields[operand.field] for operand in given if operand.type == "mask"]
        masks += [VCC] * ("vcc" in opcode.reads)
        if len(masks) != ("mask" in semantics.operands):
            raise _NotNative
        lanes = self._slots(masks[0], 2) + 1 if masks else 0
        rows = 0
        if semantics.result != "mask":
            rows = TYPES[semantics.result].registers
            self._needs(fields["vdst"], rows)
        mask = 0
        if semantics.gives_mask or semantics.result == "mask":
            mask = self._slots(fields["sdst"], 2, written=True) + 1
        self._floating |= semantics.environment is not Environment.ANY
        sources += [_SOURCE.pack(_CONSTANT, 0, 0)] * (_SOURCES - len(sources))
        return _OPERATION.pack(
            number, semantics.environment, len(kinds), rows, fields.get("vdst", 0), lanes, mask
        ) + b"".join(sources)

    def _source(self, fields: dict[str, int], operand: OperandRow, kind: str) -> bytes:
        type, literal = TYPES[kind], fields.get("literal", 0)
        if operand.field == "literal":
            return _SOURCE.pack(_CONSTANT, 0, literal & (1 << type.bits) - 1)
        code = fields[operand.field]
        if code >= VGPR:
            return self._row(code - VGPR, kind)
        known = constant(code, type, literal)
        if known is not None:
            return _SOURCE.pack(_CONSTANT, 0, known)
        kinds = (_SLOT, _TWO_SLOTS)
        return _SOURCE.pack(kinds[type.registers - 1], self._slots(code, type.registers), 0)

    def _row(self, number: int, kind: str) -> bytes:
        self._needs(number, TYPES[kind].registers)
        return _SOURCE.pack(_ROW, number, 0)

    def _needs(self, first: int, rows: int) -> None:
        if rows > _MOST_ROWS:
            raise _NotNative
        self.rows = max(self.rows, first + rows)

    def _slots(self, register: int, count: int, written: bool = False) -> int:
        """The slot of the first of scalar registers."""
        registers = range(register, register + count)
        if registers[-1] >= _SCALARS or (written and registers[-1] >= EXEC):
            raise _NotNative
        for each in registers:
            if written:
                self._written.add(each)
            elif each not in self._written:
                self._read.add(each)
        return _FIRST_SLOT + register


def _function(instruction: Instruction) -> int | None:
    """The number of an instruction among the native functions; None if Python executes it."""
    opcode, fields = instruction.opcode, instruction.fields
    if opcode.unit is not Unit.VECTOR_ALU or opcode.tier != 1 or instruction.form not in _FORMS:
        return None
    if (
        instruction.indexed
        or "exec" in opcode.writes
        or "opsel" in opcode.flags
        or opcode.meaning in SPECIAL
    ):
        return None
    if any(fields.get(modifier) for modifier in _MODIFIERS):
        return None
    return lane_functions().number_of.get(opcode.meaning)
