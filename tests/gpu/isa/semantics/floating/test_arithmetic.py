"""IEEE arithmetic in every rounding and denormal mode, against rational numbers."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from gpu.isa.semantics import SEMANTICS
from gpu.isa.semantics.floating import soft_float
from gpu.isa.semantics.floating.soft_float_table import with_soft_float
from gpu.isa.wave_registers import FloatMode
from tests.gpu.isa.semantics.floating import ieee
from tests.gpu.isa.semantics.values import operands, run, same, specials
from tests.sampling import sampled

ROUNDINGS = range(4)
DENORMALS = range(4)
COUNT = 100
MODES = sampled(product(ROUNDINGS, DENORMALS), 3)
"""Each rounding and each treatment of denormals is in the suite."""


def _mode(rounding: int, denormals: int) -> FloatMode:
    return FloatMode(rounding * 5 | denormals * 0x50 | 0x300)


def _cancelling(kinds: tuple[str, ...], rng: np.random.Generator) -> list[Any]:
    """Operands whose product nearly or exactly cancels, or ends half-way between two numbers."""
    kind = kinds[0]
    dtype = ieee.NUMPY[kind]
    with np.errstate(all="ignore"):
        a = (1 + rng.integers(0, 64, 40) * np.finfo(dtype).eps).astype(dtype)
        b = (1 + rng.integers(0, 64, 40) * np.finfo(dtype).eps).astype(dtype)
        step = rng.integers(-2, 3, 40) * np.finfo(dtype).eps / 2
        c = (-(a * b) + np.where(rng.integers(0, 2, 40), step, -step * step)).astype(dtype)
        tiny = dtype(np.finfo(dtype).smallest_normal)
        a[30:] *= np.sqrt(tiny).astype(dtype)
        b[30:] *= np.sqrt(tiny).astype(dtype)
        c[30:] *= tiny
    return [a, b, c][: len(kinds)]


def _sample(kinds: tuple[str, ...], seed: int) -> list[Any]:
    """Some of the special combinations, and all of the random and cancelling ones."""
    rng = np.random.default_rng(seed)
    columns = operands(kinds, seed)
    picks = rng.integers(0, len(columns[0]), COUNT)
    picks[:64] = np.arange(len(columns[0]) - 64, len(columns[0]))
    extra = _cancelling(kinds, rng)
    return [np.concatenate([column[picks], more]) for column, more in zip(columns, extra)]


SOFT_FLOAT = with_soft_float(SEMANTICS)


def _check(name: str, arrays: list[Any], wanted: Any, mode: FloatMode) -> None:
    """With the host's rounding, and without."""
    for entry in (SEMANTICS[name], SOFT_FLOAT.get(name)):
        if entry is None:
            continue
        got = run(entry, *arrays, mode=mode)
        agree = same(got, wanted)
        if not agree.all():
            lane = int(np.flatnonzero(~agree)[0])
            values = [array[lane].item() for array in arrays]
            pytest.fail(f"{name}({values}) = {got[lane]!r}, not {wanted[lane]!r}, in {mode}")


def _swapped(rounding: int, a: float, b: float) -> Any:
    return ieee.add(rounding, -a, b)


def _difference(rounding: int, a: float, b: float) -> Any:
    return ieee.add(rounding, a, -b)


OPERATIONS = {
    **{f"v_add_{kind}": (kind, 2, ieee.add) for kind in ieee.FORMATS},
    **{f"v_mul_{kind}": (kind, 2, ieee.multiply) for kind in ieee.FORMATS},
    **{f"v_fma_{kind}": (kind, 3, ieee.fused) for kind in ieee.FORMATS},
    **{f"v_sub_{kind}": (kind, 2, _difference) for kind in ("f16", "f32")},
    **{f"v_subrev_{kind}": (kind, 2, _swapped) for kind in ("f16", "f32")},
    "v_sqrt_f64": ("f64", 1, ieee.root),
    "v_rcp_f64": ("f64", 1, lambda rounding, a: ieee.divide(rounding, 1.0, a)),
}


COVERED = {
    *OPERATIONS, "v_mul_legacy_f32", "v_mad_legacy_f32",
    *(f"v_{stem}_{kind}" for stem in ("mad", "mac", "madmk", "madak") for kind in ("f16", "f32")),
    *(f"v_ldexp_{kind}" for kind in ieee.FORMATS),
    *(f"v_cvt_{pair}" for pair in ("f32_f64", "f64_f32", "f16_f32", "f32_f16")),
    *(f"v_cvt_{wide}_{kind}" for wide in ("f32", "f64") for kind in ("i32", "u32")),
    "v_cvt_f16_i16", "v_cvt_f16_u16",
}  # fmt: skip


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize(("rounding", "denormals"), MODES)
def test_one_rounding(name: str, rounding: int, denormals: int) -> None:
    kind, count, function = OPERATIONS[name]
    arrays = _sample((kind,) * count, seed=rounding * 4 + denormals)
    wanted = ieee.compute(function, arrays, kind, rounding, denormals)
    _check(name, arrays, wanted, _mode(rounding, denormals))


@pytest.mark.parametrize("kind", ["f16", "f32"])
@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_multiply_add_rounds_twice_and_flushes_whatever_the_mode(kind: str, rounding: int) -> None:
    arrays = _sample((kind,) * 3, seed=rounding)
    multiplied = ieee.compute(ieee.multiply, arrays[:2], kind, rounding, 0)
    wanted = ieee.compute(ieee.add, [multiplied, arrays[2]], kind, rounding, 0)
    for stem, denormals in product(("mad", "mac", "madmk", "madak"), DENORMALS):
        _check(f"v_{stem}_{kind}", arrays, wanted, _mode(rounding, denormals))


