"""Integer instructions with the clamp bit: results out of range saturate to the nearest bound.

``SATURATING`` has the mnemonics that know the bit, with the signatures of ``SEMANTICS``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import numpy as np

from gpu.isa.semantics import integer, sad
from gpu.isa.semantics.entry import Array, Semantics

_SUMS: Final = ("v_sad_u8", "v_sad_hi_u8", "v_sad_u16", "v_sad_u32", "v_msad_u8")
_INTEGER: Final = integer.SEMANTICS


def _with(semantics: Semantics, function: Callable[..., Any]) -> Semantics:
    return Semantics(function, semantics.operands, semantics.result, semantics.gives_mask)


def _greatest(a: Array) -> Any:
    return a.dtype.type(np.iinfo(a.dtype).max)


def _carries(semantics: Semantics, down: bool) -> Semantics:
    """An addition whose carry makes it all ones, or a subtraction whose borrow makes it 0."""
    plain = semantics.function

    def operation(*operands: Array) -> tuple[Array, Array]:
        result, carry = plain(*operands)
        end = result.dtype.type(0) if down else _greatest(result)
        return np.where(carry, end, result), carry

    return _with(semantics, operation)


def _wraps(semantics: Semantics) -> Semantics:
    """A sum onto the last operand, which has wrapped if it is less than that."""
    plain = semantics.function

    def operation(*operands: Array) -> Array:
        result = plain(*operands)
        held: Array = np.where(np.less(result, operands[-1]), _greatest(result), result)
        return held

    return _with(semantics, operation)


def _bounded(wide: Callable[..., Array], semantics: Semantics, kind: Any) -> Semantics:
    """An operation on 64-bit copies of its operands, held in the range of ``kind``."""
    limits = np.iinfo(kind)

    def operation(*operands: Array) -> Array:
        total = wide(*(operand.astype(np.int64) for operand in operands))
        return np.minimum(np.maximum(total, limits.min), limits.max).astype(kind)

    return _with(semantics, operation)


def _low_24(a: Array) -> Array:
    return np.bitwise_and(a, 0xFF_FFFF)


def _signed_24(a: Array) -> Array:
    return np.right_shift(np.left_shift(a, 40), 40)


def _multiply_add(a: Array, b: Array, c: Array) -> Array:
    return np.add(np.multiply(a, b), c)


def _subtract_reversed(a: Array, b: Array) -> Array:
    return np.subtract(b, a)


def _unsigned_24(a: Array, b: Array) -> Array:
    return np.multiply(_low_24(a), _low_24(b))


def _unsigned_24_add(a: Array, b: Array, c: Array) -> Array:
    return np.add(_unsigned_24(a, b), c)


def _of_signed_24(a: Array, b: Array) -> Array:
    return np.multiply(_signed_24(a), _signed_24(b))


def _of_signed_24_add(a: Array, b: Array, c: Array) -> Array:
    return np.add(_of_signed_24(a, b), c)


def _multiply_add_signed_64(a: Array, b: Array, c: Array) -> tuple[Array, Array]:
    """The sign of the true sum says which bound an overflow reaches."""
    total, negative = _INTEGER["v_mad_i64_i32"].function(a, b, c)
    limits = np.iinfo(np.int64)
    end = np.where(negative, np.int64(limits.min), np.int64(limits.max))
    return np.where(np.not_equal(np.less(total, 0), negative), end, total), negative


def _four_packed(name: str) -> Semantics:
    """Four sums of 16 bits each: one that is less than its start has wrapped."""
    semantics = sad.SEMANTICS[name]
    plain = semantics.function

    def operation(a: Array, b: Array, c: Array) -> Array:
        result = np.ascontiguousarray(plain(a, b, c))
        parts = result.view(np.uint16).reshape(-1, 4)
        starts = np.ascontiguousarray(c).view(np.uint16).reshape(-1, 4)
        held = np.where(np.less(parts, starts), np.uint16(0xFFFF), parts)
        packed: Array = held.reshape(-1).view(np.uint64)
        return packed

    return _with(semantics, operation)


_WIDE: Final[dict[str, tuple[Callable[..., Array], Any]]] = {
    "v_add_u16": (np.add, np.uint16),
    "v_sub_u16": (np.subtract, np.uint16),
    "v_subrev_u16": (_subtract_reversed, np.uint16),
    "v_add_u32": (np.add, np.uint32),
    "v_sub_u32": (np.subtract, np.uint32),
    "v_subrev_u32": (_subtract_reversed, np.uint32),
    "v_add_i32": (np.add, np.int32),
    "v_sub_i32": (np.subtract, np.int32),
    "v_add_i16": (np.add, np.int16),
    "v_sub_i16": (np.subtract, np.int16),
    "v_mad_u32_u16": (_multiply_add, np.uint32),
    "v_mad_i32_i16": (_multiply_add, np.int32),
    "v_mad_u16": (_multiply_add, np.uint16),
    "v_mad_i16": (_multiply_add, np.int16),
    "v_mul_u32_u24": (_unsigned_24, np.uint32),
    "v_mul_i32_i24": (_of_signed_24, np.int32),
    "v_mad_u32_u24": (_unsigned_24_add, np.uint32),
    "v_mad_i32_i24": (_of_signed_24_add, np.int32),
}

SATURATING: Final[dict[str, Semantics]] = {
    **{
        name: _carries(_INTEGER[name], down=False)
        for name in ("v_add_co_u32", "v_addc_co_u32", "v_mad_u64_u32")
    },
    **{
        name: _carries(_INTEGER[name], down=True)
        for name in (
            "v_sub_co_u32",
            "v_subrev_co_u32",
            "v_subb_co_u32",
            "v_subbrev_co_u32",
        )
    },
    **{name: _bounded(wide, _INTEGER[name], kind) for name, (wide, kind) in _WIDE.items()},
    **{name: _wraps(sad.SEMANTICS[name]) for name in (*_SUMS, "v_mqsad_u32_u8")},
    **{name: _four_packed(name) for name in ("v_qsad_pk_u16_u8", "v_mqsad_pk_u16_u8")},
    "v_mad_i64_i32": _with(_INTEGER["v_mad_i64_i32"], _multiply_add_signed_64),
}
