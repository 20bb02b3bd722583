"""Integers, bits and bytes against whole numbers of Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from gpu.isa.semantics import SEMANTICS
from gpu.isa.semantics.saturation import SATURATING
from tests.gpu.isa.semantics.values import KINDS, operands, run

Reference = Callable[..., Any]


def _s24(a: int) -> int:
    a &= 0xFFFFFF
    return a - (1 << 24) if a >> 23 else a


def _u24(a: int) -> int:
    return a & 0xFFFFFF


def _bytes(a: int, count: int = 4) -> list[int]:
    return [a >> 8 * place & 255 for place in range(count)]


def _from_bytes(parts: list[int]) -> int:
    return sum(part << 8 * place for place, part in enumerate(parts))


def _sat8(a: int) -> int:
    low = a & 0xFFFF
    return min(max(low - (low >> 15 << 16), 0), 255)


def _sad(a: int, b: int) -> int:
    return sum(abs(x - y) for x, y in zip(_bytes(a), _bytes(b)))


def _msad(a: int, b: int) -> int:
    return sum(abs(x - y) for x, y in zip(_bytes(a), _bytes(b)) if y)


def _perm(high: int, low: int, selector: int) -> int:
    source = _bytes(low) + _bytes(high)

    def chosen(code: int) -> int:
        if code < 8:
            return source[code]
        if code < 12:
            return 255 if source[2 * (code - 8) + 1] & 128 else 0
        return 0 if code == 12 else 255

    return _from_bytes([chosen(code) for code in _bytes(selector)])


def _bfe(a: int, offset: int, width: int) -> int:
    return a >> (offset & 31) & (1 << (width & 31)) - 1


def _bfe_signed(a: int, offset: int, width: int) -> int:
    width &= 31
    field = _bfe(a, offset, width)
    return field - (1 << width) if width and field >> (width - 1) & 1 else field


def _quad(sad: Callable[[int, int], int], width: int) -> Reference:
    """Four sums of ``width`` bits."""

    def reference(a: int, b: int, c: int) -> int:
        result = 0
        for place in range(4):
            start = c >> width * place & (1 << width) - 1
            part = sad(a >> 8 * place & 0xFFFFFFFF, b) + start
            result |= (part & (1 << width) - 1) << width * place
        return result

    return reference


def _median(a: int, b: int, c: int) -> int:
    return sorted((a, b, c))[1]


EXACT: dict[str, Reference] = {
    **{f"v_add_{kind}": lambda a, b: a + b for kind in ("u32", "i32", "i16")},
    **{f"v_sub_{kind}": lambda a, b: a - b for kind in ("u32", "i32", "i16")},
    "v_subrev_u32": lambda a, b: b - a,
    "v_mad_u32_u16": lambda a, b, c: a * b + c,
    "v_mad_i32_i16": lambda a, b, c: a * b + c,
    "v_add_u16": lambda a, b: a + b,
    "v_sub_u16": lambda a, b: a - b,
    "v_subrev_u16": lambda a, b: b - a,
    "v_mad_u16": lambda a, b, c: a * b + c,
    "v_mad_i16": lambda a, b, c: a * b + c,
    "v_mul_u32_u24": lambda a, b: _u24(a) * _u24(b),
    "v_mul_i32_i24": lambda a, b: _s24(a) * _s24(b),
    "v_mad_u32_u24": lambda a, b, c: _u24(a) * _u24(b) + c,
    "v_mad_i32_i24": lambda a, b, c: _s24(a) * _s24(b) + c,
    "v_sad_u8": lambda a, b, c: _sad(a, b) + c,
    "v_sad_hi_u8": lambda a, b, c: (_sad(a, b) << 16) + c,
    "v_sad_u16": lambda a, b, c: abs((a & 0xFFFF) - (b & 0xFFFF)) + abs((a >> 16) - (b >> 16)) + c,
    "v_sad_u32": lambda a, b, c: abs(a - b) + c,
    "v_msad_u8": lambda a, b, c: _msad(a, b) + c,
}
"""Exact results; what they leave of the type's range is dropped, or held at its end if clamped."""

