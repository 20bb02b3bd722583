"""What an instruction may name, and which modifiers it may have.

Invariant: `check` accepts exactly the instructions that the assembler for gfx803 can write; for
gfx900 it accepts all that its assembler can write.
"""

from __future__ import annotations

from typing import Final

from gpu.generation import Generation
from gpu.isa.encoding.constants import APERTURES
from gpu.isa.encoding.formats import SRC_LDS_DIRECT, SRC_LITERAL, VGPR
from gpu.isa.encoding.operands import QUAD_FIELDS, VCC, VECTOR_FIELDS, operands_of
from gpu.isa.instruction import Opcode, OperandAccess, OperandRow
from gpu.isa.operand_types import TYPES

SOURCES: Final = ("src0", "src1", "src2")
_VECTOR_ALU: Final = frozenset({"VOP1", "VOP2", "VOPC", "VOP3", "VOP3P", "SDWA", "DPP"})
_IMPLICIT_SCALARS: Final = {(VCC, 2): "vcc", (124, 1): "m0"}
_NO_REGISTER: Final = frozenset({
    "abs", "neg", "sext", "omod", "clamp", "glc", "slc", "tfe", "gds", "lds", "imm", "offset",
    "offset0", "offset1", "offen", "idxen", "literal", "dst_sel", "dst_unused", "src0_sel",
    "src1_sel", "dpp_ctrl", "bound_ctrl", "bank_mask", "row_mask", "dfmt", "nfmt",
    "dmask", "unorm", "da", "r128", "lwe", "d16", "attrchan", "en", "compr", "done", "vm",
    "nv", "soffset_en", "saddr", "op_sel", "op_sel_hi", "neg_hi",
})  # fmt: skip
_SECOND_OFFSET: Final = ("SMEM", "soffset")
"""Form and field of an operand that no row has."""
_LAST_SGPR: Final = 101
_FLAT_SCRATCH_VCC_TBA_TMA: Final = (
    range(102, 104),
    range(106, 108),
    range(108, 110),
    range(110, 112),
)
_FLAT_SCRATCH_XNACK_VCC: Final = (range(102, 104), range(104, 106), range(106, 108))
_M0_EXEC: Final = (range(124, 125), range(126, 128))
_SCALAR_REGISTERS: Final = {
    Generation.GFX8: (
        range(_LAST_SGPR + 1),
        *_FLAT_SCRATCH_VCC_TBA_TMA,
        range(112, 124),  # ttmp0 to ttmp11
        *_M0_EXEC,
    ),
    Generation.GFX9: (
        range(_LAST_SGPR + 1),
        *_FLAT_SCRATCH_XNACK_VCC,
        range(108, 124),  # ttmp0 to ttmp15
        *_M0_EXEC,
    ),
}
"""Registers that can be named together. gfx803 has no XNACK_MASK (104, 105)."""
_EXPORT_TARGETS: Final = frozenset({*range(10), *range(12, 16), *range(32, 64)})
_CONDITIONS: Final = frozenset({251, 252, 253})
_CONSTANTS: Final = {
    Generation.GFX8: frozenset({*range(128, 209), *range(240, 249)}) | _CONDITIONS,
    Generation.GFX9: frozenset({*range(128, 209), *range(240, 249)}) | _CONDITIONS | APERTURES,
}
_SWIZZLE_SHIFTS: Final = frozenset({
    *range(0x100),
    *range(0x101, 0x110), *range(0x111, 0x120), *range(0x121, 0x130),
    0x130, 0x134, 0x138, 0x13C, *range(0x140, 0x144),
})  # fmt: skip


class Refused(Exception):
    """Why words are no instruction; the decoder adds which words."""


def has_vop3_form(opcode: Opcode) -> bool:
    """Whether an opcode can be written in the VOP3 encoding."""
    if opcode.format == "VOP3":
        return True
    has_constant = opcode.operand("literal") is not None
    return not has_constant and opcode.name not in ("v_readfirstlane_b32", "v_swap_b32")


def has_sdwa_form(opcode: Opcode) -> bool:
    """Whether parts of registers can be its operands; DPP has the same opcodes but compares."""
    if "nosdwa" in opcode.flags or "nosuffix" in opcode.flags:
        return False
    return all(
        TYPES[operand.type].bits <= 32 for operand in opcode.operands if operand.type != "mask"
    )


