"""Which instructions are carried out, and what becomes of the others."""

from __future__ import annotations

import pytest

from gpu.compute_unit.memory_ops.access_shape import movement_of
from gpu.compute_unit.memory_ops.ds_instructions import bind_local
from gpu.compute_unit.memory_ops.scalar_memory import bind_scalar
from gpu.compute_unit.memory_ops.vector_memory import VectorOperation
from gpu.compute_unit.program.decoded_program import Control, bind_at
from gpu.generation import Generation
from gpu.isa.execution.instruction_writer import NotImplementedInstruction
from gpu.isa.instruction import Instruction, Opcode, Unit
from gpu.isa.tables import ROWS
from gpu.isa.wave_registers import Wave

MEMORY = [
    opcode for form in ("DS", "FLAT", "GLOBAL", "SCRATCH", "MUBUF", "SMEM") for opcode in ROWS[form]
]
FIELDS = (
    *("addr", "data", "data0", "data1", "vdst", "vaddr", "vdata", "srsrc", "soffset", "offset"),
    *("offset0", "offset1", "sbase", "sdata", "imm", "glc", "slc", "tfe", "lds", "gds"),
    *("idxen", "offen"),
)
CONTROLS = {"ds_nop", "buffer_wbinvl1", "buffer_wbinvl1_vol"}


def _carried_out(opcode: Opcode) -> bool:
    form = opcode.format
    instruction = Instruction(0x1000, 8, opcode, form, dict.fromkeys(FIELDS, 0))
    if opcode.name in CONTROLS:
        return True
    if form == "DS":
        return bind_local(instruction) is not None
    if form == "SMEM":
        return bind_scalar(instruction) is not None
    return movement_of(opcode.name) is not None


def test_all_memory_instructions_of_the_first_tiers_are_carried_out() -> None:
    assert [opcode.name for opcode in MEMORY if opcode.tier <= 2 and not _carried_out(opcode)] == []
    assert sum(_carried_out(opcode) for opcode in MEMORY) > 330


def test_controls() -> None:
    for words, control in (("000081bf", Control.END), ("00008abf", Control.BARRIER)):
        decoded = bind_at(0x1000, bytes.fromhex(words), Generation.GFX8)
        assert decoded.control is control and decoded.unit is Unit.INTERNAL


@pytest.mark.parametrize(
    "words, text",
    [
        ("000050e000008180", "buffer_load_dword v[0:1], off, s[4:7], 0 tfe"),
        ("000001d801020000", "ds_add_u32 v1, v2 gds"),
    ],
)
def test_variants_that_are_not_carried_out_fail_when_they_are_executed(
    words: str, text: str
) -> None:
    decoded = bind_at(0x1000, bytes.fromhex(words), Generation.GFX8)
    assert decoded.execute is not None
    with pytest.raises(NotImplementedInstruction, match="not implemented: "):
        decoded.execute(Wave(1))
    assert text in str(decoded)


def test_what_was_bound_once_is_shared() -> None:
    first = bind_at(0x2000, bytes.fromhex("000050dc02000004"), Generation.GFX8)
    assert isinstance(first.operation, VectorOperation)
    assert bind_at(0x2000, bytes.fromhex("000050dc02000004"), Generation.GFX8) is first
    assert bind_at(0x2008, bytes.fromhex("000050dc02000004"), Generation.GFX8) is not first


def test_the_same_bytes_may_be_another_instruction_of_another_generation() -> None:
    code = bytes.fromhex("0a060832")  # 25 of VOP2, which once was called v_add_u32
    texts = [str(bind_at(0x3000, code, generation)) for generation in Generation]
    assert texts == ["v_add_u32_e32 v4, vcc, s10, v3", "v_add_co_u32_e32 v4, vcc, s10, v3"]
