"""The tables hold every gfx803 opcode once."""

from __future__ import annotations

import pytest

from gpu.isa.encoding.encoding_rules import has_sdwa_form
from gpu.isa.tables import OPCODES, every_opcode, vop3

GFX803 = {
    "SOP2": 44, "SOPK": 20, "SOP1": 49, "SOPC": 20, "SOPP": 30, "SMEM": 24,
    "VOP1": 76, "VOP2": 52, "VOPC": 198, "VOP3": 79,
    "DS": 144, "FLAT": 40, "MUBUF": 58, "MTBUF": 16, "MIMG": 89, "VINTRP": 3, "EXP": 1,
}  # fmt: skip
"""How many opcodes LLVM's disassembler knows for gfx803, by format."""


@pytest.mark.parametrize("format", GFX803)
def test_as_many_opcodes_as_the_disassembler_knows(format: str) -> None:
    assert len(OPCODES[format]) == GFX803[format]


def test_a_row_is_found_under_its_format_and_number() -> None:
    for format, table in OPCODES.items():
        for number, opcode in table.items():
            assert opcode.key == (format, number)


def test_names_are_unique_within_a_format() -> None:
    for format, table in OPCODES.items():
        assert len({opcode.name for opcode in table.values()}) == len(table), format


def test_tiers_cover_what_graphics_does_not_need() -> None:
    assert sum(opcode.tier == 4 for opcode in every_opcode()) == 135
    assert len(every_opcode()) == 943


@pytest.mark.parametrize("format, forms", [("VOP1", 54), ("VOP2", 48), ("VOPC", 132)])
def test_forms_with_parts_of_registers(format: str, forms: int) -> None:
    assert sum(has_sdwa_form(opcode) for opcode in OPCODES[format].values()) == forms


def test_shorter_formats_have_vop3_numbers() -> None:
    assert vop3(0x101) is OPCODES["VOP2"][1]
    assert vop3(0x141) is OPCODES["VOP1"][1]
    assert vop3(0x42) is OPCODES["VOPC"][0x42]
    assert vop3(0x1C1) is OPCODES["VOP3"][0x1C1]
    assert vop3(0x3FF) is None
