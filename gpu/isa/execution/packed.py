"""Operations on halves of registers: packed ones (VOP3P), and operands that are either half.

A packed instruction does one 16-bit operation twice: ``op_sel`` says which half of each source the
lower result is from, ``op_sel_hi`` the same of the upper one, and ``neg``, ``neg_hi`` invert signs
for the one and the other. Of v_mad_mix, ``op_sel_hi`` says which sources are 16-bit numbers and
``neg_hi`` takes magnitudes. A constant has 32 bits, a fraction among 16-bit ones the lower half.
Invariant: the meaning is that of the unpacked instruction, which the row names.

Source: the public Vega instruction set architecture manual, "VOP3P instructions".
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, cast

import numpy as np

from gpu.isa import fp_environment
from gpu.isa.encoding.constants import FIRST_FLOAT, LAST_FLOAT, constant
from gpu.isa.encoding.formats import VGPR
from gpu.isa.execution.instruction_writer import BoundInstruction, InstructionWriter
from gpu.isa.execution.scalar_binder import source_text
from gpu.isa.instruction import Instruction, OperandAccess
from gpu.isa.operand_types import TYPES
from gpu.isa.semantics import Environment, Semantics
from gpu.isa.semantics.entry import Array
from gpu.isa.semantics.floating.half import to_half
from gpu.isa.semantics.floating.modifiers import clamped, magnitude, negated
from gpu.isa.wave_registers import Wave

ReadWord = Callable[[Wave], Array]
"""The 32 bits of a source, of all lanes."""

_LOW_HALF: Final = np.uint32(0xFFFF)
_HIGH_HALF: Final = np.uint32(0xFFFF_0000)
_SIXTEEN: Final = np.uint32(16)


def half_of(word: Array, high: int) -> Array:
    """One half of 32-bit numbers, as uint16."""
    return (np.right_shift(word, _SIXTEEN) if high else word).astype(np.uint16)


def with_half(old: Array, half: Array, high: int) -> Array:
    """32-bit numbers of which one half is replaced."""
    new = half.view(np.uint16).astype(np.uint32)
    if high:
        return np.bitwise_or(np.bitwise_and(old, _LOW_HALF), np.left_shift(new, _SIXTEEN))
    return np.bitwise_or(np.bitwise_and(old, _HIGH_HALF), new)


def high_half_of_constant(code: int) -> int:
    """The upper half of a constant of 16-bit operands."""
    if FIRST_FLOAT <= code <= LAST_FLOAT:
        return 0
    return (constant(code, TYPES["i32"]) or 0) >> 16


def bind_packed(instruction: Instruction, semantics: Semantics) -> BoundInstruction:
    """Bind a VOP3P instruction; ``semantics``: of one of its operations."""
    if "_mix" in instruction.name:
        return _bind_mixed(instruction, semantics)
    fields, destination = instruction.fields, instruction.fields["vdst"]
    sources = _sources(instruction)
    kinds = [np.dtype(TYPES[kind].dtype) for kind in semantics.operands]
    clamps = bool(fields["clamp"]) and TYPES[semantics.result].floating
    selections = (fields["op_sel"], fields["op_sel_hi"])
    signs = (fields["neg"], fields["neg_hi"])

    def operation(wave: Wave, words: list[Array], half: int) -> Array:
        operands = []
        for place, (word, kind) in enumerate(zip(words, kinds)):
            value = half_of(word, selections[half] >> place & 1).view(kind)
            operands.append(negated(value) if signs[half] >> place & 1 else value)
        result = _call(wave, semantics, operands)
        return clamped(wave.float_mode, result) if clamps else result

    def execute(wave: Wave) -> None:
        words = [read(wave) for read in sources]
        low, high = (half_of(operation(wave, words, half).view(np.uint16), 0) for half in (0, 1))
        result = np.bitwise_or(low.astype(np.uint32), np.left_shift(high, _SIXTEEN))
        np.putmask(wave.u32[destination], wave.mask, result)

    return execute


def _bind_mixed(instruction: Instruction, semantics: Semantics) -> BoundInstruction:
    fields, destination = instruction.fields, instruction.fields["vdst"]
    sources = _sources(instruction)
    halves, high = fields["op_sel_hi"], fields["op_sel"]
    result_half = {"v_mad_mixlo_f16": 0, "v_mad_mixhi_f16": 1}.get(instruction.name)

    def number(word: Array, place: int) -> Array:
        if halves >> place & 1:
            value = half_of(word, high >> place & 1).view(np.float16).astype(np.float32)
        else:
            value = word.view(np.float32)
        value = magnitude(value) if fields["neg_hi"] >> place & 1 else value
        return negated(value) if fields["neg"] >> place & 1 else value

    def execute(wave: Wave) -> None:
        mode = wave.float_mode
        numbers = [number(read(wave), place) for place, read in enumerate(sources)]
        result = _call(wave, semantics, numbers)
        if fields["clamp"]:
            result = clamped(mode, result)
        row = wave.u32[destination]
        if result_half is None:
            bits = result.view(np.uint32)
        else:
            bits = with_half(row, to_half(mode, result), result_half)
        np.putmask(row, wave.mask, bits)

    return execute


def _call(wave: Wave, semantics: Semantics, operands: list[Array]) -> Array:
    """One operation in its floating-point environment."""
    mode = wave.float_mode
    if semantics.environment is not Environment.ANY:
        environment = mode.environments[semantics.environment]
        if environment != fp_environment.current:
            fp_environment.use(environment)
    arguments = [mode, *operands] if semantics.takes_mode else operands
    result: Array = semantics.function(*arguments)
    return result


def _sources(instruction: Instruction) -> list[ReadWord]:
    return [
        _word(instruction.fields[operand.field], operand.type != "f16x2")
        for operand in instruction.opcode.operands
        if operand.access is OperandAccess.READ
    ]


def _word(code: int, single: bool) -> ReadWord:
    """``single``: whether a fraction is a number of 32 bits, not of 16."""
    if code >= VGPR:
        number = code - VGPR
        return lambda wave: wave.u32[number]
    fraction = FIRST_FLOAT <= code <= LAST_FLOAT
    known = constant(code, TYPES["f16" if fraction and not single else "b32"])
    if known is not None:
        lanes = np.full(1, known, np.uint32)
        return lambda wave: lanes
    writer = InstructionWriter()
    writer.line(f"return {source_text(writer, code, TYPES['b32'])}")
    read = cast("Callable[[Wave], int]", writer.bind())
    return lambda wave: np.full(1, read(wave), np.uint32)
