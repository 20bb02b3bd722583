"""Conversions between types.

To an integer: towards zero, values out of range become the nearest bound, NaN becomes 0. Where a
denormal of 32 bits may become another integer than 0, MODE says whether it is flushed first.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from gpu.isa.semantics.entry import Array, Environment, Semantics, constant, define
from gpu.isa.semantics.floating.half import to_half, under_mode, widened
from gpu.isa.wave_registers import FloatMode

_TWO_TO_31: Final = {kind: constant(2.0**31, kind) for kind in "fd"}
_ZERO: Final = constant(0, np.int32)
_FOUR_BITS: Final = np.array([(value - 16 * (value > 7)) / 16 for value in range(16)], np.float32)


def _saturated(a: Array, least: int, greatest: int) -> Array:
    """64-bit numbers as integers between two bounds, towards zero."""
    bounded = np.minimum(np.maximum(a, float(least)), float(greatest))
    return np.where(np.isnan(a), 0, bounded).astype(np.int64)


def _fits(a: Array) -> bool:
    """Whether every lane's whole part is an integer of 32 bits."""
    return 0 not in np.less(np.absolute(a), _TWO_TO_31[a.dtype.char]).tobytes()


def _to_i32(a: Array) -> Array:
    if not _fits(a):
        return _saturated(a.astype(np.float64), -(2**31), 2**31 - 1).astype(np.int32)
    return a.astype(np.int32)


def _to_u32(a: Array) -> Array:
    if not _fits(a):
        return _saturated(a.astype(np.float64), 0, 2**32 - 1).astype(np.uint32)
    return np.maximum(a.astype(np.int32), _ZERO).view(np.uint32)


def _to_i16(a: Array) -> Array:
    return _saturated(a.astype(np.float64), -(2**15), 2**15 - 1).astype(np.int16)


def _to_u16(a: Array) -> Array:
    return _saturated(a.astype(np.float64), 0, 2**16 - 1).astype(np.uint16)


def _to_nearest_up(a: Array) -> Array:
    """The nearest integer, the upper one when two are as near.

    A sum that is not exact is near 1/2, so the floor is 0 in every rounding.
    """
    return _to_i32(np.floor(np.add(a.astype(np.float64), 0.5)))


def _to_floor(a: Array) -> Array:
    return _to_i32(np.floor(a.astype(np.float64)))


def _to_single(a: Array) -> Array:
    """Through 64 bits, where every 32-bit integer is a number, to round once."""
    return a.astype(np.float64).astype(np.float32)


def _as(kind: type[np.generic]) -> Callable[[Array], Array]:
    def convert(a: Array) -> Array:
        return a.astype(kind)

    return convert


def _byte(number: int) -> Callable[[Array], Array]:
    def convert(a: Array) -> Array:
        return np.ascontiguousarray(a).view(np.uint8)[number::4].astype(np.float32)

    return convert


def _four_bits(a: Array) -> Array:
    return _FOUR_BITS[np.bitwise_and(a, 15)]


def _from_half(mode: FloatMode, a: Array) -> Array:
    return widened(mode, a).astype(np.float32)


def _integer_to_half(mode: FloatMode, a: Array) -> Array:
    return to_half(mode, a.astype(np.float32))


def _towards_zero(a: Array) -> Array:
    """16-bit numbers, never further from zero than the 32-bit ones."""
    nearest = a.astype(np.float16)
    beyond = np.greater(np.absolute(nearest.astype(np.float32)), np.absolute(a))
    inward = np.nextafter(nearest, np.float16(0))
    return np.where(beyond, inward, nearest)


def _pair(low: Array, high: Array) -> Array:
    """Two arrays of 16 bits as the halves of 32."""
    lanes = max(len(low), len(high))
    both = np.empty((lanes, 2), np.uint16)
    both[:, 0] = low.view(np.uint16)
    both[:, 1] = high.view(np.uint16)
    return both.view(np.uint32)[:, 0]


def _pack_towards_zero(a: Array, b: Array) -> Array:
    return _pair(_towards_zero(a), _towards_zero(b))


def _normalised(least: float, scale: float, kind: type[np.generic]) -> Callable[[Array], Array]:
    """Numbers from ``least`` to 1 as fractions of ``scale``, to nearest even; NaN becomes 0."""

    def convert(a: Array) -> Array:
        wide = a.astype(np.float64)
        bounded = np.minimum(np.maximum(np.where(np.isnan(wide), 0.0, wide), least), 1.0)
        return np.rint(np.multiply(bounded, scale)).astype(kind)

    return convert


def _packed(convert: Callable[[Array], Array]) -> Callable[[Array, Array], Array]:
    def pack(a: Array, b: Array) -> Array:
        return _pair(convert(a), convert(b))

    return pack


_SIGNED_FRACTION: Final = _normalised(-1.0, 32767.0, np.int16)
_UNSIGNED_FRACTION: Final = _normalised(0.0, 65535.0, np.uint16)


def _pack_halves(mode: FloatMode, a: Array, b: Array) -> Array:
    """The halves of 32 bits from two numbers, which are flushed as the mode says."""
    return _pair(*(under_mode(_as(np.float16))(mode, part) for part in (a, b)))


