"""Reciprocals, roots, powers, logarithms, sines.

The hardware's results are within an ulp; these are the correctly rounded ones (see
docs/gpu-isa-semantics.md), so that every host gives the same. All round to nearest except
the roots and reciprocals of 64 bits, and the 32-bit functions flush denormals whatever the mode
says.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from gpu.isa.semantics.entry import Array, Environment, Semantics, define
from gpu.isa.semantics.floating.double_rounding import (
    correctly_rounded,
    cosine,
    logarithm,
    power,
    reciprocal_root,
    sine,
)
from gpu.isa.semantics.floating.half import to_half, widened
from gpu.isa.wave_registers import FloatMode

Unary = Callable[[Array], Array]

_TURN: Final = 2 * np.pi
_GREATEST_TURNS: Final = 256.0


def _reciprocal_root(a: Array) -> Array:
    return np.divide(1.0, np.sqrt(a))


def _sine_of_turns(a: Array) -> Array:
    """Reduced exactly to a quarter turn, where 64 bits lose nothing; 0 for more than 256 turns."""
    rest = np.subtract(a, np.rint(a))
    folded = np.where(np.greater(rest, 0.25), np.subtract(0.5, rest), rest)
    folded = np.where(np.less(rest, -0.25), np.subtract(-0.5, rest), folded)
    sine = np.sin(np.multiply(folded, _TURN))
    sine = np.where(np.equal(a, 0), a, sine)
    return np.where(_beyond(a), 0.0, sine)


def _cosine_of_turns(a: Array) -> Array:
    """As the sine; 1 for more than 256 turns."""
    rest = np.absolute(np.subtract(a, np.rint(a)))
    cosine = np.sin(np.multiply(np.subtract(0.25, rest), _TURN))
    return np.where(_beyond(a), 1.0, cosine)


def _beyond(a: Array) -> Array:
    """Finite, but no number of turns that the hardware reduces."""
    return np.logical_and(np.greater(np.absolute(a), _GREATEST_TURNS), np.isfinite(a))


def _half(function: Unary) -> Callable[[FloatMode, Array], Array]:
    """A function of 64-bit numbers for 16-bit ones."""

    def operation(mode: FloatMode, a: Array) -> Array:
        return to_half(mode, function(widened(mode, a)), nearest=True)

    return operation


def _scale_half(mode: FloatMode, a: Array, exponent: Array) -> Array:
    bounded = np.minimum(np.maximum(exponent, -100), 100).astype(np.int32)
    return to_half(mode, np.ldexp(widened(mode, a), bounded))


_APPROXIMATE: Final = Environment.APPROXIMATE
_WIDE: Final[dict[str, Unary]] = {
    "rcp": np.reciprocal,
    "rsq": _reciprocal_root,
    "sqrt": np.sqrt,
    "exp": np.exp2,
    "log": np.log2,
    "sin": _sine_of_turns,
    "cos": _cosine_of_turns,
}
_power: Final = correctly_rounded(np.exp2, power)
_logarithm: Final = correctly_rounded(np.log2, logarithm)
_SINGLE: Final[dict[str, Unary]] = {
    "rcp": np.reciprocal,
    "rcp_iflag": np.reciprocal,
    "rsq": correctly_rounded(_reciprocal_root, reciprocal_root),
    "sqrt": np.sqrt,
    "exp": _power,
    "exp_legacy": _power,
    "log": _logarithm,
    "log_legacy": _logarithm,
    "sin": correctly_rounded(_sine_of_turns, sine),
    "cos": correctly_rounded(_cosine_of_turns, cosine),
}

SEMANTICS: Final[dict[str, Semantics]] = {
    **{
        f"v_{name}_f32": define(function, "f32 -> f32", _APPROXIMATE)
        for name, function in _SINGLE.items()
    },
    **{
        f"v_{name}_f16": define(_half(function), "f16 -> f16", Environment.PLAIN, takes_mode=True)
        for name, function in _WIDE.items()
    },
    "v_rcp_f64": define(np.reciprocal, "f64 -> f64", Environment.DOUBLE),
    "v_rsq_f64": define(_reciprocal_root, "f64 -> f64", Environment.DOUBLE),
    "v_sqrt_f64": define(np.sqrt, "f64 -> f64", Environment.DOUBLE),
    "v_ldexp_f16": define(_scale_half, "f16 i16 -> f16", Environment.PLAIN, takes_mode=True),
}
