"""16-bit numbers: flushing of denormals by mode, and results of wider arithmetic. numpy computes in
32 bits for them and never flushes, whatever the host's environment.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from gpu.isa.fp_environment import PLAIN
from gpu.isa.semantics.entry import Array, Environment, constant
from gpu.isa.semantics.floating import soft_float
from gpu.isa.wave_registers import FloatMode

_SMALLEST_NORMAL: Final = 2.0**-14
_MAGNITUDE: Final = constant(0x7FFF, np.uint16)
_SMALLEST_NORMAL_BITS: Final = constant(0x400, np.uint16)
_ONE: Final = constant(1, np.uint16)


def flushed(a: Array) -> Array:
    """Denormal 16-bit numbers as zeros of their sign, in whatever type they are."""
    small = np.less(np.absolute(a), a.dtype.type(_SMALLEST_NORMAL))
    return np.where(small, np.copysign(a.dtype.type(0), a), a)


def may_be_flushed(a: Array) -> Array:
    """Which 16-bit numbers are denormal, or the smallest normal one, to which a product that is
    tiny may have been rounded."""
    magnitude = np.bitwise_and(a.view(np.uint16), _MAGNITUDE)
    return np.less(np.subtract(magnitude, _ONE), _SMALLEST_NORMAL_BITS)


def widened(mode: FloatMode, a: Array) -> Array:
    """In 64 bits, flushed if the mode flushes sources."""
    wide = a.astype(np.float64)
    return wide if mode.environments[Environment.DOUBLE] & 4 else flushed(wide)


def to_half(mode: FloatMode, a: Array, *, nearest: bool = False) -> Array:
    """32- or 64-bit numbers in 16 bits, on request to nearest in any mode; sources are not
    flushed."""
    environment = mode.environments[Environment.DOUBLE]
    if nearest:
        environment &= ~3
    if environment == PLAIN:
        return a.astype(np.float16)
    return soft_float.convert(a, np.float16, environment | 4)


def under_mode(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that rounds nothing, its 16-bit sources and results flushed as the mode says."""

    def operation(mode: FloatMode, *operands: Array) -> Any:
        environment = mode.environments[Environment.DOUBLE]
        if not environment & 4:
            operands = tuple(flushed(operand) for operand in operands)
        result = function(*operands)
        if not environment & 8 and result.dtype == np.float16:
            return flushed(result)
        return result

    return operation
