"""Words of instructions by name and fields, for tests."""

from __future__ import annotations

from gpu.isa.encoding.formats import BY_NAME, DPP, SDWA, SRC_DPP, SRC_SDWA
from gpu.isa.instruction import Opcode
from gpu.isa.tables import every_opcode
from gpu.isa.tables.vector import VOP3_BASE

BY_MNEMONIC = {opcode.name: opcode for opcode in every_opcode()}


def words(name: str, form: str = "", literal: int | None = None, **fields: int) -> tuple[int, ...]:
    """The instruction's words. ``form``: ``VOP3``, ``SDWA`` or ``DPP`` if not the shortest one."""
    opcode = BY_MNEMONIC[name]
    format = BY_NAME["VOP3" if form == "VOP3" else opcode.format]
    bits = int(format.prefix, 2) << (32 - len(format.prefix))
    bits |= _number(opcode, format.name) << format.opcode.low
    more = {"SDWA": SDWA, "DPP": DPP}.get(form, {})
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
