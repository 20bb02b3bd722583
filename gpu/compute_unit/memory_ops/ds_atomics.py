"""The atomic operations of LDS on words, lane by lane.

GCN3 instruction set architecture, "LDS instructions". Operands: ``a`` from DATA0, ``b`` from
DATA1. Invariant: functions of numpy arrays of one unsigned type, without state.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

import numpy as np

from gpu.compute_unit.wave.lane_values import Values
from gpu.compute_unit.wave.lds import Change
from gpu.isa import fp_environment
from gpu.memory.lane_atomics import apply
from runtime.types.atomic_op import AtomicKind


def change_of(name: str) -> Change | None:
    """By the middle of a mnemonic and its type, as in ``("min", "i32")`` of ``ds_min_rtn_i32``."""
    action, _, kind = name.partition("_")
    change = _CHANGES.get(action)
    if change is not None:
        return change
    if action in ("min", "max", "add", "cmpst") and kind.startswith("f"):
        return Change(partial(_in_plain_environment, _FLOAT[action], kind))
    if action == "cmpst":
        return Change(_compare_store)
    if action in ("min", "max"):
        unsigned = kind.startswith("u")
        return atomic_change(
            {
                ("min", True): AtomicKind.UMIN,
                ("max", True): AtomicKind.UMAX,
                ("min", False): AtomicKind.MIN,
                ("max", False): AtomicKind.MAX,
            }[action, unsigned]
        )
    op = _PLAIN.get(action)
    return None if op is None else atomic_change(op)


def atomic_change(op: int) -> Change:
    """What an operation of `runtime.types.atomic_op` does; ``b`` is what compare-and-swap compares
    with.
    """
    return Change(partial(apply, op), _RUNNING.get(op))


def _reverse_subtract(old: Values, a: Values, b: Values) -> Values:
    return a - old


def _mask_or(old: Values, a: Values, b: Values) -> Values:
    return old & ~a | b


def _compare_store(old: Values, a: Values, b: Values) -> Values:
    """Unlike the FLAT form, the first operand is what is compared with."""
    return np.where(old == a, b, old)


def _wrap(old: Values, a: Values, b: Values) -> Values:
    return np.where(old >= a, old - a, old + b)


def _conditional_exchange(old: Values, a: Values, b: Values) -> Values:
    """Each dword whose new value has bit 31 takes its other bits."""
    before, new = old.view(np.uint32), np.ascontiguousarray(a).view(np.uint32)
    taken = np.where(new >> np.uint32(31) != 0, new & np.uint32(0x7FFF_FFFF), before)
    result: Values = taken.view(np.uint64)
    return result


_FloatType = type[np.float32] | type[np.float64]
_FloatChange = Callable[[_FloatType, Values, Values, Values], Values]


def _in_plain_environment(
    change: _FloatChange, kind: str, old: Values, a: Values, b: Values
) -> Values:
    """LDS rounds to nearest and keeps denormals, whatever mode the vector instructions use."""
    fp_environment.use(fp_environment.PLAIN)
    return change(np.float32 if kind == "f32" else np.float64, old, a, b)


def _float_min(kind: _FloatType, old: Values, a: Values, b: Values) -> Values:
    return np.where(a.view(kind) < old.view(kind), a, old)


def _float_max(kind: _FloatType, old: Values, a: Values, b: Values) -> Values:
    return np.where(a.view(kind) > old.view(kind), a, old)


def _float_add(kind: _FloatType, old: Values, a: Values, b: Values) -> Values:
    with np.errstate(all="ignore"):
        total: Values = (old.view(kind) + a.view(kind)).view(old.dtype)
    return total


def _float_compare_store(kind: _FloatType, old: Values, a: Values, b: Values) -> Values:
    return np.where(old.view(kind) == a.view(kind), b, old)


_FLOAT: Final[dict[str, _FloatChange]] = {
    "min": _float_min,
    "max": _float_max,
    "add": _float_add,
    "cmpst": _float_compare_store,
}
_CHANGES: Final[dict[str, Change]] = {
    "rsub": Change(_reverse_subtract),
    "mskor": Change(_mask_or),
    "wrap": Change(_wrap),
    "condxchg32": Change(_conditional_exchange),
}
_PLAIN: Final = {
    "add": AtomicKind.ADD,
    "sub": AtomicKind.SUB,
    "inc": AtomicKind.INC,
    "dec": AtomicKind.DEC,
    "and": AtomicKind.AND,
    "or": AtomicKind.OR,
    "xor": AtomicKind.XOR,
    "wrxchg": AtomicKind.EXCHANGE,
}
_RUNNING: Final[dict[int, np.ufunc]] = {
    AtomicKind.ADD: np.add,
    AtomicKind.SUB: np.subtract,
    AtomicKind.AND: np.bitwise_and,
    AtomicKind.OR: np.bitwise_or,
    AtomicKind.XOR: np.bitwise_xor,
    AtomicKind.UMIN: np.minimum,
    AtomicKind.UMAX: np.maximum,
}
