"""The text of an instruction, as assemblers read it.

Invariant: what `text` returns, assembled for the processor, gives the instruction's bytes again,
except where an assembler has a shorter encoding for the same thing (a literal that is also an
inline constant, a VOP3 form where VOP2 would do).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from gpu.generation import Generation
from gpu.isa.encoding.constants import (
    FIRST_FLOAT,
    FIRST_INTEGER,
    FLOATS,
    LAST_FLOAT,
    LAST_INTEGER,
    LAST_POSITIVE,
    PATTERNS,
)
from gpu.isa.encoding.formats import SRC_LITERAL, VGPR
from gpu.isa.encoding.immediates import gpr_index, message, register_part, swizzle, wait_counts
from gpu.isa.encoding.operands import (
    FIRST_TTMP,
    NO_BASE,
    QUAD_FIELDS,
    VECTOR_FIELDS,
    offset_of,
    operands_of,
)
from gpu.isa.instruction import Instruction, OperandRow
from gpu.isa.operand_types import TYPES, OperandType

_SINGLE: Final = {
    102: "flat_scratch_lo", 103: "flat_scratch_hi", 104: "xnack_mask_lo", 105: "xnack_mask_hi",
    106: "vcc_lo", 107: "vcc_hi", 124: "m0", 126: "exec_lo", 127: "exec_hi",
    235: "src_shared_base", 236: "src_shared_limit", 237: "src_private_base",
    238: "src_private_limit", 239: "src_pops_exiting_wave_id",
    251: "src_vccz", 252: "src_execz", 253: "src_scc", 254: "src_lds_direct",
}  # fmt: skip
_PAIRS: Final = {102: "flat_scratch", 104: "xnack_mask", 106: "vcc", 126: "exec"}
_TRAP_SINGLE: Final = {108: "tba_lo", 109: "tba_hi", 110: "tma_lo", 111: "tma_hi"}
_TRAP_PAIRS: Final = {108: "tba", 110: "tma"}
"""Before GFX9, which has trap registers there."""
_REVOLUTION_64: Final = "0.15915494309189532"
_PARTS: Final = ("BYTE_0", "BYTE_1", "BYTE_2", "BYTE_3", "WORD_0", "WORD_1", "DWORD")
_UNUSED: Final = ("UNUSED_PAD", "UNUSED_SEXT", "UNUSED_PRESERVE")
_SUFFIXES: Final = {"VOP3": "_e64", "SDWA": "_sdwa", "DPP": "_dpp"}
_BUFFER_NUMBERS: Final = (
    "UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT", "RESERVED_6", "FLOAT",
)  # fmt: skip
_BUFFER_DATA: Final = (
    "INVALID", "8", "16", "8_8", "32", "16_16", "10_11_11", "11_11_10", "10_10_10_2",
    "2_10_10_10", "8_8_8_8", "32_32", "16_16_16_16", "32_32_32", "32_32_32_32", "RESERVED_15",
)  # fmt: skip
_MATRIX_PARTS: Final = ("p10", "p20", "p0")


def text(instruction: Instruction) -> str:
    """The instruction in assembler's syntax, without its address."""
    fields = instruction.fields
    operands = [
        _operand(instruction, operand)
        for operand in operands_of(instruction.opcode, fields)
        if not (instruction.name == "s_endpgm" and not fields["simm16"])
    ]
    line = mnemonic(instruction)
    if instruction.opcode.format in ("MUBUF", "MTBUF") and len(operands) == 3:
        operands.insert(1, "off")
    if fields.get("saddr") == NO_BASE:
        operands.append("off")
    elif instruction.form == "SCRATCH":
        operands.insert(1 if instruction.opcode.operand("vdst") else 0, "off")
    if instruction.opcode.format == "EXP":
        line += " " + operands.pop(0)
    if operands:
        line += " " + ", ".join(operands)
    return "".join([line, *(" " + part for part in _tail(instruction))])


