"""Whole parts, fractions, exponents."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from gpu.isa.wave_registers import FloatMode
from tests.gpu.isa.semantics.floating import ieee
from tests.gpu.isa.semantics.values import random, run, same, specials

_WHOLE: dict[str, Callable[[float], int]] = {
    "trunc": math.trunc, "ceil": math.ceil, "floor": math.floor, "rndne": round,
}  # fmt: skip
_EXPONENTS = {"f16": "i16_f16", "f32": "i32_f32", "f64": "i32_f64"}
COVERED = {
    *(f"v_{stem}_{kind}" for stem in (*_WHOLE, "fract", "frexp_mant") for kind in ieee.FORMATS),
    *(f"v_frexp_exp_{name}" for name in _EXPONENTS.values()),
}


def _values(kind: str) -> Any:
    small = np.arange(-40, 41) / 8
    near = np.nextafter(small.astype(ieee.NUMPY[kind]), ieee.NUMPY[kind](9))
    values = [specials(kind), small.astype(near.dtype), near]
    return np.concatenate([*values, random(kind, 200, np.random.default_rng(2))])


@pytest.mark.parametrize("kind", ieee.FORMATS)
@pytest.mark.parametrize("stem", _WHOLE)
@pytest.mark.parametrize("rounding", range(4))
def test_whole_part(kind: str, stem: str, rounding: int) -> None:
    """The instruction's own rounding, whatever the mode's; the sign stays on a zero."""

    def whole(_: int, a: float) -> float:
        return math.copysign(float(_WHOLE[stem](a)), a) if math.isfinite(a) else a

    values = _values(kind)
    for denormals in (0, 3):
        wanted = ieee.compute(whole, [values], kind, rounding, denormals)
        mode = FloatMode(5 * rounding | 0x50 * denormals)
        assert same(run(f"v_{stem}_{kind}", values, mode=mode), wanted).all()


@pytest.mark.parametrize("kind", ieee.FORMATS)
def test_fraction(kind: str) -> None:
    values = _values(kind)
    greatest = 1 - Fraction(1, 2 ** ieee.FORMATS[kind][0])

    def fraction(_: int, a: float) -> Any:
        if not math.isfinite(a):
            return math.nan
        return min(Fraction(a) - math.floor(a), greatest) or 0.0

    for denormals in (0, 3):
        wanted = ieee.compute(fraction, [values], kind, 0, denormals)
        got = run(f"v_fract_{kind}", values, mode=FloatMode(0x50 * denormals))
        assert same(got, np.minimum(wanted, ieee.NUMPY[kind](float(greatest)))).all()


@pytest.mark.parametrize("kind", ieee.FORMATS)
@pytest.mark.parametrize("denormals", [0, 3])
def test_fraction_and_exponent_make_the_number(kind: str, denormals: int) -> None:
    values = _values(kind)
    mode = FloatMode(0x50 * denormals)
    mantissa = run(f"v_frexp_mant_{kind}", values, mode=mode)
    exponent = run(f"v_frexp_exp_{_EXPONENTS[kind]}", values, mode=mode)
    if not denormals:
        values = ieee.compute(ieee.itself, [values], kind, 0, 0)
    finite = np.isfinite(values) & (values != 0)
    size = np.abs(mantissa[finite])
    assert ((size >= 0.5) & (size < 1)).all()
    again = run(f"v_ldexp_{kind}", mantissa, exponent, mode=mode)
    assert same(again, values).all()
    assert (exponent[~finite] == 0).all()
