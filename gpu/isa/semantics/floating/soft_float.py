"""Floating-point arithmetic with integers, one lane at a time: any rounding, any denormals. For
results that the host's own arithmetic cannot give: other roundings of 16-bit numbers, the few lanes
of a fused multiply-add that are too near the ends of the range, and all operations where the host's
rounding cannot be set. Slow, and the same on every machine.

Rounding follows IEEE 754-2019 section 4.3; a result is flushed if it would be smaller than the
smallest normal number when rounded with an unbounded exponent ("tininess after rounding").
Invalid operations give the quiet NaN that numpy gives.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any, Final, NamedTuple

import numpy as np

from gpu.isa.semantics.entry import Array

UP, DOWN, TO_ZERO = 1, 2, 3


class _Format(NamedTuple):
    """``precision`` bits; the smallest denormal is 2**least; finite numbers are below 2**top."""

    precision: int
    least: int
    top: int

    @property
    def smallest_normal(self) -> float:
        return math.ldexp(1.0, self.least + self.precision - 1)


_FORMATS: Final = {
    np.dtype(np.float16): _Format(11, -24, 16),
    np.dtype(np.float32): _Format(24, -149, 128),
    np.dtype(np.float64): _Format(53, -1074, 1024),
}

_Exact = tuple[int, int]
"""A finite number: m * 2**e."""


def _exact(value: float) -> _Exact:
    fraction, exponent = math.frexp(value)
    return int(math.ldexp(fraction, 53)), exponent - 53


def _away(rounding: int, negative: bool, rest: int, half: int, odd: bool) -> bool:
    """Whether a magnitude whose dropped part is ``rest`` (of 2 * ``half``) rounds up."""
    if rounding == UP:
        return rest > 0 and not negative
    if rounding == DOWN:
        return rest > 0 and negative
    if rounding == TO_ZERO:
        return False
    return rest > half or (rest == half and odd)


def _rounded_at(m: int, e: int, unit: int, rounding: int, negative: bool) -> int:
    """The magnitude m * 2**e in whole multiples of 2**unit."""
    drop = unit - e
    if drop <= 0:
        return m << -drop
    kept, rest = m >> drop, m & ((1 << drop) - 1)
    return kept + _away(rounding, negative, rest, 1 << (drop - 1), bool(kept & 1))


def _rounded(negative: bool, m: int, e: int, form: _Format, environment: int) -> float:
    """The number of that format for a magnitude m * 2**e."""
    sign = -1.0 if negative else 1.0
    if m == 0:
        return sign * 0.0
    rounding = environment & 3
    unit = m.bit_length() + e - form.precision
    if not environment & 8 and unit < form.least:
        free = _rounded_at(m, e, unit, rounding, negative)
        if free.bit_length() + unit < form.least + form.precision:
            return sign * 0.0
    unit = max(unit, form.least)
    kept = _rounded_at(m, e, unit, rounding, negative)
    if kept.bit_length() + unit > form.top:
        inward = rounding == TO_ZERO or rounding == (UP if negative else DOWN)
        if not inward:
            return sign * math.inf
        kept, unit = (1 << form.precision) - 1, form.top - form.precision
    return sign * math.ldexp(kept, unit)


def _finish(value: _Exact, negative_zero: bool, form: _Format, environment: int) -> float:
    m, e = value
    if m == 0:
        return -0.0 if negative_zero else 0.0
    return _rounded(m < 0, abs(m), e, form, environment)


def _sum(a: _Exact, b: _Exact) -> _Exact:
    low = min(a[1], b[1])
    return (a[0] << (a[1] - low)) + (b[0] << (b[1] - low)), low


def _product(a: _Exact, b: _Exact) -> _Exact:
    return a[0] * b[0], a[1] + b[1]


def _negative(value: float) -> bool:
    return math.copysign(1.0, value) < 0


def _zero_of_sum(a_negative: bool, b_negative: bool, environment: int) -> bool:
    """Whether a sum that is zero is -0."""
    return a_negative if a_negative == b_negative else environment & 3 == DOWN


def _add(a: float, b: float, form: _Format, environment: int) -> float:
    if not (math.isfinite(a) and math.isfinite(b)):
        return a + b
    zero = _zero_of_sum(_negative(a), _negative(b), environment)
    return _finish(_sum(_exact(a), _exact(b)), zero, form, environment)


def _multiply(a: float, b: float, form: _Format, environment: int) -> float:
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b
    zero = _negative(a) != _negative(b)
    return _finish(_product(_exact(a), _exact(b)), zero, form, environment)


def _fused(a: float, b: float, c: float, form: _Format, environment: int, scale: int = 0) -> float:
    if not (math.isfinite(a) and math.isfinite(b)):
        return a * b + c
    if not math.isfinite(c):
        return c
    zero = _zero_of_sum(_negative(a) != _negative(b), _negative(c), environment)
    total, exponent = _sum(_product(_exact(a), _exact(b)), _exact(c))
    return _finish((total, exponent + scale), zero, form, environment)


def _divide(a: float, b: float, form: _Format, environment: int) -> float:
    negative = _negative(a) != _negative(b)
    if not (math.isfinite(a) and math.isfinite(b)) or b == 0:
        return _quotient_of_specials(a, b, negative)
    if a == 0:
        return -0.0 if negative else 0.0
    (m, e), (n, f) = _exact(abs(a)), _exact(abs(b))
    quotient, rest = divmod(m << 120, n)
    return _rounded(negative, quotient << 1 | (rest > 0), e - f - 121, form, environment)


def _quotient_of_specials(a: float, b: float, negative: bool) -> float:
    if math.isnan(a) or math.isnan(b):
        return a + b
    if (a == 0 and b == 0) or (math.isinf(a) and math.isinf(b)):
        return math.nan
    result = math.inf if math.isinf(a) or b == 0 else 0.0
    return -result if negative else result


def _root(a: float, form: _Format, environment: int) -> float:
    if not math.isfinite(a) or a <= 0:
        return math.nan if a < 0 else a
    m, e = _exact(a)
    m, e = m << (120 + (e & 1)), e - 120 - (e & 1)
    root = math.isqrt(m)
    return _rounded(False, root << 1 | (root * root < m), e // 2 - 1, form, environment)


def _convert(a: float, form: _Format, environment: int) -> float:
    if not math.isfinite(a):
        return a
    return _finish(_exact(a), _negative(a), form, environment)


def _scale(a: float, exponent: int, form: _Format, environment: int) -> float:
    if not math.isfinite(a):
        return a
    m, e = _exact(a)
    bounded = max(min(exponent, 5000), -5000)
    return _finish((m, e + bounded), _negative(a), form, environment)


def _flushed(values: list[float], smallest: float) -> list[float]:
    return [math.copysign(0.0, value) if abs(value) < smallest else value for value in values]


def _lanes(
    function: Callable[..., float], operands: tuple[Array, ...], kind: Any, environment: int
) -> Array:
    """A function of one lane over all lanes; results of type ``kind``."""
    form = _FORMATS[np.dtype(kind)]
    columns = []
    for operand in np.broadcast_arrays(*operands):
        column: list[float] = operand.tolist()
        if operand.dtype.kind == "f" and not environment & 4:
            column = _flushed(column, _FORMATS[operand.dtype].smallest_normal)
        columns.append(column)
    return np.array([function(*lane, form, environment) for lane in zip(*columns)], kind)


def add(a: Array, b: Array, environment: int) -> Array:
    return _lanes(_add, (a, b), a.dtype, environment)


def subtract(a: Array, b: Array, environment: int) -> Array:
    return _lanes(_add, (a, np.negative(b)), a.dtype, environment)


def multiply(a: Array, b: Array, environment: int) -> Array:
    return _lanes(_multiply, (a, b), a.dtype, environment)


def fused_multiply_add(a: Array, b: Array, c: Array, environment: int, scale: int = 0) -> Array:
    """(a * b + c) * 2**scale, rounded once."""
    return _lanes(partial(_fused, scale=scale), (a, b, c), a.dtype, environment)


def divide(a: Array, b: Array, environment: int) -> Array:
    return _lanes(_divide, (a, b), a.dtype, environment)


def square_root(a: Array, environment: int) -> Array:
    return _lanes(_root, (a,), a.dtype, environment)


def scale(a: Array, exponent: Array, environment: int) -> Array:
    """a * 2**exponent"""
    return _lanes(_scale, (a, exponent), a.dtype, environment)


def convert(a: Array, kind: Any, environment: int) -> Array:
    """Floating-point numbers of another type."""
    return _lanes(_convert, (a,), kind, environment)


def repaired(result: Array, wrong: Array, exactly: Callable[..., Array], *operands: Array) -> Array:
    """The result with the marked lanes computed by one of the functions above."""
    lanes = np.flatnonzero(wrong)
    result[lanes] = exactly(*(np.broadcast_to(each, result.shape)[lanes] for each in operands))
    return result
