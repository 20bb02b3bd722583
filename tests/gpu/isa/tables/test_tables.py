"""The tables hold every opcode of gfx803 and of gfx900 once."""

from __future__ import annotations

import pytest

from gpu.generation import Generation
from gpu.isa.encoding.encoding_rules import has_sdwa_form
from gpu.isa.tables import OPCODES, ROWS, every_opcode, vop3

GFX803 = {
    "SOP2": 44, "SOPK": 20, "SOP1": 49, "SOPC": 20, "SOPP": 30, "SMEM": 24,
    "VOP1": 76, "VOP2": 52, "VOPC": 198, "VOP3": 79,
    "DS": 144, "FLAT": 40, "MUBUF": 58, "MTBUF": 16, "MIMG": 89, "VINTRP": 3, "EXP": 1,
}  # fmt: skip
GFX900 = GFX803 | {
    "SOP2": 53, "SOPK": 21, "SOP1": 54, "SOPP": 31, "SMEM": 84,
    "VOP1": 78, "VOP2": 55, "VOP3": 110, "VOP3P": 22,
    "DS": 154, "FLAT": 48, "GLOBAL": 48, "SCRATCH": 22, "MUBUF": 68,
}  # fmt: skip
"""How many opcodes LLVM's disassembler knows for each, by format."""
COUNTS = {Generation.GFX8: GFX803, Generation.GFX9: GFX900}


@pytest.mark.parametrize("generation", Generation)
def test_as_many_opcodes_as_the_disassembler_knows(generation: Generation) -> None:
    counts = {format: len(table) for format, table in OPCODES[generation].items()}
    assert counts == COUNTS[generation]


@pytest.mark.parametrize("generation", Generation)
def test_a_row_is_found_under_its_format_and_number(generation: Generation) -> None:
    for format, table in OPCODES[generation].items():
        for number, opcode in table.items():
            assert (opcode.format, opcode.number) == (format, number)
            assert generation in opcode.generations


@pytest.mark.parametrize("generation", Generation)
def test_names_are_unique_within_a_format(generation: Generation) -> None:
    for format, table in OPCODES[generation].items():
        assert len({opcode.name for opcode in table.values()}) == len(table), format


def test_every_row_belongs_to_a_generation_and_is_there_once() -> None:
    rows = [opcode for table in ROWS.values() for opcode in table]
    assert all(opcode.generations for opcode in rows)
    assert len({(opcode.key, opcode.generations) for opcode in rows}) == len(rows)


def test_one_name_may_mean_different_things() -> None:
    for name, meanings in (
        ("v_add_u32", ["v_add_co_u32", "v_add_u32"]),
        ("v_max_f32", ["v_max_f32", "v_max_mode_f32"]),
        ("v_mad_f16", ["v_mad_f16", "v_mad_f16"]),
    ):
        found = [
            opcode.meaning
            for generation in Generation
            for opcode in every_opcode(generation)
            if opcode.name == name
        ]
        assert found == meanings


def test_tiers_cover_what_graphics_does_not_need() -> None:
    opcodes = every_opcode(Generation.GFX8)
    assert sum(opcode.tier == 4 for opcode in opcodes) == 131
    assert len(opcodes) == 943


@pytest.mark.parametrize("format, forms", [("VOP1", 54), ("VOP2", 48), ("VOPC", 132)])
def test_forms_with_parts_of_registers(format: str, forms: int) -> None:
    opcodes = OPCODES[Generation.GFX8][format].values()
    assert sum(has_sdwa_form(opcode) for opcode in opcodes) == forms


def test_shorter_formats_have_vop3_numbers() -> None:
    for generation, opcodes in OPCODES.items():
        assert vop3(0x101, generation) is opcodes["VOP2"][1]
        assert vop3(0x141, generation) is opcodes["VOP1"][1]
        assert vop3(0x42, generation) is opcodes["VOPC"][0x42]
        assert vop3(0x1C1, generation) is opcodes["VOP3"][0x1C1]
        assert vop3(0x3FF, generation) is None
