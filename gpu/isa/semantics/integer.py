"""Integer arithmetic of 16, 24, 32 and 64 bits."""

from __future__ import annotations

from typing import Final

import numpy as np

from gpu.isa.semantics.entry import Array, Semantics, constant, define

_LOW_24: Final = constant(0xFF_FFFF, np.uint32)
_LOW_5: Final = constant(31, np.uint32)
_EIGHT: Final = constant(8, np.int32)


def _add_carry(a: Array, b: Array) -> tuple[Array, Array]:
    total = np.add(a, b)
    return total, np.less(total, a)


def _subtract_borrow(a: Array, b: Array) -> tuple[Array, Array]:
    return np.subtract(a, b), np.less(a, b)


def _subtract_reversed_borrow(a: Array, b: Array) -> tuple[Array, Array]:
    return np.subtract(b, a), np.less(b, a)


def _add_with_carry(a: Array, b: Array, carry: Array) -> tuple[Array, Array]:
    if 1 not in carry.tobytes():
        return _add_carry(a, b)
    partial = np.add(a, b)
    total = np.add(partial, carry)
    return total, np.logical_or(np.less(partial, a), np.less(total, partial))


def _subtract_with_borrow(a: Array, b: Array, borrow: Array) -> tuple[Array, Array]:
    if 1 not in borrow.tobytes():
        return _subtract_borrow(a, b)
    partial = np.subtract(a, b)
    difference = np.subtract(partial, borrow)
    return difference, np.logical_or(np.less(a, b), np.less(partial, difference))


def _subtract_reversed_with_borrow(a: Array, b: Array, borrow: Array) -> tuple[Array, Array]:
    return _subtract_with_borrow(b, a, borrow)


def _subtract_reversed(a: Array, b: Array) -> Array:
    return np.subtract(b, a)


def _high_half(product: Array) -> Array:
    """Bits 63:32 of each number."""
    return product.view(np.uint32)[1::2]


def _multiply_high_unsigned(a: Array, b: Array) -> Array:
    return _high_half(np.multiply(a, b, dtype=np.uint64))


def _multiply_high_signed(a: Array, b: Array) -> Array:
    return _high_half(np.multiply(a, b, dtype=np.int64))


def _signed_24(a: Array) -> Array:
    return np.right_shift(np.left_shift(a, _EIGHT), _EIGHT)


def _multiply_unsigned_24(a: Array, b: Array) -> Array:
    return np.multiply(np.bitwise_and(a, _LOW_24), np.bitwise_and(b, _LOW_24))


def _multiply_signed_24(a: Array, b: Array) -> Array:
    return np.multiply(_signed_24(a), _signed_24(b))


def _multiply_high_unsigned_24(a: Array, b: Array) -> Array:
    return _multiply_high_unsigned(np.bitwise_and(a, _LOW_24), np.bitwise_and(b, _LOW_24))


def _multiply_high_signed_24(a: Array, b: Array) -> Array:
    return _multiply_high_signed(_signed_24(a), _signed_24(b)).view(np.int32)


def _multiply_add(a: Array, b: Array, c: Array) -> Array:
    return np.add(np.multiply(a, b), c)


def _xor_add(a: Array, b: Array, c: Array) -> Array:
    return np.add(np.bitwise_xor(a, b), c)


def _add_of_three(a: Array, b: Array, c: Array) -> Array:
    return np.add(np.add(a, b), c)


def _shift_add(a: Array, count: Array, c: Array) -> Array:
    return np.add(np.left_shift(a, np.bitwise_and(count, _LOW_5)), c)


def _add_shift(a: Array, b: Array, count: Array) -> Array:
    return np.left_shift(np.add(a, b), np.bitwise_and(count, _LOW_5))


def _multiply_add_unsigned_16(a: Array, b: Array, c: Array) -> Array:
    return np.add(np.multiply(a, b, dtype=np.uint32), c)


def _multiply_add_signed_16(a: Array, b: Array, c: Array) -> Array:
    return np.add(np.multiply(a, b, dtype=np.int32), c)


def _multiply_add_unsigned_24(a: Array, b: Array, c: Array) -> Array:
    return np.add(_multiply_unsigned_24(a, b), c)


def _multiply_add_signed_24(a: Array, b: Array, c: Array) -> Array:
    return np.add(_multiply_signed_24(a, b), c)


def _multiply_add_unsigned_64(a: Array, b: Array, c: Array) -> tuple[Array, Array]:
    total = np.add(np.multiply(a, b, dtype=np.uint64), c)
    return total, np.less(total, c)