def mnemonic(instruction: Instruction) -> str:
    """The name with the suffix of its encoding."""
    opcode = instruction.opcode
    if opcode.format == "VINTRP":
        return opcode.name + "_e32"
    if 624 <= opcode.number <= 626 and opcode.format == "VOP3":
        return opcode.name + "_e64"
    if opcode.format not in ("VOP1", "VOP2", "VOPC") or "nosuffix" in opcode.flags:
        return opcode.name
    if opcode.format == "VOPC" and instruction.form == "SDWA":
        return opcode.name
    return opcode.name + _SUFFIXES.get(instruction.form, "_e32")


def _operand(instruction: Instruction, operand: OperandRow) -> str:
    fields, field = instruction.fields, operand.field
    code = fields[field]
    type = TYPES[operand.type]
    if operand.type == "imm":
        return _immediate(instruction, field, code)
    if field == "literal":
        if instruction.form == "SOPK":
            return _literal(code, type)
        return f"{code & (1 << type.bits) - 1:#x}"
    if instruction.opcode.format == "EXP":
        return _export_source(fields, int(field[-1]))
    if field in VECTOR_FIELDS:
        more = fields.get("tfe", 0) if field == "vdata" else 0
        return _registers("v", code, type.registers + more)
    if field in QUAD_FIELDS:
        return scalar_name(code * QUAD_FIELDS[field], type.registers, instruction.generation)
    name = source_text(code, type, fields.get("literal", 0), instruction.generation)
    return _with_modifiers(instruction, field, name)


def source_text(code: int, type: OperandType, literal: int, generation: Generation) -> str:
    """The text of a scalar or nine-bit operand code."""
    if code >= VGPR:
        return _registers("v", code - VGPR, type.registers)
    if code == SRC_LITERAL:
        return _literal(literal, type)
    if FIRST_INTEGER <= code <= LAST_INTEGER:
        return str(code - FIRST_INTEGER if code <= LAST_POSITIVE else LAST_POSITIVE - code)
    if FIRST_FLOAT <= code <= LAST_FLOAT:
        if type.bits == 64 and code == LAST_FLOAT:
            return _REVOLUTION_64
        return FLOATS[code - FIRST_FLOAT]
    return scalar_name(code, type.registers, generation)


def scalar_name(code: int, registers: int, generation: Generation) -> str:
    """The name of scalar registers from this operand code on."""
    if registers == 2 and code in _PAIRS:
        return _PAIRS[code]
    if code in _SINGLE:
        return _SINGLE[code]
    first = FIRST_TTMP[generation]
    if code >= first:
        return _registers("ttmp", code - first, registers)
    if code in _TRAP_SINGLE:
        return _TRAP_PAIRS[code] if registers == 2 else _TRAP_SINGLE[code]
    return _registers("s", code, registers)


def _registers(file: str, first: int, size: int) -> str:
    return f"{file}{first}" if size <= 1 else f"{file}[{first}:{first + size - 1}]"


def _literal(value: int, type: OperandType) -> str:
    bits = min(type.bits, 32)
    value &= (1 << bits) - 1
    if value <= 64:
        return str(value)
    if type.bits <= 32:
        if value >= (1 << bits) - 16:
            return str(value - (1 << bits))
        patterns = PATTERNS[bits]
        if value in patterns and (bits == 32 or type.floating):
            return FLOATS[patterns.index(value)]
    return f"{value:#x}"


def _with_modifiers(instruction: Instruction, field: str, name: str) -> str:
    fields = instruction.fields
    if field not in ("src0", "src1", "src2"):
        return name
    place = int(field[-1])
    if instruction.form == "VOP3P" and "_mix" not in instruction.name:
        return name
    if fields.get("sext", 0) >> place & 1:
        name = f"sext({name})"
    negative = fields.get("neg", 0) >> place & 1
    if (fields.get("abs", 0) | fields.get("neg_hi", 0)) >> place & 1:
        name = f"|{name}|"
    elif negative and FIRST_INTEGER <= fields[field] <= LAST_FLOAT:
        return f"neg({name})"
    return f"-{name}" if negative else name


