"""Floating-point addition, multiplication and operations built from them.

In 32 and 64 bits the host's arithmetic does it, in the environment the entry names. In 16 bits
numpy computes in 32 and rounds to nearest, which is the same as rounding once; other modes are
computed with integers.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

import numpy as np

from gpu.isa.fp_environment import PLAIN
from gpu.isa.semantics.entry import Array, Environment, Semantics, define
from gpu.isa.semantics.floating import soft_float
from gpu.isa.semantics.floating.fma import fused_16, fused_32, fused_64
from gpu.isa.semantics.floating.half import may_be_flushed
from gpu.isa.wave_registers import FloatMode


def _subtract_reversed(a: Array, b: Array) -> Array:
    return np.subtract(b, a)


def _multiply_add(a: Array, b: Array, c: Array) -> Array:
    return np.add(np.multiply(a, b), c)


def _multiply_legacy(a: Array, b: Array) -> Array:
    """Zero times anything, infinities and NaNs included, is +0."""
    zero = np.logical_or(np.equal(a, 0), np.equal(b, 0))
    return np.where(zero, np.float32(0), np.multiply(a, b))


def _multiply_add_legacy(a: Array, b: Array, c: Array) -> Array:
    return np.add(_multiply_legacy(a, b), c)


def _half(
    plainly: Callable[[Array, Array], Array], exactly: Callable[[Array, Array, int], Array]
) -> Callable[[FloatMode, Array, Array], Array]:
    """An operation on 16-bit numbers under any mode."""

    def operation(mode: FloatMode, a: Array, b: Array) -> Array:
        environment = mode.environments[Environment.DOUBLE]
        return plainly(a, b) if environment == PLAIN else exactly(a, b, environment)

    return operation


def _subtract_reversed_exactly(a: Array, b: Array, environment: int) -> Array:
    return soft_float.subtract(b, a, environment)


def _multiply_add_half(mode: FloatMode, a: Array, b: Array, c: Array) -> Array:
    """Two roundings, and denormals are flushed whatever the mode says."""
    if mode.round_64:
        return _multiply_add_exactly(a, b, c, mode.round_64)
    product = np.multiply(a, b)
    total: Array = np.add(product, c)
    small = may_be_flushed(total)
    for value in (a, b, c, product):
        small = np.logical_or(small, may_be_flushed(value))
    if 1 not in small.tobytes():
        return total
    exactly = partial(_multiply_add_exactly, environment=mode.round_64)
    return soft_float.repaired(total, small, exactly, a, b, c)


def _multiply_add_exactly(a: Array, b: Array, c: Array, environment: int) -> Array:
    return soft_float.add(soft_float.multiply(a, b, environment), c, environment)


def _binary(name: str, function: Callable[..., Array]) -> dict[str, Semantics]:
    single = define(function, "f32 f32 -> f32", Environment.SINGLE)
    double = define(function, "f64 f64 -> f64", Environment.DOUBLE)
    return {f"v_{name}_f32": single, f"v_{name}_f64": double}


_SINGLE_3: Final = "f32 f32 f32 -> f32"
_HALF_3: Final = "f16 f16 f16 -> f16"
_mad_32: Final = define(_multiply_add, _SINGLE_3, Environment.SINGLE_FLUSHED)
_mad_16: Final = define(_multiply_add_half, _HALF_3, Environment.PLAIN, takes_mode=True)

SEMANTICS: Final[dict[str, Semantics]] = {
    **_binary("add", np.add),
    **_binary("mul", np.multiply),
    "v_sub_f32": define(np.subtract, "f32 f32 -> f32", Environment.SINGLE),
    "v_subrev_f32": define(_subtract_reversed, "f32 f32 -> f32", Environment.SINGLE),
    "v_mul_legacy_f32": define(_multiply_legacy, "f32 f32 -> f32", Environment.SINGLE),
    "v_mad_legacy_f32": define(_multiply_add_legacy, _SINGLE_3, Environment.SINGLE_FLUSHED),
    **dict.fromkeys(("v_mad_f32", "v_mac_f32", "v_madmk_f32", "v_madak_f32"), _mad_32),
    **dict.fromkeys(("v_mad_f16", "v_mac_f16", "v_madmk_f16", "v_madak_f16"), _mad_16),
    **{
        f"v_{name}_f16": define(
            _half(plainly, exactly), "f16 f16 -> f16", Environment.PLAIN, takes_mode=True
        )
        for name, plainly, exactly in (
            ("add", np.add, soft_float.add),
            ("sub", np.subtract, soft_float.subtract),
            ("subrev", _subtract_reversed, _subtract_reversed_exactly),
            ("mul", np.multiply, soft_float.multiply),
        )
    },
    "v_fma_f16": define(fused_16, _HALF_3, Environment.PLAIN, takes_mode=True),
    "v_fma_f32": define(fused_32, _SINGLE_3, Environment.SINGLE, takes_mode=True),
    "v_fma_f64": define(fused_64, "f64 f64 f64 -> f64", Environment.PLAIN, takes_mode=True),
}
