"""From words to instructions.

Every encoding that no assembler for the processor could have produced is refused: unknown opcodes,
registers that do not exist or are not aligned, modifiers an opcode has not, bits that must be zero,
more than one scalar value on the constant bus. Invariant: `decode` returns an instruction or raises
`NotAnInstruction`; it never raises anything else, whatever the words.

Source: the public instruction set architecture manuals of GCN3 and Vega, chapter "Microcode
formats".
"""

from __future__ import annotations

from typing import Final

from gpu.generation import Generation
from gpu.isa.encoding import encoding_rules as rules
from gpu.isa.encoding.encoding_rules import Refused
from gpu.isa.encoding.formats import (
    DPP,
    SRC_DPP,
    SRC_SDWA,
    VGPR,
    Field,
    Format,
    format_of,
    sdwa_fields,
)
from gpu.isa.encoding.operands import VCC, registers_of
from gpu.isa.instruction import Instruction, Opcode
from gpu.isa.tables import OPCODES, vop3

_VECTOR: Final = frozenset({"VOP1", "VOP2", "VOPC"})


class NotAnInstruction(ValueError):
    """Bytes that are no instruction. ``reason`` says why in a few words."""

    def __init__(self, address: int, words: tuple[int, ...], reason: str) -> None:
        self.address = address
        self.words = words
        self.reason = reason
        shown = " ".join(f"{word:08X}" for word in words)
        super().__init__(f"not an instruction at {address:#x}: {shown} ({reason})")


def decode(
    first: int,
    second: int | None = None,
    address: int = 0,
    generation: Generation = Generation.GFX8,
) -> Instruction:
    """The instruction whose first word is ``first`` (little-endian, 32 bits) at byte ``address``.

    ``second``: the next word, None if there is none; it is used only when needed.
    """
    try:
        return _decode(first, second, address, generation)
    except Refused as refused:
        words = (first,) if second is None else (first, second)
        raise NotAnInstruction(address, words, str(refused)) from None


def decode_at(
    code: bytes, offset: int, address: int = 0, generation: Generation = Generation.GFX8
) -> Instruction:
    """The instruction at ``offset`` in ``code``; its ``address`` is given, not computed."""
    first = code[offset : offset + 4]
    if len(first) < 4:
        raise NotAnInstruction(address, (), f"{len(first)} bytes left of four")
    second = code[offset + 4 : offset + 8]
    return decode(
        int.from_bytes(first, "little"),
        int.from_bytes(second, "little") if len(second) == 4 else None,
        address,
        generation,
    )


def _decode(first: int, second: int | None, address: int, generation: Generation) -> Instruction:
    format = format_of(first, generation)
    if format is None:
        raise Refused("no encoding has these leading bits")
    words = format.words
    if words == 2 and second is None:
        raise Refused("its second word is missing")
    bits = first | (second or 0) << 32 if words == 2 else first
    opcode = _opcode(format, format.opcode.of(bits), generation)
    fields = {name: field.of(bits) for name, field in format.fields.items()}
    if format.name != "VOP3" and bits & format.unused():
        raise Refused("bits that must be zero are not")
    form = format.name
    if form in _VECTOR:
        form = _vector_form(opcode, form, fields, second, generation)
    elif form == "VOP3":
        _name_vop3_fields(opcode, fields, bits)
    elif form == "VOP3P":
        fields["op_sel_hi"] |= fields.pop("op_sel_hi_2") << 2
    if words == 1 and (form in ("SDWA", "DPP") or rules.has_literal(opcode, fields)):
        if second is None:
            raise Refused("its second word is missing")
        words = 2
        if form not in ("SDWA", "DPP"):
            fields["literal"] = second
    rules.check(opcode, form, fields, generation)
    reads, writes = registers_of(opcode, form, fields, generation)
    return Instruction(address, 4 * words, opcode, form, fields, reads, writes, generation)


def _opcode(format: Format, number: int, generation: Generation) -> Opcode:
    if format.name == "VOP3":
        opcode = vop3(number, generation)
    else:
        opcode = OPCODES[generation][format.name].get(number)
    if opcode is None or (format.name == "VOP3" and not rules.has_vop3_form(opcode)):
        raise Refused(f"{format.name} has no opcode {number}")
    return opcode


def _vector_form(
    opcode: Opcode, form: str, fields: dict[str, int], second: int | None, generation: Generation
) -> str:
    """Rename the fields of VOP1, VOP2, VOPC as in VOP3; returns the encoding's form."""
    if "vsrc1" in fields:
        fields["src1"] = fields.pop("vsrc1") + VGPR
    _name_destinations(opcode, fields, implied=True)
    escape = {SRC_SDWA: "SDWA", SRC_DPP: "DPP"}.get(fields["src0"])
    if escape is None:
        return form
    if second is None:
        raise Refused("its second word is missing")
    form = escape
    places = DPP if form == "DPP" else sdwa_fields(generation, opcode.format == "VOPC")
    if opcode.operand("literal") is not None:
        raise Refused(f"{opcode.name} has no {form} form: a constant follows its word")
    if second & ~_known(places):
        raise Refused("bits that must be zero are not")
    named = {name: place.of(second) for name, place in places.items()}
    if "names_sdst" in named:
        _name_compared(named)
    fields |= named
    fields["src0"] += VGPR
    for source in ("src0", "src1"):
        if fields.pop(f"{source}_scalar", 0):
            if opcode.operand(source) is None:
                raise Refused(f"it has no operand {source}")
            fields[source] -= VGPR
            if fields[source] > 127:
                raise Refused(f"{source} is no register")
    for modifier in ("neg", "abs", "sext"):
        of_first, of_second = f"src0_{modifier}", f"src1_{modifier}"
        fields[modifier] = fields.pop(of_first, 0) | fields.pop(of_second, 0) << 1
    return form


def _known(places: dict[str, Field]) -> int:
    known = 0
    for place in places.values():
        known |= ((1 << place.bits) - 1) << place.low
    return known


def _name_compared(named: dict[str, int]) -> None:
    """The result of a compare of parts of registers goes to VCC unless another pair is named."""
    if not named.pop("names_sdst"):
        if named["sdst"]:
            raise Refused("bits that must be zero are not")
        named["sdst"] = VCC


def _name_vop3_fields(opcode: Opcode, fields: dict[str, int], bits: int) -> None:
    two_results = opcode.operand("vdst") is not None and opcode.operand("sdst") is not None
    if two_results:
        fields["sdst"] = bits >> 8 & 0x7F
        fields["abs"] = 0
        fields.pop("op_sel", None)
    elif bits & 0x7800 and "opsel" not in opcode.flags:
        raise Refused("bits that must be zero are not")
    _name_destinations(opcode, fields, implied=False)


def _name_destinations(opcode: Opcode, fields: dict[str, int], implied: bool) -> None:
    """A scalar destination takes the place of a vector one, or is VCC where none is named."""
    if opcode.operand("sdst") is not None and "sdst" not in fields:
        if opcode.operand("vdst") is None and "vdst" in fields:
            fields["sdst"] = fields.pop("vdst")
        else:
            fields["sdst"] = VCC
    if implied and opcode.operand("src2") is not None:
        fields["src2"] = VCC
