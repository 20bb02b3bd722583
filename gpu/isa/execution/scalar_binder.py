"""Scalar instructions and branches, bound to their operands.

A bound instruction finds wave.pc already at the next instruction; only taken branches change it.
"""

from __future__ import annotations

from typing import Final

from gpu.isa.encoding.constants import APERTURES, constant
from gpu.isa.encoding.immediates import RegisterPart, split_register
from gpu.isa.execution.instruction_writer import LOW, BoundInstruction, InstructionWriter
from gpu.isa.execution.scalar_functions import SAVE_EXEC, SCALAR, WRITE_EXEC
from gpu.isa.instruction import Instruction, OperandAccess, OperandRow
from gpu.isa.operand_types import TYPES, OperandType
from gpu.isa.wave_registers import ALL, EXEC, INDEX_FIELDS, INDEX_MODE, M0, VCC, Wave

MODE: Final = 1
STATUS: Final = 2
_STATUS_EXECZ: Final = 9
_STATUS_VCCZ: Final = 10
_STATUS_VALID: Final = 16
_FIRST_APERTURE: Final = min(APERTURES)

BRANCHES: Final = {
    "s_branch": "True",
    "s_cbranch_scc0": "not w.scc",
    "s_cbranch_scc1": "w.scc",
    "s_cbranch_vccz": "not (w.sgprs[106] or w.sgprs[107])",
    "s_cbranch_vccnz": "w.sgprs[106] or w.sgprs[107]",
    "s_cbranch_execz": "not w.exec",
    "s_cbranch_execnz": "w.exec",
}
"""When each branch is taken."""


def source_text(writer: InstructionWriter, code: int, type: OperandType, literal: int = 0) -> str:
    """An expression for a scalar source: a number of the type's bits."""
    known = constant(code, type, literal)
    if known is not None:
        return writer.value(known)
    if code == 251:
        return "(0 if w.sgprs[106] or w.sgprs[107] else 1)"
    if code == 252:
        return "(0 if w.exec else 1)"
    if code == 253:
        return "w.scc"
    if code in APERTURES:
        return _aperture(code, type)
    if type.registers == 2:
        if code == EXEC:
            return "w.exec"
        low, high = writer.value(code), writer.value(code + 1)
        return f"(w.sgprs[{low}] | w.sgprs[{high}] << 32)"
    return f"w.sgprs[{writer.value(code)}]"


def _aperture(code: int, type: OperandType) -> str:
    """First or last address that means LDS or scratch. Of 32 bits, the lower half is read: the
    upper one is what differs, and is got by reading both."""
    place, last = code - _FIRST_APERTURE >> 1, (code - _FIRST_APERTURE) & 1
    if place > 1:
        return "0"
    low = LOW if last else 0
    return f"(w.apertures[{place}] << 32 | {low})" if type.registers == 2 else str(low)


def write_destination(writer: InstructionWriter, code: int, registers: int, value: str) -> None:
    """Lines that put an unsigned number into scalar registers. EXEC is set as a whole."""
    if code in (EXEC, EXEC + 1):
        if registers == 2:
            writer.line(f"w.set_exec({value})")
        elif code == EXEC:
            writer.line(f"w.set_exec(w.exec >> 32 << 32 | {value})")
        else:
            writer.line(f"w.set_exec(w.exec & {LOW} | {value} << 32)")
        return
    low = writer.value(code)
    if registers == 1:
        writer.line(f"w.sgprs[{low}] = {value}")
        return
    writer.line(f"w.sgprs[{low}] = {value} & {LOW}")
    writer.line(f"w.sgprs[{writer.value(code + 1)}] = {value} >> 32")


