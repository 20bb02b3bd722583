"""Packed operations and halves of registers against numbers of Python."""

from __future__ import annotations

import numpy as np
import pytest

from gpu.generation import Generation
from gpu.isa.wave_registers import Wave
from tests.gpu.isa.encoding.words import words
from tests.gpu.isa.execution.waves import a_wave, run

GFX9 = Generation.GFX9
LANES = 64
KEPT = 0xDEAD_BEEF


def _wave(exec: int = (1 << 64) - 1) -> Wave:
    """Random numbers in v0 to v2, of which halves are often extreme; v3 is the destination."""
    wave = a_wave(exec=exec)
    rng = np.random.default_rng(7)
    for register in range(3):
        row = rng.integers(0, 1 << 32, LANES, dtype=np.uint64).astype(np.uint32)
        row[:8] = [0x7FFF_8000, 0x8000_7FFF, 0xFFFF_0001, 0, 0xFFFF_FFFF, 0x1_0001, 0xFF, 0x8000]
        wave.vgprs[register] = np.roll(row, register)
    wave.vgprs[3] = KEPT
    return wave


def _run(wave: Wave, name: str, form: str = "", **fields: int) -> np.ndarray:
    run(wave, *words(name, form, generation=GFX9, vdst=3, **fields), generation=GFX9)
    return wave.vgprs[3]


def _halves(word: int, signed: bool) -> list[int]:
    parts = [word & 0xFFFF, word >> 16]
    return [part - (part >> 15 << 16) if signed else part for part in parts]


INTEGERS = {
    "v_pk_mad_i16": lambda a, b, c: a * b + c,
    "v_pk_mul_lo_u16": lambda a, b: a * b,
    "v_pk_add_i16": lambda a, b: a + b,
    "v_pk_sub_i16": lambda a, b: a - b,
    "v_pk_lshlrev_b16": lambda n, a: a << (n & 15),
    "v_pk_lshrrev_b16": lambda n, a: a >> (n & 15),
    "v_pk_ashrrev_i16": lambda n, a: a >> (n & 15),
    "v_pk_max_i16": max,
    "v_pk_min_i16": min,
    "v_pk_mad_u16": lambda a, b, c: a * b + c,
    "v_pk_add_u16": lambda a, b: a + b,
    "v_pk_sub_u16": lambda a, b: a - b,
    "v_pk_max_u16": max,
    "v_pk_min_u16": min,
}


@pytest.mark.parametrize("name", INTEGERS)
@pytest.mark.parametrize("low, high", [(0b000, 0b111), (0b101, 0b010), (0b111, 0b111)])
def test_integers(name: str, low: int, high: int) -> None:
    wave, function = _wave(), INTEGERS[name]
    count = 3 if "mad" in name else 2
    sources = {"src0": 256, "src1": 257} | ({"src2": 258} if count == 3 else {})
    mask = (1 << count) - 1
    got = _run(wave, name, **sources, op_sel=low & mask, op_sel_hi=high & 3, op_sel_hi_2=high >> 2)
    for lane in range(LANES):
        parts = [_halves(int(wave.vgprs[place][lane]), "_i16" in name) for place in range(count)]
        results = [
            function(*(part[selection >> place & 1] for place, part in enumerate(parts)))
            for selection in (low, high)
        ]
        assert int(got[lane]) == (results[0] & 0xFFFF) | (results[1] & 0xFFFF) << 16, lane


@pytest.mark.parametrize("name", [name for name in INTEGERS if "_add" in name or "mad" in name])
def test_clamped_integers_stay_in_range(name: str) -> None:
    wave, function, signed = _wave(), INTEGERS[name], "_i16" in name
    count = 3 if "mad" in name else 2
    sources = {"src0": 256, "src1": 257} | ({"src2": 258} if count == 3 else {})
    got = _run(wave, name, **sources, op_sel_hi=3, op_sel_hi_2=1, clamp=1)
    least, most = (-0x8000, 0x7FFF) if signed else (0, 0xFFFF)
    for lane in range(LANES):
        parts = [_halves(int(wave.vgprs[place][lane]), signed) for place in range(count)]
        wanted = [min(max(function(*both), least), most) for both in zip(*parts)]
        assert _halves(int(got[lane]), signed) == wanted


FRACTIONS = {
    "v_pk_add_f16": np.add,
    "v_pk_mul_f16": np.multiply,
    "v_pk_min_f16": np.minimum,
    "v_pk_max_f16": np.maximum,
    "v_pk_fma_f16": lambda a, b, c: (
        a.astype(np.float64) * b.astype(np.float64) + c.astype(np.float64)
    ).astype(np.float16),
}