WRAPPING: dict[str, Reference] = EXACT | {
    "v_mul_lo_u16": lambda a, b: a * b,
    "v_mul_lo_u32": lambda a, b: a * b,
    "v_mul_hi_u32": lambda a, b: a * b >> 32,
    "v_mul_hi_i32": lambda a, b: a * b >> 32,
    "v_mul_hi_u32_u24": lambda a, b: _u24(a) * _u24(b) >> 32,
    "v_mul_hi_i32_i24": lambda a, b: _s24(a) * _s24(b) >> 32,
    **{f"v_min_{kind}": min for kind in ("u16", "i16", "u32", "i32")},
    **{f"v_max_{kind}": max for kind in ("u16", "i16", "u32", "i32")},
    **{f"v_min3_{kind}": min for kind in ("u16", "i16", "u32", "i32")},
    **{f"v_max3_{kind}": max for kind in ("u16", "i16", "u32", "i32")},
    **{f"v_med3_{kind}": _median for kind in ("u16", "i16", "u32", "i32")},
    "v_xad_u32": lambda a, b, c: (a ^ b) + c,
    "v_add3_u32": lambda a, b, c: a + b + c,
    "v_lshl_add_u32": lambda a, n, c: (a << (n & 31)) + c,
    "v_add_lshl_u32": lambda a, b, n: (a + b) << (n & 31),
    "v_lshl_or_b32": lambda a, n, c: (a << (n & 31) & 0xFFFFFFFF) | c,
    "v_and_or_b32": lambda a, b, c: (a & b) | c,
    "v_or3_b32": lambda a, b, c: a | b | c,
    "v_sat_pk_u8_i16": lambda a: _sat8(a) | _sat8(a >> 16) << 8,
    "v_mov_b32": lambda a: a,
    "v_not_b32": lambda a: ~a,
    "v_and_b32": lambda a, b: a & b,
    "v_or_b32": lambda a, b: a | b,
    "v_xor_b32": lambda a, b: a ^ b,
    "v_bfrev_b32": lambda a: int(f"{a:032b}"[::-1], 2),
    "v_ffbh_u32": lambda a: 32 - a.bit_length() if a else -1,
    "v_ffbl_b32": lambda a: (a & -a).bit_length() - 1,
    "v_ffbh_i32": lambda a: 32 - (a ^ (a >> 31)).bit_length() if a not in (0, -1) else -1,
    "v_lshlrev_b32": lambda n, a: a << (n & 31),
    "v_lshrrev_b32": lambda n, a: a >> (n & 31),
    "v_ashrrev_i32": lambda n, a: a >> (n & 31),
    "v_lshlrev_b16": lambda n, a: a << (n & 15),
    "v_lshrrev_b16": lambda n, a: a >> (n & 15),
    "v_ashrrev_i16": lambda n, a: a >> (n & 15),
    "v_lshlrev_b64": lambda n, a: a << (n & 63),
    "v_lshrrev_b64": lambda n, a: a >> (n & 63),
    "v_ashrrev_i64": lambda n, a: a >> (n & 63),
    "v_bfe_u32": _bfe,
    "v_bfe_i32": _bfe_signed,
    "v_bfi_b32": lambda mask, a, b: (mask & a) | (~mask & b),
    "v_bfm_b32": lambda width, offset: ((1 << (width & 31)) - 1) << (offset & 31),
    "v_alignbit_b32": lambda high, low, n: (high << 32 | low) >> (n & 31),
    "v_alignbyte_b32": lambda high, low, n: (high << 32 | low) >> 8 * (n & 3),
    "v_perm_b32": _perm,
    "v_bcnt_u32_b32": lambda a, b: a.bit_count() + b,
    "v_lerp_u8": lambda a, b, c: _from_bytes(
        [(x + y + (z & 1)) >> 1 for x, y, z in zip(_bytes(a), _bytes(b), _bytes(c))]
    ),
    "v_qsad_pk_u16_u8": _quad(_sad, 16),
    "v_mqsad_pk_u16_u8": _quad(_msad, 16),
    "v_cndmask_b32": lambda a, b, mask: b if mask else a,
    "v_cvt_pk_u16_u32": lambda a, b: min(a, 0xFFFF) | min(b, 0xFFFF) << 16,
    "v_cvt_pk_i16_i32": lambda a, b: (
        (max(min(a, 32767), -32768) & 0xFFFF) | max(min(b, 32767), -32768) << 16
    ),
}

CARRYING: dict[str, tuple[Reference, int]] = {
    "v_add_co_u32": (lambda a, b: a + b, 32),
    "v_sub_co_u32": (lambda a, b: a - b, 32),
    "v_subrev_co_u32": (lambda a, b: b - a, 32),
    "v_addc_co_u32": (lambda a, b, carry: a + b + carry, 32),
    "v_subb_co_u32": (lambda a, b, borrow: a - b - borrow, 32),
    "v_subbrev_co_u32": (lambda a, b, borrow: b - a - borrow, 32),
    "v_mad_u64_u32": (lambda a, b, c: a * b + c, 64),
    "v_mad_i64_i32": (lambda a, b, c: a * b + c, 64),
}
"""Exact results, of which bit 32 or 64 is the mask."""

COVERED = {*WRAPPING, *CARRYING, "v_mqsad_u32_u8", "v_mbcnt_lo_u32_b32", "v_mbcnt_hi_u32_b32"}


def _wrapped(value: int, dtype: Any) -> int:
    limits = np.iinfo(dtype)
    return (value - int(limits.min)) % (1 << limits.bits) + int(limits.min)


def _held(value: int, dtype: Any) -> int:
    limits = np.iinfo(dtype)
    return min(max(value, int(limits.min)), int(limits.max))


def _lanes(arrays: list[Any]) -> Any:
    return zip(*(array.tolist() for array in arrays))


@pytest.mark.parametrize("name", WRAPPING)
def test_result(name: str) -> None:
    entry = SEMANTICS[name]
    arrays = operands(entry.operands)
    wanted = [_wrapped(WRAPPING[name](*lane), KINDS[entry.result]) for lane in _lanes(arrays)]
    got = run(name, *arrays).tolist()
    assert [lane for lane in zip(_lanes(arrays), got, wanted) if lane[1] != lane[2]] == []


