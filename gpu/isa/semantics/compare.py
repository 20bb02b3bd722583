"""Comparisons of every type, and the classes of floating-point numbers.

The result is a mask; the code that writes it clears lanes outside of EXEC, and writes EXEC for
v_cmpx.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from gpu.isa.semantics.entry import Array, Environment, Semantics, define
from gpu.isa.semantics.floating.half import under_mode

Comparison = Callable[[Array, Array], Array]


def _shape(a: Array, b: Array) -> int:
    return max(len(a), len(b))


def _never(a: Array, b: Array) -> Array:
    return np.zeros(_shape(a, b), np.bool_)


def _always(a: Array, b: Array) -> Array:
    return np.ones(_shape(a, b), np.bool_)


def _unordered(a: Array, b: Array) -> Array:
    return np.logical_or(np.isnan(a), np.isnan(b))


def _ordered(a: Array, b: Array) -> Array:
    return np.logical_not(_unordered(a, b))


def _less_or_greater(a: Array, b: Array) -> Array:
    return np.logical_or(np.less(a, b), np.greater(a, b))


def _not(comparison: Comparison) -> Comparison:
    def opposite(a: Array, b: Array) -> Array:
        return np.logical_not(comparison(a, b))

    return opposite


_OF_INTEGERS: Final[dict[str, Comparison]] = {
    "f": _never,
    "lt": np.less,
    "eq": np.equal,
    "le": np.less_equal,
    "gt": np.greater,
    "ne": np.not_equal,
    "ge": np.greater_equal,
    "t": _always,
}
_OF_FLOATS: Final[dict[str, Comparison]] = {
    "f": _never,
    "lt": np.less,
    "eq": np.equal,
    "le": np.less_equal,
    "gt": np.greater,
    "lg": _less_or_greater,
    "ge": np.greater_equal,
    "o": _ordered,
    "u": _unordered,
    "nge": _not(np.greater_equal),
    "nlg": _not(_less_or_greater),
    "ngt": _not(np.greater),
    "nle": _not(np.less_equal),
    "neq": np.not_equal,
    "nlt": _not(np.less),
    "tru": _always,
}
_FLOAT_ENVIRONMENTS: Final = {
    "f16": Environment.PLAIN,
    "f32": Environment.SINGLE,
    "f64": Environment.DOUBLE,
}


def _class_test(unsigned: Any, fraction_bits: int, width: int) -> Callable[[Array, Array], Array]:
    """Whether a number is in one of the classes whose bits are set: 0 signalling NaN, 1 quiet NaN,
    2 -infinity, 3 -normal, 4 -denormal, 5 -0, 6 +0, 7 +denormal, 8 +normal, 9 +infinity."""
    exponent_bits = width - 1 - fraction_bits
    magnitude = unsigned((1 << (width - 1)) - 1)
    infinity = unsigned(((1 << exponent_bits) - 1) << fraction_bits)
    least_normal = unsigned(1 << fraction_bits)
    quiet = unsigned(1 << (fraction_bits - 1))
    kind = np.dtype(f"u{width // 8}")

    def test(a: Array, classes: Array) -> Array:
        bits = a.view(kind)
        size = np.bitwise_and(bits, magnitude)
        step = np.greater(size, 0).astype(np.uint32)
        step += np.greater_equal(size, least_normal)
        step += np.greater_equal(size, infinity)
        number = np.where(np.greater(bits, magnitude), 5 - step, 6 + step)
        nan = np.where(np.bitwise_and(bits, quiet), 1, 0)
        number = np.where(np.greater(size, infinity), nan, number)
        return np.bitwise_and(np.right_shift(classes, number.astype(np.uint32)), 1).astype(np.bool_)

    return test


def _both(name: str, semantics: Semantics) -> dict[str, Semantics]:
    return {f"v_cmp_{name}": semantics, f"v_cmpx_{name}": semantics}


def _all() -> dict[str, Semantics]:
    table: dict[str, Semantics] = {}
    for kind in ("i16", "u16", "i32", "u32", "i64", "u64"):
        for name, comparison in _OF_INTEGERS.items():
            table |= _both(f"{name}_{kind}", define(comparison, f"{kind} {kind} -> mask"))
    for kind, environment in _FLOAT_ENVIRONMENTS.items():
        for name, comparison in _OF_FLOATS.items():
            half = kind == "f16"
            function = under_mode(comparison) if half else comparison
            entry = define(function, f"{kind} {kind} -> mask", environment, takes_mode=half)
            table |= _both(f"{name}_{kind}", entry)
    for kind, unsigned, fraction_bits, width in (
        ("f16", np.uint16, 10, 16),
        ("f32", np.uint32, 23, 32),
        ("f64", np.uint64, 52, 64),
    ):
        test = _class_test(unsigned, fraction_bits, width)
        table |= _both(f"class_{kind}", define(test, f"{kind} b32 -> mask"))
    return table


SEMANTICS: Final[dict[str, Semantics]] = _all()
