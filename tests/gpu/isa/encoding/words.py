"""Words of instructions by name and fields, for tests."""

from __future__ import annotations

from gpu.generation import Generation
from gpu.isa.encoding.formats import BY_NAME, DPP, SRC_DPP, SRC_SDWA, sdwa_fields
from gpu.isa.instruction import Opcode
from gpu.isa.tables import every_opcode
from gpu.isa.tables.vector import VOP3_BASE

NAMED = {each: {opcode.name: opcode for opcode in every_opcode(each)} for each in Generation}
BY_MNEMONIC = NAMED[Generation.GFX9] | NAMED[Generation.GFX8]


def words(
    name: str,
    form: str = "",
    literal: int | None = None,
    generation: Generation = Generation.GFX8,
    **fields: int,
) -> tuple[int, ...]:
    """The instruction's words. ``form``: ``VOP3``, ``SDWA`` or ``DPP`` if not the shortest one."""
    opcode = NAMED[generation][name]
    format = BY_NAME[generation]["VOP3" if form == "VOP3" else opcode.format]
    bits = format.fixed
    bits |= _number(opcode, format.name) << format.opcode.low
    sdwa = sdwa_fields(generation, opcode.format == "VOPC")
    more = {"SDWA": sdwa, "DPP": DPP}.get(form, {})
    second = 0
    for field, value in fields.items():
        if field in more:
            second |= value << more[field].low
        elif field in ("abs_", "abs"):
            bits |= value << format.fields["abs"].low
        elif field == "sdst" and "sdst" not in format.fields:
            bits |= value << (8 if "vdst" in fields else format.fields["vdst"].low)
        else:
            bits |= value << format.fields[field].low
    if more:
        bits |= {"SDWA": SRC_SDWA, "DPP": SRC_DPP}[form]
        return bits, second
    if format.words == 2:
        return bits & 0xFFFF_FFFF, bits >> 32
    return (bits,) if literal is None else (bits, literal)


def _number(opcode: Opcode, format: str) -> int:
    return opcode.number + (VOP3_BASE[opcode.format] if format == "VOP3" else 0)