@pytest.mark.parametrize("name", FRACTIONS)
def test_fractions_with_signs_inverted(name: str) -> None:
    wave = _wave()
    numbers = np.random.default_rng(3).uniform(-4, 4, (3, LANES, 2)).astype(np.float16)
    wave.vgprs[:3] = numbers.reshape(3, -1).view(np.uint32)
    count = 3 if "fma" in name else 2
    sources = {"src0": 256, "src1": 257} | ({"src2": 258} if count == 3 else {})
    got = _run(wave, name, **sources, op_sel_hi=3, op_sel_hi_2=1, neg=1, neg_hi=2)
    halves = np.ascontiguousarray(got).view(np.float16).reshape(LANES, 2)
    low, high = numbers[:count, :, 0].copy(), numbers[:count, :, 1].copy()
    low[0], high[1] = -low[0], -high[1]
    assert np.array_equal(halves[:, 0], FRACTIONS[name](*low))
    assert np.array_equal(halves[:, 1], FRACTIONS[name](*high))


def test_constants_and_scalars_of_packed_operations() -> None:
    wave = _wave()
    wave.sgprs[5] = 0x0003_0002
    minus_one, one_half, scalar = 193, 240, 5
    low, high = wave.vgprs[0] & 0xFFFF, wave.vgprs[0] >> 16
    got = _run(wave, "v_pk_add_u16", src0=256, src1=scalar, op_sel_hi=3, op_sel_hi_2=1)
    assert np.array_equal(got, (low + 2 & 0xFFFF) | (high + 3 & 0xFFFF) << 16)
    got = _run(wave, "v_pk_add_u16", src0=256, src1=minus_one, op_sel_hi=3, op_sel_hi_2=1)
    assert np.array_equal(got, (low - 1 & 0xFFFF) | (high - 1 & 0xFFFF) << 16)
    wave.vgprs[0] = 0x4000_3C00  # 2.0, 1.0
    got = _run(wave, "v_pk_mul_f16", src0=256, src1=one_half, op_sel_hi=1, op_sel_hi_2=1)
    assert got.tolist() == [0x3C00_3800] * LANES
    got = _run(wave, "v_pk_mul_f16", src0=256, src1=one_half, op_sel_hi=3, op_sel_hi_2=1)
    assert got.tolist() == [0x0000_3800] * LANES


@pytest.mark.parametrize("halves", range(8))
def test_sums_of_mixed_widths(halves: int) -> None:
    wave = _wave()
    numbers = np.random.default_rng(4).uniform(-4, 4, (3, LANES, 2)).astype(np.float16)
    wave.vgprs[:3] = numbers.reshape(3, -1).view(np.uint32)
    singles = np.random.default_rng(5).uniform(-4, 4, (3, LANES)).astype(np.float32)
    terms = []
    for place in range(3):
        if halves >> place & 1:
            terms.append(numbers[place, :, place & 1].astype(np.float32))
        else:
            wave.f32[place][...] = singles[place]
            terms.append(singles[place])
    sources = {"src0": 256, "src1": 257, "src2": 258}
    chosen = {"op_sel": 0b010, "op_sel_hi": halves & 3, "op_sel_hi_2": halves >> 2}
    wanted = np.float32(-1) * np.absolute(terms[0]) * terms[1] + terms[2]
    signs = {"neg": 1, "neg_hi": 1}
    got = _run(wave, "v_mad_mix_f32", **sources, **chosen, **signs)
    assert np.array_equal(np.ascontiguousarray(got).view(np.float32), wanted)
    half = wanted.astype(np.float16).view(np.uint16).astype(np.uint32)
    wave.vgprs[3] = KEPT
    got = _run(wave, "v_mad_mixlo_f16", **sources, **chosen, **signs)
    assert np.array_equal(got, half | KEPT & 0xFFFF_0000)
    wave.vgprs[3] = KEPT
    got = _run(wave, "v_mad_mixhi_f16", **sources, **chosen, **signs)
    assert np.array_equal(got, half << 16 | KEPT & 0xFFFF)


def test_only_active_lanes_are_written() -> None:
    got = _run(_wave(exec=5), "v_pk_add_u16", src0=256, src1=257, op_sel_hi=3, op_sel_hi_2=1)
    assert [lane for lane in range(LANES) if got[lane] != KEPT] == [0, 2]


@pytest.mark.parametrize("selection", range(16))
def test_either_half_of_unpacked_operands_and_results(selection: int) -> None:
    wave = _wave()
    got = _run(wave, "v_mad_u16", src0=256, src1=257, src2=258, op_sel=selection)
    a, b, c = (wave.vgprs[place] >> 16 * (selection >> place & 1) & 0xFFFF for place in range(3))
    result = a * b + c & 0xFFFF
    high = selection >> 3
    wanted = result << 16 | KEPT & 0xFFFF if high else result | KEPT & 0xFFFF_0000
    assert np.array_equal(got, wanted)


