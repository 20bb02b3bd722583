"""Logic, shifts, bit fields, bit counts and bytes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, Final

import numpy as np

from gpu.isa.semantics.entry import Array, Semantics, constant, define

_ONE: Final = constant(1, np.uint32)
_THREE: Final = constant(3, np.uint32)
_THIRTY_ONE: Final = constant(31, np.uint32)
_THIRTY_TWO: Final = constant(32, np.uint32)
_GREATEST_CODE: Final = constant(13, np.uint8)
_FROM_TOP: Final = constant(1023 + 31, np.int64)
_BIAS: Final = constant(1023, np.int64)
_MINUS_ONE: Final = constant(-1, np.int64)
_FRACTION_BITS: Final = constant(52, np.int64)
_BYTES: Final = np.arange(256, dtype=np.uint8)
_REVERSED_BYTE: Final = np.packbits(np.unpackbits(_BYTES).reshape(256, 8)[:, ::-1]).copy()
_ONES_OF_HALF: Final = np.unpackbits(
    np.arange(65536, dtype=np.uint16).view(np.uint8).reshape(65536, 2), axis=1
).sum(axis=1, dtype=np.uint32)
_LOWER_LANES: Final = np.array([(1 << lane) - 1 for lane in range(64)], np.uint64)
_LOWER_LOW: Final = _LOWER_LANES.astype(np.uint32)
_LOWER_HIGH: Final = (_LOWER_LANES >> np.uint64(32)).astype(np.uint32)


def _move(a: Array) -> Array:
    return a


def _select(a: Array, b: Array, mask: Array) -> Array:
    if a.shape != mask.shape:
        return np.where(mask, b, a)
    result = a.copy()
    np.putmask(result, mask, b)
    return result


def _shift(
    shift: Callable[[Array, Array], Array], width: int, kind: type[np.integer[Any]]
) -> Callable[[Array, Array], Array]:
    """A shift by the low bits of a count of type ``kind``."""
    ones = constant(width - 1, kind)

    def operation(count: Array, value: Array) -> Array:
        return shift(value, np.bitwise_and(count, ones))

    return operation


def _field_unsigned(value: Array, offset: Array, width: Array) -> Array:
    ones = np.subtract(np.left_shift(_ONE, np.bitwise_and(width, _THIRTY_ONE)), _ONE)
    return np.bitwise_and(np.right_shift(value, np.bitwise_and(offset, _THIRTY_ONE)), ones)


def _field_signed(value: Array, offset: Array, width: Array) -> Array:
    """A width of 0 shifts everything out: 32 is a full shift for numpy."""
    spare = np.subtract(_THIRTY_TWO, np.bitwise_and(width, _THIRTY_ONE)).view(np.int32)
    moved = np.right_shift(value, np.bitwise_and(offset, _THIRTY_ONE).view(np.int32))
    return np.right_shift(np.left_shift(moved, spare), spare)


def _insert(mask: Array, a: Array, b: Array) -> Array:
    return np.bitwise_xor(b, np.bitwise_and(mask, np.bitwise_xor(a, b)))


def _shift_or(a: Array, count: Array, c: Array) -> Array:
    return np.bitwise_or(np.left_shift(a, np.bitwise_and(count, _THIRTY_ONE)), c)


def _and_or(a: Array, b: Array, c: Array) -> Array:
    return np.bitwise_or(np.bitwise_and(a, b), c)


def _or_of_three(a: Array, b: Array, c: Array) -> Array:
    return np.bitwise_or(np.bitwise_or(a, b), c)


def _field_mask(width: Array, offset: Array) -> Array:
    ones = np.subtract(np.left_shift(_ONE, np.bitwise_and(width, _THIRTY_ONE)), _ONE)
    return np.left_shift(ones, np.bitwise_and(offset, _THIRTY_ONE))


def _align(high: Array, low: Array, count: Array) -> Array:
    """Shifting by 32 gives 0 in numpy, as it must for a count of 0."""
    rest = np.subtract(_THIRTY_TWO, count)
    return np.bitwise_or(np.right_shift(low, count), np.left_shift(high, rest))


def _align_bits(high: Array, low: Array, count: Array) -> Array:
    return _align(high, low, np.bitwise_and(count, _THIRTY_ONE))


def _align_bytes(high: Array, low: Array, count: Array) -> Array:
    return _align(high, low, np.left_shift(np.bitwise_and(count, _THREE), _THREE))


def _bytes_of(a: Array) -> Array:
    """The bytes of 32-bit numbers, one row a lane, lowest first."""
    return np.ascontiguousarray(a).view(np.uint8).reshape(-1, 4)


@cache
def _first_places(lanes: int) -> Array:
    """Where each lane's row of 14 bytes begins."""
    return np.arange(0, 14 * lanes, 14, dtype=np.intp).reshape(-1, 1)


