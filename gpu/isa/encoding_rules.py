"""What a gfx803 instruction may name, and which modifiers it may have.

Invariant: `check` lets pass what the assembler for gfx803 can write, and nothing else.
"""

from __future__ import annotations

from typing import Final

from gpu.isa.formats import SRC_LITERAL, VGPR
from gpu.isa.instruction import Access, Opcode, OperandRow
from gpu.isa.operand_types import TYPES
from gpu.isa.operands import QUAD_FIELDS, VCC, VECTOR_FIELDS, operands_of

SOURCES: Final = ("src0", "src1", "src2")
_VECTOR_ALU: Final = frozenset({"VOP1", "VOP2", "VOPC", "VOP3", "SDWA", "DPP"})
_NO_REGISTER: Final = frozenset({
    "abs", "neg", "sext", "omod", "clamp", "glc", "slc", "tfe", "gds", "lds", "imm", "offset",
    "offset0", "offset1", "offen", "idxen", "literal", "dst_sel", "dst_unused", "src0_sel",
    "src1_sel", "dpp_ctrl", "bound_ctrl", "bank_mask", "row_mask", "dfmt", "nfmt",
    "dmask", "unorm", "da", "r128", "lwe", "d16", "attrchan", "en", "compr", "done", "vm",
})  # fmt: skip
_LAST_SGPR: Final = 101
_TTMP: Final = range(112, 124)
_M0: Final = 124
_EXEC: Final = 126
_LDS_DIRECT: Final = 254
_CONSTANTS: Final = frozenset({*range(128, 209), *range(240, 249), 251, 252, 253})
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
    return not has_constant and opcode.name != "v_readfirstlane_b32"


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
    if "noomod" in opcode.flags:
        return False
    return opcode.name == "v_cvt_pkrtz_f16_f32" or any(
        TYPES[operand.type].floating
        and (operand.access is not Access.READ or opcode.format == "VOP1")
        for operand in opcode.operands
    )


def takes_clamp(opcode: Opcode) -> bool:
    """Whether the result can be limited."""
    if "noclamp" in opcode.flags:
        return False
    return "clamp" in opcode.flags or any(
        TYPES[operand.type].floating for operand in opcode.operands
    )


def check(opcode: Opcode, form: str, fields: dict[str, int]) -> None:
    """Raise `Refused` unless an assembler could have written this."""
    named = {operand.field for operand in operands_of(opcode, fields)}
    for field, value in fields.items():
        if value and field not in named and field not in _NO_REGISTER:
            raise Refused(f"it has no operand {field}")
    for operand in operands_of(opcode, fields):
        _check_operand(opcode, form, operand, fields)
    if form in _VECTOR_ALU:
        _check_modifiers(opcode, form, fields)
        _check_constant_bus(opcode, fields)
    elif form in _RULES:
        _RULES[form](opcode, fields)


def _check_operand(opcode: Opcode, form: str, operand: OperandRow, fields: dict[str, int]) -> None:
    size = TYPES[operand.type].registers
    code = fields[operand.field]
    if operand.type == "imm" or operand.field == "literal":
        return
    if operand.field in VECTOR_FIELDS or code >= VGPR:
        first = code - VGPR if code >= VGPR else code
        if operand.kind == "s":
            raise Refused(f"{operand.field} cannot be a vector register")
        more = fields.get("tfe", 0) if operand.field in ("vdata", "vdst") else 0
        if first + size + more > 256:
            raise Refused(f"{operand.field} goes beyond v255")
        return
    if operand.kind == "v" and code != _LDS_DIRECT:
        raise Refused(f"{operand.field} must be a vector register")
    code *= QUAD_FIELDS.get(operand.field, 1)
    if code < 128:
        _check_scalar_register(operand.field, code, size)
    elif operand.access is not Access.READ or operand.type == "mask":
        raise Refused(f"{operand.field} is no register")
    elif code == SRC_LITERAL:
        if form in ("VOP3", "MUBUF", "MTBUF") or opcode.operand("literal") is not None:
            raise Refused(f"{form} has no literal")
    elif code == _LDS_DIRECT:
        if operand.field != "src0" or "literal" in fields:
            raise Refused(f"{operand.field} cannot be LDS")
    elif code not in _CONSTANTS:
        raise Refused(f"{operand.field} has no meaning: {code}")


