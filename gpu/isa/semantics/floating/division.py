"""The three steps that frame a division, and the segments of 2/pi.

Quotients are made of a reciprocal estimate and fused multiply-adds. v_div_scale keeps these away
from the ends of the range by scaling the numerator or the denominator; v_div_fmas, the last step,
takes the scaling back as its mask says; v_div_fixup inserts the results for special values.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, reduce
from typing import Any, Final, NamedTuple

import numpy as np

from gpu.isa import fp_environment
from gpu.isa.semantics.entry import Array, Environment, Semantics, constant, define
from gpu.isa.semantics.floating import soft_float
from gpu.isa.semantics.floating.fma import fused_32, fused_64, odd, two_sum
from gpu.isa.semantics.floating.min_max_med import quieted
from gpu.isa.wave_registers import FloatMode


class _Width(NamedTuple):
    """Numbers of one width: bits, fraction bits, power of two of a scaling, difference of
    exponents from which a quotient is near overflow, exponent up to which a numerator is tiny."""

    name: str
    floating: Any
    unsigned: Any
    fraction_bits: int
    scale: int
    near_overflow: int
    tiny: int

    @property
    def bias(self) -> int:
        return 127 if self.fraction_bits == 23 else 1023

    def moderation(self) -> Callable[..., bool]:
        """A test whether no lane needs care: numerators and denominators, and so quotients, are
        numbers far enough from the ends of the range."""
        reach = self.near_overflow // 2 - 1
        one = constant(1, self.unsigned)
        least = constant((self.bias - reach) << self.fraction_bits + 1, self.unsigned)
        span = constant(2 * reach << self.fraction_bits + 1, self.unsigned)

        def above(a: Array) -> Array:
            distance: Array = np.subtract(np.left_shift(a.view(self.unsigned), one), least)
            return distance

        def moderate(*numbers: Array) -> bool:
            furthest = reduce(np.maximum, map(above, numbers))
            return 0 not in np.less(furthest, span).tobytes()

        return moderate

    def exponent(self, a: Array) -> Array:
        """The exponent fields."""
        fields = np.right_shift(a.view(self.unsigned), self.unsigned(self.fraction_bits))
        biased = np.bitwise_and(fields, self.unsigned(2 * self.bias + 1))
        exponent: Array = biased.astype(np.int64)
        return exponent


_SINGLE: Final = _Width("f32", np.float32, np.uint32, 23, 64, 96, 23)
_DOUBLE: Final = _Width("f64", np.float64, np.uint64, 52, 128, 768, 53)


def _scale(width: _Width) -> Callable[[Array, Array, Array], tuple[Array, Array]]:
    """The function of a value, the denominator and the numerator that gives the value, which is
    one of the two, scaled if the division needs it, and whether to scale the quotient back."""
    kind = width.floating
    least_normal = 1 - width.bias
    moderate = width.moderation()
    up, down = kind(2.0**width.scale), kind(2.0**-width.scale)

    def small_quotient(denominator: Array, numerator: Array) -> Array:
        """Whether the quotient is below the normal numbers; both sides of the comparison are
        exact where it matters."""
        part = least_normal // 2
        above: Array = np.multiply(np.absolute(numerator), kind(2.0 ** (part - least_normal)))
        below: Array = np.multiply(np.absolute(denominator), kind(2.0**part))
        return np.less(above, below)

    def scale(value: Array, denominator: Array, numerator: Array) -> tuple[Array, Array]:
        if moderate(value, denominator, numerator):
            return value, np.zeros(value.shape, np.bool_)
        return scale_some(value, denominator, numerator)

    def scale_some(value: Array, denominator: Array, numerator: Array) -> tuple[Array, Array]:
        below, above = width.exponent(denominator), width.exponent(numerator)
        of_denominator = np.equal(value, denominator)
        of_numerator = np.equal(value, numerator)
        huge = np.greater_equal(above - below, width.near_overflow)
        denormal = np.equal(below, 0)
        greatest_reciprocal = np.multiply(np.absolute(denominator), kind(2.0**least_normal))
        tiny_reciprocal = np.greater(greatest_reciprocal, 1)
        tiny_quotient = small_quotient(denominator, numerator)
        cases = [
            huge,
            denormal,
            np.logical_and(tiny_reciprocal, tiny_quotient),
            tiny_reciprocal,
            tiny_quotient,
            np.less_equal(above, width.tiny),
        ]
        factors = [
            np.where(of_denominator, up, kind(1)),
            up,
            np.where(of_denominator, down, kind(1)),
            down,
            np.where(of_numerator, up, kind(1)),
            up,
        ]
        factor = np.select(cases, factors, kind(1))
        mask = np.select(cases, [True, False, True, False, True, False], False)
        undefined = np.logical_or(np.equal(denominator, 0), np.equal(numerator, 0))
        scaled = np.where(undefined, kind(np.nan), np.multiply(value, factor))
        return scaled, np.logical_and(mask, np.logical_not(undefined))

    return scale


def _finish_32(mode: FloatMode, a: Array, b: Array, c: Array, scaled: Array) -> Array:
    """a * b + c, where the mask says scaled back by 2**64 away from 1; rounded once."""
    if 1 not in scaled.tobytes():
        fp_environment.use(mode.environments[Environment.SINGLE])
        return fused_32(mode, a, b, c)
    product = np.multiply(a.astype(np.float64), b.astype(np.float64))
    total = odd(*two_sum(product, c.astype(np.float64)))
    large = np.greater_equal(np.absolute(c), 2.0)
    factor = np.where(large, 2.0**_SINGLE.scale, 2.0**-_SINGLE.scale)
    total = np.where(scaled, np.multiply(total, factor), total)
    fp_environment.use(mode.environments[Environment.SINGLE])
    return total.astype(np.float32)


def _finish_64(mode: FloatMode, a: Array, b: Array, c: Array, scaled: Array) -> Array:
    """a * b + c, where the mask says scaled back by 2**128 away from 1; rounded once."""
    result = fused_64(mode, a, b, c)
    if 1 not in scaled.tobytes():
        return result
    result = np.array(np.broadcast_to(result, np.broadcast(result, scaled).shape))
    large = np.greater_equal(np.absolute(c), 2.0)
    environment = mode.environments[Environment.DOUBLE]
    for wanted, scale in ((large, _DOUBLE.scale), (~large, -_DOUBLE.scale)):
        exactly = partial(soft_float.fused_multiply_add, environment=environment, scale=scale)
        soft_float.repaired(result, np.logical_and(scaled, wanted), exactly, a, b, c)
    return result


def _fix_up_moderate(width: _Width, least: int) -> Callable[[Array, Array, Array], Array]:
    """As `_fix_up`, with a short way for quotients that only lack their sign."""
    moderate, fix_up = width.moderation(), _fix_up(width.name, least)
    sign = constant(1 << (8 * width.unsigned().itemsize - 1), width.unsigned)

    def operation(quotient: Array, denominator: Array, numerator: Array) -> Array:
        if not moderate(denominator, numerator) or 1 in np.isnan(quotient).tobytes():
            return fix_up(quotient, denominator, numerator)
        differing = np.bitwise_xor(denominator.view(width.unsigned), numerator.view(width.unsigned))
        size = np.absolute(quotient).view(width.unsigned)
        signed: Array = np.bitwise_or(size, np.bitwise_and(differing, sign))
        return signed.view(width.floating)

    return operation


def _fix_up(name: str, least: int) -> Callable[[Array, Array, Array], Array]:
    """The function of a quotient, its denominator and its numerator that gives the quotient with
    its sign and specials; zero if the exponents differ by ``least``, infinity if there is no number
    to give."""

    def fix_up(quotient: Array, denominator: Array, numerator: Array) -> Array:
        kind = quotient.dtype.type
        sign = np.not_equal(np.signbit(denominator), np.signbit(numerator))
        by_zero, of_zero = np.equal(denominator, 0), np.equal(numerator, 0)
        by_infinity, of_infinity = np.isinf(denominator), np.isinf(numerator)
        gap = np.subtract(np.frexp(numerator)[1], np.frexp(denominator)[1])
        size = np.select(
            [
                np.logical_or(
                    np.logical_and(by_zero, of_zero), np.logical_and(by_infinity, of_infinity)
                ),
                np.logical_or(by_zero, of_infinity),
                np.logical_or(by_infinity, of_zero),
                np.less(gap, least),
                np.isnan(quotient),
            ],
            [kind(np.nan), kind(np.inf), kind(0), kind(0), kind(np.inf)],
            np.absolute(quotient),
        )
        result = np.where(sign, np.negative(size), size)
        result = np.where(np.isnan(denominator), quieted(name, denominator), result)
        return np.where(np.isnan(numerator), quieted(name, numerator), result)

    return fix_up


_TABLE_BITS: Final = 1201
_SEGMENT: Final = 53


def _two_over_pi(bits: int) -> int:
    """floor(2**bits * 2 / pi); pi after Machin, with 64 bits to spare."""

    def inverse_tangent(n: int, one: int) -> int:
        total, power, k, sign = 0, one // n, 1, 1
        while power:
            total += sign * (power // k)
            power, k, sign = power // (n * n), k + 2, -sign
        return total

    one = 1 << (bits + 64)
    pi = 4 * (4 * inverse_tangent(5, one) - inverse_tangent(239, one))
    return (2 << (2 * bits + 64)) // pi


_TABLE: Final = _two_over_pi(_TABLE_BITS)


def _segment(shift: int) -> int:
    """53 bits of the table from that many bits below its top; zeros after its end."""
    below = _TABLE_BITS - _SEGMENT - shift
    bits = _TABLE >> below if below >= 0 else _TABLE << -below
    return bits & ((1 << _SEGMENT) - 1)


def _segment_of_two_over_pi(a: Array, number: Array) -> Array:
    """A segment of 2/pi for reducing the angle ``a``, from the first that can matter for it."""
    exponent = _DOUBLE.exponent(a)
    shift = np.bitwise_and(number, 31).astype(np.int64) * _SEGMENT
    shift = shift + np.maximum(exponent - 1077, 0)
    scale = np.where(np.greater_equal(exponent, 1968), 128, 0) - _SEGMENT - shift
    bits = np.array([_segment(int(lane)) for lane in shift], np.float64)
    segment: Array = np.ldexp(bits, scale.astype(np.int32))
    return segment


def _steps(name: str, width: _Width, finish: Any, least: int) -> dict[str, Semantics]:
    plain = Environment.PLAIN
    return {
        f"v_div_scale_{name}": define(_scale(width), f"{name} {name} {name} -> {name} mask", plain),
        f"v_div_fmas_{name}": define(
            finish, f"{name} {name} {name} mask -> {name}", plain, takes_mode=True
        ),
        f"v_div_fixup_{name}": define(
            _fix_up_moderate(width, least), f"{name} {name} {name} -> {name}", plain
        ),
    }


SEMANTICS: Final[dict[str, Semantics]] = {
    **_steps("f32", _SINGLE, _finish_32, -150),
    **_steps("f64", _DOUBLE, _finish_64, -1075),
    "v_div_fixup_f16": define(_fix_up("f16", -10_000), "f16 f16 f16 -> f16", Environment.PLAIN),
    "v_trig_preop_f64": define(_segment_of_two_over_pi, "f64 u32 -> f64", Environment.PLAIN),
}
