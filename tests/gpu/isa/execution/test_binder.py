"""Steps write what they should, where EXEC lets them."""

from __future__ import annotations

import numpy as np
import pytest

from gpu.isa.encoding.decoder import decode
from gpu.isa.execution.binder import bind
from gpu.isa.execution.instruction_writer import NotImplementedInstruction
from gpu.isa.wave_registers import ALL, EXEC, VCC, Wave, bits_of
from tests.gpu.isa.execution.waves import a_wave, for_executor, run

LANES = np.arange(64, dtype=np.uint32)
SOME = 0x0123_4567_89AB_CDEF


def test_a_masked_addition_leaves_other_lanes_alone() -> None:
    wave = a_wave(exec=SOME)
    wave.vgprs[1] = LANES
    wave.vgprs[2] = 0xFFFF_FFFF
    wave.vgprs[3] = 7
    run(wave, 0x32060501)  # v_add_u32 v3, vcc, v1, v2
    expected = np.where(wave.mask, LANES + np.uint32(0xFFFF_FFFF), np.uint32(7))
    assert (wave.vgprs[3] == expected).all()
    carries = SOME & ~1  # every lane but lane 0 carries, inactive ones give 0
    assert wave.sgprs[VCC] | wave.sgprs[VCC + 1] << 32 == carries


@pytest.mark.parametrize("exec", [ALL, SOME, 0, 1])
def test_a_move_reaches_active_lanes_only(exec: int) -> None:
    wave = a_wave(exec=exec)
    wave.vgprs[1] = 9
    wave.sgprs[5] = 0xDEAD_BEEF
    run(wave, 0x7E020205)  # v_mov_b32 v1, s5
    assert bits_of(wave.vgprs[1] == 0xDEAD_BEEF) == exec


def test_a_compare_gives_bits_of_active_lanes() -> None:
    wave = a_wave(exec=SOME)
    wave.vgprs[1] = LANES
    run(wave, 0x7D880290)  # v_cmp_gt_u32 vcc, 16, v1
    assert wave.sgprs[VCC] | wave.sgprs[VCC + 1] << 32 == SOME & 0xFFFF
    run(wave, 0x7DA80290)  # v_cmpx_gt_i32 vcc, 16, v1
    assert wave.exec == SOME & 0xFFFF == wave.sgprs[EXEC] | wave.sgprs[EXEC + 1] << 32
    assert bits_of(wave.mask) == wave.exec


def test_what_is_not_carried_out_stops_with_its_text() -> None:
    with pytest.raises(NotImplementedInstruction, match="not implemented: s_ttracedata"):
        run(Wave(1), 0xBF960000)
    image = decode(0xF0001100, 0x00020604)
    with pytest.raises(NotImplementedInstruction, match="not implemented: image_load v6, v4"):
        bind(image)(Wave(1))


def test_instructions_of_the_compute_unit_are_not_bound() -> None:
    for word in (0xBF810000, 0xBF8A0000, 0xBF8C0070, 0xBF920002):
        assert for_executor(decode(word))
    assert for_executor(decode(0xDC500000, 0x04000002))
    for word in (0x7E020280, 0xBF820001, 0x86060806):
        assert not for_executor(decode(word))
