"""Sums of absolute differences, and averages of bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np

from gpu.isa.semantics.entry import Array, Semantics, define


def _bytes_of(a: Array) -> Array:
    """The bytes of 32-bit numbers as signed numbers, one row a lane."""
    return np.ascontiguousarray(a).view(np.uint8).reshape(-1, 4).astype(np.int32)


def _from_bytes(parts: Array) -> Array:
    packed: Array = parts.astype(np.uint8).reshape(-1).view(np.uint32)
    return packed


def _halves_of(a: Array) -> Array:
    return np.ascontiguousarray(a).view(np.uint16).reshape(-1, 2).astype(np.int32)


def _total(parts: Array) -> Array:
    total: Array = np.add.reduce(parts, axis=1, dtype=np.uint32)
    return total


def _differences(a: Array, b: Array) -> Array:
    """The sum over four bytes."""
    return _total(np.absolute(_bytes_of(a) - _bytes_of(b)))


def _masked_differences(a: Array, reference: Array) -> Array:
    """As `_differences`, without the bytes where the reference is 0."""
    of_reference = _bytes_of(reference)
    sizes = np.absolute(_bytes_of(a) - of_reference)
    return _total(np.where(of_reference, sizes, 0))


def _sad_bytes(a: Array, b: Array, c: Array) -> Array:
    return np.add(_differences(a, b), c)


def _sad_bytes_high(a: Array, b: Array, c: Array) -> Array:
    return np.add(np.left_shift(_differences(a, b), 16), c)


def _sad_halves(a: Array, b: Array, c: Array) -> Array:
    return np.add(_total(np.absolute(_halves_of(a) - _halves_of(b))), c)


def _sad_words(a: Array, b: Array, c: Array) -> Array:
    return np.add(np.subtract(np.maximum(a, b), np.minimum(a, b)), c)


def _msad_bytes(a: Array, b: Array, c: Array) -> Array:
    return np.add(_masked_differences(a, b), c)


def _lerp(a: Array, b: Array, rounding: Array) -> Array:
    """The average of each pair of bytes, up where the third byte is odd."""
    ones = np.bitwise_and(_bytes_of(rounding), 1)
    means = np.right_shift(_bytes_of(a) + _bytes_of(b) + ones, 1)
    return _from_bytes(means)


def _windows(a: Array) -> list[Array]:
    """The 32 bits from each of the four lowest bytes of 64-bit numbers."""
    return [np.right_shift(a, np.uint64(8 * byte)).astype(np.uint32) for byte in range(4)]


def _four_packed(
    differences: Callable[[Array, Array], Array],
) -> Callable[[Array, Array, Array], Array]:
    """Four sums, each onto 16 bits of the third operand."""

    def pack(a: Array, b: Array, c: Array) -> Array:
        total = np.zeros(1, np.uint64)
        for number, window in enumerate(_windows(a)):
            place = np.uint64(16 * number)
            start = np.right_shift(c, place)
            part = np.bitwise_and(np.add(differences(window, b), start), np.uint64(0xFFFF))
            total = np.bitwise_or(total, np.left_shift(part, place))
        return total

    return pack


def _four_words(a: Array, b: Array, c: Array) -> Array:
    """Four sums, each onto 32 bits of the third operand."""
    parts = [np.add(_masked_differences(window, b), c[i]) for i, window in enumerate(_windows(a))]
    return np.stack(np.broadcast_arrays(*parts))


_THREE: Final = "u32 u32 u32 -> u32"

SEMANTICS: Final[dict[str, Semantics]] = {
    "v_lerp_u8": define(_lerp, _THREE),
    "v_sad_u8": define(_sad_bytes, _THREE),
    "v_sad_hi_u8": define(_sad_bytes_high, _THREE),
    "v_sad_u16": define(_sad_halves, _THREE),
    "v_sad_u32": define(_sad_words, _THREE),
    "v_msad_u8": define(_msad_bytes, _THREE),
    "v_qsad_pk_u16_u8": define(_four_packed(_differences), "b64 b32 b64 -> b64"),
    "v_mqsad_pk_u16_u8": define(_four_packed(_masked_differences), "b64 b32 b64 -> b64"),
    "v_mqsad_u32_u8": define(_four_words, "b64 b32 b128 -> b128"),
}
