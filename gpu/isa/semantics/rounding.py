"""Whole parts, fractions, and taking numbers apart into fraction and exponent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from gpu.isa.semantics.entry import Array, Environment, Semantics, define

Unary = Callable[[Array], Array]

_ENVIRONMENTS: Final = {
    "f16": Environment.PLAIN,
    "f32": Environment.SINGLE,
    "f64": Environment.DOUBLE,
}
_ONE: Final = {kind: np.ones(1, kind) for kind in "efd"}
_BELOW_ONE: Final = {
    "f16": np.nextafter(np.float16(1), np.float16(0)),
    "f32": np.nextafter(np.float32(1), np.float32(0)),
    "f64": np.nextafter(np.float64(1), np.float64(0)),
}


def canonical(a: Array) -> Array:
    """The number as arithmetic sees it: flushed if the environment flushes, no signalling NaN."""
    return np.multiply(a, _ONE[a.dtype.char])


def _whole(function: Unary) -> Unary:
    """A function of numpy's that may look at the bits, made to obey the environment."""

    def operation(a: Array) -> Array:
        return function(canonical(a))

    return operation


def _fraction(below_one: Any) -> Unary:
    """The distance from the next lower integer; rounding never makes it 1."""

    def operation(a: Array) -> Array:
        value = canonical(a)
        fraction: Array = np.minimum(np.subtract(value, np.floor(value)), below_one)
        return fraction

    return operation


def _exponent(a: Array) -> Array:
    """The exponent that goes with `_mantissa`; 0 for zeros, infinities and NaNs."""
    value = canonical(a)
    exponent = np.frexp(value)[1]
    return np.where(np.isfinite(value), exponent, 0).astype(np.int32)


def _exponent_16(a: Array) -> Array:
    return _exponent(a).astype(np.int16)


def _mantissa(a: Array) -> Array:
    """The number scaled by a power of two to at least 1/2 and below 1."""
    value = canonical(a)
    return np.where(np.isfinite(value), np.frexp(value)[0], value)


def _power_of_two(exponent: Array) -> Array:
    """2**exponent as 64-bit numbers, for -1022 to 1023."""
    return np.left_shift(np.add(exponent, 1023, dtype=np.int64), 52).view(np.float64)


def _scale_32(a: Array, exponent: Array) -> Array:
    """Scaling in 64 bits is exact for every exponent that matters."""
    bounded = np.minimum(np.maximum(exponent, -400), 400)
    return np.multiply(a.astype(np.float64), _power_of_two(bounded)).astype(np.float32)


def _scale_64(a: Array, exponent: Array) -> Array:
    return np.ldexp(canonical(a), np.minimum(np.maximum(exponent, -3000), 3000))


SEMANTICS: Final[dict[str, Semantics]] = {
    **{
        f"v_{name}_{kind}": define(_whole(function), f"{kind} -> {kind}", environment)
        for name, function in (
            ("trunc", np.trunc),
            ("ceil", np.ceil),
            ("rndne", np.rint),
            ("floor", np.floor),
        )
        for kind, environment in _ENVIRONMENTS.items()
    },
    **{
        f"v_fract_{kind}": define(_fraction(_BELOW_ONE[kind]), f"{kind} -> {kind}", environment)
        for kind, environment in _ENVIRONMENTS.items()
    },
    **{
        f"v_frexp_mant_{kind}": define(_mantissa, f"{kind} -> {kind}", environment)
        for kind, environment in _ENVIRONMENTS.items()
    },
    "v_frexp_exp_i32_f32": define(_exponent, "f32 -> i32", Environment.SINGLE),
    "v_frexp_exp_i32_f64": define(_exponent, "f64 -> i32", Environment.DOUBLE),
    "v_frexp_exp_i16_f16": define(_exponent_16, "f16 -> i16", Environment.PLAIN),
    "v_ldexp_f32": define(_scale_32, "f32 i32 -> f32", Environment.SINGLE),
    "v_ldexp_f64": define(_scale_64, "f64 i32 -> f64", Environment.DOUBLE),
}