def _saturated_bytes(a: Array) -> Array:
    """Two signed numbers of 16 bits as two unsigned bytes."""
    parts = np.ascontiguousarray(a).view(np.int16)
    held = np.minimum(np.maximum(parts, 0), 255).astype(np.uint8).reshape(-1, 2)
    both = np.zeros((len(held), 4), np.uint8)
    both[:, :2] = held
    words: Array = both.view(np.uint32)[:, 0]
    return words


def _pack_unsigned(a: Array, b: Array) -> Array:
    return _pair(*(np.minimum(part, 0xFFFF).astype(np.uint16) for part in (a, b)))


def _pack_signed(a: Array, b: Array) -> Array:
    parts = (np.minimum(np.maximum(part, -0x8000), 0x7FFF) for part in (a, b))
    return _pair(*(part.astype(np.int16) for part in parts))


def _rounded(a: Array, rounding: int) -> Array:
    """To an integer by a rounding of MODE."""
    return (np.rint, np.ceil, np.floor, np.trunc)[rounding](a)


def _insert_byte(mode: FloatMode, a: Array, position: Array, rest: Array) -> Array:
    """The number as an unsigned byte, in place of one of four."""
    whole = _rounded(a.astype(np.float64), mode.round_32)
    byte = _saturated(whole, 0, 255).astype(np.uint32)
    shift = np.multiply(np.bitwise_and(position, np.uint32(3)), np.uint32(8))
    hole = np.invert(np.left_shift(np.uint32(255), shift))
    return np.bitwise_or(np.bitwise_and(rest, hole), np.left_shift(byte, shift))


_PLAIN: Final = Environment.PLAIN
_SINGLE: Final = Environment.SINGLE
_insert: Final = define(_insert_byte, "f32 u32 b32 -> b32", _SINGLE, takes_mode=True)

SEMANTICS: Final[dict[str, Semantics]] = {
    "v_cvt_f32_i32": define(_to_single, "i32 -> f32", _SINGLE),
    "v_cvt_f32_u32": define(_to_single, "u32 -> f32", _SINGLE),
    "v_cvt_f64_i32": define(_as(np.float64), "i32 -> f64"),
    "v_cvt_f64_u32": define(_as(np.float64), "u32 -> f64"),
    "v_cvt_f32_f64": define(_as(np.float32), "f64 -> f32", _SINGLE),
    "v_cvt_f64_f32": define(_as(np.float64), "f32 -> f64", _SINGLE),
    "v_cvt_i32_f32": define(_to_i32, "f32 -> i32", _PLAIN),
    "v_cvt_u32_f32": define(_to_u32, "f32 -> u32", _PLAIN),
    "v_cvt_i32_f64": define(_to_i32, "f64 -> i32", _PLAIN),
    "v_cvt_u32_f64": define(_to_u32, "f64 -> u32", _PLAIN),
    "v_cvt_rpi_i32_f32": define(_to_nearest_up, "f32 -> i32", _SINGLE),
    "v_cvt_flr_i32_f32": define(_to_floor, "f32 -> i32", _SINGLE),
    "v_cvt_off_f32_i4": define(_four_bits, "b32 -> f32"),
    **{f"v_cvt_f32_ubyte{number}": define(_byte(number), "u32 -> f32") for number in range(4)},
    "v_cvt_f16_f32": define(to_half, "f32 -> f16", _PLAIN, takes_mode=True),
    "v_cvt_f32_f16": define(_from_half, "f16 -> f32", _PLAIN, takes_mode=True),
    "v_cvt_f16_u16": define(_integer_to_half, "u16 -> f16", _PLAIN, takes_mode=True),
    "v_cvt_f16_i16": define(_integer_to_half, "i16 -> f16", _PLAIN, takes_mode=True),
    "v_cvt_u16_f16": define(_to_u16, "f16 -> u16", _PLAIN),
    "v_cvt_i16_f16": define(_to_i16, "f16 -> i16", _PLAIN),
    "v_cvt_pkrtz_f16_f32": define(_pack_towards_zero, "f32 f32 -> b32", _PLAIN),
    **{
        f"v_cvt_pknorm_{kind}_f{bits}": define(_packed(fraction), f"f{bits} f{bits} -> b32", _PLAIN)
        for kind, fraction in (("i16", _SIGNED_FRACTION), ("u16", _UNSIGNED_FRACTION))
        for bits in (16, 32)
    },
    "v_cvt_norm_i16_f16": define(_SIGNED_FRACTION, "f16 -> i16", _PLAIN),
    "v_cvt_norm_u16_f16": define(_UNSIGNED_FRACTION, "f16 -> u16", _PLAIN),
    "v_pack_b32_f16": define(_pack_halves, "f16 f16 -> b32", _PLAIN, takes_mode=True),
    "v_sat_pk_u8_i16": define(_saturated_bytes, "b32 -> b32"),
    "v_cvt_pk_u16_u32": define(_pack_unsigned, "u32 u32 -> b32"),
    "v_cvt_pk_i16_i32": define(_pack_signed, "i32 i32 -> b32"),
    "v_cvt_pk_u8_f32": _insert,
    "v_cvt_pkaccum_u8_f32": _insert,
}