def _permute(high: Array, low: Array, selector: Array) -> Array:
    """Selector bytes 0-3 take a byte of ``low``, 4-7 of ``high``, 8-11 the signs of their four
    halves, 12 zero, 13 and above ones."""
    lanes = max(len(high), len(low), len(selector))
    table = np.empty((lanes, 14), np.uint8)
    table[:, 0:4] = _bytes_of(low)
    table[:, 4:8] = _bytes_of(high)
    table[:, 8:12] = np.right_shift(table[:, 1:8:2].view(np.int8), 7).view(np.uint8)
    table[:, 12] = 0
    table[:, 13] = 255
    places = np.add(np.minimum(_bytes_of(selector), _GREATEST_CODE), _first_places(lanes))
    chosen: Array = table.reshape(-1).take(places).reshape(-1)
    return chosen.view(np.uint32)


def _reverse(a: Array) -> Array:
    return _REVERSED_BYTE[_bytes_of(a)[:, ::-1]].reshape(-1).view(np.uint32)


def _top_bit(a: Array) -> Array:
    """1023 and the number of the highest one; 0 for 0."""
    return np.right_shift(a.astype(np.float64).view(np.int64), _FRACTION_BITS)


def _first_one_from_top(a: Array) -> Array:
    return np.where(a, np.subtract(_FROM_TOP, _top_bit(a)), _MINUS_ONE).astype(np.uint32)


def _first_one_from_bottom(a: Array) -> Array:
    lowest = np.bitwise_and(a, np.negative(a))
    return np.maximum(np.subtract(_top_bit(lowest), _BIAS), _MINUS_ONE).astype(np.uint32)


def _first_other_than_sign(a: Array) -> Array:
    return _first_one_from_top(np.bitwise_xor(a, np.right_shift(a, 31)).view(np.uint32))


def _count_ones(a: Array, b: Array) -> Array:
    halves: Array = _ONES_OF_HALF[np.ascontiguousarray(a).view(np.uint16)]
    total: Array = np.add(halves[::2], halves[1::2])
    return np.add(total, b)


def _count_lower_lanes_low(mask: Array, base: Array) -> Array:
    return _count_ones(np.bitwise_and(mask, _LOWER_LOW), base)


def _count_lower_lanes_high(mask: Array, base: Array) -> Array:
    return _count_ones(np.bitwise_and(mask, _LOWER_HIGH), base)


SEMANTICS: Final[dict[str, Semantics]] = {
    "v_mov_b32": define(_move, "b32 -> b32"),
    "v_not_b32": define(np.invert, "b32 -> b32"),
    "v_bfrev_b32": define(_reverse, "b32 -> b32"),
    "v_ffbh_u32": define(_first_one_from_top, "u32 -> u32"),
    "v_ffbl_b32": define(_first_one_from_bottom, "b32 -> u32"),
    "v_ffbh_i32": define(_first_other_than_sign, "i32 -> u32"),
    "v_cndmask_b32": define(_select, "b32 b32 mask -> b32"),
    "v_and_b32": define(np.bitwise_and, "b32 b32 -> b32"),
    "v_or_b32": define(np.bitwise_or, "b32 b32 -> b32"),
    "v_xor_b32": define(np.bitwise_xor, "b32 b32 -> b32"),
    "v_lshlrev_b32": define(_shift(np.left_shift, 32, np.uint32), "u32 b32 -> b32"),
    "v_lshrrev_b32": define(_shift(np.right_shift, 32, np.uint32), "u32 b32 -> b32"),
    "v_ashrrev_i32": define(_shift(np.right_shift, 32, np.int32), "i32 i32 -> i32"),
    "v_lshlrev_b16": define(_shift(np.left_shift, 16, np.uint16), "u16 b16 -> b16"),
    "v_lshrrev_b16": define(_shift(np.right_shift, 16, np.uint16), "u16 b16 -> b16"),
    "v_ashrrev_i16": define(_shift(np.right_shift, 16, np.int16), "i16 i16 -> i16"),
    "v_lshlrev_b64": define(_shift(np.left_shift, 64, np.uint32), "u32 b64 -> b64"),
    "v_lshrrev_b64": define(_shift(np.right_shift, 64, np.uint32), "u32 b64 -> b64"),
    "v_ashrrev_i64": define(_shift(np.right_shift, 64, np.uint32), "u32 i64 -> i64"),
    "v_bfe_u32": define(_field_unsigned, "u32 u32 u32 -> u32"),
    "v_bfe_i32": define(_field_signed, "i32 u32 u32 -> i32"),
    "v_bfi_b32": define(_insert, "b32 b32 b32 -> b32"),
    "v_lshl_or_b32": define(_shift_or, "b32 u32 b32 -> b32"),
    "v_and_or_b32": define(_and_or, "b32 b32 b32 -> b32"),
    "v_or3_b32": define(_or_of_three, "b32 b32 b32 -> b32"),
    "v_bfm_b32": define(_field_mask, "u32 u32 -> b32"),
    "v_alignbit_b32": define(_align_bits, "b32 b32 u32 -> b32"),
    "v_alignbyte_b32": define(_align_bytes, "b32 b32 u32 -> b32"),
    "v_perm_b32": define(_permute, "b32 b32 b32 -> b32"),
    "v_bcnt_u32_b32": define(_count_ones, "b32 u32 -> u32"),
    "v_mbcnt_lo_u32_b32": define(_count_lower_lanes_low, "b32 u32 -> u32"),
    "v_mbcnt_hi_u32_b32": define(_count_lower_lanes_high, "b32 u32 -> u32"),
}
