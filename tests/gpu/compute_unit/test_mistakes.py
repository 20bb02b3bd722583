"""What a wave cannot do is told with the instruction's text, by both units."""

from __future__ import annotations

import pytest

from gpu.compute_unit.functional import FunctionalUnit
from gpu.compute_unit.timed import TimedUnit
from tests.gpu.compute_unit.harness import Bench, run_timed, run_units
from tests.gpu.isa.words import words

END = words("s_endpgm")


@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize(
    "instruction, told",
    [
        (words("v_mov_b32", vdst=40, src0=128), "`v_mov_b32_e32 v40, 0`.* 32 vector .* no v40"),
        (words("v_add_u32", vdst=0, src0=256 + 32, vsrc1=1), "32 vector registers and no v32"),
        (words("v_lshlrev_b64", vdst=31, src0=129, src1=256), "no v32"),
        (words("s_movrels_b32", sdst=4, ssrc0=101), "no scalar register"),
        (words("s_ttracedata"), "not implemented: s_ttracedata"),
        (words("v_cubeid_f32", vdst=0, src0=256, src1=256, src2=256), "not implemented: v_cube"),
        (words("image_load", dmask=1, unorm=1, vdata=1, srsrc=2), "not implemented: image_load"),
        ((0xFFFFFFFF,), "not an instruction at 0x.*: FFFFFFFF"),
    ],
)
def test_mistakes_become_faults(instruction: tuple[int, ...], told: str, timed: bool) -> None:
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
    with pytest.raises(type(fault), match=told):
        raise fault