def bind_scalar(instruction: Instruction) -> BoundInstruction | None:
    """Bind a scalar instruction or branch; None if it is not implemented here."""
    name = instruction.name
    if name in SCALAR:
        return _bind_function(instruction)
    if name in SAVE_EXEC or name in WRITE_EXEC:
        return _bind_save_exec(instruction)
    if name in BRANCHES:
        return _bind_branch(instruction)
    if name in ("s_getpc_b64", "s_setpc_b64", "s_swappc_b64", "s_call_b64"):
        return _bind_program_counter(instruction)
    if name.startswith("s_movrel"):
        return _bind_relative(instruction)
    if name.startswith("s_set_gpr_idx_"):
        return _bind_index_mode(instruction)
    if name in ("s_getreg_b32", "s_setreg_b32", "s_setreg_imm32_b32"):
        return _bind_hardware_register(instruction)
    return None


def _sources(writer: InstructionWriter, instruction: Instruction) -> list[str]:
    fields = instruction.fields
    sources = []
    for operand in instruction.opcode.operands:
        if operand.type == "imm":
            sources.append(writer.value(fields[operand.field]))
        elif operand.access is OperandAccess.READ:
            sources.append(_source(writer, instruction, operand))
    sources.extend(
        _source(writer, instruction, operand)
        for operand in instruction.opcode.operands
        if operand.access is OperandAccess.BOTH
    )
    if "scc" in instruction.opcode.reads:
        sources.append("w.scc")
    return sources


def _source(writer: InstructionWriter, instruction: Instruction, operand: OperandRow) -> str:
    code, literal = instruction.fields[operand.field], instruction.fields.get("literal", 0)
    return source_text(writer, code, TYPES[operand.type], literal)


def _destination(instruction: Instruction) -> OperandRow | None:
    for operand in instruction.opcode.operands:
        if operand.access is not OperandAccess.READ:
            return operand
    return None


def _bind_function(instruction: Instruction) -> BoundInstruction:
    writer = InstructionWriter()
    function = SCALAR[instruction.name]
    sources = ", ".join(_sources(writer, instruction))
    moves = instruction.name.startswith("s_mov_")
    result = sources if moves else f"{writer.value(function)}({sources})"
    destination = _destination(instruction)
    sets_scc = "scc" in instruction.opcode.writes
    if destination is None:
        writer.line(f"w.scc = {result}")
        return writer.bind()
    value = result
    if sets_scc or TYPES[destination.type].registers == 2:
        value = writer.temporary()
        writer.line(f"{value}{', w.scc' if sets_scc else ''} = {result}")
    code = instruction.fields[destination.field]
    write_destination(writer, code, TYPES[destination.type].registers, value)
    return writer.bind()


def _bind_save_exec(instruction: Instruction) -> BoundInstruction:
    writer = InstructionWriter()
    source = source_text(
        writer, instruction.fields["ssrc0"], TYPES["b64"], instruction.fields.get("literal", 0)
    )
    saves = instruction.name in SAVE_EXEC
    function = writer.value((SAVE_EXEC if saves else WRITE_EXEC)[instruction.name])
    writer.line("old = w.exec")
    writer.line(f"new = {function}({source}, old) & {writer.value(ALL)}")
    write_destination(writer, instruction.fields["sdst"], 2, "old" if saves else "new")
    writer.line("w.set_exec(new)")
    writer.line("w.scc = 1 if new else 0")
    return writer.bind()


def _bind_branch(instruction: Instruction) -> BoundInstruction:
    writer = InstructionWriter()
    writer.line(f"if {BRANCHES[instruction.name]}:")
    writer.line(f"    w.pc = {writer.value(instruction.target)}")
    return writer.bind()


def _bind_program_counter(instruction: Instruction) -> BoundInstruction:
    writer = InstructionWriter()
    fields = instruction.fields
    if instruction.name == "s_call_b64":
        writer.line(f"target = {writer.value(instruction.target)}")
    elif instruction.name != "s_getpc_b64":
        source = source_text(writer, fields["ssrc0"], TYPES["b64"], fields.get("literal", 0))
        writer.line(f"target = {source}")
    if instruction.name != "s_setpc_b64":
        write_destination(writer, fields["sdst"], 2, writer.value(instruction.end))
    if instruction.name != "s_getpc_b64":
        writer.line("w.pc = target")
    return writer.bind()