def has_literal(opcode: Opcode, fields: dict[str, int]) -> bool:
    """Whether a 32-bit constant follows the instruction's only word."""
    if opcode.operand("literal") is not None:
        return True
    sources = ("ssrc0", "ssrc1", "src0")
    return any(
        fields.get(field) == SRC_LITERAL and (operand := opcode.operand(field)) is not None
        and operand.type != "imm"
        for field in sources
    )  # fmt: skip


def takes_signs(operand: OperandRow, opcode: Opcode) -> bool:
    """Whether neg and abs can be applied to a source."""
    return TYPES[operand.type].floating or ("mods" in opcode.flags and operand.type != "mask")


def takes_omod(opcode: Opcode) -> bool:
    """Whether the result can be doubled, quadrupled or halved."""
    if not opcode.flags.isdisjoint(("noomod", "opsel")):
        return False
    return opcode.name == "v_cvt_pkrtz_f16_f32" or any(
        TYPES[operand.type].floating
        and (operand.access is not OperandAccess.READ or opcode.format == "VOP1")
        for operand in opcode.operands
    )


def takes_clamp(opcode: Opcode) -> bool:
    """Whether the result can be limited."""
    if "noclamp" in opcode.flags:
        return False
    return "clamp" in opcode.flags or any(
        TYPES[operand.type].floating for operand in opcode.operands
    )


def check(opcode: Opcode, form: str, fields: dict[str, int], generation: Generation) -> None:
    """Raise `Refused` unless an assembler could have written this."""
    named = {operand.field for operand in operands_of(opcode, fields)}
    for field, value in fields.items():
        if (
            value
            and field not in named
            and field not in _NO_REGISTER
            and (form, field) != _SECOND_OFFSET
        ):
            raise Refused(f"it has no operand {field}")
    for operand in operands_of(opcode, fields):
        _check_operand(opcode, form, operand, fields, generation)
    if form in _VECTOR_ALU:
        _check_modifiers(opcode, form, fields)
        _check_constant_bus(opcode, fields)
    elif form == "SMEM":
        _check_smem(opcode, fields, generation)
    elif form == "MIMG":
        _check_image(opcode, fields, generation)
    elif form in _RULES:
        _RULES[form](opcode, fields)


def _check_operand(
    opcode: Opcode,
    form: str,
    operand: OperandRow,
    fields: dict[str, int],
    generation: Generation,
) -> None:
    size = TYPES[operand.type].registers
    code = fields[operand.field]
    if operand.type == "imm" or operand.field == "literal":
        return
    if operand.field in VECTOR_FIELDS or code >= VGPR:
        first = code - VGPR if code >= VGPR else code
        if operand.kind == "s" or operand.type == "mask":
            raise Refused(f"{operand.field} cannot be a vector register")
        more = fields.get("tfe", 0) if operand.field in ("vdata", "vdst") else 0
        if first + size + more > 256:
            raise Refused(f"{operand.field} goes beyond v255")
        return
    if operand.kind == "v" and code != SRC_LDS_DIRECT:
        raise Refused(f"{operand.field} must be a vector register")
    code *= QUAD_FIELDS.get(operand.field, 1)
    if code < 128:
        _check_scalar_register(operand.field, code, size, generation)
    elif operand.access is not OperandAccess.READ or operand.type == "mask" or operand.kind == "r":
        raise Refused(f"{operand.field} is no register")
    elif code == SRC_LITERAL:
        if form in ("VOP3", "VOP3P", "MUBUF", "MTBUF"):
            raise Refused(f"{form} has no literal")
    elif code == SRC_LDS_DIRECT:
        reversed = "rev_" in opcode.name and opcode.name != "v_bfrev_b32"
        if operand.field != "src0" or reversed or operand.type[1:] == "64":
            raise Refused(f"{operand.field} cannot be LDS")
    elif code not in _CONSTANTS[generation]:
        raise Refused(f"{operand.field} has no meaning: {code}")


def _check_scalar_register(field: str, code: int, size: int, generation: Generation) -> None:
    registers = _SCALAR_REGISTERS[generation]
    place = next((place for place in registers if code in place), None)
    if place is None or code + size - 1 not in place:
        raise Refused(f"{field} has no meaning: {code}")
    if (code - place[0]) % min(size, 4):
        raise Refused(f"{field} is not aligned: {code}")


