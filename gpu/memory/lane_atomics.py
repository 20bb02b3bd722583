"""Read-modify-write operations on whole arrays: what `runtime.types.atomic_op` does, lane by lane
at once.

Invariant: for every kind, `apply(kind, old, operand, compare)[i]` equals
``AtomicOp(kind, operand[i], size, compare[i]).apply(old[i])``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from runtime.types.atomic_op import AtomicKind

Words = npt.NDArray[Any]
"""uint32 or uint64, shape (n,)."""


def _signed(words: Words) -> Words:
    signed: Words = words.view(np.int32 if words.itemsize == 4 else np.int64)
    return signed


def _minimum(old: Words, operand: Words, compare: Words) -> Words:
    return np.where(_signed(old) < _signed(operand), old, operand)


def _maximum(old: Words, operand: Words, compare: Words) -> Words:
    return np.where(_signed(old) < _signed(operand), operand, old)


def _increment(old: Words, operand: Words, compare: Words) -> Words:
    one: Any = old.dtype.type(1)
    return np.where(old >= operand, np.zeros_like(old), old + one)


def _decrement(old: Words, operand: Words, compare: Words) -> Words:
    wraps = (old == 0) | (old > operand)
    one: Any = old.dtype.type(1)
    return np.where(wraps, operand, old - one)


_MEANING: Final[dict[int, Callable[[Words, Words, Words], Words]]] = {
    AtomicKind.ADD: lambda old, operand, compare: old + operand,
    AtomicKind.SUB: lambda old, operand, compare: old - operand,
    AtomicKind.MIN: _minimum,
    AtomicKind.MAX: _maximum,
    AtomicKind.UMIN: lambda old, operand, compare: np.minimum(old, operand),
    AtomicKind.UMAX: lambda old, operand, compare: np.maximum(old, operand),
    AtomicKind.AND: lambda old, operand, compare: old & operand,
    AtomicKind.OR: lambda old, operand, compare: old | operand,
    AtomicKind.XOR: lambda old, operand, compare: old ^ operand,
    AtomicKind.EXCHANGE: lambda old, operand, compare: operand,
    AtomicKind.CAS: lambda old, operand, compare: np.where(old == compare, operand, old),
    AtomicKind.INC: _increment,
    AtomicKind.DEC: _decrement,
}


def apply(kind: int, old: Words, operand: Words, compare: Words) -> Words:
    """The new values. All arrays have the same dtype, uint32 or uint64, and shape (n,)."""
    return _MEANING[kind](old, operand, compare)
