"""Floating-point arithmetic after IEEE 754 with rational numbers: what the tests compare with."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

# precision, exponent of the smallest normal number, greatest exponent
FORMATS = {"f16": (11, -14, 15), "f32": (24, -126, 127), "f64": (53, -1022, 1023)}
NUMPY = {"f16": np.float16, "f32": np.float32, "f64": np.float64}

Exact = Callable[..., Fraction | float]
"""Of finite numbers: the exact result; of others, what is to be returned (an infinity, a NaN)."""


def _floor_log2(x: Fraction) -> int:
    exponent = x.numerator.bit_length() - x.denominator.bit_length()
    return exponent if Fraction(2) ** exponent <= x else exponent - 1


def _nearest_multiple(size: Fraction, unit: Fraction, rounding: int, negative: bool) -> Fraction:
    below = size // unit
    rest = size - below * unit
    if rest == 0:
        return below * unit
    upward = {
        0: rest > unit / 2 or (rest == unit / 2 and below % 2 == 1),
        1: not negative,
        2: negative,
        3: False,
    }[rounding]
    return (below + upward) * unit


def rounded(value: Fraction, kind: str, rounding: int, flush: bool) -> float:
    """The number of that format for a value other than zero."""
    precision, least, greatest = FORMATS[kind]
    negative, size = value < 0, abs(value)
    sign = -1.0 if negative else 1.0
    exponent = _floor_log2(size)
    free = _nearest_multiple(size, Fraction(2) ** (exponent - precision + 1), rounding, negative)
    if flush and free < Fraction(2) ** least:
        return sign * 0.0
    unit = Fraction(2) ** (max(exponent, least) - precision + 1)
    size = _nearest_multiple(size, unit, rounding, negative)
    if size >= Fraction(2) ** (greatest + 1):
        towards = rounding == 3 or rounding == (1 if negative else 2)
        if not towards:
            return sign * math.inf
        size = Fraction(2) ** (greatest + 1) - Fraction(2) ** (greatest + 1 - precision)
    return sign * float(size)


def flushed(value: float, kind: str) -> float:
    """A denormal as zero of its sign."""
    return math.copysign(0.0, value) if abs(value) < 2.0 ** FORMATS[kind][1] else value


def compute(
    exact: Exact,
    operands: Sequence[Any],
    kind: str,
    rounding: int,
    denormals: int,
    sources: str | None = None,
) -> np.ndarray[Any, Any]:
    """One operation over lanes. ``exact`` gets floats and the rounding; it returns a float for
    specials and zeros, a Fraction for anything to round."""
    results = []
    for lane in zip(*(operand.tolist() for operand in operands)):
        if not denormals & 1:
            lane = tuple(flushed(value, sources or kind) for value in lane)
        value = exact(rounding, *lane)
        if isinstance(value, Fraction):
            value = rounded(value, kind, rounding, not denormals & 2)
        results.append(value)
    with np.errstate(all="ignore"):
        return np.array(results, NUMPY[kind])


def _finite(*values: float) -> bool:
    return all(math.isfinite(value) for value in values)


def zero_sum(rounding: int, a: float, b: float) -> float:
    """The zero that two addends make."""
    same = math.copysign(1, a) == math.copysign(1, b)
    return math.copysign(0.0, a) if same else (-0.0 if rounding == 2 else 0.0)


def add(rounding: int, a: float, b: float) -> Fraction | float:
    if not _finite(a, b):
        return a + b
    total = Fraction(a) + Fraction(b)
    if total:
        return total
    return zero_sum(rounding, a, b)


def multiply(rounding: int, a: float, b: float) -> Fraction | float:
    if not _finite(a, b) or a == 0 or b == 0:
        return a * b
    return Fraction(a) * Fraction(b)


def fused(rounding: int, a: float, b: float, c: float) -> Fraction | float:
    if not _finite(a, b):
        return a * b + c
    if not math.isfinite(c):
        return c
    total = Fraction(a) * Fraction(b) + Fraction(c)
    if total:
        return total
    sign = math.copysign(1, a) * math.copysign(1, b)
    return zero_sum(rounding, math.copysign(1.0, sign), c)


def divide(rounding: int, a: float, b: float) -> Fraction | float:
    if math.isnan(a) or math.isnan(b):
        return math.nan
    sign = math.copysign(1, a) * math.copysign(1, b)
    if math.isinf(a) or b == 0:
        return math.nan if math.isinf(b) or a == 0 else math.copysign(math.inf, sign)
    if math.isinf(b) or a == 0:
        return math.copysign(0.0, sign)
    return Fraction(a) / Fraction(b)


def itself(rounding: int, a: float) -> Fraction | float:
    return Fraction(a) if a and math.isfinite(a) else a


def root(rounding: int, a: float) -> Fraction | float:
    """Not exact, but the inexact part is far below any number: enough to round."""
    if not a or math.isnan(a):
        return a
    if a < 0 or math.isinf(a):
        return math.nan if a < 0 else a
    x = Fraction(a)
    scaled = (x.numerator << 2400) // x.denominator
    whole = math.isqrt(scaled)
    inexact = whole * whole != scaled or (x.numerator << 2400) % x.denominator != 0
    return Fraction(2 * whole + inexact, 1 << 1201)
