"""Scalar arithmetic: values at the edges, and slow references over digits of numbers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gpu.generation import Generation
from gpu.isa.execution.scalar_functions import SAVE_EXEC, SCALAR, WRITE_EXEC
from gpu.isa.tables import ROWS
from tests.gpu.isa.encoding.words import BY_MNEMONIC, words
from tests.gpu.isa.execution.waves import a_wave, run

A, B, D = 10, 12, 20
"""SGPRs of the sources and of the destination."""
M = 0xFFFF_FFFF
M64 = 0xFFFF_FFFF_FFFF_FFFF
TOP, TOP64 = 1 << 31, 1 << 63
GFX9 = Generation.GFX9
U32 = st.integers(0, M) | st.sampled_from([0, 1, M, TOP, TOP - 1])
U64 = st.integers(0, M64) | st.sampled_from([0, 1, M64, TOP64, 1 << 32])


def compute(
    name: str,
    *sources: int,
    scc: int = 0,
    old: int = 0,
    generation: Generation = Generation.GFX8,
) -> tuple[int, int]:
    """Destination and SCC after one instruction on registers; 64 bits where the row says so."""
    wave = a_wave()
    wave.scc = scc
    for first, value in ((A, sources[0]), (B, sources[-1]), (D, old)):
        wave.sgprs[first], wave.sgprs[first + 1] = value & M, value >> 32
    opcode = BY_MNEMONIC[name]
    fields = {"ssrc0": A, "sdst": D} if opcode.format != "SOPC" else {"ssrc0": A}
    if opcode.format in ("SOP2", "SOPC"):
        fields["ssrc1"] = B
    run(wave, *words(name, generation=generation, **fields), generation=generation)
    wide = opcode.operands[0].type[1:] == "64"
    return wave.sgprs[D] | (wave.sgprs[D + 1] << 32 if wide else 0), wave.scc


@pytest.mark.parametrize(
    "name, sources, result, scc",
    [
        ("s_add_u32", (M, 1), 0, 1),
        ("s_add_u32", (TOP, TOP - 1), M, 0),
        ("s_sub_u32", (0, 1), M, 1),
        ("s_sub_u32", (5, 5), 0, 0),
        ("s_add_i32", (TOP - 1, 1), TOP, 1),
        ("s_add_i32", (TOP, TOP), 0, 1),
        ("s_add_i32", (M, 1), 0, 0),
        ("s_sub_i32", (TOP, 1), TOP - 1, 1),
        ("s_sub_i32", (0, TOP), TOP, 1),
        ("s_sub_i32", (M, M), 0, 0),
        ("s_min_i32", (M, 1), M, 1),
        ("s_min_i32", (1, M), M, 0),
        ("s_min_u32", (M, 1), 1, 0),
        ("s_max_i32", (M, 1), 1, 0),
        ("s_max_u32", (M, 1), M, 1),
        ("s_max_u32", (7, 7), 7, 0),
        ("s_and_b32", (0xF0, 0x0F), 0, 0),
        ("s_and_b64", (TOP64 | 1, TOP64), TOP64, 1),
        ("s_or_b64", (1 << 40, 1), 1 << 40 | 1, 1),
        ("s_xor_b32", (M, M), 0, 0),
        ("s_andn2_b32", (0xFF, 0x0F), 0xF0, 1),
        ("s_andn2_b64", (M64, M64), 0, 0),
        ("s_orn2_b32", (0, M), 0, 0),
        ("s_orn2_b64", (0, 0), M64, 1),
        ("s_nand_b32", (M, M), 0, 0),
        ("s_nor_b64", (0, 0), M64, 1),
        ("s_xnor_b32", (5, 5), M, 1),
        ("s_lshl_b32", (1, 31), TOP, 1),
        ("s_lshl_b32", (1, 32), 1, 1),
        ("s_lshl_b32", (TOP, 1), 0, 0),
        ("s_lshl_b64", (1, 63), TOP64, 1),
        ("s_lshl_b64", (3, 64), 3, 1),
        ("s_lshr_b32", (TOP, 31), 1, 1),
        ("s_lshr_b64", (TOP64, 63), 1, 1),
        ("s_ashr_i32", (TOP, 31), M, 1),
        ("s_ashr_i64", (TOP64, 62), M64 - 1, 1),
        ("s_ashr_i32", (1, 33), 0, 0),
        ("s_bfm_b32", (4, 8), 0xF00, 0),
        ("s_bfm_b32", (31, 4), 0xFFFF_FFF0, 0),
        ("s_bfm_b64", (40, 8), (1 << 48) - 256, 0),
        ("s_mul_i32", (0x10001, 0x10001), 0x20001, 0),
        ("s_mul_i32", (M, 5), M - 4, 0),
        ("s_bfe_u32", (0x1234_5678, 8 << 16 | 4), 0x67, 1),
        ("s_bfe_u32", (M, 0), 0, 0),
        ("s_bfe_u32", (M, 32 << 16 | 28), 0xF, 1),
        ("s_bfe_i32", (0x80, 8 << 16), 0xFFFF_FF80, 1),
        ("s_bfe_i32", (0x7F, 8 << 16), 0x7F, 1),
        ("s_bfe_i32", (TOP, 16 << 16 | 24), 0xFFFF_FF80, 1),
        ("s_bfe_u64", (1 << 45, 8 << 16 | 40), 32, 1),
        ("s_bfe_i64", (1 << 47, 8 << 16 | 40), M64 - 127, 1),
        ("s_absdiff_i32", (3, 5), 2, 1),
        ("s_absdiff_i32", (M, 1), 2, 1),
        ("s_absdiff_i32", (4, 4), 0, 0),
        ("s_absdiff_i32", (TOP, 0), TOP, 1),
        ("s_mov_b64", (M64,), M64, 0),
        ("s_not_b32", (M,), 0, 0),
        ("s_not_b64", (1,), M64 - 1, 1),
        ("s_wqm_b32", (0x0100_0010,), 0x0F00_00F0, 1),
        ("s_wqm_b64", (TOP64,), 0xF << 60, 1),
        ("s_quadmask_b32", (0x0100_0010,), 0x42, 1),
        ("s_quadmask_b64", (TOP64 | 8,), 0x8001, 1),
        ("s_quadmask_b32", (0,), 0, 0),
        ("s_brev_b32", (1,), TOP, 0),
        ("s_brev_b64", (6,), 3 << 61, 0),
        ("s_bcnt0_i32_b32", (M,), 0, 0),
        ("s_bcnt0_i32_b64", (1,), 63, 1),
        ("s_bcnt1_i32_b32", (0xF0F,), 8, 1),
        ("s_bcnt1_i32_b64", (M64,), 64, 1),
        ("s_ff0_i32_b32", (7,), 3, 0),
        ("s_ff0_i32_b32", (M,), M, 0),
        ("s_ff0_i32_b64", (M,), 32, 0),
        ("s_ff1_i32_b32", (8,), 3, 0),
        ("s_ff1_i32_b32", (0,), M, 0),
        ("s_ff1_i32_b64", (1 << 40,), 40, 0),
        ("s_flbit_i32_b32", (1,), 31, 0),
        ("s_flbit_i32_b32", (0,), M, 0),
        ("s_flbit_i32_b64", (1,), 63, 0),
        ("s_flbit_i32", (0xFFFF_FF00,), 24, 0),
        ("s_flbit_i32", (1,), 31, 0),
        ("s_flbit_i32", (M,), M, 0),
        ("s_flbit_i32_i64", (TOP64,), 1, 0),
        ("s_sext_i32_i8", (0x180,), 0xFFFF_FF80, 0),
        ("s_sext_i32_i16", (0x1_7FFF,), 0x7FFF, 0),
        ("s_abs_i32", (M,), 1, 1),
        ("s_abs_i32", (TOP,), TOP, 1),
        ("s_abs_i32", (0,), 0, 0),
    ],
)
def test_value_and_scc(name: str, sources: tuple[int, ...], result: int, scc: int) -> None:
    before = 0 if "scc" in BY_MNEMONIC[name].writes else scc
    assert compute(name, *sources, scc=before) == (result, scc)


@pytest.mark.parametrize(
    "name, sources, before, result, scc",
    [
        ("s_addc_u32", (M, 0), 1, 0, 1),
        ("s_addc_u32", (M, M), 1, M, 1),
        ("s_addc_u32", (1, 2), 1, 4, 0),
        ("s_subb_u32", (0, 0), 1, M, 1),
        ("s_subb_u32", (5, 4), 1, 0, 0),
        ("s_subb_u32", (0, M), 1, 0, 1),
        ("s_cselect_b32", (3, 4), 1, 3, 1),
        ("s_cselect_b32", (3, 4), 0, 4, 0),
        ("s_cselect_b64", (TOP64, 4), 1, TOP64, 1),
    ],
)
def test_what_reads_scc(
    name: str, sources: tuple[int, int], before: int, result: int, scc: int
) -> None:
    assert compute(name, *sources, scc=before) == (result, scc)


@pytest.mark.parametrize("scc", [0, 1])
def test_moves_under_a_condition(scc: int) -> None:
    assert compute("s_cmov_b32", 7, scc=scc, old=9) == ([9, 7][scc], scc)
    assert compute("s_cmov_b64", TOP64, scc=scc, old=9) == ([9, TOP64][scc], scc)


def test_bits_are_set_in_the_old_destination() -> None:
    assert compute("s_bitset0_b32", 33, old=M)[0] == M - 2
    assert compute("s_bitset1_b32", 31, old=1)[0] == TOP | 1
    assert compute("s_bitset0_b64", 63, old=M64)[0] == TOP64 - 1
    assert compute("s_bitset1_b64", 40, old=0)[0] == 1 << 40


@pytest.mark.parametrize(
    "condition, wanted",
    [("eq", "=="), ("lg", "!="), ("gt", ">"), ("ge", ">="), ("lt", "<"), ("le", "<=")],
)
@pytest.mark.parametrize("a", [0, 1, M, TOP, TOP - 1])
@pytest.mark.parametrize("b", [0, 1, M, TOP])
def test_compares(condition: str, wanted: str, a: int, b: int) -> None:
    signed = [value - (1 << 32) if value >= TOP else value for value in (a, b)]
    holds = {kind: eval(f"{x} {wanted} {y}") for kind, (x, y) in {"u": (a, b), "i": signed}.items()}
    for kind, expected in holds.items():
        assert compute(f"s_cmp_{condition}_{kind}32", a, b)[1] == expected


def test_other_compares() -> None:
    assert compute("s_cmp_eq_u64", 1 << 40, 1 << 40)[1] == 1
    assert compute("s_cmp_lg_u64", 1 << 40, 0)[1] == 1
    assert compute("s_bitcmp0_b32", 4, 34)[1] == 0
    assert compute("s_bitcmp1_b32", 4, 34)[1] == 1
    assert compute("s_bitcmp0_b64", 1 << 40, 40)[1] == 0
    assert compute("s_bitcmp1_b64", 1 << 40, 40)[1] == 1


@pytest.mark.parametrize(
    "name, old, constant, result, scc",
    [
        ("s_movk_i32", 5, 0x8000, 0xFFFF_8000, 0),
        ("s_cmovk_i32", 5, 7, 5, 0),
        ("s_addk_i32", TOP - 1, 1, TOP, 1),
        ("s_addk_i32", 5, 0xFFFB, 0, 0),
        ("s_addk_i32", TOP, 0xFFFF, TOP - 1, 1),
        ("s_mulk_i32", 7, 0xFFFF, M - 6, 0),
        ("s_cmpk_eq_i32", M, 0xFFFF, M, 1),
        ("s_cmpk_eq_u32", M, 0xFFFF, M, 0),
        ("s_cmpk_lg_u32", 0xFFFF, 0xFFFF, 0xFFFF, 0),
        ("s_cmpk_lt_i32", TOP, 0, TOP, 1),
        ("s_cmpk_gt_u32", TOP, 0xFFFF, TOP, 1),
        ("s_cmpk_le_i32", 5, 5, 5, 1),
        ("s_cmpk_ge_u32", 4, 5, 4, 0),
    ],
)
def test_constants_of_sixteen_bits(
    name: str, old: int, constant: int, result: int, scc: int
) -> None:
    wave = a_wave()
    wave.sgprs[D] = old
    run(wave, *words(name, sdst=D, simm16=constant))
    assert (wave.sgprs[D], wave.scc) == (result, scc)


def _digits(value: int, bits: int) -> str:
    return f"{value:0{bits}b}"


@given(U32, U32)
def test_fields_are_digits(value: int, place: int) -> None:
    offset, width = place & 31, place >> 16 & 0x7F
    digits = _digits(value, 32)[::-1]
    unsigned = digits[offset : offset + width][::-1]
    assert compute("s_bfe_u32", value, place)[0] == int(unsigned or "0", 2)
    longer = (digits + digits[31] * 160)[offset : offset + min(width, 32)]
    extended = (longer + (longer[-1:] or "0") * 32)[:32][::-1]
    assert compute("s_bfe_i32", value, place)[0] == int(extended, 2)


@given(U64)
def test_searches_are_searches_in_digits(value: int) -> None:
    digits = _digits(value, 64)
    backwards = digits[::-1]
    assert compute("s_ff1_i32_b64", value)[0] == backwards.find("1") & M
    assert compute("s_ff0_i32_b64", value)[0] == backwards.find("0") & M
    assert compute("s_flbit_i32_b64", value)[0] == digits.find("1") & M
    other = "0" if digits[0] == "1" else "1"
    assert compute("s_flbit_i32_i64", value)[0] == digits.find(other) & M
    assert compute("s_brev_b64", value)[0] == int(backwards, 2)
    assert compute("s_bcnt0_i32_b64", value) == (digits.count("0"), int(digits.count("0") > 0))


@given(U64)
def test_quads_are_groups_of_four_digits(value: int) -> None:
    quads = [_digits(value, 64)[place : place + 4] for place in range(0, 64, 4)]
    mask = "".join("1" if "1" in quad else "0" for quad in quads)
    whole = "".join("1111" if "1" in quad else "0000" for quad in quads)
    assert compute("s_quadmask_b64", value)[0] == int(mask, 2)
    assert compute("s_wqm_b64", value)[0] == int(whole, 2)


@given(U64, U32)
def test_shifts_of_64_bits_are_products(value: int, count: int) -> None:
    power = 2 ** (count % 64)
    assert compute("s_lshl_b64", value, count)[0] == value * power % 2**64
    assert compute("s_lshr_b64", value, count)[0] == value // power
    signed = value - 2**64 if value >= TOP64 else value
    assert compute("s_ashr_i64", value, count)[0] == signed // power % 2**64


@given(U32, U32)
def test_upper_halves_of_products(a: int, b: int) -> None:
    assert compute("s_mul_hi_u32", a, b, generation=GFX9)[0] == a * b // 2**32
    wide = (a - 2**32 * (a >> 31)) * (b - 2**32 * (b >> 31))
    assert compute("s_mul_hi_i32", a, b, generation=GFX9)[0] == wide // 2**32 % 2**32


@given(U32, U32)
def test_scaled_additions_carry_into_scc(a: int, b: int) -> None:
    for count in (1, 2, 3, 4):
        exact = a * 2**count + b
        name = f"s_lshl{count}_add_u32"
        assert compute(name, a, b, generation=GFX9) == (exact % 2**32, int(exact >= 2**32))


@given(U32, U32)
def test_halves_are_put_together(a: int, b: int) -> None:
    for name, wanted in (("ll", (a, b)), ("lh", (a, b >> 16)), ("hh", (a >> 16, b >> 16))):
        packed = compute(f"s_pack_{name}_b32_b16", a, b, generation=GFX9)[0]
        assert (packed & 0xFFFF, packed >> 16) == (wanted[0] & 0xFFFF, wanted[1] & 0xFFFF)


@given(U32)
def test_replication_doubles_every_digit(value: int) -> None:
    doubled = "".join(2 * digit for digit in _digits(value, 32))
    assert compute("s_bitreplicate_b64_b32", value, generation=GFX9)[0] == int(doubled, 2)


def test_every_scalar_function_has_a_row() -> None:
    names = {opcode.name for format in ("SOP2", "SOP1", "SOPC", "SOPK") for opcode in ROWS[format]}
    assert set(SCALAR) | set(SAVE_EXEC) | set(WRITE_EXEC) <= names
