"""Errors of a wave are reported with the instruction's text, by both units."""

from __future__ import annotations

import pytest

from gpu.compute_unit.functional_unit import FunctionalUnit
from gpu.compute_unit.timed_unit import TimedUnit
from tests.gpu.compute_unit.harness import Bench, run_timed, run_units
from tests.gpu.isa.encoding.words import words

END = words("s_endpgm")


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
        (words("s_movrels_b32", sdst=4, ssrc0=101), "no scalar register"),
        (words("s_ttracedata"), "not implemented: s_ttracedata"),
        (words("v_cubeid_f32", vdst=0, src0=256, src1=256, src2=256), "not implemented: v_cube"),
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