def test_halves_of_constants_and_scalars() -> None:
    wave = _wave()
    wave.sgprs[5] = 0x0007_0002
    got = _run(wave, "v_add_i16", "VOP3", src0=256, src1=5, op_sel=0b0010)
    assert np.array_equal(got & 0xFFFF, wave.vgprs[0] + 7 & 0xFFFF)
    minus_two = 194
    for high in (0, 1):
        got = _run(wave, "v_add_i16", "VOP3", src0=256, src1=minus_two, op_sel=high << 1)
        assert np.array_equal(got & 0xFFFF, wave.vgprs[0] - (1 if high else 2) & 0xFFFF)


def test_earlier_16_bit_operations_still_clear_the_upper_half() -> None:
    wave = _wave()
    got = _run(wave, "v_mad_legacy_u16", src0=256, src1=257, src2=258)
    a, b, c = (wave.vgprs[place] & 0xFFFF for place in range(3))
    assert np.array_equal(got, a * b + c & 0xFFFF)


def test_registers_are_exchanged_in_active_lanes() -> None:
    wave = _wave(exec=1)
    before = wave.vgprs[0].copy()
    run(wave, *words("v_swap_b32", generation=GFX9, vdst=3, src0=256), generation=GFX9)
    assert (int(wave.vgprs[3][0]), int(wave.vgprs[0][0])) == (int(before[0]), KEPT)
    assert (wave.vgprs[3][1:] == KEPT).all() and np.array_equal(wave.vgprs[0][1:], before[1:])


def test_parts_of_scalar_registers() -> None:
    """SDWA of GFX9 takes scalars, and compares name their result."""
    wave = _wave()
    wave.sgprs[7] = 0x8001_4003
    got = _run(
        wave, "v_add_u32", "SDWA", src0=0, vsrc1=7, src1_scalar=1, dst_sel=6, src0_sel=6, src1_sel=5
    )
    assert np.array_equal(got, wave.vgprs[0] + np.uint32(0x8001))
    code = words(
        "v_cmp_eq_u16", "SDWA", generation=GFX9, src0=0, vsrc1=7, src1_scalar=1, src0_sel=4,
        src1_sel=4,
    )  # fmt: skip
    named = (code[0], code[1] | 0x8000 | 20 << 8)
    wave.vgprs[0][5] = 0xFFFF_4003
    run(wave, *named, generation=GFX9)
    assert (wave.sgprs[20], wave.sgprs[21]) == (1 << 5, 0)
    run(wave, *code, generation=GFX9)
    assert (wave.sgprs[106], wave.sgprs[107]) == (1 << 5, 0)


def test_apertures_are_pairs_of_scalars() -> None:
    wave = _wave()
    wave.apertures = (0x1_0000, 0x2_0000)
    for code, wanted in (
        (235, 0x1_0000 << 32),
        (236, 0x1_0000 << 32 | 0xFFFF_FFFF),
        (237, 0x2_0000 << 32),
        (238, 0x2_0000 << 32 | 0xFFFF_FFFF),
    ):
        run(wave, *words("s_mov_b64", sdst=10, ssrc0=code), generation=GFX9)
        assert wave.sgprs[10] | wave.sgprs[11] << 32 == wanted


def test_calls_save_where_they_return_to() -> None:
    wave = run(
        a_wave(), *words("s_call_b64", generation=GFX9, sdst=30, simm16=0xFFFE), generation=GFX9
    )
    assert (wave.sgprs[30], wave.sgprs[31], wave.pc) == (0x1004, 0, 0xFFC)


@pytest.mark.parametrize(
    "name, wanted, copied",
    [
        ("s_andn1_saveexec_b64", 0b0010, 0b0110),
        ("s_orn1_saveexec_b64", (1 << 64) - 1 - 0b1100 | 0b0110, 0b0110),
        ("s_andn1_wrexec_b64", 0b0010, 0b0010),
        ("s_andn2_wrexec_b64", 0b1000, 0b1000),
    ],
)
def test_exec_and_its_copy(name: str, wanted: int, copied: int) -> None:
    wave = a_wave(exec=0b0110)
    wave.sgprs[4], wave.sgprs[5] = 0b1100, 0
    run(wave, *words(name, generation=GFX9, sdst=8, ssrc0=4), generation=GFX9)
    assert (wave.exec, wave.sgprs[8] | wave.sgprs[9] << 32) == (wanted, copied)
    assert wave.scc == 1
