"""Errors of a wave are reported with the instruction's text, by both units."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu.compute_unit.functional_unit import FunctionalUnit
from gpu.compute_unit.timed_unit import TimedUnit
from gpu.isa.native.runs import HOT
from tests.gpu.compute_unit.harness import Bench, run_timed, run_units
from tests.gpu.isa.encoding.words import words

END = words("s_endpgm")
NAMED = (102, 103, 106, 107, 108, 112, 124, 126)
"""FLAT_SCRATCH, VCC, registers of trap handlers, M0, EXEC."""


@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize(
    "instruction, message",
    [
        (words("v_mov_b32", vdst=40, src0=128), "`v_mov_b32_e32 v40, 0`.* 32 vector .* no v40"),
        (words("v_add_u32", vdst=0, src0=256 + 32, vsrc1=1), "32 vector registers and no v32"),
        (words("v_lshlrev_b64", vdst=31, src0=129, src1=256), "no v32"),
        (words("v_mqsad_u32_u8", vdst=0, src0=256, src1=256, src2=256 + 30), "no v33"),
        (words("v_mqsad_u32_u8", vdst=30, src0=256, src1=256, src2=256), "no v33"),
        (words("flat_load_dwordx3", vdst=30, addr=0), "flat_load_dwordx3 .* no v32"),
        (words("flat_load_dword", vdst=200, addr=0), "no v200"),
        (words("flat_load_dword", vdst=0, addr=31), "no v32"),
        (words("flat_store_dwordx4", data=30, addr=0), "no v33"),
        (words("flat_atomic_cmpswap_x2", data=29, addr=0, glc=1), "no v32"),
        (words("buffer_load_dwordx4", vdata=29, srsrc=1, soffset=128), "no v32"),
        (words("buffer_store_dwordx2", vdata=31, srsrc=1, soffset=128), "no v32"),
        (words("ds_read_b128", vdst=30, addr=0), "no v33"),
        (words("ds_read2_b64", vdst=29, addr=0, offset1=1), "no v32"),
        (words("ds_write_b64", data0=31, addr=0), "no v32"),
        (words("ds_add_rtn_u64", data0=0, addr=0, vdst=31), "no v32"),
        (words("ds_swizzle_b32", vdst=32, addr=0), "no v32"),
        (words("ds_bpermute_b32", vdst=0, addr=0, data0=99), "no v99"),
        (words("ds_add_src2_u32", addr=0, offset0=1), "lane 1: atomic of 4 bytes at LDS .* 0x1"),
        (words("s_movrels_b32", sdst=4, ssrc0=31), "no scalar register"),
        (words("s_mov_b32", sdst=40, ssrc0=128), "`s_mov_b32 s40, 0`.* 32 scalar .* no s40"),
        (words("s_mov_b64", sdst=4, ssrc0=32), "32 scalar registers and no s33"),
        (words("v_add_u32", vdst=0, src0=101, vsrc1=1), "32 scalar registers and no s101"),
        (words("v_readfirstlane_b32", sdst=32, src0=256), "no s32"),
        (words("s_load_dwordx4", sbase=0, sdata=32, imm=1), "s_load_dwordx4 .* no s35"),
        (words("s_load_dword", sbase=16, sdata=0, imm=1), "no s33"),
        (words("buffer_load_dword", vdata=0, srsrc=8, soffset=128), "no s35"),
        (words("buffer_load_dword", vdata=0, srsrc=1, soffset=32), "no s32"),
        (words("s_ttracedata"), "not implemented: s_ttracedata"),
        (words("v_interp_p1ll_f16", vdst=0, src0=0, src1=256), "not implemented: v_interp_p1ll"),
        (words("image_load", dmask=1, unorm=1, vdata=1, srsrc=2), "not implemented: image_load"),
        ((0xFFFFFFFF,), "not an instruction at 0x.*: FFFFFFFF"),
    ],
)
def test_mistakes_become_faults(instruction: tuple[int, ...], message: str, timed: bool) -> None:
    setup = words("s_movk_i32", sdst=124, simm16=500)
    code = b"".join(word.to_bytes(4, "little") for word in (*setup, *instruction, *END))
    bench = Bench(code)
    if timed:
        unit = TimedUnit(0, bench.memory)
        unit.start(bench.group())
        run_timed(bench.memory, unit)
    else:
        functional = FunctionalUnit(0, bench.memory)
        functional.start(bench.group())
        run_units(functional)
    (fault,) = bench.listener.faults
    assert f"at {bench.entry + 4:#x}" in str(fault)
    with pytest.raises(type(fault), match=message):
        raise fault


@pytest.mark.parametrize("timed", [False, True])
def test_registers_with_names_are_always_there(timed: bool) -> None:
    """Whatever the descriptor says."""
    moves = [words("s_mov_b32", sdst=place, ssrc0=193) for place in NAMED]
    code = b"".join(word.to_bytes(4, "little") for move in (*moves, END) for word in move)
    bench = Bench(code)
    group = bench.group()
    group.demand = replace(group.demand, sgprs=16)
    unit = TimedUnit(0, bench.memory) if timed else FunctionalUnit(0, bench.memory)
    unit.start(group)
    if isinstance(unit, TimedUnit):
        run_timed(bench.memory, unit)
    else:
        run_units(unit)
    assert not bench.listener.faults and bench.listener.ended


@pytest.mark.parametrize("rounds", [1, 2 * HOT])
def test_code_that_waves_with_more_registers_have_made_hot(rounds: int) -> None:
    """What is native for them fails for others at the same place as before."""
    loop = [
        words("s_movk_i32", sdst=4, simm16=rounds),
        words("v_mov_b32", vdst=1, src0=128 + 1),
        words("v_xor_b32", vdst=2, src0=40, vsrc1=1),
        words("v_xor_b32", vdst=1, src0=128 + 1, vsrc1=2),
        words("s_sub_u32", sdst=4, ssrc0=4, ssrc1=129),
        words("s_cmp_lg_u32", ssrc0=4, ssrc1=128),
        words("s_cbranch_scc1", simm16=0x10000 - 6),
        END,
    ]
    code = b"".join(word.to_bytes(4, "little") for each in loop for word in each)
    bench = Bench(code)
    unit = FunctionalUnit(0, bench.memory)
    for sgprs, faults in ((48, 0), (32, 1), (48, 1)):
        group = bench.group()
        group.demand = replace(group.demand, sgprs=sgprs)
        unit.start(group)
        run_units(unit)
        assert len(bench.listener.faults) == faults
    (fault,) = bench.listener.faults
    assert f"at {bench.entry + 8:#x} `v_xor_b32_e32 v2, s40, v1`" in str(fault)
