"""Random words of every opcode in every form it has.

They stay clear of what has two encodings (literals that are inline constants) and of what releases
of the assembler print or take differently.
"""

from __future__ import annotations

import random
from collections.abc import Iterator

from gpu.generation import Generation
from gpu.isa.encoding.decoder import NotAnInstruction, decode
from gpu.isa.encoding.encoding_rules import has_sdwa_form, has_vop3_form
from gpu.isa.encoding.formats import BY_NAME, DPP, SRC_DPP, SRC_SDWA, sdwa_fields
from gpu.isa.instruction import Instruction, Opcode, RegisterRange
from gpu.isa.operand_types import TYPES
from gpu.isa.tables import every_opcode
from gpu.isa.tables.vector import VOP3_BASE

MANY = 5000
"""Words tried before an opcode's form is taken to have no encoding."""
_REGISTERS = frozenset({
    "src0", "src1", "src2", "ssrc0", "ssrc1", "addr", "data", "data0", "data1", "vdst", "sdst",
    "sdata", "sbase", "vaddr", "vdata", "srsrc", "ssamp", "soffset", "vsrc1", "simm16", "saddr",
})  # fmt: skip


def forms(opcode: Opcode) -> Iterator[str]:
    """The encodings of an opcode, without those that assemblers refuse or never write."""
    yield opcode.format
    if opcode.format in ("VOP1", "VOP2", "VOPC"):
        if has_vop3_form(opcode) and opcode.operands:
            yield "VOP3"
        if has_sdwa_form(opcode) and opcode.name not in ("v_mac_f32", "v_mac_f16"):
            yield "SDWA"
        if has_sdwa_form(opcode) and opcode.format != "VOPC":
            yield "DPP"


def an_instruction(
    prng: random.Random, opcode: Opcode, form: str, generation: Generation = Generation.GFX8
) -> tuple[list[int], Instruction]:
    """Words of an opcode that decode, and what they are."""
    for _ in range(MANY):
        words = _words(prng, opcode, form, generation)
        try:
            instruction = decode(words[0], words[1], generation=generation)
        except NotAnInstruction:
            continue
        if _said_in_one_way(instruction):
            return words[: instruction.size // 4], instruction
    raise AssertionError(f"{opcode.name}: no word of {form} decodes")


def _said_in_one_way(instruction: Instruction) -> bool:
    fields = instruction.fields
    codes = {
        fields[operand.field]
        for operand in instruction.opcode.operands
        if TYPES[operand.type].bits == 16 or operand.type.endswith("x2")
    }
    if any(240 <= code <= 248 for code in codes) or 254 in fields.values():
        return False
    if instruction.name == "v_cndmask_b32" and instruction.form in ("SDWA", "DPP"):
        return not any(fields.get(modifier) for modifier in ("neg", "abs", "sext"))
    if "qsad" in instruction.name:  # their destination must not be a source
        written = set(_vector_registers(instruction.writes))
        return written.isdisjoint(_vector_registers(instruction.reads))
    if instruction.name == "v_writelane_b32":
        return fields["src0"] >= 128 or fields["src1"] >= 128
    if "interp" in instruction.name:
        return fields.get("attr", fields.get("src0", 0) & 63) <= 32
    return not fields.get("tfe") and not fields.get("lds")


def _vector_registers(ranges: tuple[RegisterRange, ...]) -> Iterator[int]:
    for file, first, size in ranges:
        if file == "v":
            yield from range(first, first + size)


def _words(prng: random.Random, opcode: Opcode, form: str, generation: Generation) -> list[int]:
    format = BY_NAME[generation]["VOP3" if form == "VOP3" else opcode.format]
    number = opcode.number + (VOP3_BASE[opcode.format] if format.name == "VOP3" else 0)
    bits = format.fixed | number << format.opcode.low
    named = {operand.field for operand in opcode.operands}
    for field, place in format.fields.items():
        name = "src1" if field == "vsrc1" and opcode.format != "EXP" else field
        scalar_result = field == "vdst" and "sdst" in named
        unused = name in _REGISTERS and name not in named and not scalar_result
        no_offset = "offset" not in named and field in ("glc", "imm", "offset")
        unused |= format.name == "SMEM" and no_offset
        unused |= (form, field) == ("VOP3", "op_sel") and "opsel" not in opcode.flags
        if unused or (not opcode.operands and field != "gds"):
            continue
        bits |= (_value(prng, field) & (1 << place.bits) - 1) << place.low
    if format.name == "VOP3" and {"vdst", "sdst"} <= named:
        bits = bits & ~(0x7F << 8) | prng.randrange(0, 102, 2) << 8
    if form in ("SDWA", "DPP"):
        escape = {"SDWA": SRC_SDWA, "DPP": SRC_DPP}[form]
        return [bits & ~0x1FF | escape, _second(prng, opcode, form, generation)]
    if format.words == 2:
        return [bits & 0xFFFF_FFFF, bits >> 32]
    return [bits, prng.randrange(0x100, 0x3000)]


def _value(prng: random.Random, field: str) -> int:
    match field:
        case "src0" | "src1" | "src2":
            return prng.choice([prng.randrange(256, 512), prng.randrange(209), prng.randrange(512)])
        case "ssrc0" | "ssrc1":
            return prng.choice([prng.randrange(256), prng.randrange(0, 102, 2)])
        case "sdst" | "sdata":
            return prng.choice([prng.randrange(0, 102, 4), prng.randrange(128)])
        case "clamp" | "tfe" | "lds" | "gds" | "d16" | "lwe" | "r128" | "compr":
            return int(prng.random() < 0.2)
        case "neg" | "abs" | "omod" | "op_sel" | "neg_hi":
            return prng.choice([0, prng.randrange(8)])
        case "simm16":
            return prng.choice([prng.randrange(1 << 16), prng.randrange(16)])
        case "offset":
            return prng.choice([prng.randrange(102), prng.randrange(1 << 21)])
        case "saddr":
            return prng.choice([0x7F, prng.randrange(0, 102, 2)])
        case "op_sel_hi_2":
            return 1
        case "nv" | "soffset_en" | "soffset":
            return 0
    return prng.choice([0, prng.randrange(1 << 9)])


def _second(prng: random.Random, opcode: Opcode, form: str, generation: Generation) -> int:
    word = 0
    two = opcode.operand("src1") is not None
    places = DPP if form == "DPP" else sdwa_fields(generation, opcode.format == "VOPC")
    for field, place in places.items():
        if (field.startswith("src1") and not two) or (
            opcode.format == "VOPC" and field.startswith("dst")
        ):
            continue
        value = prng.randrange(1 << place.bits)
        if field.endswith(("neg", "abs", "sext", "clamp", "omod", "scalar")):
            value = int(prng.random() < 0.2)
        elif field == "dpp_ctrl":
            value = prng.choice([prng.randrange(256), 0x101, 0x11F, 0x128, 0x138, 0x140, 0x142])
        word |= value << place.low
    return _named(prng, word) if "names_sdst" in places else word


def _named(prng: random.Random, word: int) -> int:
    """VCC is named by naming nothing."""
    pair = prng.choice([None, prng.randrange(0, 102, 2)])
    return word & ~0xFF00 | (0 if pair is None else 0x8000 | pair << 8)


def every_form(generation: Generation = Generation.GFX8) -> list[tuple[Opcode, str]]:
    return [(opcode, form) for opcode in every_opcode(generation) for form in forms(opcode)]