def _check_modifiers(opcode: Opcode, form: str, fields: dict[str, int]) -> None:
    signs = extended = 0
    for place, field in enumerate(SOURCES):
        operand = opcode.operand(field)
        if operand is None:
            continue
        if takes_signs(operand, opcode):
            signs |= 1 << place
        if operand.type != "mask" and not TYPES[operand.type].floating:
            extended |= 1 << place
    negative = fields.get("neg", 0) | fields.get("neg_hi", 0)
    if (negative | fields.get("abs", 0)) & ~signs:
        raise Refused("neg or abs of an operand that has no sign")
    if fields.get("op_sel", 0) & ~_selectable(opcode, form):
        raise Refused("it has no such operand to select a half of")
    if form == "SDWA":
        _check_sdwa(opcode, fields, extended)
    elif form == "DPP":
        _check_dpp(opcode, fields)
    elif form == "VOP3P":
        if fields["clamp"] and not takes_clamp(opcode):
            raise Refused("it cannot clamp")
    elif form == "VOP3":
        if opcode.tier == 4 and "interp" in opcode.name:
            _check_long_interpolation(opcode, fields)
        if fields["clamp"] and not takes_clamp(opcode):
            raise Refused("it cannot clamp")
        if fields["omod"] and not takes_omod(opcode):
            raise Refused("it has no output modifier")


def _selectable(opcode: Opcode, form: str) -> int:
    """Bits of op_sel: sources, and behind them the result."""
    sources = sum(1 << place for place, field in enumerate(SOURCES) if opcode.operand(field))
    return sources | (8 if form == "VOP3" else 0)


def _check_sdwa(opcode: Opcode, fields: dict[str, int], extended: int) -> None:
    if not has_sdwa_form(opcode):
        raise Refused("it has no SDWA form")
    if fields["sext"] & ~extended:
        raise Refused("sign extension of a floating-point operand")
    if fields["sext"] & (fields["neg"] | fields["abs"]):
        raise Refused("sign extension and a change of the sign")
    compare = opcode.format == "VOPC"
    if 7 in (fields.get("dst_sel"), fields["src0_sel"], fields["src1_sel"]):
        raise Refused("selection 7")
    if fields.get("dst_unused") == 3:
        raise Refused("unused part 3")
    if compare and (fields.get("dst_sel") or fields.get("dst_unused")):
        raise Refused("a compare has no destination to select in")
    if fields.get("omod") and not _gives_number(opcode):
        raise Refused("it has no output modifier")
    if opcode.operand("src1") is None and fields["src1_sel"]:
        raise Refused("it has no second operand")


def _gives_number(opcode: Opcode) -> bool:
    """Whether its result is a floating-point number that can be scaled."""
    result = opcode.operand("vdst")
    return takes_omod(opcode) and result is not None and TYPES[result.type].floating


def _check_dpp(opcode: Opcode, fields: dict[str, int]) -> None:
    if not has_sdwa_form(opcode) or opcode.format == "VOPC":
        raise Refused("it has no DPP form")
    if fields["dpp_ctrl"] not in _SWIZZLE_SHIFTS:
        raise Refused(f"no lane pattern {fields['dpp_ctrl']:#x}")


def _check_constant_bus(opcode: Opcode, fields: dict[str, int]) -> None:
    """One scalar value, or one literal, reaches the vector unit per instruction."""
    scalars = {(name, 0) for name in opcode.reads}
    for field in SOURCES:
        operand = opcode.operand(field)
        code = fields.get(field, 0)
        if operand is None or operand.type == "imm" or operand.kind == "s":
            continue
        size = TYPES[operand.type].registers
        if (code, size) in _IMPLICIT_SCALARS:
            scalars.add((_IMPLICIT_SCALARS[code, size], 0))
        elif code < 128 or code in _CONDITIONS or code in APERTURES:
            scalars.add((str(code), size))
        elif code == SRC_LITERAL:
            scalars.add(("literal", 0))
    if opcode.operand("literal") is not None:
        scalars.add(("literal", 0))
    if len(scalars) > 1:
        raise Refused("more than one scalar value for a vector instruction")


def _check_long_interpolation(opcode: Opcode, fields: dict[str, int]) -> None:
    """Attribute in bits 5:0 of src0, channel in 7:6, bit 8 the high half (16 bits only)."""
    if opcode.name == "v_interp_mov_f32" and fields["src1"] > 2:
        raise Refused("no such part of the interpolation matrix")
    if fields["src0"] >> 8 and "f16" not in opcode.name:
        raise Refused("only 16-bit interpolation has a high half")


