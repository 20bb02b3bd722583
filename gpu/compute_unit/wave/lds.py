"""The local data share (LDS) of one work-group: 32 banks of dwords, no caches.

Invariant: bytes beyond the bound read as zero and are not written; lanes that conflict on one word
are served in lane order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

from gpu.compute_unit.wave.lane_values import Values, from_bytes

Offsets = npt.NDArray[np.int64]
"""Byte addresses of lanes in the group's LDS."""


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """An atomic operation on a number.

    ``new``: from the old numbers, the first and the second operands; unsigned, shape (n,).
    ``running``: the numpy function that does the same one operand after the other, if there is one.
    """

    new: Callable[[Values, Values, Values], Values]
    running: np.ufunc | None = None


class Place:
    """The offsets of the lanes of one access, and values derived from them.

    ``together``: all bits of the offsets, which is at least the highest of them. ``words``: the
    offsets in dwords.
    """

    __slots__ = ("_cycles", "offsets", "together", "words")

    def __init__(self, offsets: Offsets) -> None:
        self.offsets = offsets
        self.together = int(np.bitwise_or.reduce(offsets))
        self.words: Offsets = offsets >> 2
        self._cycles: dict[tuple[int, int], int] = {}

    def cycles(self, size: int, half: int) -> int:
        """See `bank_cycles`."""
        found = self._cycles.get((size, half))
        if found is None:
            found = self._cycles[size, half] = bank_cycles(self.offsets, size, half)
        return found


@lru_cache(maxsize=4096)
def place_of(addresses: bytes, offset: int) -> Place:
    """Lanes' addresses, uint32 in the machine's byte order, each with an offset; cached, since
    waves use the same offsets repeatedly.

    Sums have 32 bits: compilers keep `508 - 4 * lane` as an offset on a base below zero.
    """
    offsets = (np.frombuffer(addresses, np.uint32) + np.uint32(offset)).astype(np.int64)
    offsets.flags.writeable = False
    return Place(offsets)


BANKS: Final = 32
_STEPS: Final = {words: np.arange(words) for words in (2, 3, 4)}


