"""Smallest, largest and middle of floating-point numbers.

A signalling NaN wins and is quieted in IEEE mode; otherwise the operand that is a number wins. -0
is below +0. Denormals pass as they are, whatever the mode: before GFX9 these instructions do not
flush (LLVM's AMDGPU target, "supportsMinMaxDenormModes").
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from gpu.isa.semantics.entry import Array, Environment, Semantics, define
from gpu.isa.wave_registers import FloatMode

Binary = Callable[[FloatMode, Array, Array], Array]
_BITS: Final[dict[str, type[np.unsignedinteger[Any]]]] = {
    "f16": np.uint16,
    "f32": np.uint32,
    "f64": np.uint64,
}
_QUIET_BIT: Final = {"f16": 9, "f32": 22, "f64": 51}


def quieted(kind: str, a: Array) -> Array:
    """NaNs with their quiet bit set; only for NaNs."""
    bits = _BITS[kind]
    return np.bitwise_or(a.view(bits), bits(1 << _QUIET_BIT[kind])).view(a.dtype)


def signalling(kind: str, a: Array) -> Array:
    """Which lanes hold a signalling NaN."""
    bits = _BITS[kind]
    quiet = np.bitwise_and(a.view(bits), bits(1 << _QUIET_BIT[kind]))
    return np.logical_and(np.isnan(a), np.equal(quiet, 0))


def _extreme(kind: str, choose: Callable[..., Array], join: Callable[..., Array]) -> Binary:
    """``choose`` leaves open which of two zeros it gives, but gives the other one when asked the
    other way round; ``join`` of their bits is the right one, and nothing else differs."""
    bits = _BITS[kind]

    def with_nans(mode: FloatMode, a: Array, b: Array, result: Array) -> Array:
        result = np.where(np.isnan(a), b, np.where(np.isnan(b), a, result))
        if mode.ieee:
            result = np.where(signalling(kind, b), quieted(kind, b), result)
            result = np.where(signalling(kind, a), quieted(kind, a), result)
        return result

    def extreme(mode: FloatMode, a: Array, b: Array) -> Array:
        first = choose(a, b)
        result = join(first.view(bits), choose(b, a).view(bits)).view(first.dtype)
        if 1 in np.isnan(first).tobytes():
            return with_nans(mode, a, b, result)
        return result

    return extreme


MINIMUM: Final = {kind: _extreme(kind, np.minimum, np.bitwise_or) for kind in _BITS}
MAXIMUM: Final = {kind: _extreme(kind, np.maximum, np.bitwise_and) for kind in _BITS}


def _minimum_of_three(mode: FloatMode, a: Array, b: Array, c: Array) -> Array:
    least = MINIMUM["f32"]
    return least(mode, least(mode, a, b), c)


def _maximum_of_three(mode: FloatMode, a: Array, b: Array, c: Array) -> Array:
    greatest = MAXIMUM["f32"]
    return greatest(mode, greatest(mode, a, b), c)


def _median(mode: FloatMode, a: Array, b: Array, c: Array) -> Array:
    """With a NaN among the three, the smallest."""
    least, greatest = MINIMUM["f32"], MAXIMUM["f32"]
    middle = greatest(mode, least(mode, a, b), least(mode, greatest(mode, a, b), c))
    nan = np.isnan(np.add(np.add(a, b), c))
    if 1 not in nan.tobytes():
        return middle
    nan = np.logical_or(np.logical_or(np.isnan(a), np.isnan(b)), np.isnan(c))
    return np.where(nan, _minimum_of_three(mode, a, b, c), middle)


def _define(function: Callable[..., Array], kind: str, operands: int) -> Semantics:
    signature = f"{' '.join([kind] * operands)} -> {kind}"
    return define(function, signature, Environment.PLAIN, takes_mode=True)


SEMANTICS: Final[dict[str, Semantics]] = {
    **{f"v_min_{kind}": _define(function, kind, 2) for kind, function in MINIMUM.items()},
    **{f"v_max_{kind}": _define(function, kind, 2) for kind, function in MAXIMUM.items()},
    "v_min3_f32": _define(_minimum_of_three, "f32", 3),
    "v_max3_f32": _define(_maximum_of_three, "f32", 3),
    "v_med3_f32": _define(_median, "f32", 3),
}
