"""Conversions to integers, packing, and small integers to numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from gpu.isa.semantics import SEMANTICS
from gpu.isa.wave_registers import FloatMode
from tests.gpu.isa.semantics.floating import ieee
from tests.gpu.isa.semantics.values import KINDS, operands, random, run, same, specials

TO_INTEGER: dict[str, Callable[[float], int]] = {
    **{f"v_cvt_{integer}_{kind}": math.trunc
       for kind in ("f32", "f64") for integer in ("i32", "u32")},
    "v_cvt_i16_f16": math.trunc,
    "v_cvt_u16_f16": math.trunc,
    "v_cvt_rpi_i32_f32": lambda a: math.floor(Fraction(a) + Fraction(1, 2)),
    "v_cvt_flr_i32_f32": math.floor,
}  # fmt: skip
COVERED = {
    *TO_INTEGER, *(f"v_cvt_f32_ubyte{number}" for number in range(4)),
    "v_cvt_off_f32_i4", "v_cvt_pkrtz_f16_f32", "v_cvt_pknorm_i16_f32", "v_cvt_pknorm_u16_f32",
    "v_cvt_pk_u8_f32", "v_cvt_pkaccum_u8_f32", "v_cvt_pknorm_i16_f16", "v_cvt_pknorm_u16_f16",
    "v_cvt_norm_i16_f16", "v_cvt_norm_u16_f16", "v_pack_b32_f16",
}  # fmt: skip


def _held(value: int, limits: Any) -> int:
    return min(max(value, int(limits.min)), int(limits.max))


def _saturated(value: float, function: Callable[[float], int], limits: Any) -> int:
    if math.isnan(value):
        return 0
    if math.isinf(value):
        return int(limits.max if value > 0 else limits.min)
    return _held(function(value), limits)


@pytest.mark.parametrize("name", TO_INTEGER)
def test_to_integer_saturates_and_makes_zero_of_nan(name: str) -> None:
    entry = SEMANTICS[name]
    limits = np.iinfo(KINDS[entry.result])
    (values,) = operands(entry.operands, extra=300)
    dtype = values.dtype.type
    with np.errstate(over="ignore"):
        edges = np.array([limits.min, limits.max, 0, 1, -1, 0.5, -0.5, 1.5, 2.5], dtype)
    values = np.concatenate([values, edges, np.nextafter(edges, dtype(np.inf)),
                             np.nextafter(edges, dtype(-np.inf))])  # fmt: skip
    wanted = [_saturated(value, TO_INTEGER[name], limits) for value in values.tolist()]
    for bits in (0x3F0, 0x035):
        assert run(name, values, mode=FloatMode(bits)).tolist() == wanted
    moderate = values[np.abs(values) < 1000]
    assert run(name, moderate, mode=FloatMode(0x3F0)).tolist() == [
        _saturated(value, TO_INTEGER[name], limits) for value in moderate.tolist()
    ]


@pytest.mark.parametrize("rounding", range(4))
@pytest.mark.parametrize("name", ["v_cvt_flr_i32_f32", "v_cvt_rpi_i32_f32"])
def test_the_floor_of_a_denormal_is_that_of_zero_where_the_mode_flushes_it(
    name: str, rounding: int
) -> None:
    """As for `v_floor_f32`. Other numbers do not depend on MODE."""
    denormals = np.array([1, 0x7F_FFFF, 0x8000_0001, 0x807F_FFFF], np.uint32).view(np.float32)
    others = np.array([0x80_0000, 0x8080_0000, 0x3EFF_FFFF, 0xBF00_0001], np.uint32)
    values = np.concatenate([denormals, others.view(np.float32)])
    exactly = [TO_INTEGER[name](value) for value in values.tolist()]
    assert run(name, values, mode=FloatMode(rounding | 0x30)).tolist() == exactly
    flushing = run(name, values, mode=FloatMode(rounding | 0xC0)).tolist()
    assert flushing == [0, 0, 0, 0, *exactly[4:]]


def test_bytes_and_nibbles_become_numbers() -> None:
    (values,) = operands(("u32",))
    for place in range(4):
        wanted = [float(value >> 8 * place & 255) for value in values.tolist()]
        assert run(f"v_cvt_f32_ubyte{place}", values).tolist() == wanted
    wanted = [((value & 15) ^ 8) / 16 - 0.5 for value in values.tolist()]
    assert run("v_cvt_off_f32_i4", values).tolist() == wanted


def _halves(packed: Any) -> tuple[Any, Any]:
    pairs = np.ascontiguousarray(packed).view(np.uint16).reshape(-1, 2)
    return pairs[:, 0].copy(), pairs[:, 1].copy()


def test_packing_halves_rounds_towards_zero_in_every_mode() -> None:
    a, b = operands(("f32", "f32"), extra=300)
    for bits in (0x3C0, 0x3F0, 0x005):
        low, high = _halves(run("v_cvt_pkrtz_f16_f32", a, b, mode=FloatMode(bits)))
        for part, source in ((low, a), (high, b)):
            wanted = ieee.compute(ieee.itself, [source], "f16", 3, 3)
            assert same(part.view(np.float16), wanted).all()


@pytest.mark.parametrize(("name", "least", "scale", "kind"), [
    ("v_cvt_pknorm_i16_f32", -1, 32767, np.int16), ("v_cvt_pknorm_u16_f32", 0, 65535, np.uint16),
])  # fmt: skip
def test_packing_fractions(name: str, least: int, scale: int, kind: Any) -> None:
    rng = np.random.default_rng(2)
    a = np.concatenate([specials("f32"), rng.uniform(-1.2, 1.2, 300).astype(np.float32)])
    ties = ((np.arange(-20, 20) + 0.5) / scale).astype(np.float32)
    b = np.resize(np.concatenate([ties, a]), len(a))

    def fraction(value: float) -> int:
        if math.isnan(value):
            return 0
        bounded = Fraction(min(max(value, least), 1))
        return round(bounded * scale)

    for part, source in zip(_halves(run(name, a, b)), (a, b)):
        assert part.view(kind).tolist() == [fraction(value) for value in source.tolist()]


@pytest.mark.parametrize("name", ["v_cvt_pk_u8_f32", "v_cvt_pkaccum_u8_f32"])
@pytest.mark.parametrize(("rounding", "function"), list(enumerate(
    (round, math.ceil, math.floor, math.trunc)
)))  # fmt: skip
@pytest.mark.parametrize("kept", [False, True])
def test_inserting_a_byte(name: str, rounding: int, function: Any, kept: bool) -> None:
    rng = np.random.default_rng(rounding)
    values = np.concatenate([specials("f32"), np.arange(-8, 520, dtype=np.float32) / 2])
    place, rest = (random("u32", len(values), rng) for _ in range(2))
    got = run(name, values, place, rest, mode=FloatMode(rounding | 0x30 * kept)).tolist()
    limits = np.iinfo(np.uint8)
    if not kept:
        values = np.where(np.absolute(values) < 2.0**-126, np.float32(0), values)
    for value, position, old, result in zip(values.tolist(), place.tolist(), rest.tolist(), got):
        shift = 8 * (position & 3)
        byte = _saturated(value, function, limits)
        assert result == old & ~(255 << shift) | byte << shift


@pytest.mark.parametrize("kind, least, scale", [("i16", -1, 32767), ("u16", 0, 65535)])
def test_fractions_of_16_bits(kind: str, least: int, scale: int) -> None:
    values = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    wanted = []
    for value in values.tolist():
        bounded = 0 if math.isnan(value) else Fraction(min(max(value, least), 1))
        wanted.append(round(bounded * scale))
    assert run(f"v_cvt_norm_{kind}_f16", values).tolist() == wanted
    packed = run(f"v_cvt_pknorm_{kind}_f16", values, values[::-1])
    halves = np.ascontiguousarray(packed).view(kind.replace("u", "uint").replace("i16", "int16"))
    assert halves[::2].tolist() == wanted
    assert halves[1::2].tolist() == wanted[::-1]


def test_two_halves_become_one_register() -> None:
    a, b = operands(("f16", "f16"))
    bits_a, bits_b = (each.view(np.uint16).astype(np.uint32) for each in (a, b))
    kept = run("v_pack_b32_f16", a, b, mode=FloatMode(0xC0))
    assert kept.tolist() == (bits_a | bits_b << 16).tolist()
    flushing = run("v_pack_b32_f16", a, b, mode=FloatMode(0))
    for part, bits, shift in ((a, bits_a, 0), (b, bits_b, 16)):
        small = np.absolute(part) < 2.0**-14
        wanted = np.where(small, bits & 0x8000, bits)
        assert (flushing >> shift & 0xFFFF).tolist() == wanted.tolist()
