"""Smallest, largest and middle of floating-point numbers.

A signalling NaN wins and is quieted in IEEE mode; otherwise the operand that is a number wins. -0
is below +0. Before GFX9 denormals pass as they are, whatever the mode; since then the mode says
(LLVM's AMDGPU target, "supportsMinMaxDenormModes"): these meanings have ``_mode`` in their names,
but for those of 16 bits with three operands, which GFX9 introduced.
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


def _of_three(kind: str) -> dict[str, Callable[..., Array]]:
    least, greatest = MINIMUM[kind], MAXIMUM[kind]

    def minimum(mode: FloatMode, a: Array, b: Array, c: Array) -> Array:
        return least(mode, least(mode, a, b), c)

    def maximum(mode: FloatMode, a: Array, b: Array, c: Array) -> Array:
        return greatest(mode, greatest(mode, a, b), c)

    def median(mode: FloatMode, a: Array, b: Array, c: Array) -> Array:
        """With a NaN among the three, the smallest."""
        middle = greatest(mode, least(mode, a, b), least(mode, greatest(mode, a, b), c))
        nan = np.isnan(np.add(np.add(a, b), c))
        if 1 not in nan.tobytes():
            return middle
        nan = np.logical_or(np.logical_or(np.isnan(a), np.isnan(b)), np.isnan(c))
        return np.where(nan, minimum(mode, a, b, c), middle)

    return {"min3": minimum, "max3": maximum, "med3": median}


def _flushed(a: Array) -> Array:
    small = np.less(np.absolute(a), np.finfo(a.dtype).tiny)
    return np.where(small, np.copysign(a.dtype.type(0), a), a)


def _obeying(kind: str, function: Callable[..., Array]) -> Callable[..., Array]:
    """The function with denormals flushed as the mode says."""
    which = Environment.SINGLE if kind == "f32" else Environment.DOUBLE

    def operation(mode: FloatMode, *operands: Array) -> Array:
        environment = mode.environments[which]
        if not environment & 4:
            operands = tuple(_flushed(operand) for operand in operands)
        result = function(mode, *operands)
        return result if environment & 8 else _flushed(result)

    return operation


def _define(function: Callable[..., Array], kind: str, operands: int) -> Semantics:
    signature = f"{' '.join([kind] * operands)} -> {kind}"
    return define(function, signature, Environment.PLAIN, takes_mode=True)


SEMANTICS: Final[dict[str, Semantics]] = {
    **{f"v_min_{kind}": _define(function, kind, 2) for kind, function in MINIMUM.items()},
    **{f"v_max_{kind}": _define(function, kind, 2) for kind, function in MAXIMUM.items()},
    **{
        f"v_{name}_mode_{kind}": _define(_obeying(kind, table[kind]), kind, 2)
        for name, table in (("min", MINIMUM), ("max", MAXIMUM))
        for kind in _BITS
    },
    **{f"v_{name}_f32": _define(each, "f32", 3) for name, each in _of_three("f32").items()},
    **{
        f"v_{name}_mode_f32": _define(_obeying("f32", each), "f32", 3)
        for name, each in _of_three("f32").items()
    },
    **{
        f"v_{name}_f16": _define(_obeying("f16", each), "f16", 3)
        for name, each in _of_three("f16").items()
    },
}
