"""Accesses of any size at any place, of agents that are not bound to aligned locations.

Processors, readers and DMA engines have one lane and may access 1 to 16 bytes anywhere in a line,
an engine up to several lines. So some of what they have picked is given another shape around the
byte picked: it grows into the locations on both sides as far as they are free and its own to touch,
or it shrinks. Invariant: an access touches bytes under test of its isolation group alone, and where
its episode makes fetch-adds, of its group of words alone.

An access of more than 8 bytes or of several lines becomes several rows of the program, its pieces.
"""

from __future__ import annotations

from typing import Final, NamedTuple

import numpy as np

from runtime.prng import Prng
from slicc.scenario_text.bounds import MAX_TRANSFER_BYTES
from slicc.text.lazy_dataclass import dataclass
from tester.arrays import BoolArray, ByteArray, IntArray
from tester.counter_rng import CounterRng
from tester.generator.config import GeneratorConfig
from tester.generator.reservation import Reservations
from tester.program.address_map import AddressMap
from tester.program.program import ATOMIC, BARE, MAX_ACCESS_BYTES, MAX_ROW_BYTES, STORE

_WHOLE_LINES_PERCENT: Final = 25
_INSIST_PERCENT: Final = 6
"""Accesses of engines that take bytes beside their own even where others hold them, and wait."""
_FAR: Final = np.int64(1 << 62)


@dataclass(frozen=True, slots=True)
class Drawn:
    """One entry per action: what was drawn and picked, before it is cut into rows."""

    action: IntArray
    episode: IntArray
    agent: IntArray
    kind: ByteArray
    size: IntArray
    address: IntArray  # [A, L]


class Rows(NamedTuple):
    """One entry per row of the program."""

    action: IntArray
    """Which action it is, or is a piece of."""
    address: IntArray  # [rows, L]
    size: IntArray
    part: IntArray
    """Number of the piece in its access."""


class Pieces(NamedTuple):
    """Accesses cut into rows of the program: one entry per row, but for `rows`."""

    rows: IntArray
    """Rows of each access."""
    address: IntArray
    size: IntArray
    part: IntArray
    """Number of the row in its access."""


@dataclass(frozen=True, slots=True)
class Picked:
    """One entry per access that may get another shape."""

    name: IntArray
    """Counters for random numbers."""
    address: IntArray
    episode: IntArray
    """Within the open block of the reservations."""
    longest: IntArray
    """Bytes it may have; more than MAX_ACCESS_BYTES: an engine's, over several lines."""
    by_group: BoolArray
    is_store: BoolArray


