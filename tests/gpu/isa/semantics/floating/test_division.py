"""Division as compilers make it of the three steps, and reduction by segments of 2/pi."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from gpu.isa.wave_registers import FloatMode
from tests.gpu.isa.semantics.floating import ieee
from tests.gpu.isa.semantics.floating.test_transcendental import _PI
from tests.gpu.isa.semantics.values import operands, run, same

KEEP = FloatMode(0x3F0)
COVERED = {
    *(f"v_div_{step}_{kind}" for step in ("scale", "fmas", "fixup") for kind in ("f32", "f64")),
    "v_div_fixup_f16", "v_trig_preop_f64",
}  # fmt: skip


def _quotient(kind: str, n: Any, d: Any, steps: int, mode: FloatMode = KEEP) -> Any:
    """n / d: Newton's iteration on the reciprocal, one correction of the quotient."""

    def fused(a: Any, b: Any, c: Any) -> Any:
        return run(f"v_fma_{kind}", a, b, c, mode=KEEP)

    one = np.ones(1, d.dtype)
    scaled_d, _ = run(f"v_div_scale_{kind}", d, d, n, mode=KEEP)
    scaled_n, mask = run(f"v_div_scale_{kind}", n, d, n, mode=KEEP)
    inverse = run(f"v_rcp_{kind}", scaled_d, mode=KEEP)
    for _ in range(steps):
        inverse = fused(fused(-scaled_d, inverse, one), inverse, inverse)
    quotient = run(f"v_mul_{kind}", scaled_n, inverse, mode=KEEP)
    if kind == "f32":
        quotient = fused(fused(-scaled_d, quotient, scaled_n), inverse, quotient)
    rest = fused(-scaled_d, quotient, scaled_n)
    result = run(f"v_div_fmas_{kind}", rest, inverse, quotient, mask, mode=mode)
    return run(f"v_div_fixup_{kind}", result, d, n, mode=mode)


def _hard(kind: str) -> tuple[Any, Any]:
    """Quotients near every limit: overflow, the smallest normal numbers, denormals."""
    rng = np.random.default_rng(6)
    dtype = ieee.NUMPY[kind]
    precision, least, greatest = ieee.FORMATS[kind]
    count = 3000
    first = rng.integers(least - precision + 1, greatest, count)
    target = rng.choice([least - precision, least - 1, least, 0, 90, -90, greatest, 2 * least],
                        count) + rng.integers(-3, 4, count)  # fmt: skip
    second = np.clip(first - target, least - precision + 1, greatest)
    with np.errstate(all="ignore"):
        n = np.ldexp(rng.uniform(1, 2, count), first).astype(dtype)
        d = np.ldexp(rng.uniform(1, 2, count), second).astype(dtype)
    n, d = n * rng.choice([-1, 1], count).astype(dtype), d
    special_n, special_d = operands((kind, kind))
    return np.concatenate([n, special_n]), np.concatenate([d, special_d])


@pytest.mark.parametrize(("kind", "steps"), [("f32", 1), ("f64", 2)])
def test_the_steps_make_the_correctly_rounded_quotient(kind: str, steps: int) -> None:
    n, d = _hard(kind)
    wanted = ieee.compute(ieee.divide, [n, d], kind, 0, 3)
    got = _quotient(kind, n, d, steps)
    wrong = np.flatnonzero(~same(got, wanted))
    assert [(n[i], d[i], got[i], wanted[i]) for i in wrong[:5]] == []


def test_last_step_flushes_as_the_mode_says() -> None:
    """Compilers keep denormals for the steps before it only."""
    n, d = _hard("f32")
    wanted = ieee.compute(ieee.divide, [n, d], "f32", 0, 3)
    tiny = np.abs(wanted) < 2.0**-126
    got = _quotient("f32", n, d, 1, FloatMode(0x3C0))
    normal = ~tiny & (np.abs(wanted) != np.float32(2.0**-126))
    assert same(got, wanted)[normal].all()
    assert (got[tiny & ~np.isnan(wanted)] == 0).all()


def test_fix_up_of_16_bits() -> None:
    n, d = operands(("f16", "f16"))
    wanted = ieee.compute(ieee.divide, [n, d], "f16", 0, 3)
    with np.errstate(all="ignore"):
        rough = (n.astype(np.float32) / d.astype(np.float32)).astype(np.float16)
    assert same(run("v_div_fixup_f16", rough, d, n), wanted).all()


def test_segments_of_two_over_pi_reduce_any_angle() -> None:
    """x * 2/pi modulo 4 from three segments, as libraries do it."""
    rng = np.random.default_rng(8)
    angles = np.ldexp(rng.uniform(1, 2, 64), rng.integers(60, 150, 64))
    digits = 80
    segments = [
        run("v_trig_preop_f64", angles, np.array([number], np.uint32)) for number in range(3)
    ]
    pi = _PI
    for lane, angle in enumerate(angles.tolist()):
        exact = Fraction(angle) * 2 / pi
        total = sum(Fraction(float(segment[lane])) for segment in segments) * Fraction(angle)
        wanted = exact % 4
        error = abs((total % 4) - wanted)
        assert min(error, 4 - error) < Fraction(1, 2**40), (angle, digits)


def test_segments_follow_one_another() -> None:
    one = np.ones(1)
    parts = [run("v_trig_preop_f64", one, np.array([k], np.uint32))[0] for k in range(4)]
    assert Fraction(float(parts[0])) == Fraction(math.floor(2**53 * 2 / _PI), 2**53)
    total = sum(Fraction(float(part)) for part in parts)
    assert 0 <= 2 / _PI - total < Fraction(1, 2**212)
    scaled = run("v_trig_preop_f64", np.array([2.0**1000]), np.array([0], np.uint32))[0]
    unscaled = run("v_trig_preop_f64", np.array([2.0**900]), np.array([0], np.uint32))[0]
    assert 0 < unscaled < 2.0**-840 and scaled < 2.0**-800
