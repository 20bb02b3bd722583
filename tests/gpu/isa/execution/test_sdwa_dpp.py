"""SDWA and DPP against references that look at one lane and one bit at a time."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from gpu.isa.wave_registers import ALL, VCC, Wave, bits_of, mask_of
from tests.gpu.isa.encoding.words import words
from tests.gpu.isa.execution.waves import a_wave, run

SOME = 0x8123_4567_89AB_CDE1
ROW = 16


def filled(exec: int = ALL) -> Wave:
    wave = a_wave(vgprs=8, exec=exec)
    random = np.random.default_rng(7)
    wave.vgprs[...] = random.integers(0, 1 << 32, wave.vgprs.shape, dtype=np.uint32)
    return wave


def part(value: int, selection: int, extend: bool) -> int:
    """The part of 32 bits that a selection names, to 32 bits."""
    octets = value.to_bytes(4, "little")
    chosen = [octets[k : k + 1] for k in range(4)] + [octets[:2], octets[2:], octets]
    return int.from_bytes(chosen[selection], "little", signed=extend) & 0xFFFF_FFFF


def merge(old: int, result: int, selection: int, unused: int) -> int:
    """A result put into a part: zeros, its sign or the old bits around it."""
    width = 8 if selection < 4 else 16 if selection < 6 else 32
    first = 8 * selection if selection < 4 else 16 * (selection - 4) if selection < 6 else 0
    value = ""
    for bit in range(32):
        if first <= bit < first + width:
            value = str(result >> (bit - first) & 1) + value
        elif unused == 2:
            value = str(old >> bit & 1) + value
        elif unused == 1 and bit >= first + width:
            value = str(result >> (width - 1) & 1) + value
        else:
            value = "0" + value
    return int(value, 2)


@pytest.mark.parametrize("exec", [ALL, SOME])
@pytest.mark.parametrize("sext", range(4))
def test_sdwa_sources(exec: int, sext: int) -> None:
    for first, second in product(range(7), range(7)):
        wave = filled(exec)
        before = wave.vgprs.copy()
        extended = {"src0_sext": sext & 1, "src1_sext": sext >> 1}
        fields = {"src0_sel": first, "src1_sel": second, "dst_sel": 6, **extended}
        run(wave, *words("v_xor_b32", "SDWA", vdst=3, src0=1, vsrc1=2, **fields))
        for lane in range(64):
            a = part(int(before[1, lane]), first, bool(sext & 1))
            b = part(int(before[2, lane]), second, bool(sext & 2))
            expected = a ^ b if exec >> lane & 1 else int(before[3, lane])
            assert wave.vgprs[3, lane] == expected, (first, second, lane)


@pytest.mark.parametrize("exec", [ALL, SOME])
@pytest.mark.parametrize("name, bits", [("v_or_b32", 32), ("v_max_u16", 16)])
def test_sdwa_destinations(exec: int, name: str, bits: int) -> None:
    for selection, unused in product(range(7), range(3)):
        wave = filled(exec)
        before = wave.vgprs.copy()
        fields = {"src0_sel": 6, "src1_sel": 6, "dst_sel": selection, "dst_unused": unused}
        run(wave, *words(name, "SDWA", vdst=3, src0=1, vsrc1=2, **fields))
        for lane in range(64):
            a, b, old = (int(before[register, lane]) for register in (1, 2, 3))
            result = a | b if bits == 32 else max(a & 0xFFFF, b & 0xFFFF)
            expected = merge(old, result, selection, unused) if exec >> lane & 1 else old
            assert wave.vgprs[3, lane] == expected, (selection, unused, lane)


def test_sdwa_of_half_precision_takes_either_half() -> None:
    wave = filled()
    wave.vgprs[1] = 0x3C00_4000  # 1.0 above, 2.0 below
    wave.vgprs[2] = 0x4200_0000  # 3.0 above
    fields = {"src0_sel": 5, "src1_sel": 5, "dst_sel": 5, "dst_unused": 2, "src1_neg": 1}
    wave.vgprs[3] = 0x1234_5678
    run(wave, *words("v_add_f16", "SDWA", vdst=3, src0=1, vsrc1=2, **fields))
    assert (wave.vgprs[3] == 0xC000_5678).all()  # 1 - 3


def test_sdwa_of_compares_and_carries() -> None:
    wave = filled(SOME)
    a, b = wave.vgprs[1] & 0xFF, wave.vgprs[2] >> 16
    run(wave, *words("v_cmp_lt_u32", "SDWA", src0=1, vsrc1=2, src0_sel=0, src1_sel=5))
    assert wave.read_scalar(VCC, 2) == bits_of(a < b) & SOME
    fields = {"src0_sel": 6, "src1_sel": 6, "dst_sel": 0}
    a, b = wave.vgprs[1].astype(np.uint64), wave.vgprs[2].astype(np.uint64)
    run(wave, *words("v_add_u32", "SDWA", vdst=3, src0=1, vsrc1=2, **fields))
    assert wave.read_scalar(VCC, 2) == bits_of(a + b > 0xFFFF_FFFF) & SOME
    assert (wave.vgprs[3] == (a + b & 0xFF))[wave.mask].all()


def source_lane(control: int, lane: int) -> int | None:
    """The lane that a lane reads, None if there is none."""
    row, place = lane // ROW * ROW, lane % ROW
    if control < 0x100:
        return lane // 4 * 4 + (control >> 2 * (lane % 4) & 3)
    distance = control & 15
    if control < 0x110:
        return row + place + distance if place + distance < ROW else None
    if control < 0x120:
        return row + place - distance if place >= distance else None
    if control < 0x130:
        return row + (place - distance) % ROW
    return {
        0x130: lane + 1 if lane < 63 else None,
        0x134: (lane + 1) % 64,
        0x138: lane - 1 if lane else None,
        0x13C: (lane - 1) % 64,
        0x140: row + 15 - place,
        0x141: row + place // 8 * 8 + 7 - place % 8,
        0x142: row - 1 if row else None,
        0x143: 31 if lane >= 32 else None,
    }[control]


CONTROLS = [
    *(0x00, 0x1B, 0xE4, 0xFF, 0x4E, 0xB1),
    *range(0x101, 0x110),
    *range(0x111, 0x120),
    *range(0x121, 0x130),
    *(0x130, 0x134, 0x138, 0x13C, 0x140, 0x141, 0x142, 0x143),
]


@pytest.mark.parametrize("bound_ctrl", [0, 1])
@pytest.mark.parametrize("exec", [ALL, SOME])
@pytest.mark.parametrize("row_mask, bank_mask", [(15, 15), (0b1010, 15), (15, 0b0011)])
def test_dpp(bound_ctrl: int, exec: int, row_mask: int, bank_mask: int) -> None:
    masks = {"row_mask": row_mask, "bank_mask": bank_mask}
    rows_and_banks = [row_mask >> n // 16 & 1 and bank_mask >> n % 16 // 4 & 1 for n in range(64)]
    for control in CONTROLS:
        wave = filled(exec)
        before = wave.vgprs.copy()
        fields = {"dpp_ctrl": control, "bound_ctrl": bound_ctrl, **masks}
        run(wave, *words("v_sub_u16", "DPP", vdst=3, src0=1, vsrc1=2, **fields))
        for lane in range(64):
            source = source_lane(control, lane)
            there = source is not None and bool(exec >> source & 1)
            if exec >> lane & 1 and rows_and_banks[lane] and (there or bound_ctrl):
                taken = int(before[1, source]) if there and source is not None else 0
                expected = taken - int(before[2, lane]) & 0xFFFF
            else:
                expected = int(before[3, lane])
            assert wave.vgprs[3, lane] == expected, (hex(control), lane)


def test_dpp_of_nan_reads_zero_where_nothing_is() -> None:
    wave = filled()
    wave.f32[1][:] = np.nan
    wave.f32[2][:] = 2.0
    fields = {"dpp_ctrl": 0x111, "bound_ctrl": 1, "row_mask": 15, "bank_mask": 15}
    run(wave, *words("v_add_f32", "DPP", vdst=3, src0=1, vsrc1=2, **fields))
    assert bits_of(np.isnan(wave.f32[3])) == ALL & ~0x0001_0001_0001_0001
    assert wave.f32[3][0] == 2.0


def test_dpp_carries_come_from_written_lanes() -> None:
    wave = filled(SOME)
    wave.vgprs[1] = 0xFFFF_FFFF
    wave.vgprs[2] = 1
    fields = {"dpp_ctrl": 0x111, "row_mask": 15, "bank_mask": 15}
    run(wave, *words("v_add_u32", "DPP", vdst=3, src0=1, vsrc1=2, **fields))
    there = (SOME & 0x7FFF_7FFF_7FFF_7FFF) << 1
    assert wave.read_scalar(VCC, 2) == SOME & there & ALL
    assert (wave.vgprs[3][mask_of(SOME & there)] == 0).all()