def _check_smem(opcode: Opcode, fields: dict[str, int], generation: Generation) -> None:
    if fields.get("nv") or (fields.get("soffset") and not fields["soffset_en"]):
        raise Refused("bits that must be zero are not")
    if opcode.operand("offset") is None:
        if any(fields.get(name) for name in ("imm", "glc", "offset", "soffset_en", "soffset")):
            raise Refused("it has no offset")
    elif fields["glc"] and opcode.operands[0].type == "imm":
        raise Refused("a probe has no glc")
    elif fields.get("soffset_en"):
        if fields["offset"] and not fields["imm"]:
            raise Refused("bits that must be zero are not")
        _check_scalar_register("soffset", fields["soffset"], 1, generation)
    elif not fields["imm"]:
        if fields["offset"] > 127:
            raise Refused("bits that must be zero are not")
        _check_scalar_register("offset", fields["offset"], 1, generation)
    if fields["glc"] and "discard" in opcode.name:
        raise Refused("it has no glc")
    if "atomic" in opcode.name and fields["sdata"] >= _M0_EXEC[0][0]:
        raise Refused("its data cannot be M0 or EXEC")
    if fields["imm"] and fields["offset"] >> 20 and "buffer" in opcode.name:
        raise Refused("an offset in a buffer is not negative")


def _check_ds(opcode: Opcode, fields: dict[str, int]) -> None:
    if "gds" in opcode.flags and not fields["gds"]:
        raise Refused("it works on GDS only")
    if "permute" in opcode.name and fields["gds"]:
        raise Refused("lanes are not permuted by GDS")
    if opcode.name == "ds_nop" and any(fields.values()):
        raise Refused("bits that must be zero are not")


def _check_flat(opcode: Opcode, fields: dict[str, int]) -> None:
    if fields.get("tfe"):
        raise Refused("flat instructions have no tfe")
    if fields.get("nv"):
        raise Refused("bits that must be zero are not")
    if fields.get("lds"):
        raise Refused("it cannot load into LDS")


def _check_buffer(opcode: Opcode, fields: dict[str, int]) -> None:
    if not opcode.operands and any(fields.values()):
        raise Refused("bits that must be zero are not")
    if fields["tfe"] and (opcode.format == "MTBUF" or "load" not in opcode.name):
        raise Refused("it has no tfe")
    if fields.get("lds") and (opcode.number not in (0, *range(16, 21)) or fields["tfe"]):
        raise Refused("it cannot load into LDS")


def _check_interpolation(opcode: Opcode, fields: dict[str, int]) -> None:
    if opcode.name == "v_interp_mov_f32" and fields["vsrc"] > 2:
        raise Refused("no such part of the interpolation matrix")


def _check_export(opcode: Opcode, fields: dict[str, int]) -> None:
    if fields["tgt"] not in _EXPORT_TARGETS:
        raise Refused(f"no export target {fields['tgt']}")
    enabled = fields["en"]
    if fields["compr"]:
        if enabled not in (0, 3, 12, 15):
            raise Refused("a compressed export takes pairs")
        enabled = enabled & 1 | enabled >> 1 & 2
    for place in range(4):
        if fields[f"vsrc{place}"] and not enabled >> place & 1:
            raise Refused(f"it has no operand vsrc{place}")


def _check_image(opcode: Opcode, fields: dict[str, int], generation: Generation) -> None:
    dmask = fields["dmask"]
    if generation is Generation.GFX9 and (fields["r128"] or fields["d16"]):
        raise Refused("16-bit texels and coordinates of images are not decoded")
    if "atomic" in opcode.name and fields["tfe"]:
        raise Refused("an atomic has no tfe")
    if "atomic" in opcode.name and dmask not in ((3, 15) if "cmpswap" in opcode.name else (1, 3)):
        raise Refused("an atomic cannot have this dmask")
    if "gather4" in opcode.name and dmask.bit_count() != 1:
        raise Refused("a gather takes one channel")
    if fields["d16"] and any(part in opcode.name for part in ("atomic", "pck", "resinfo", "lod")):
        raise Refused("it has no d16")


def _check_index(opcode: Opcode, fields: dict[str, int]) -> None:
    field = {"s_set_gpr_idx_on": "ssrc1", "s_set_gpr_idx_mode": "simm16"}.get(opcode.name)
    if field is not None and fields[field] > 15:
        raise Refused("only four kinds of operands can be relative")


_RULES: Final = {
    "VINTRP": _check_interpolation,
    "EXP": _check_export,
    "SOPC": _check_index,
    "SOPP": _check_index,
    "DS": _check_ds,
    "FLAT": _check_flat,
    "GLOBAL": _check_flat,
    "SCRATCH": _check_flat,
    "MUBUF": _check_buffer,
    "MTBUF": _check_buffer,
}