def _immediate(instruction: Instruction, field: str, value: int) -> str:
    match instruction.opcode.format, instruction.name:
        case _, "s_waitcnt":
            return wait_counts(value, instruction.generation)
        case _, "s_sendmsg" | "s_sendmsghalt":
            return message(value, instruction.generation)
        case _, "s_getreg_b32" | "s_setreg_b32" | "s_setreg_imm32_b32":
            return register_part(value, instruction.generation)
        case _, "s_set_gpr_idx_on" | "s_set_gpr_idx_mode":
            return gpr_index(value)
        case "SMEM", _:
            return _scalar_offset(instruction) if field == "offset" else f"{value:#x}"
        case "VINTRP", "v_interp_mov_f32":
            if field == "vsrc":
                return _MATRIX_PARTS[value]
            return _attribute(value, instruction.fields["attrchan"])
        case "VINTRP", _:
            return _attribute(value, instruction.fields["attrchan"])
        case "VOP3", "v_interp_mov_f32" if field == "src1":
            return _MATRIX_PARTS[value]
        case "VOP3", _:
            return _attribute(value & 63, value >> 6 & 3)
        case "EXP", _:
            return _export_target(value)
    if "scalar_target" in instruction.opcode.flags:
        return str(value)
    if instruction.form == "SOPK":
        return f"{value:#x}"
    decimal = value <= 64 or instruction.name == "s_endpgm"
    return str(value) if decimal else f"{value:#x}"


def _scalar_offset(instruction: Instruction) -> str:
    fields, generation = instruction.fields, instruction.generation
    number = offset_of(instruction)
    if fields.get("soffset_en"):
        register = scalar_name(fields["soffset"], 1, generation)
        return f"{register} offset:{number:#x}" if fields["imm"] else register
    return f"{number:#x}" if fields["imm"] else scalar_name(fields["offset"], 1, generation)


def _attribute(number: int, channel: int) -> str:
    return f"attr{number}.{'xyzw'[channel]}"


def _export_target(number: int) -> str:
    if number < 8:
        return f"mrt{number}"
    if number < 10:
        return ("mrtz", "null")[number - 8]
    return f"pos{number - 12}" if number < 32 else f"param{number - 32}"


def _export_source(fields: dict[str, int], place: int) -> str:
    """Compressed exports have two sources, each printed twice."""
    if not fields["en"] >> place & 1:
        return "off"
    source = place // 2 if fields["compr"] else place
    return f"v{fields[f'vsrc{source}']}"


def _tail(instruction: Instruction) -> Iterator[str]:
    """Modifiers and options after the operands, in the assembler's order."""
    fields = instruction.fields
    form = instruction.form
    if form == "VOP3":
        yield from _interpolation_tail(instruction)
    if form in ("VOP3", "VOP3P"):
        yield from _half_tail(instruction)
    if fields.get("clamp"):
        yield "clamp"
    if fields.get("omod"):
        yield ("mul:2", "mul:4", "div:2")[fields["omod"] - 1]
    if form == "SDWA":
        yield from _sdwa_tail(instruction)
    elif form == "DPP":
        yield from _dpp_tail(fields)
    elif form == "DS":
        yield from _ds_tail(instruction)
    elif form in ("MUBUF", "MTBUF"):
        yield from _buffer_tail(fields)
    elif form == "MIMG":
        if fields["dmask"]:
            yield f"dmask:{fields['dmask']:#x}"
        yield from (
            name
            for name in ("unorm", "glc", "slc", "r128", "tfe", "lwe", "da", "d16")
            if fields[name]
        )
    elif form == "EXP":
        yield from (name for name in ("done", "compr", "vm") if fields[name])
    elif form in ("FLAT", "GLOBAL", "SCRATCH", "SMEM"):
        if form != "SMEM" and (offset := offset_of(instruction)):
            yield f"offset:{offset}"
        yield from (name for name in ("glc", "slc") if fields.get(name))


