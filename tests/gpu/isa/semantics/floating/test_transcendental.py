"""Reciprocals, roots, powers, logarithms and sines against 60 decimal digits."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from gpu.isa.semantics.floating import double_rounding, transcendental
from gpu.isa.wave_registers import FloatMode
from tests.gpu.isa.semantics.floating import ieee
from tests.gpu.isa.semantics.values import random, run, same, specials

_DIGITS = 60
_PI = Fraction("3.14159265358979323846264338327950288419716939937510582097494459230781640628620899")


def _decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def _in_decimal(function: Callable[[Decimal], Decimal]) -> Callable[[Fraction], Fraction]:
    def compute(value: Fraction) -> Fraction:
        with localcontext() as context:
            context.prec = _DIGITS
            return Fraction(function(_decimal(value)))

    return compute


_exp2 = _in_decimal(lambda x: (x * Decimal(2).ln()).exp())
_log2 = _in_decimal(lambda x: x.ln() / Decimal(2).ln())
_root = _in_decimal(lambda x: x.sqrt())
_reciprocal_root = _in_decimal(lambda x: 1 / x.sqrt())


def _sine(turns: Fraction) -> Fraction:
    """Of an angle in turns, by the series."""
    rest = turns - round(turns)
    if abs(rest) > Fraction(1, 4):
        rest = (Fraction(1, 2) if rest > 0 else Fraction(-1, 2)) - rest
    x = Fraction(round(2 * _PI * rest * 2**260), 2**260)
    total, term = Fraction(0), x
    for k in range(1, 24):
        total += term
        term = Fraction(round(-term * x * x / (2 * k * (2 * k + 1)) * 2**260), 2**260)
    return total


def _exp(rounding: int, a: float) -> Any:
    if math.isnan(a):
        return a
    if a > 2000 or a < -2000:
        return math.inf if a > 0 else 0.0
    return _exp2(Fraction(a))


def _log(rounding: int, a: float) -> Any:
    if not a:
        return -math.inf
    if a < 0 or not math.isfinite(a):
        return math.nan if a < 0 else a
    return _log2(Fraction(a)) or 0.0


def _sin(rounding: int, a: float) -> Any:
    if not math.isfinite(a) or not a:
        return math.nan if a else a
    if abs(a) > 256:
        return 0.0
    return _sine(Fraction(a)) or 0.0


def _cos(rounding: int, a: float) -> Any:
    if not math.isfinite(a):
        return math.nan
    if abs(a) > 256:
        return 1.0
    return _sine(Fraction(a) + Fraction(1, 4)) or 0.0


def _rcp(rounding: int, a: float) -> Any:
    return ieee.divide(rounding, 1.0, a)


def _sqrt(rounding: int, a: float) -> Any:
    return ieee.root(rounding, a)


def _rsq(rounding: int, a: float) -> Any:
    if math.isnan(a) or not a:
        return math.copysign(math.inf, a) if a == 0 else a
    if a < 0 or math.isinf(a):
        return math.nan if a < 0 else 0.0
    return _reciprocal_root(Fraction(a))


REFERENCES = {
    "rcp": _rcp, "sqrt": _sqrt, "rsq": _rsq, "exp": _exp, "log": _log, "sin": _sin, "cos": _cos,
}  # fmt: skip
_SINGLE = {**REFERENCES, "rcp_iflag": _rcp, "exp_legacy": _exp, "log_legacy": _log}
COVERED = {
    *(f"v_{stem}_f32" for stem in _SINGLE),
    *(f"v_{stem}_f16" for stem in REFERENCES),
    "v_rsq_f64",
}


def _values(kind: str) -> Any:
    dtype = ieee.NUMPY[kind]
    rng = np.random.default_rng(4)
    turns = np.concatenate([np.arange(-20, 21) / 8, [255.5, 256, 256.5, 100.03125]]).astype(dtype)
    near = np.nextafter(turns, dtype(0.3))
    spread = (rng.standard_normal(90) * 2.0 ** rng.integers(-12, 8, 90)).astype(dtype)
    return np.concatenate([specials(kind), turns, near, spread, random(kind, 50, rng)])


def _zero_agrees(got: Any, wanted: Any) -> Any:
    """A zero of a sine at a whole number of half turns has no sign of its own."""
    return same(got, wanted) | ((got == 0) & (wanted == 0))


@pytest.mark.parametrize("stem", _SINGLE)
@pytest.mark.parametrize("bits", [0x3C0, 0x3F0, 0x005])
def test_single(stem: str, bits: int) -> None:
    """Nearest, denormals flushed, whatever the mode says."""
    values = _values("f32")
    wanted = ieee.compute(_SINGLE[stem], [values], "f32", 0, 0)
    agree = _zero_agrees if stem in ("sin", "cos") else same
    got = run(f"v_{stem}_f32", values, mode=FloatMode(bits))
    assert agree(got, wanted).all()


HARD = {
    "rsq": (0x403A18E3,),
    "exp": (0xBE1F29DE,),
    "log": (0x3EA07AB9, 0x40207AB9),
    "sin": (0x3C6EB990, 0x3D7D7F58, 0x3EE05015),
    "cos": (0x3E40A02A, 0x3E711467, 0x3E9FAFEB),
}
"""Operands whose true result is nearly half-way between two numbers; of several ranges, all."""


@pytest.mark.parametrize("stem", HARD)
@pytest.mark.parametrize("error", [-4, -1, 0, 1, 4])
def test_an_error_of_the_estimate_does_no_harm(stem: str, error: int) -> None:
    """The estimates are moved by a few units in their last place."""
    estimate = transcendental._WIDE[stem]

    def worse(a: Any) -> Any:
        return (estimate(a).view(np.int64) + error).view(np.float64)

    precise = {
        "rsq": double_rounding.reciprocal_root, "exp": double_rounding.power,
        "log": double_rounding.logarithm, "sin": double_rounding.sine,
        "cos": double_rounding.cosine,
    }[stem]  # fmt: skip
    values = np.array(HARD[stem], np.uint32).view(np.float32)
    wanted = ieee.compute(REFERENCES[stem], [values], "f32", 0, 0)
    assert same(double_rounding.correctly_rounded(worse, precise)(values), wanted).all()
    assert same(run(f"v_{stem}_f32", values), wanted).all()


@pytest.mark.parametrize("stem", REFERENCES)
@pytest.mark.parametrize(("rounding", "denormals"), [(0, 3), (0, 0), (3, 3)])
def test_half(stem: str, rounding: int, denormals: int) -> None:
    """Nearest whatever the mode says, denormals as it says."""
    values = _values("f16")
    wanted = ieee.compute(REFERENCES[stem], [values], "f16", 0, denormals)
    agree = _zero_agrees if stem in ("sin", "cos") else same
    mode = FloatMode(rounding << 2 | denormals << 6)
    assert agree(run(f"v_{stem}_f16", values, mode=mode), wanted).all()


def test_reciprocal_root_of_64_bits_is_within_an_ulp() -> None:
    values = np.abs(_values("f64"))
    wanted = ieee.compute(_rsq, [values], "f64", 0, 3)
    got = run("v_rsq_f64", values)
    with np.errstate(invalid="ignore"):
        close = np.abs(got - wanted) <= np.spacing(np.abs(wanted))
        assert (close | same(got, wanted)).all()