@pytest.mark.parametrize("name", CARRYING)
def test_result_and_carry(name: str) -> None:
    entry = SEMANTICS[name]
    reference, width = CARRYING[name]
    arrays = operands(entry.operands, extra=400)
    exact = [reference(*(int(value) for value in lane)) for lane in _lanes(arrays)]
    result, mask = run(name, *arrays)
    assert result.tolist() == [_wrapped(value, KINDS[entry.result]) for value in exact]
    assert mask.tolist() == [bool(value >> width & 1) for value in exact]
    held, held_mask = run(SATURATING[name], *arrays)
    assert held.tolist() == [_held(value, KINDS[entry.result]) for value in exact]
    assert held_mask.tolist() == mask.tolist()


@pytest.mark.parametrize("name", EXACT)
def test_clamped_result_is_held_in_range(name: str) -> None:
    entry = SATURATING[name]
    arrays = operands(entry.operands, extra=400)
    wanted = [_held(EXACT[name](*lane), KINDS[entry.result]) for lane in _lanes(arrays)]
    assert run(entry, *arrays).tolist() == wanted


@pytest.mark.parametrize("clamp", [False, True])
@pytest.mark.parametrize(
    ("name", "sad"), [("v_qsad_pk_u16_u8", _sad), ("v_mqsad_pk_u16_u8", _msad)]
)
def test_four_packed_sums(name: str, sad: Callable[[int, int], int], clamp: bool) -> None:
    table = SATURATING if clamp else SEMANTICS
    arrays = operands(table[name].operands, extra=400)
    got = run(table[name], *arrays).tolist()
    for lane, result in zip(_lanes(arrays), got):
        a, b, c = lane
        for place in range(4):
            total = sad(a >> 8 * place & 0xFFFFFFFF, b) + (c >> 16 * place & 0xFFFF)
            wanted = min(total, 0xFFFF) if clamp else total & 0xFFFF
            assert result >> 16 * place & 0xFFFF == wanted


@pytest.mark.parametrize("clamp", [False, True])
def test_four_masked_sums_of_32_bits(clamp: bool) -> None:
    entry = (SATURATING if clamp else SEMANTICS)["v_mqsad_u32_u8"]
    a, b, c = operands(entry.operands, extra=200)
    c[:, ::2] |= 0xFFFFFF00
    got = run(entry, a, b, c)
    for lane in range(len(a)):
        for place in range(4):
            start = int(c[place, lane])
            total = _msad(int(a[lane]) >> 8 * place & 0xFFFFFFFF, int(b[lane])) + start
            wanted = min(total, 0xFFFFFFFF) if clamp else total & 0xFFFFFFFF
            assert got[place, lane] == wanted


def test_clamping_covers_what_the_tables_say() -> None:
    covered = {*EXACT, *CARRYING, "v_qsad_pk_u16_u8", "v_mqsad_pk_u16_u8", "v_mqsad_u32_u8"}
    assert covered == set(SATURATING)


def test_counting_lower_lanes_gives_every_active_lane_its_rank() -> None:
    rng = np.random.default_rng(5)
    for _ in range(20):
        active = rng.integers(0, 2, 64).astype(np.bool_)
        bits = int.from_bytes(np.packbits(active, bitorder="little").tobytes(), "little")
        low, high = (np.array([bits >> shift & 0xFFFFFFFF], np.uint32) for shift in (0, 32))
        start = np.full(64, 7, np.uint32)
        count = run("v_mbcnt_hi_u32_b32", high, run("v_mbcnt_lo_u32_b32", low, start))
        assert count.tolist() == [7 + int(active[:lane].sum()) for lane in range(64)]


def test_carry_chain_equals_64_bit_arithmetic() -> None:
    a, b = operands(("u64", "u64"), extra=300)

    def halves(value: Any) -> tuple[Any, Any]:
        return value.astype(np.uint32), (value >> np.uint64(32)).astype(np.uint32)

    (a_low, a_high), (b_low, b_high) = halves(a), halves(b)
    for first, second, wide in (
        ("v_add_co_u32", "v_addc_co_u32", a + b),
        ("v_sub_co_u32", "v_subb_co_u32", a - b),
        ("v_subrev_co_u32", "v_subbrev_co_u32", b - a),
    ):
        low, carry = run(first, a_low, b_low)
        high, _ = run(second, a_high, b_high, carry)
        assert np.array_equal(low.astype(np.uint64) | high.astype(np.uint64) << np.uint64(32), wide)


def test_wide_products_equal_64_bit_arithmetic() -> None:
    a, b = operands(("u32", "u32"), extra=300)
    low, high = run("v_mul_lo_u32", a, b), run("v_mul_hi_u32", a, b)
    wide, _ = run("v_mad_u64_u32", a, b, np.zeros(1, np.uint64))
    assert np.array_equal(low.astype(np.uint64) | high.astype(np.uint64) << np.uint64(32), wide)
