"""neg and abs of sources, omod and clamp of results.

Source: the public GCN3 instruction set architecture manual, "Vector ALU operations", on input and
output modifiers.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gpu.isa import fp_environment
from gpu.isa.semantics.entry import Array, Environment
from gpu.isa.semantics.floating import soft_float
from gpu.isa.wave_registers import FloatMode

_SIGN: Final = np.uint32(0x8000_0000)
_FACTORS: Final = (1.0, 2.0, 4.0, 0.5)
_ENVIRONMENTS: Final = {"e": Environment.DOUBLE, "f": Environment.SINGLE, "d": Environment.DOUBLE}


def negated(a: Array) -> Array:
    """Every sign bit inverted, those of NaNs too; 32 bits of no type have theirs at the top."""
    return np.negative(a) if a.dtype.kind == "f" else np.bitwise_xor(a, _SIGN)


def magnitude(a: Array) -> Array:
    """Every sign bit cleared, those of NaNs too."""
    return np.absolute(a) if a.dtype.kind == "f" else np.bitwise_and(a, ~_SIGN)


def scaled(mode: FloatMode, a: Array, omod: int) -> Array:
    """A result times 2, 4 or 1/2, for ``omod`` 1 to 3.

    Ignored in IEEE mode and where results may be denormal. Otherwise denormals are flushed, and
    -0 becomes +0.
    """
    denormals = mode.denormals_32 if a.dtype.char == "f" else mode.denormals_64
    if mode.ieee or denormals & 2 or not omod:
        return a
    factor = np.array([_FACTORS[omod]], a.dtype)
    environment = mode.environments[_ENVIRONMENTS[a.dtype.char]]
    if a.dtype.char == "e" or not fp_environment.AVAILABLE:
        product = soft_float.multiply(a, factor, environment)
    else:
        fp_environment.use(environment)
        product = np.multiply(a, factor)
    result: Array = np.where(np.equal(product, 0), a.dtype.type(0), product)
    return result


def clamped(mode: FloatMode, a: Array) -> Array:
    """A result held between +0 and 1; NaN becomes +0 if the mode says so."""
    kind = a.dtype.type
    result: Array = np.minimum(np.where(np.greater(a, 0), a, kind(0)), kind(1))
    if mode.clamp_nan:
        return result
    return np.where(np.isnan(a), a, result)
