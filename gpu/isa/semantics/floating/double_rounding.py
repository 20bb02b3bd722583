"""Estimates in 64 bits rounded to 32 bits as the true value would be.

An estimate within a few units in its last place rounds like the true value, unless it lies about
half-way between two 32-bit numbers; those few lanes are decided with 50 decimal digits.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from typing import Final

import numpy as np

from gpu.isa.semantics.entry import Array, constant

Precise = Callable[[Decimal], Decimal]

_DIGITS: Final = 50
_DROPPED: Final = (1 << 29) - 1
_HALF: Final = 1 << 28
_MARGIN: Final = 8
_BELOW_HALF: Final = constant(_HALF - _MARGIN, np.int64)
_DROPPED_BITS: Final = constant(_DROPPED, np.int64)
_SPAN: Final = constant(2 * _MARGIN, np.int64)


def correctly_rounded(
    estimate: Callable[[Array], Array], precise: Precise
) -> Callable[[Array], Array]:
    """A function of 32-bit numbers from one of 64-bit ones and its precise form."""

    def operation(a: Array) -> Array:
        wide = estimate(a.astype(np.float64))
        result = wide.astype(np.float32)
        past_half = np.bitwise_and(np.subtract(wide.view(np.int64), _BELOW_HALF), _DROPPED_BITS)
        near = np.less(past_half, _SPAN)
        if 1 in near.tobytes():
            for lane in np.flatnonzero(near).tolist():
                result[lane] = np.float32(_decided(precise, float(a[lane]), float(wide[lane])))
        return result

    return operation


def _decided(precise: Precise, argument: float, estimate: float) -> float:
    """A 64-bit number on the same side of the half-way number next to the estimate as the true
    value."""
    bits = np.float64(estimate).view(np.int64)
    half_way = float(np.int64((int(bits) & ~_DROPPED) | _HALF).view(np.float64))
    with decimal.localcontext() as context:
        context.prec = _DIGITS
        above = precise(Decimal(argument)) > Decimal(half_way)
    return math.nextafter(half_way, math.inf if above else -math.inf)


def power(x: Decimal) -> Decimal:
    """2**x"""
    return (x * Decimal(2).ln()).exp()


def logarithm(x: Decimal) -> Decimal:
    """To base 2."""
    return x.ln() / Decimal(2).ln()


def reciprocal_root(x: Decimal) -> Decimal:
    return 1 / x.sqrt()


def sine(turns: Decimal) -> Decimal:
    """The sine of an angle in turns."""
    rest = turns - turns.to_integral_value(decimal.ROUND_HALF_EVEN)
    quarter = Decimal("0.25")
    if abs(rest) > quarter:
        rest = (2 * quarter).copy_sign(rest) - rest
    x = 2 * _pi() * rest
    total, term, k = Decimal(0), x, 1
    while abs(term) > abs(x).scaleb(-_DIGITS):
        total += term
        term = -term * x * x / (2 * k * (2 * k + 1))
        k += 1
    return total


def cosine(turns: Decimal) -> Decimal:
    """The cosine of an angle in turns."""
    return sine(turns + Decimal("0.25"))


@cache
def _pi() -> Decimal:
    """Machin's formula, with ten digits to spare."""

    def inverse_tangent(n: int) -> Decimal:
        total, power, k, sign = Decimal(0), Decimal(1) / n, 1, 1
        while power > Decimal(10) ** -(_DIGITS + 10):
            total += sign * power / k
            power, k, sign = power / (n * n), k + 2, -sign
        return total

    with decimal.localcontext() as context:
        context.prec = _DIGITS + 10
        return 4 * (4 * inverse_tangent(5) - inverse_tangent(239))