class Unaligned:
    """The map as a row of bytes, and who may access any of them."""

    def __init__(self, config: GeneratorConfig, places: AddressMap, prng: Prng) -> None:
        self._percent: Final = config.unaligned_percent
        self._shape_rng = CounterRng(prng.fork("shape"))
        self._rng: Final = CounterRng(prng.fork("unaligned"))
        longest = [able.longest for able in config.all_abilities()]
        alone = [agent.lanes == 1 for agent in config.agents]
        self._longest: IntArray = np.where(alone, longest, 0)
        self._adds: BoolArray = np.array([agent.adds for agent in config.agents], np.bool_)
        order = np.argsort(places.location_address, kind="stable")
        self._location: IntArray = order
        self._address: IntArray = places.location_address[order]
        self._end: IntArray = self._address + places.location_size[order]
        self._line_size: Final = places.line_size
        group = np.searchsorted(places.group_first, order, side="right") - 1
        self._of_group = self._runs(group)
        self._of_isolation = self._runs(group % (max(config.isolation_groups, default=0) + 1))

    def rows(self, drawn: Drawn, episode_scope: ByteArray, reservations: Reservations) -> Rows:
        """The rows of the program: actions without a lane are left out, and some accesses get
        another shape."""
        used = np.flatnonzero((drawn.address >= 0).any(axis=1))
        size, place = drawn.size[used], drawn.address[used]
        plain = Rows(used, place, size, np.zeros(len(used), np.int64))
        percent = self._percent
        longest = self._longest[drawn.agent[used]]
        if not percent or not longest.any():
            return plain
        chosen = self._shape_rng.percent(drawn.action[used], percent) & (longest > 0)
        shaped = np.flatnonzero(chosen & (drawn.kind[used] != ATOMIC))
        if not len(shaped):
            return plain
        at = used[shaped]
        bare = episode_scope[drawn.episode[at]] & BARE > 0
        picked = Picked(
            name=drawn.action[at],
            address=place[shaped, 0],
            episode=drawn.episode[at],
            longest=longest[shaped],
            by_group=self._adds[drawn.agent[at]] & ~bare,
            is_store=drawn.kind[at] == STORE,
        )
        pieces = self.pieces(*self.shapes(picked, reservations))
        count = np.ones(len(used), np.int64)
        count[shaped] = pieces.rows
        row = np.repeat(np.arange(len(used)), count)
        cut = np.zeros(len(used), np.bool_)
        cut[shaped] = True
        rows = Rows(used[row], place[row], size[row], np.zeros(len(row), np.int64))
        cut = cut[row]
        rows.address[cut, 0], rows.size[cut], rows.part[cut] = pieces[1:]
        return rows

    def _runs(self, label: IntArray) -> tuple[IntArray, IntArray]:
        """(first, end) of the unbroken bytes of equal label around each location, by address."""
        broken = (self._address[1:] != self._end[:-1]) | (label[1:] != label[:-1])
        first = np.flatnonzero(np.append(True, broken))
        size = np.diff(np.append(first, len(label)))
        last = first + size - 1
        return np.repeat(self._address[first], size), np.repeat(self._end[last], size)

    def shapes(self, picked: Picked, reservations: Reservations) -> tuple[IntArray, IntArray]:
        """(first byte, end) of each access."""
        own = np.searchsorted(self._address, picked.address, side="right") - 1
        first, end = self._requested(picked)
        low = np.where(picked.by_group, self._of_group[0][own], self._of_isolation[0][own])
        high = np.where(picked.by_group, self._of_group[1][own], self._of_isolation[1][own])
        line = picked.address & -self._line_size
        inside = picked.longest <= MAX_ACCESS_BYTES
        first = np.maximum(first, np.where(inside, np.maximum(low, line), low))
        end = np.minimum(end, np.where(inside, np.minimum(high, line + self._line_size), high))
        low, high = self._free(picked, own, first, end, reservations)
        asks = inside | ~self._rng.percent(picked.name * 8 + 5, _INSIST_PERCENT)
        first = np.where(asks, np.maximum(first, low), first)
        return first, np.where(asks, np.minimum(end, high), end)

    def _requested(self, picked: Picked) -> tuple[IntArray, IntArray]:
        """(first byte, end) if all were free; half of the accesses are short ones."""
        rng, name = self._rng, picked.name * 8
        bits = np.ceil(np.log2(picked.longest)).astype(np.int64)
        short = rng.percent(name, 50)
        bits = np.where(short, 2 + rng.below(name + 1, bits - 1), bits)
        length = 1 + rng.below(name + 2, 1 << bits)
        first = picked.address - rng.below(name + 3, length)
        end = first + length
        size = self._line_size
        whole = rng.percent(name + 4, _WHOLE_LINES_PERCENT) & (size <= MAX_TRANSFER_BYTES // 4)
        whole &= picked.longest > MAX_ACCESS_BYTES
        return np.where(whole, first & -size, first), np.where(whole, -(-end & -size), end)

    def _free(
        self,
        picked: Picked,
        own: IntArray,
        first: IntArray,
        end: IntArray,
        reservations: Reservations,
    ) -> tuple[IntArray, IntArray]:
        """(first, end) of the bytes around each pick's own location that it may have by now."""
        low = np.searchsorted(self._address, first, side="right") - 1
        count = np.searchsorted(self._address, end, side="left") - low
        start = np.cumsum(count) - count
        pick = np.repeat(np.arange(len(own)), count)
        place = np.arange(len(pick)) - start[pick] + low[pick]
        granted = reservations.grant(
            self._location[place],
            picked.episode[pick],
            np.zeros(len(pick), np.int64),
            picked.is_store[pick],
        )
        before, behind = place < own[pick], place > own[pick]
        lowest = np.where(before & ~granted, self._end[place], -1)
        highest = np.where(behind & ~granted, self._address[place], _FAR)
        return np.maximum.reduceat(lowest, start), np.minimum.reduceat(highest, start)

    def pieces(self, first: IntArray, end: IntArray) -> Pieces:
        """Cut accesses: every 8 bytes, and where a line ends."""
        line_end = np.minimum((first & -self._line_size) + self._line_size, end)
        here = -(-(line_end - first) // MAX_ROW_BYTES)
        count = here - (line_end - end) // MAX_ROW_BYTES
        access = np.repeat(np.arange(len(first)), count)
        part = np.arange(len(access)) - (np.cumsum(count) - count)[access]
        further = part >= here[access]
        base = np.where(further, line_end[access], first[access])
        begin = base + MAX_ROW_BYTES * np.where(further, part - here[access], part)
        limit = np.where(further, end[access], line_end[access])
        return Pieces(count, begin, np.minimum(begin + MAX_ROW_BYTES, limit) - begin, part)
