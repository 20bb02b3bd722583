"""Whole parts, fractions, and splitting numbers into fraction and exponent."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from gpu.isa import fp_environment
from gpu.isa.semantics.entry import Array, Environment, Semantics, constant, define
from gpu.isa.semantics.floating.half import under_mode

Unary = Callable[[Array], Array]

_ENVIRONMENTS: Final = {
    "f16": Environment.PLAIN,
    "f32": Environment.SINGLE,
    "f64": Environment.DOUBLE,
}
_ONE: Final = {kind: constant(1, kind) for kind in "efd"}
_BELOW_ONE: Final = {
    "f16": constant(np.nextafter(np.float16(1), np.float16(0)), np.float16),
    "f32": constant(np.nextafter(np.float32(1), np.float32(0)), np.float32),
    "f64": constant(np.nextafter(1.0, 0.0), np.float64),
}


def canonical(a: Array) -> Array:
    """The number as arithmetic sees it: flushed if the environment flushes sources."""
    if fp_environment.current & 4:
        return a
    return np.multiply(a, _ONE[a.dtype.char])


def _whole(function: Unary) -> Unary:
    """A function of numpy that may inspect the bits, made to obey the environment."""

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
    return np.where(np.isfinite(value), np.frexp(value)[0], np.add(value, value))


def _power_of_two(exponent: Array) -> Array:
    """2**exponent as 64-bit numbers, for -1022 to 1023."""
    return np.left_shift(np.add(exponent, 1023, dtype=np.int64), 52).view(np.float64)


def _scale_32(a: Array, exponent: Array) -> Array:
    """Scaling in 64 bits is exact for every exponent that matters."""
    bounded = np.minimum(np.maximum(exponent, -400), 400)
    return np.multiply(a.astype(np.float64), _power_of_two(bounded)).astype(np.float32)


def _scale_64(a: Array, exponent: Array) -> Array:
    return np.ldexp(canonical(a), np.minimum(np.maximum(exponent, -3000), 3000))


def _of_every_width(name: str, make: Callable[[str], Unary]) -> dict[str, Semantics]:
    """An operation whose result has the type of its source."""
    table = {}
    for kind, environment in _ENVIRONMENTS.items():
        half = kind == "f16"
        function = under_mode(make(kind)) if half else make(kind)
        table[f"v_{name}_{kind}"] = define(
            function, f"{kind} -> {kind}", environment, takes_mode=half
        )
    return table


SEMANTICS: Final[dict[str, Semantics]] = {
    **_of_every_width("trunc", lambda kind: _whole(np.trunc)),
    **_of_every_width("ceil", lambda kind: _whole(np.ceil)),
    **_of_every_width("rndne", lambda kind: _whole(np.rint)),
    **_of_every_width("floor", lambda kind: _whole(np.floor)),
    **_of_every_width("fract", lambda kind: _fraction(_BELOW_ONE[kind])),
    **_of_every_width("frexp_mant", lambda kind: _mantissa),
    "v_frexp_exp_i32_f32": define(_exponent, "f32 -> i32", Environment.SINGLE),
    "v_frexp_exp_i32_f64": define(_exponent, "f64 -> i32", Environment.DOUBLE),
    "v_frexp_exp_i16_f16": define(
        under_mode(_exponent_16), "f16 -> i16", Environment.PLAIN, takes_mode=True
    ),
    "v_ldexp_f32": define(_scale_32, "f32 i32 -> f32", Environment.SINGLE),
    "v_ldexp_f64": define(_scale_64, "f64 i32 -> f64", Environment.DOUBLE),
}