@pytest.mark.parametrize("kind", ["f16", "f32"])
def test_a_product_that_is_tiny_before_it_becomes_normal_is_flushed(kind: str) -> None:
    least = np.finfo(ieee.NUMPY[kind]).smallest_normal
    eps = np.finfo(ieee.NUMPY[kind]).eps
    a, b = (np.full(8, value, ieee.NUMPY[kind]) for value in (1 - eps / 2, least))
    zero = np.zeros(8, ieee.NUMPY[kind])
    _check(f"v_mad_{kind}", [a, b, zero], zero, _mode(0, 0))


@pytest.mark.parametrize("denormals", DENORMALS)
@pytest.mark.parametrize("rounding", ROUNDINGS)
def test_conversions_between_floating_types(rounding: int, denormals: int) -> None:
    mode = _mode(rounding, denormals)
    (wide,) = _sample(("f64",), 1)
    with np.errstate(over="ignore"):
        single = np.concatenate([specials("f32"), wide.astype(np.float32)])
    half = np.concatenate([specials("f16"), np.arange(0, 0x8000, 37, dtype=np.uint16).view("f2")])
    sources_kept = denormals | 1
    wanted = ieee.compute(ieee.itself, [wide], "f32", rounding, sources_kept)
    _check("v_cvt_f32_f64", [wide], wanted, _mode(rounding, denormals | 1))
    wanted = ieee.compute(ieee.itself, [single], "f64", rounding, denormals, "f32")
    _check("v_cvt_f64_f32", [single], wanted, mode)
    wanted = ieee.compute(ieee.itself, [single], "f16", rounding, sources_kept)
    _check("v_cvt_f16_f32", [single], wanted, mode)
    wanted = ieee.compute(ieee.itself, [half], "f32", rounding, denormals, "f16")
    _check("v_cvt_f32_f16", [half], wanted, mode)


@pytest.mark.parametrize("rounding", range(4))
def test_integers_become_numbers(rounding: int) -> None:
    mode = _mode(rounding, 0)
    for kind in ("i32", "u32"):
        (values,) = operands((kind,), seed=rounding, extra=400)
        wanted = ieee.compute(ieee.itself, [values], "f32", rounding, 3)
        _check(f"v_cvt_f32_{kind}", [values], wanted, mode)
        wanted = ieee.compute(ieee.itself, [values], "f64", 0, 3)
        _check(f"v_cvt_f64_{kind}", [values], wanted, mode)
    for kind in ("i16", "u16"):
        (values,) = operands((kind,), seed=rounding, extra=400)
        wanted = ieee.compute(ieee.itself, [values], "f16", rounding, 3)
        _check(f"v_cvt_f16_{kind}", [values], wanted, mode)


@pytest.mark.parametrize("kind", ieee.FORMATS)
@pytest.mark.parametrize(("rounding", "denormals"), MODES)
def test_scaling_by_a_power_of_two(kind: str, rounding: int, denormals: int) -> None:
    (values,) = _sample((kind,), 3)
    rng = np.random.default_rng(rounding)
    exponents = rng.integers(-60, 60, len(values)).astype(np.int16 if kind == "f16" else np.int32)
    exponents[:8] = [-32768, 32767, -1100, 1100, -2100, 2100, 0, -1]
    bounded = np.clip(exponents.astype(np.int32), -2200, 2200)

    def scale(rounding: int, a: float, exponent: float) -> Any:
        return (
            a
            if not a or not np.isfinite(a)
            else ieee.Fraction(a) * ieee.Fraction(2) ** int(exponent)
        )

    wanted = []
    for value, exponent in zip(values, bounded.tolist()):
        lane = ieee.compute(
            lambda rounding, a, e=exponent: scale(rounding, a, e),
            [np.array([value])], kind, rounding, denormals,
        )  # fmt: skip
        wanted.append(lane[0])
    _check(
        f"v_ldexp_{kind}", [values, exponents], np.array(wanted, values.dtype),
        _mode(rounding, denormals),
    )  # fmt: skip


@pytest.mark.parametrize("kind", ieee.FORMATS)
@pytest.mark.parametrize(("rounding", "denormals"), MODES)
def test_whole_number_arithmetic_agrees(kind: str, rounding: int, denormals: int) -> None:
    """What replaces the host's arithmetic where its rounding cannot be set."""
    environment = rounding | denormals << 2
    a, b, c = _sample((kind,) * 3, seed=5)
    for function, reference, arrays in (
        (soft_float.add, ieee.add, [a, b]),
        (soft_float.multiply, ieee.multiply, [a, b]),
        (soft_float.divide, ieee.divide, [a, b]),
        (soft_float.fused_multiply_add, ieee.fused, [a, b, c]),
        (soft_float.square_root, ieee.root, [a]),
    ):
        wanted = ieee.compute(reference, arrays, kind, rounding, denormals)
        assert same(function(*arrays, environment), wanted).all(), function


@pytest.mark.parametrize(("rounding", "denormals"), [(0, 0), (0, 3), (1, 3), (3, 0)])
def test_zero_times_anything_is_zero_in_the_legacy_product(rounding: int, denormals: int) -> None:
    def legacy(rounding: int, a: float, b: float) -> Any:
        return ieee.multiply(rounding, a, b) if a and b else 0.0

    a, b, c = _sample(("f32",) * 3, 9)
    mode = _mode(rounding, denormals)
    wanted = ieee.compute(legacy, [a, b], "f32", rounding, denormals)
    _check("v_mul_legacy_f32", [a, b], wanted, mode)
    flushed = ieee.compute(legacy, [a, b], "f32", rounding, 0)
    wanted = ieee.compute(ieee.add, [flushed, c], "f32", rounding, 0)
    _check("v_mad_legacy_f32", [a, b, c], wanted, mode)
