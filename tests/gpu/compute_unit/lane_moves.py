"""Memory instructions that native code carries out, as bound operations."""

from __future__ import annotations

import re

from gpu.compute_unit.memory_ops.access import Operation
from gpu.compute_unit.memory_ops.native_moves import lane_move_of
from gpu.compute_unit.program.decoded_program import bind_one
from gpu.generation import Generation
from gpu.isa.encoding.decoder import decode_at
from gpu.isa.encoding.encoder import encode
from gpu.isa.tables import OPCODES
from tests.gpu.compute_unit.encoding import NAMES

FIELDS = {
    "DS": {"addr": 1, "data0": 8, "data1": 12, "vdst": 8, "offset0": 16},
    "FLAT": {"addr": 2, "data": 8, "vdst": 8},
    "GLOBAL": {"addr": 2, "data": 8, "vdst": 8, "offset": 20, "saddr": 0x7F},
}


def moves(*forms: str) -> list[tuple[Generation, str, str]]:
    """Those that native code carries out."""
    plain = [
        each for each in NAMES if each[1] in forms and re.search("load|store|read|write", each[2])
    ]
    return [each for each in plain if lane_move_of(bound(*each)) is not None]


def bound(generation: Generation, form: str, name: str) -> Operation | None:
    """Of the fields, it has those that name its operands, and offsets."""
    (opcode,) = (each for each in OPCODES[generation][form].values() if each.name == name)
    named = {"offset", "offset0", "saddr", *(operand.field for operand in opcode.operands)}
    fields = {field: value for field, value in FIELDS[form].items() if field in named}
    code = encode(form, name, None, generation, **fields)
    return bind_one(decode_at(code.ljust(8, b"\0"), 0, 0x1000, generation)).operation
