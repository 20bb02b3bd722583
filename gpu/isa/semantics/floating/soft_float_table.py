"""The same meanings where the host's floating-point environment cannot be set.

To nearest, plain arithmetic does, between flushing of sources and of results. Other roundings are
done with whole numbers for the operations of IEEE 754; other operations that round (v_fract, the
last step of a division) then round to nearest.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from gpu.isa.fp_environment import PLAIN
from gpu.isa.semantics.entry import Array, Environment, Semantics, constant
from gpu.isa.semantics.floating import soft_float
from gpu.isa.wave_registers import FloatMode

_NEEDS_NONE: Final = (Environment.ANY, Environment.PLAIN)
_MULTIPLY_ADD: Final = {
    **dict.fromkeys(("v_mad_f32", "v_mac_f32", "v_madmk_f32", "v_madak_f32"), "v_mul_f32"),
    "v_mad_legacy_f32": "v_mul_legacy_f32",
}
"""Two steps each, and which is the first."""
_SETS_ITS_OWN: Final = {"v_div_fmas_f32": Environment.SINGLE}
_SMALLEST_NORMAL: Final = {
    kind: constant(float(np.finfo(kind).smallest_normal), kind) for kind in "efd"
}


def _flushed(a: Array) -> Array:
    if a.dtype.kind != "f":
        return a
    small = np.less(np.absolute(a), _SMALLEST_NORMAL[a.dtype.char])
    return np.where(small, np.copysign(a.dtype.type(0), a), a)


def _subtract_reversed(a: Array, b: Array, environment: int) -> Array:
    return soft_float.subtract(b, a, environment)


def _multiply_legacy(a: Array, b: Array, environment: int) -> Array:
    """Zero times anything is +0; a denormal is zero if sources are flushed."""
    if not environment & 4:
        a, b = _flushed(a), _flushed(b)
    zero = np.logical_or(np.equal(a, 0), np.equal(b, 0))
    return np.where(zero, a.dtype.type(0), soft_float.multiply(a, b, environment))


def _reciprocal(a: Array, environment: int) -> Array:
    return soft_float.divide(np.ones(1, a.dtype), a, environment)


def _to_single(a: Array, environment: int) -> Array:
    return soft_float.convert(a.astype(np.float64), np.float32, environment)


def _narrowed(a: Array, environment: int) -> Array:
    """A denormal of 64 bits counts as below every number of 32, not as zero."""
    return soft_float.convert(a, np.float32, environment)


_EXACTLY: Final[dict[str, Callable[..., Array]]] = {
    "v_add_f32": soft_float.add,
    "v_add_f64": soft_float.add,
    "v_sub_f32": soft_float.subtract,
    "v_subrev_f32": _subtract_reversed,
    "v_mul_f32": soft_float.multiply,
    "v_mul_f64": soft_float.multiply,
    "v_mul_legacy_f32": _multiply_legacy,
    "v_ldexp_f32": soft_float.scale,
    "v_ldexp_f64": soft_float.scale,
    "v_fma_f32": soft_float.fused_multiply_add,
    "v_sqrt_f64": soft_float.square_root,
    "v_rcp_f64": _reciprocal,
    "v_cvt_f32_f64": _narrowed,
    "v_cvt_f32_i32": _to_single,
    "v_cvt_f32_u32": _to_single,
}


def _under_mode(
    entry: Semantics, which: Environment, exactly: Callable[..., Array] | None
) -> Callable[..., Any]:
    """The function of an entry, with rounding and flushing around it."""

    def nearest(mode: FloatMode, environment: int, *operands: Array) -> Any:
        if not environment & 4:
            operands = tuple(_flushed(operand) for operand in operands)
        arguments = (mode, *operands) if entry.takes_mode else operands
        result = entry.function(*arguments)
        if environment & 8 or entry.gives_mask or result.dtype.kind != "f":
            return result
        return rounded_up(_flushed(result), operands, environment)

    def rounded_up(result: Array, operands: tuple[Array, ...], environment: int) -> Array:
        """What became the smallest normal number may have been less before it was rounded."""
        least = np.equal(np.absolute(result), _SMALLEST_NORMAL[result.dtype.char])
        if exactly is None or 1 not in least.tobytes():
            return result
        return np.where(least, exactly(*operands, environment), result)

    def operation(mode: FloatMode, *operands: Array) -> Any:
        environment = mode.environments[which]
        if environment == PLAIN:
            return nearest(mode, PLAIN, *operands)
        if exactly is not None and environment & 3:
            return exactly(*operands, environment)
        return nearest(mode, environment, *operands)

    return operation


def _multiply_add(table: dict[str, Semantics], product: str) -> Callable[..., Any]:
    """A product and a sum, denormals flushed at each."""
    which = Environment.SINGLE_FLUSHED
    multiply = _under_mode(table[product], which, _EXACTLY[product])
    add = _under_mode(table["v_add_f32"], which, soft_float.add)

    def operation(mode: FloatMode, a: Array, b: Array, c: Array) -> Any:
        return add(mode, multiply(mode, a, b), c)

    return operation


def with_soft_float(table: dict[str, Semantics]) -> dict[str, Semantics]:
    """A table whose entries need no environment of the host."""
    result = {}
    for name, entry in table.items():
        which = _SETS_ITS_OWN.get(name, entry.environment)
        if which not in _NEEDS_NONE:
            if name in _MULTIPLY_ADD:
                function = _multiply_add(table, _MULTIPLY_ADD[name])
            else:
                function = _under_mode(entry, which, _EXACTLY.get(name))
            entry = Semantics(
                function,
                entry.operands,
                entry.result,
                entry.gives_mask,
                Environment.PLAIN,
                takes_mode=True,
            )
        result[name] = entry
    return result