def _bind_relative(instruction: Instruction) -> BoundInstruction:
    """s_movrels and s_movreld: M0 is added to the number of the source or of the destination."""
    writer = InstructionWriter()
    fields = instruction.fields
    type = TYPES["b64" if instruction.name.endswith("b64") else "b32"]
    source, destination = fields["ssrc0"], fields["sdst"]
    relative = f"w.sgprs[{writer.value(M0)}]"
    size = writer.value(type.registers)
    if "movrels" in instruction.name:
        writer.line(f"value = w.read_scalar({writer.value(source)} + {relative}, {size})")
        write_destination(writer, destination, type.registers, "value")
    else:
        value = source_text(writer, source, type, fields.get("literal", 0))
        writer.line(f"w.write_scalar({writer.value(destination)} + {relative}, {size}, {value})")
    return writer.bind()


def _bind_index_mode(instruction: Instruction) -> BoundInstruction:
    """s_set_gpr_idx_on, off, idx, mode: bits 7:0 of M0 are the index, 15:12 what it is added to."""
    writer = InstructionWriter()
    fields, what = instruction.fields, instruction.name.removeprefix("s_set_gpr_idx_")
    new, changed = [], 0
    if what in ("on", "idx"):
        source = source_text(writer, fields["ssrc0"], TYPES["b32"], fields.get("literal", 0))
        new.append(f"{source} & 0xFF")
        changed |= INDEX_FIELDS & 0xFF
    if what in ("on", "mode"):
        new.append(writer.value(fields["ssrc1" if what == "on" else "simm16"] << 12))
        changed |= INDEX_FIELDS & ~0xFF
    if changed:
        m0 = f"w.sgprs[{writer.value(M0)}]"
        writer.line(f"{m0} = {m0} & {writer.value(LOW & ~changed)} | {' | '.join(new)}")
    mode = writer.value(1 << INDEX_MODE)
    if what == "on":
        writer.line(f"w.set_mode(w.mode | {mode})")
    elif what == "off":
        writer.line(f"w.set_mode(w.mode & ~{mode})")
    return writer.bind()


def read_hardware_register(wave: Wave, part: RegisterPart) -> int:
    """Some bits of MODE, STATUS or of a register the compute unit has filled in."""
    if part.number == MODE:
        bits = wave.mode
    elif part.number == STATUS:
        no_vcc = not (wave.sgprs[VCC] or wave.sgprs[VCC + 1])
        bits = wave.hardware.get(STATUS, 0) | wave.scc | 1 << _STATUS_VALID
        bits |= (not wave.exec) << _STATUS_EXECZ | no_vcc << _STATUS_VCCZ
    else:
        bits = wave.hardware.get(part.number, 0)
    return bits >> part.offset & (1 << part.size) - 1


def write_hardware_register(wave: Wave, part: RegisterPart, value: int) -> None:
    """Change some bits of MODE or of another register; STATUS is left alone."""
    mask = (1 << part.size) - 1 << part.offset & LOW
    bits = value << part.offset & mask
    if part.number == MODE:
        wave.set_mode(wave.mode & ~mask | bits)
    elif part.number != STATUS:
        wave.hardware[part.number] = wave.hardware.get(part.number, 0) & ~mask | bits


def _bind_hardware_register(instruction: Instruction) -> BoundInstruction:
    writer = InstructionWriter()
    fields = instruction.fields
    part = writer.value(split_register(fields["simm16"]))
    if instruction.name == "s_getreg_b32":
        value = f"{writer.value(read_hardware_register)}(w, {part})"
        write_destination(writer, fields["sdst"], 1, value)
        return writer.bind()
    if instruction.name == "s_setreg_b32":
        value = source_text(writer, fields["sdst"], TYPES["b32"])
    else:
        value = writer.value(fields["literal"])
    writer.line(f"{writer.value(write_hardware_register)}(w, {part}, {value})")
    return writer.bind()