def _half_tail(instruction: Instruction) -> Iterator[str]:
    """Which halves of registers operands are."""
    fields = instruction.fields
    places = [place for place in range(3) if instruction.opcode.operand(f"src{place}")]
    if instruction.form == "VOP3":
        if fields.get("op_sel"):
            yield _listed("op_sel", [fields["op_sel"] >> place & 1 for place in (*places, 3)])
        return
    mixed = "_mix" in instruction.name
    for name, usual in (("op_sel", 0), ("op_sel_hi", 0 if mixed else 1), ("neg", 0), ("neg_hi", 0)):
        bits = [fields[name] >> place & 1 for place in places]
        if bits != [usual] * len(places) and not (mixed and name.startswith("neg")):
            yield _listed("neg_lo" if name == "neg" else name, bits)


def _listed(name: str, bits: list[int]) -> str:
    return f"{name}:[{','.join(map(str, bits))}]"


def _interpolation_tail(instruction: Instruction) -> Iterator[str]:
    if (
        instruction.opcode.tier == 4
        and "interp" in instruction.name
        and instruction.fields["src0"] >> 8
    ):
        yield "high"


def _sdwa_tail(instruction: Instruction) -> Iterator[str]:
    fields = instruction.fields
    if instruction.opcode.format != "VOPC":
        yield f"dst_sel:{_PARTS[fields['dst_sel']]}"
        yield f"dst_unused:{_UNUSED[fields['dst_unused']]}"
    yield f"src0_sel:{_PARTS[fields['src0_sel']]}"
    if instruction.opcode.operand("src1") is not None:
        yield f"src1_sel:{_PARTS[fields['src1_sel']]}"


def _dpp_tail(fields: dict[str, int]) -> Iterator[str]:
    yield dpp_pattern(fields["dpp_ctrl"])
    yield f"row_mask:{fields['row_mask']:#x}"
    yield f"bank_mask:{fields['bank_mask']:#x}"
    if fields["bound_ctrl"]:
        yield "bound_ctrl:1"


def dpp_pattern(control: int) -> str:
    """The name of a pattern of lanes."""
    if control < 0x100:
        lanes = ",".join(str(control >> 2 * place & 3) for place in range(4))
        return f"quad_perm:[{lanes}]"
    if control < 0x130:
        return f"row_{('shl', 'shr', 'ror')[(control >> 4) - 0x10]}:{control & 15}"
    return {
        0x130: "wave_shl:1",
        0x134: "wave_rol:1",
        0x138: "wave_shr:1",
        0x13C: "wave_ror:1",
        0x140: "row_mirror",
        0x141: "row_half_mirror",
        0x142: "row_bcast:15",
        0x143: "row_bcast:31",
    }[control]


def _ds_tail(instruction: Instruction) -> Iterator[str]:
    fields = instruction.fields
    if has_two_offsets(instruction.name):
        yield from (f"{name}:{fields[name]}" for name in ("offset0", "offset1") if fields[name])
    elif offset := fields["offset1"] << 8 | fields["offset0"]:
        swizzled = instruction.name == "ds_swizzle_b32"
        yield f"offset:{swizzle(offset) if swizzled else offset}"
    if fields["gds"]:
        yield "gds"


def has_two_offsets(name: str) -> bool:
    """Whether a DS instruction has two offsets of one byte, in elements, or one of two bytes."""
    return any(pair in name for pair in ("read2", "write2", "wrxchg2"))


def _buffer_tail(fields: dict[str, int]) -> Iterator[str]:
    if "dfmt" in fields and (fields["dfmt"], fields["nfmt"]) != (1, 0):
        data, number = _BUFFER_DATA[fields["dfmt"]], _BUFFER_NUMBERS[fields["nfmt"]]
        parts = [f"BUF_DATA_FORMAT_{data}"] if fields["dfmt"] != 1 else []
        if fields["nfmt"]:
            parts.append(f"BUF_NUM_FORMAT_{number}")
        yield f"format:[{','.join(parts)}]"
    yield from (name for name in ("idxen", "offen") if fields[name])
    if fields["offset"]:
        yield f"offset:{fields['offset']}"
    yield from (name for name in ("glc", "slc", "tfe", "lds") if fields.get(name))
