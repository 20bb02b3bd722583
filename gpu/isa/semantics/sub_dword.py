"""SDWA: bytes and halves of registers as sources and destinations.

Source: the public GCN3 instruction set architecture manual, "Vector ALU operations", sub-dword
addressing. A selection is 0-3 for a byte, 4-5 for a half, 6 for all 32 bits.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from gpu.isa.semantics.entry import Array

WHOLE: Final = 6
ZERO, SIGN, PRESERVE = 0, 1, 2
"""The treatment of the destination's other bits."""


def place(selection: int) -> tuple[int, int]:
    """First bit and width of a selection."""
    if not 0 <= selection <= WHOLE:
        raise ValueError(f"SDWA selection {selection} is none of 0 to {WHOLE}")
    if selection < 4:
        return 8 * selection, 8
    return (16 * (selection - 4), 16) if selection < WHOLE else (0, 32)


def selected(a: Array, selection: int, sign_extend: bool = False) -> Array:
    """The selected part of 32-bit numbers (uint32), with zeros or its sign above it."""
    first, width = place(selection)
    if width == 32:
        return a
    top = np.left_shift(a, 32 - width - first)
    if sign_extend:
        return np.right_shift(top.view(np.int32), 32 - width).view(np.uint32)
    return np.right_shift(top, 32 - width)


def merged(old: Array, result: Array, selection: int, unused: int) -> Array:
    """A result (uint32) in the selected part of the destination ``old``."""
    first, width = place(selection)
    if width == 32:
        return result
    ones = (1 << width) - 1
    if unused == SIGN:
        value = np.right_shift(np.left_shift(result, 32 - width).view(np.int32), 32 - width)
        return np.left_shift(value.view(np.uint32), first)
    value = np.left_shift(np.bitwise_and(result, np.uint32(ones)), first)
    if unused == ZERO:
        return value
    return np.bitwise_or(np.bitwise_and(old, np.uint32(~(ones << first) & 0xFFFF_FFFF)), value)