def _multiply_add_signed_64(a: Array, b: Array, c: Array) -> tuple[Array, Array]:
    """The mask is bit 64 of the sum, which is its sign: no sum of these leaves 65 bits."""
    product = np.multiply(a, b, dtype=np.int64)
    total = np.add(product, c)
    overflow = np.bitwise_and(np.bitwise_xor(total, product), np.bitwise_xor(total, c))
    return total, np.less(np.bitwise_xor(total, overflow), 0)


def _minimum_of_three(a: Array, b: Array, c: Array) -> Array:
    return np.minimum(np.minimum(a, b), c)


def _maximum_of_three(a: Array, b: Array, c: Array) -> Array:
    return np.maximum(np.maximum(a, b), c)


def _median(a: Array, b: Array, c: Array) -> Array:
    return np.maximum(np.minimum(a, b), np.minimum(np.maximum(a, b), c))


def _three(name: str) -> dict[str, Semantics]:
    """The smallest, largest and middle one of three, for one type."""
    signature = f"{name} {name} {name} -> {name}"
    return {
        f"v_min3_{name}": define(_minimum_of_three, signature),
        f"v_max3_{name}": define(_maximum_of_three, signature),
        f"v_med3_{name}": define(_median, signature),
    }


_ALIKE: Final = {
    "v_min": np.minimum,
    "v_max": np.maximum,
}

SEMANTICS: Final[dict[str, Semantics]] = {
    "v_add_co_u32": define(_add_carry, "u32 u32 -> u32 mask"),
    "v_sub_co_u32": define(_subtract_borrow, "u32 u32 -> u32 mask"),
    "v_subrev_co_u32": define(_subtract_reversed_borrow, "u32 u32 -> u32 mask"),
    "v_addc_co_u32": define(_add_with_carry, "u32 u32 mask -> u32 mask"),
    "v_subb_co_u32": define(_subtract_with_borrow, "u32 u32 mask -> u32 mask"),
    "v_subbrev_co_u32": define(_subtract_reversed_with_borrow, "u32 u32 mask -> u32 mask"),
    **{
        f"v_{name}_{kind}": define(function, f"{kind} {kind} -> {kind}")
        for kind in ("u32", "i32", "i16")
        for name, function in (("add", np.add), ("sub", np.subtract))
    },
    "v_subrev_u32": define(_subtract_reversed, "u32 u32 -> u32"),
    "v_xad_u32": define(_xor_add, "u32 u32 u32 -> u32"),
    "v_add3_u32": define(_add_of_three, "u32 u32 u32 -> u32"),
    "v_lshl_add_u32": define(_shift_add, "u32 u32 u32 -> u32"),
    "v_add_lshl_u32": define(_add_shift, "u32 u32 u32 -> u32"),
    "v_mad_u32_u16": define(_multiply_add_unsigned_16, "u16 u16 u32 -> u32"),
    "v_mad_i32_i16": define(_multiply_add_signed_16, "i16 i16 i32 -> i32"),
    "v_add_u16": define(np.add, "u16 u16 -> u16"),
    "v_sub_u16": define(np.subtract, "u16 u16 -> u16"),
    "v_subrev_u16": define(_subtract_reversed, "u16 u16 -> u16"),
    "v_mul_lo_u16": define(np.multiply, "u16 u16 -> u16"),
    "v_mul_lo_u32": define(np.multiply, "u32 u32 -> u32"),
    "v_mul_hi_u32": define(_multiply_high_unsigned, "u32 u32 -> u32"),
    "v_mul_hi_i32": define(_multiply_high_signed, "i32 i32 -> u32"),
    "v_mul_u32_u24": define(_multiply_unsigned_24, "u32 u32 -> u32"),
    "v_mul_i32_i24": define(_multiply_signed_24, "i32 i32 -> i32"),
    "v_mul_hi_u32_u24": define(_multiply_high_unsigned_24, "u32 u32 -> u32"),
    "v_mul_hi_i32_i24": define(_multiply_high_signed_24, "i32 i32 -> i32"),
    "v_mad_u32_u24": define(_multiply_add_unsigned_24, "u32 u32 u32 -> u32"),
    "v_mad_i32_i24": define(_multiply_add_signed_24, "i32 i32 i32 -> i32"),
    "v_mad_u16": define(_multiply_add, "u16 u16 u16 -> u16"),
    "v_mad_i16": define(_multiply_add, "i16 i16 i16 -> i16"),
    "v_mad_u64_u32": define(_multiply_add_unsigned_64, "u32 u32 u64 -> u64 mask"),
    "v_mad_i64_i32": define(_multiply_add_signed_64, "i32 i32 i64 -> i64 mask"),
    **_three("u16"),
    **_three("i16"),
    **_three("u32"),
    **_three("i32"),
    **{
        f"{name}_{kind}": define(function, f"{kind} {kind} -> {kind}")
        for name, function in _ALIKE.items()
        for kind in ("u16", "i16", "u32", "i32")
    },
}