class LocalMemory:
    """``size`` bytes, zero at the start (real hardware leaves them undefined).

    ``out_of_range``: accesses of lanes that were beyond the bound so far.
    """

    __slots__ = ("address", "bytes", "dwords", "out_of_range", "size")

    def __init__(self, size: int) -> None:
        self.size = size
        self.bytes = np.zeros(-(-size // 8) * 8, np.uint8)
        self.dwords = self.bytes.view(np.uint32)
        self.address = self.bytes.ctypes.data
        self.out_of_range = 0

    def load_at(self, place: Place, size: int, bound: int) -> Values:
        """`load` of lanes that begin at a place."""
        if size == 4 and not place.together & 3 and place.together + 4 <= min(bound, self.size):
            return self.dwords[place.words]
        return self.load(place.offsets, size, bound)

    def store_at(self, place: Place, values: Values, bound: int) -> None:
        """`store` of lanes that begin at a place."""
        inside = place.together + 4 <= min(bound, self.size)
        if inside and not place.together & 3 and values.ndim == 1 and values.itemsize == 4:
            self.dwords[place.words] = values
        else:
            self.store(place.offsets, values, bound)

    def load(self, offsets: Offsets, size: int, bound: int) -> Values:
        """``size`` bytes at each offset; 0 where a lane's bytes do not end before ``bound``."""
        limit = min(bound, self.size)
        highest = int(np.bitwise_or.reduce(offsets))
        if highest + size <= limit and not (size >= 4 and highest & 3):
            return self._load_aligned(offsets, size, highest)
        inside = offsets + size <= limit
        data = np.zeros((len(offsets), size), np.uint8)
        steps = np.arange(size)
        data[inside] = self.bytes[offsets[inside, None] + steps]
        self.out_of_range += len(offsets) - int(np.count_nonzero(inside))
        return from_bytes(data)

    def store(self, offsets: Offsets, values: Values, bound: int) -> None:
        """Write each lane's values; the highest lane wins where several write one byte."""
        size = values.itemsize if values.ndim == 1 else 4 * values.shape[1]
        limit = min(bound, self.size)
        highest = int(np.bitwise_or.reduce(offsets))
        if highest + size <= limit and not highest & 3 and size >= 4:
            words = offsets >> 2
            if size == 4:
                self.dwords[words] = values
            else:
                self.dwords[words[:, None] + _STEPS[size >> 2]] = values
            return
        data = np.ascontiguousarray(values).view(np.uint8).reshape(len(offsets), size)
        inside = offsets + size <= limit
        self.bytes[offsets[inside, None] + np.arange(size)] = data[inside]
        self.out_of_range += len(offsets) - int(np.count_nonzero(inside))

    def update(
        self, change: Change, offsets: Offsets, operands: Values, others: Values, bound: int
    ) -> Values:
        """Read, change and write each lane's number (uint32 or uint64); the old ones.

        Raises `MisalignedLocal`. Lanes beyond the bound get 0 and change nothing.
        """
        size = operands.itemsize
        words = self.dwords if size == 4 else self.bytes.view(np.uint64)
        old = np.zeros(len(offsets), operands.dtype)
        inside = offsets + size <= min(bound, self.size)
        if not inside.all():
            self.out_of_range += len(offsets) - int(np.count_nonzero(inside))
        if int(np.bitwise_or.reduce(offsets)) & (size - 1):
            row = int(np.argmax(offsets & (size - 1) != 0))
            raise MisalignedLocal(row, int(offsets[row]), size)
        first = int(offsets[0])
        if change.running is not None and inside[0] and (offsets == first).all():
            # All lanes update one word: a running total, as in reductions.
            numbers = np.append(words[first // size], operands)
            running = change.running.accumulate(numbers, dtype=words.dtype)
            words[first // size] = running[-1]
            return running[:-1]
        for rows in _rounds(offsets, inside):
            at = offsets[rows] // size
            old[rows] = before = words[at]
            words[at] = change.new(before, operands[rows], others[rows])
        return old

    def _load_aligned(self, offsets: Offsets, size: int, highest: int) -> Values:
        values: Values
        if size == 4:
            values = self.dwords[offsets >> 2]
        elif size > 4:
            values = self.dwords[(offsets >> 2)[:, None] + _STEPS[size >> 2]]
        elif size == 1:
            values = self.bytes[offsets]
        elif not highest & 1:
            values = self.bytes.view(np.uint16)[offsets >> 1]
        else:
            low = self.bytes[offsets].astype(np.uint16)
            values = self.bytes[offsets + 1].astype(np.uint16) << np.uint16(8) | low
        return values


def _rounds(offsets: Offsets, inside: npt.NDArray[np.bool_]) -> list[npt.NDArray[np.intp]]:
    """Lanes such that none of a round share a word: each word's first lanes, its second, ..."""
    rows = np.flatnonzero(inside)
    order = rows[np.argsort(offsets[rows], kind="stable")]
    if not len(order):
        return []
    same = np.diff(offsets[order], prepend=-1) == 0
    if not same.any():
        return [rows]
    steps = np.arange(len(order))
    turn = steps - np.maximum.accumulate(np.where(same, 0, steps))
    return [np.sort(order[turn == number]) for number in range(int(turn.max()) + 1)]


class MisalignedLocal(Exception):
    """An atomic on LDS whose offset is no multiple of its size. ``row``: of the lanes."""

    def __init__(self, row: int, offset: int, size: int) -> None:
        super().__init__(f"atomic of {size} bytes at LDS offset {offset:#x}, no multiple of it")
        self.row = row


def bank_cycles(offsets: Offsets, size: int, half: int = 32) -> int:
    """Cycles that the banks need for one access of these lanes.

    In each half-wave: the largest number of different dwords that one bank has to deliver;
    lanes that read the same dword share it.
    """
    words = offsets >> 2
    # Only the relative offsets of the lanes matter, and the same patterns recur.
    return pattern_cycles((words - words[0]).tobytes(), max(1, size >> 2), half)


@lru_cache(maxsize=4096)
def pattern_cycles(pattern: bytes, width: int, half: int) -> int:
    """As `bank_cycles`, for the lanes' dwords, int64, counted from any one, of which each wants
    ``width`` from its own on."""
    words = np.frombuffer(pattern, np.int64)
    cycles = 0
    for start in range(0, len(words), half):
        wanted = np.unique((words[start : start + half, None] + np.arange(width)).ravel())
        cycles += int(np.bincount(wanted % BANKS).max())
    return cycles
