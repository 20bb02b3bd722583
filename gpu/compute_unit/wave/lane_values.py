"""Lanes of a wavefront by number, and their values between registers and memory.

Invariant: values of n lanes are an array of shape (n,) and of uint8, uint16 or uint32 up to four
bytes a lane, and of shape (n, words) and uint32 beyond; `gpu.memory.flat_memory` uses the same
form.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from gpu.isa.encoding.operands import last_vector_register
from gpu.isa.instruction import Instruction
from gpu.isa.wave_registers import Wave, mask_of
from gpu.wave_size import LANES

Lanes = npt.NDArray[np.intp]
"""Lane numbers, ascending."""
Values = npt.NDArray[Any]
Addresses = npt.NDArray[np.uint64]

_KNOWN: Final = 4096
_lanes: dict[int, Lanes] = {}
_UNSIGNED: Final[dict[int, npt.DTypeLike]] = {1: np.uint8, 2: np.uint16, 4: np.uint32}
_SIGNED: Final[dict[int, npt.DTypeLike]] = {1: np.int8, 2: np.int16}


class LaneError(Exception):
    """An error of one lane of an instruction."""

    def __init__(self, lane: int, why: str) -> None:
        super().__init__(f"lane {lane}: {why}")
        self.lane = lane
        self.why = why


class Registers:
    """The vector registers that an instruction names: loaded data returns after the instruction has
    issued, and a slice past the registers that exist would only be shorter."""

    __slots__ = ("needed",)

    def __init__(self, instruction: Instruction) -> None:
        self.needed = last_vector_register(instruction.reads, instruction.writes) + 1
        """How many a wave has to have."""

    def check(self, wave: Wave) -> None:
        """Raise IndexError if the wave does not have all of them."""
        if self.needed > len(wave.u32):
            raise IndexError(self.needed - 1)


def lanes_of(bits: int) -> Lanes:
    """The numbers of the bits that are set, ascending. Read-only and shared."""
    lanes = _lanes.get(bits)
    if lanes is None:
        if len(_lanes) >= _KNOWN:
            _lanes.clear()
        lanes = np.flatnonzero(mask_of(bits))
        lanes.flags.writeable = False
        _lanes[bits] = lanes
    return lanes


def lanes_text(lanes: Sequence[int]) -> str:
    """``lane 3`` or ``lanes 0-15, 20``, of ascending numbers."""
    runs: list[list[int]] = []
    for lane in lanes:
        if runs and lane == runs[-1][1] + 1:
            runs[-1][1] = lane
        else:
            runs.append([lane, lane])
    text = ", ".join(str(first) if first == last else f"{first}-{last}" for first, last in runs)
    return f"lane{'s' if len(lanes) > 1 else ''} {text}"


def read_values(wave: Wave, first: int, size: int, lanes: Lanes) -> Values:
    """``size`` bytes of each lane, from the registers from ``first`` on. A new array."""
    if size <= 4:
        row = wave.vgprs[first]
        words: Values = row.copy() if len(lanes) == LANES else row[lanes]
        return words if size == 4 else words.astype(_UNSIGNED[size])
    block = wave.vgprs[first : first + (size >> 2)]
    return np.ascontiguousarray((block if len(lanes) == LANES else block[:, lanes]).T)


def write_values(
    wave: Wave, first: int, values: Values, lanes: Lanes, signed: bool = False
) -> None:
    """Put the lanes' values into the registers from ``first`` on.

    Values narrower than a register fill it with zeros, or with their sign if ``signed``.
    """
    if values.ndim == 1:
        if signed:
            values = widened(values, signed)
        if len(lanes) == LANES:
            wave.vgprs[first] = values
        else:
            wave.vgprs[first][lanes] = values
    elif len(lanes) == LANES:
        wave.vgprs[first : first + values.shape[1]] = values.T
    else:
        wave.vgprs[first : first + values.shape[1], lanes] = values.T


def read_upper_halves(wave: Wave, register: int, size: int, lanes: Lanes) -> Values:
    """The lowest bytes of the upper halves of a register."""
    return (read_values(wave, register, 4, lanes) >> np.uint32(16)).astype(_UNSIGNED[size])


def write_halves(
    wave: Wave, register: int, values: Values, lanes: Lanes, signed: bool, half: int
) -> None:
    """Put values of up to two bytes into one half of a register; the other half stays."""
    new = widened(values, signed) & np.uint32(0xFFFF)
    old = wave.vgprs[register][lanes] & np.uint32(0xFFFF if half else 0xFFFF_0000)
    wave.vgprs[register][lanes] = old | new << np.uint32(16 * half)


def widened(values: Values, signed: bool) -> Values:
    """Values of up to four bytes as uint32, extended with zeros or with their sign."""
    if signed and values.itemsize < 4:
        values = values.view(_SIGNED[values.itemsize]).astype(np.int32)
    return values.astype(np.uint32)


def to_bytes(values: Values, size: int) -> npt.NDArray[np.uint8]:
    """Values of lanes as uint8, shape (lanes, size)."""
    return np.ascontiguousarray(values).view(np.uint8).reshape(-1, size)


def from_bytes(data: npt.NDArray[np.uint8]) -> Values:
    """Values from bytes of shape (lanes, size); size 1, 2 or a multiple of 4."""
    size = data.shape[1]
    data = np.ascontiguousarray(data)
    if size > 4:
        return data.view(np.uint32)
    narrow: Values = data.view(_UNSIGNED[size])[:, 0]
    return narrow