def _check_scalar_register(field: str, code: int, size: int) -> None:
    ranges = (range(_LAST_SGPR + 1), range(102, 112), _TTMP, (_M0,), (_EXEC, _EXEC + 1))
    place = next((place for place in ranges if code in place), None)
    if place is None or code + size - 1 not in place:
        raise Refused(f"{field} has no meaning: {code}")
    start = 102 if place == range(102, 112) else place[0]
    if size > 1 and place == range(102, 112) and size > 2:
        raise Refused(f"{field} has no meaning: {code}")
    if (code - start) % min(size, 4):
        raise Refused(f"{field} is not aligned: {code}")


def _check_modifiers(opcode: Opcode, form: str, fields: dict[str, int]) -> None:
    signs = extended = 0
    for place, field in enumerate(SOURCES):
        operand = opcode.operand(field)
        if operand is None:
            continue
        if takes_signs(operand, opcode) and (form == "VOP3" or "mods" not in opcode.flags):
            signs |= 1 << place
        elif operand.type != "mask":
            extended |= 1 << place
    if (fields.get("neg", 0) | fields.get("abs", 0)) & ~signs:
        raise Refused("neg or abs of an operand that has no sign")
    if form == "SDWA":
        _check_sdwa(opcode, fields, extended)
    elif form == "DPP":
        _check_dpp(opcode, fields)
    elif form == "VOP3":
        if fields["clamp"] and not takes_clamp(opcode):
            raise Refused("it cannot clamp")
        if fields["omod"] and not takes_omod(opcode):
            raise Refused("it has no output modifier")


def _check_sdwa(opcode: Opcode, fields: dict[str, int], extended: int) -> None:
    if not has_sdwa_form(opcode):
        raise Refused("it has no SDWA form")
    if fields["sext"] & ~extended:
        raise Refused("sign extension of a floating-point operand")
    compare = opcode.format == "VOPC"
    if fields["dst_sel"] == 7 or fields["src0_sel"] == 7 or fields["src1_sel"] == 7:
        raise Refused("selection 7")
    if fields["dst_unused"] == 3:
        raise Refused("unused part 3")
    if compare and (fields["dst_sel"] or fields["dst_unused"]):
        raise Refused("a compare has no destination to select in")
    if opcode.operand("src1") is None and fields["src1_sel"]:
        raise Refused("it has no second operand")


def _check_dpp(opcode: Opcode, fields: dict[str, int]) -> None:
    if not has_sdwa_form(opcode) or opcode.format == "VOPC":
        raise Refused("it has no DPP form")
    if fields["dpp_ctrl"] not in _SWIZZLE_SHIFTS:
        raise Refused(f"no lane pattern {fields['dpp_ctrl']:#x}")


def _check_constant_bus(opcode: Opcode, fields: dict[str, int]) -> None:
    """One scalar value, or one literal, reaches the vector unit per instruction."""
    scalars = {VCC} if "vcc" in opcode.reads else set()
    for field in SOURCES:
        operand = opcode.operand(field)
        code = fields.get(field, 0)
        if operand is None or operand.type == "imm" or operand.kind == "s":
            continue
        if code < 128 or code in (251, 252, 253, _LDS_DIRECT, SRC_LITERAL):
            scalars.add(code)
    if opcode.operand("literal") is not None:
        scalars.add(SRC_LITERAL)
    if len(scalars) > 1:
        raise Refused("more than one scalar value for a vector instruction")


def _check_smem(opcode: Opcode, fields: dict[str, int]) -> None:
    if opcode.operand("offset") is None:
        if fields["imm"] or fields["glc"]:
            raise Refused("it has no offset")
    elif not fields["imm"]:
        if fields["offset"] > 127:
            raise Refused("bits that must be zero are not")
        _check_scalar_register("offset", fields["offset"], 1)


def _check_ds(opcode: Opcode, fields: dict[str, int]) -> None:
    if "gds" in opcode.flags and not fields["gds"]:
        raise Refused("it works on GDS only")


def _check_flat(opcode: Opcode, fields: dict[str, int]) -> None:
    if fields["tfe"]:
        raise Refused("flat instructions have no tfe")


def _check_buffer(opcode: Opcode, fields: dict[str, int]) -> None:
    if not opcode.operands and any(fields.values()):
        raise Refused("bits that must be zero are not")
    loads = opcode.name.startswith("buffer_load") and (opcode.number in (0, *range(16, 21)))
    if fields.get("lds") and not loads:
        raise Refused("it cannot load into LDS")


_RULES: Final = {
    "SMEM": _check_smem,
    "DS": _check_ds,
    "FLAT": _check_flat,
    "MUBUF": _check_buffer,
    "MTBUF": _check_buffer,
}
