"""Where vector operands come from and where results go: registers, constants, modifiers, lanes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu.isa.wave_registers import ALL, M0, VCC, RegisterError, Wave, bits_of, mask_of
from tests.gpu.isa.encoding.words import words
from tests.gpu.isa.execution.waves import a_wave, run

LANES = np.arange(64, dtype=np.uint32)
SOME = 0x8123_4567_89AB_CDE1
OLD = 0xAAAA_AAAA
Bits = npt.NDArray[np.uint32]


def filled(exec: int = ALL, seed: int = 1) -> Wave:
    """A wave whose registers hold anything."""
    wave = a_wave(exec=exec)
    random = np.random.default_rng(seed)
    wave.vgprs[...] = random.integers(0, 1 << 32, wave.vgprs.shape, dtype=np.uint32)
    return wave


@given(st.integers(0, ALL))
def test_masks_and_numbers_are_the_same(bits: int) -> None:
    mask = mask_of(bits)
    assert bits_of(mask) == bits
    assert [bool(bits >> lane & 1) for lane in range(64)] == mask.tolist()


@pytest.mark.parametrize(
    "code, bits",
    [(128, 0), (192, 64), (193, -1), (208, -16), (240, 0.5), (243, -1.0), (247, -4.0)],
)
@pytest.mark.parametrize(
    "name, dtype, registers",
    [
        ("v_mov_b32", np.float32, 1),
        ("v_max_f64", np.float64, 2),
        ("v_max_f16", np.float16, 1),
        ("v_max_i16", np.int16, 1),
    ],
)
def test_inline_constants_have_the_operands_type(
    code: int, bits: float, name: str, dtype: type, registers: int
) -> None:
    """Whole numbers are patterns of that many bits, fractions values of that type."""
    wave = a_wave()
    fields = {"vdst": 2, "src0": code}
    run(wave, *words(name, "VOP3", **fields, **({} if name == "v_mov_b32" else {"src1": code})))
    size = np.dtype(dtype).itemsize
    unsigned = np.dtype(f"u{size}")
    if isinstance(bits, float):
        kind = {2: np.float16, 4: np.float32, 8: np.float64}[size]
        expected = int(np.array(bits, kind).view(unsigned))
    else:
        expected = bits & (1 << 8 * size) - 1
    got = int(wave.vgprs[2, 5]) | (int(wave.vgprs[3, 5]) << 32 if registers == 2 else 0)
    assert got == expected


@pytest.mark.parametrize(
    "source, expected",
    [(10, 7), (VCC, 21), (M0, 22), (253, 1), (251, 0), (252, 0)],
)
def test_scalars_are_the_same_for_all_lanes(source: int, expected: int) -> None:
    wave = filled()
    wave.sgprs[10], wave.sgprs[VCC], wave.sgprs[M0], wave.scc = 7, 21, 22, 1
    before = wave.vgprs[4].copy()
    run(wave, *words("v_xor_b32", vdst=3, src0=source, vsrc1=4))
    assert (wave.vgprs[3] == before ^ np.uint32(expected)).all()
    run(wave, *words("v_mov_b32", vdst=3, src0=source))
    assert (wave.vgprs[3] == expected).all()


@pytest.mark.parametrize("exec", [ALL, SOME, 0])
@pytest.mark.parametrize(
    "instruction, registers",
    [
        (words("v_add_f32", vdst=20, src0=256 + 1, vsrc1=2), 1),
        (words("v_mul_lo_u32", vdst=20, src0=256 + 1, src1=256 + 2), 1),
        (words("v_add_u16", vdst=20, src0=256 + 1, vsrc1=2), 1),
        (words("v_add_f64", vdst=20, src0=256 + 1, src1=256 + 3), 2),
        (words("v_lshlrev_b64", vdst=20, src0=129, src1=256 + 3), 2),
        (words("v_mqsad_u32_u8", vdst=20, src0=256 + 1, src1=256 + 3, src2=256 + 4), 4),
        (words("v_bfi_b32", vdst=20, src0=256 + 1, src1=256 + 3, src2=256 + 4), 1),
    ],
)
def test_inactive_lanes_keep_what_they_had(
    exec: int, instruction: tuple[int, ...], registers: int
) -> None:
    wave, all_active = filled(exec), filled()
    run(all_active, *instruction)
    run(wave, *instruction)
    untouched = filled()
    for register in range(20, 20 + registers):
        expected = np.where(mask_of(exec), all_active.vgprs[register], untouched.vgprs[register])
        assert (wave.vgprs[register] == expected).all()
        assert (all_active.vgprs[register] != untouched.vgprs[register]).any()
    others = np.r_[0:20, 20 + registers : len(wave.vgprs)]
    assert (wave.vgprs[others] == untouched.vgprs[others]).all()


@pytest.mark.parametrize("exec", [ALL, SOME])
def test_a_destination_may_be_a_source(exec: int) -> None:
    for first, second, destination in ((1, 2, 1), (1, 2, 2), (1, 1, 1)):
        wave = filled(exec)
        a, b = wave.vgprs[first].copy(), wave.vgprs[second].copy()
        run(wave, *words("v_sub_u32", vdst=destination, src0=256 + first, vsrc1=second))
        assert (wave.vgprs[destination][wave.mask] == (a - b)[wave.mask]).all()
        borrows = bits_of(a < b) & exec
        assert wave.read_scalar(VCC, 2) == borrows


def test_wide_operands_overlap_their_result() -> None:
    wave = filled()
    pair = wave.vgprs[2].astype(np.uint64) | wave.vgprs[3].astype(np.uint64) << np.uint64(32)
    run(wave, *words("v_lshlrev_b64", vdst=3, src0=132, src1=256 + 2))
    shifted = pair << np.uint64(4)
    assert (wave.vgprs[3] == (shifted & np.uint64(0xFFFF_FFFF))).all()
    assert (wave.vgprs[4] == shifted >> np.uint64(32)).all()


@pytest.mark.parametrize("name", ["v_lshlrev_b32", "v_lshrrev_b32", "v_ashrrev_i32"])
@pytest.mark.parametrize("count", [0, 5, 31, 32, 63])
@pytest.mark.parametrize("exec", [ALL, SOME])
def test_shifts_by_lanes_scalars_and_constants_agree(name: str, count: int, exec: int) -> None:
    results = []
    for source in (256 + 9, 10, 128 + count):
        wave = filled(exec)
        wave.vgprs[9] = wave.sgprs[10] = count
        run(wave, *words(name, vdst=3, src0=source, vsrc1=4))
        results.append(wave.vgprs[3].copy())
    assert (results[0] == results[1]).all() and (results[0] == results[2]).all()


def test_carries_travel_through_any_pair() -> None:
    wave = filled(SOME)
    a, b = wave.vgprs[1].copy(), wave.vgprs[2].copy()
    run(wave, *words("v_add_u32", "VOP3", vdst=5, sdst=40, src0=257, src1=258))
    carries = wave.read_scalar(40, 2)
    assert carries == bits_of(a.astype(np.uint64) + b > 0xFFFF_FFFF) & SOME
    run(wave, *words("v_addc_u32", "VOP3", vdst=6, sdst=42, src0=257, src1=258, src2=40))
    expected = a + b + mask_of(carries).astype(np.uint32)
    assert (wave.vgprs[6][wave.mask] == expected[wave.mask]).all()
    run(wave, *words("v_cndmask_b32", "VOP3", vdst=7, src0=257, src1=258, src2=40))
    assert (wave.vgprs[7] == np.where(mask_of(carries), b, a))[wave.mask].all()


@pytest.mark.parametrize("neg", range(4))
@pytest.mark.parametrize("abs", range(4))
def test_signs_of_sources(neg: int, abs: int) -> None:
    wave = filled()
    a, b = wave.f32[1].copy(), wave.f32[2].copy()
    a[:], b[:] = np.linspace(-3, 3, 64), np.linspace(5, -5, 64)
    wave.f32[1][:], wave.f32[2][:] = a, b
    run(wave, *words("v_add_f32", "VOP3", vdst=3, src0=257, src1=258, neg=neg, abs=abs))
    for place, value in enumerate((a, b)):
        if abs >> place & 1:
            np.absolute(value, value)
        if neg >> place & 1:
            np.negative(value, value)
    assert (wave.f32[3] == a + b).all()


@pytest.mark.parametrize("omod, factor", [(0, 1.0), (1, 2.0), (2, 4.0), (3, 0.5)])
@pytest.mark.parametrize("clamp", [0, 1])
def test_output_modifier_and_clamp(omod: int, factor: float, clamp: int) -> None:
    wave = filled()
    wave.set_mode(0)  # no denormals, no IEEE mode: otherwise output modifiers are ignored
    wave.f32[1][:] = np.linspace(-1, 1, 64)
    run(wave, *words("v_mul_f32", "VOP3", vdst=3, src0=257, src1=242, omod=omod, clamp=clamp))
    expected = wave.f32[1] * np.float32(factor)
    expected = np.clip(expected, 0, 1) if clamp else expected
    assert (wave.f32[3] == expected).all()


def test_clamped_integers_saturate() -> None:
    wave = filled()
    wave.vgprs[1] = 0xFFFF_FFF0
    wave.vgprs[2] = LANES
    run(wave, *words("v_add_u32", "VOP3", vdst=3, sdst=VCC, src0=257, src1=258, clamp=1))
    assert (wave.vgprs[3] == np.minimum(0xFFFF_FFF0 + LANES.astype(np.uint64), 0xFFFF_FFFF)).all()


def test_compares_write_exec_too() -> None:
    wave = a_wave(exec=SOME)
    wave.vgprs[1] = LANES
    run(wave, *words("v_cmpx_lt_u32", "VOP3", sdst=30, src0=257, src1=160))
    assert wave.read_scalar(30, 2) == wave.exec == SOME & 0xFFFF_FFFF
    assert bits_of(wave.mask) == wave.exec and not wave.full


@pytest.mark.parametrize("exec, first", [(ALL, 0), (1 << 40 | 1 << 50, 40), (0, 0)])
def test_the_first_active_lane(exec: int, first: int) -> None:
    wave = a_wave(exec=exec)
    wave.vgprs[1] = LANES + np.uint32(100)
    run(wave, *words("v_readfirstlane_b32", sdst=5, src0=257))
    assert wave.sgprs[5] == first + 100


def test_lanes_are_read_and_written_whatever_exec_says() -> None:
    wave = a_wave(exec=0)
    wave.vgprs[1] = LANES
    wave.sgprs[6] = 64 + 33
    run(wave, *words("v_readlane_b32", "VOP3", sdst=5, src0=257, src1=6))
    assert wave.sgprs[5] == 33
    run(wave, *words("v_writelane_b32", vdst=1, src0=193, src1=6))
    assert wave.vgprs[1, 33] == 0xFFFF_FFFF and wave.vgprs[1, 32] == 32
    wave.sgprs[M0] = 5
    run(wave, *words("v_writelane_b32", vdst=1, src0=6, src1=M0))
    assert wave.vgprs[1, 5] == 97


def test_relative_vector_registers() -> None:
    wave = filled(SOME)
    wave.sgprs[M0] = 3
    before = wave.vgprs.copy()
    run(wave, *words("v_movrels_b32", vdst=10, src0=256 + 1))
    assert (wave.vgprs[10] == np.where(wave.mask, before[4], before[10])).all()
    run(wave, *words("v_movreld_b32", vdst=11, src0=256 + 1))
    assert (wave.vgprs[14] == np.where(wave.mask, before[1], before[14])).all()
    run(wave, *words("v_movrelsd_b32", vdst=15, src0=256 + 2))
    assert (wave.vgprs[18] == np.where(wave.mask, before[5], before[18])).all()
    wave.sgprs[M0] = 500
    with pytest.raises(RegisterError, match="no vector register v501"):
        run(wave, *words("v_movrels_b32", vdst=10, src0=257))


@pytest.mark.parametrize("name", ["v_add_f32", "v_mul_f32", "v_sub_f32"])
@pytest.mark.parametrize("second", [256 + 5, 7])
def test_of_two_nans_the_first_source_is_the_result(name: str, second: int) -> None:
    """Wherever the other one comes from."""
    wave = a_wave()
    wave.vgprs[4], wave.vgprs[5] = 0x7FC0_0001, 0xFFC0_0002
    wave.sgprs[7] = 0xFFC0_0002
    run(wave, *words(name, "VOP3", vdst=3, src0=256 + 4, src1=second))
    assert (wave.vgprs[3] == 0x7FC0_0001).all()
