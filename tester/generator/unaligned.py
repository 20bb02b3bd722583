"""Accesses of any size at any place, of agents that are not bound to aligned locations.

Processors, readers and DMA engines have one lane and may access 1 to 16 bytes anywhere in a line,
an engine up to several lines. So some of what they have picked is given another shape around the
byte picked: it grows into the locations on both sides as far as they are free and its own to touch,
or it shrinks. Invariant: an access touches bytes under test of its isolation group alone, and where
its episode makes fetch-adds, of its group of words alone.

An access of more than 8 bytes or of several lines becomes several rows of the program, its pieces.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np

from runtime.prng import Prng
from slicc.scenario_text.bounds import MAX_TRANSFER_BYTES
from slicc.text.lazy_dataclass import dataclass
from tester.arrays import BoolArray, ByteArray, IntArray
from tester.counter_rng import CounterRng
from tester.generator.config import GeneratorConfig
from tester.generator.reservation import Claim, Holder
from tester.program.address_map import AddressMap
from tester.program.program import ATOMIC, BARE, MAX_ACCESS_BYTES, MAX_ROW_BYTES

_WHOLE_LINES_PERCENT: Final = 25
_INSIST_PERCENT: Final = 6
"""Accesses of engines that take bytes beside their own even where others hold them, and wait."""


class Shape(NamedTuple):
    """The bytes of an access."""

    first: int
    end: int


class Shaping(NamedTuple):
    """What is drawn for an access that gets another shape, before its address is known."""

    length: int
    back: int
    """How many of its bytes, if all are free, are before the one that was picked."""
    whole_lines: bool
    inside: bool
    """It stays within the line."""
    by_group: bool
    """It stays within its group, as its episode makes fetch-adds."""
    insists: bool
    """It takes bytes that others hold, and waits."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """One entry per action: what was drawn before addresses are selected."""

    action: IntArray
    """Counters for random numbers."""
    episode: IntArray
    agent: IntArray
    kind: ByteArray
    whole_line: BoolArray
    """It takes its whole line, which is its own to touch (`Unaligned.is_whole`)."""


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
        self._location: Final[list[int]] = order.tolist()
        address = places.location_address[order]
        end = address + places.location_size[order]
        self._address: Final[list[int]] = address.tolist()
        self._end: Final[list[int]] = end.tolist()
        self._line_size: Final = places.line_size
        group = np.searchsorted(places.group_first, order, side="right") - 1
        isolation = group % (max(config.isolation_groups, default=0) + 1)
        self._of_group = _runs(address, end, group)
        self._of_isolation = _runs(address, end, isolation)
        first_own, end_own = map(np.array, self._of_isolation)
        line = address & -self._line_size
        self.is_whole: BoolArray = np.zeros(len(order), np.bool_)
        """[C] whether every byte of the location's line is of its isolation group."""
        self.is_whole[order] = (first_own <= line) & (line + self._line_size <= end_own)

    def shaping(self, drawn: Drawn, episode_scope: ByteArray) -> dict[int, Shaping]:
        """Which actions get another shape."""
        longest = self._longest[drawn.agent]
        whole_line = drawn.whole_line
        if not longest.any() or not (self._percent or whole_line.any()):
            return {}
        chosen = self._shape_rng.percent(drawn.action, self._percent) & (longest > 0)
        at = np.flatnonzero((chosen | whole_line) & (drawn.kind != ATOMIC))
        whole_line = whole_line[at]
        rng, name, longest = self._rng, drawn.action[at] * 8, longest[at]
        bits = np.ceil(np.log2(longest)).astype(np.int64)
        bits = np.where(rng.percent(name, 50), 2 + rng.below(name + 1, bits - 1), bits)
        length = 1 + rng.below(name + 2, 1 << bits)
        inside = longest <= MAX_ACCESS_BYTES
        whole = rng.percent(name + 4, _WHOLE_LINES_PERCENT) & ~inside
        whole &= self._line_size <= MAX_TRANSFER_BYTES // 4
        bare = episode_scope[drawn.episode[at]] & BARE > 0
        columns = (
            np.where(whole_line, 1, length),
            np.where(whole_line, 0, rng.below(name + 3, length)),
            whole | whole_line,
            inside,
            self._adds[drawn.agent[at]] & ~bare,
            whole_line | (rng.percent(name + 5, _INSIST_PERCENT) & ~inside),
        )
        return dict(zip(at.tolist(), map(Shaping, *(each.tolist() for each in columns))))

    def grown(self, asked: Shaping, address: int, holder: Holder, claims: Sequence[Claim]) -> Shape:
        """The shape of an access that holds its own location. The locations on both sides that it
        takes it holds as well."""
        own = bisect_right(self._address, address) - 1
        first, end = self._wanted(asked, address, own)

        def takes(at: int) -> bool:
            claim = claims[self._location[at]]
            if not asked.insists and not claim.is_free(holder):
                return False
            claim.hold(holder)
            return True

        at = own - 1
        while at >= 0 and self._end[at] > first:
            if not takes(at):
                first = self._end[at]
            at -= 1
        at = own + 1
        while at < len(self._address) and self._address[at] < end:
            if not takes(at):
                end = self._address[at]
            at += 1
        return Shape(first, end)

    def _wanted(self, asked: Shaping, address: int, own: int) -> tuple[int, int]:
        """(first byte, end) if all were free, within what it may touch at all."""
        first, size = address - asked.back, self._line_size
        end = first + asked.length
        if asked.whole_lines:
            first, end = first & -size, -(-end & -size)
        low, high = (run[own] for run in (self._of_group if asked.by_group else self._of_isolation))
        if asked.inside:
            line = address & -size
            low, high = max(low, line), min(high, line + size)
        return max(first, low), min(end, high)

    def rows(self, address: IntArray, size: IntArray, shapes: Mapping[int, Shape]) -> Rows:
        """The rows of the program: actions without a lane are left out, and some accesses have
        another shape. ``address``: [A, L]; ``size``: [A] bytes."""
        used = np.flatnonzero((address >= 0).any(axis=1))
        place = address[used]
        if not shapes:
            return Rows(used, place, size[used], np.zeros(len(used), np.int64))
        bounds = np.array(list(shapes.values()), np.int64)
        pieces = self.pieces(bounds[:, 0], bounds[:, 1])
        shaped = np.searchsorted(used, np.array(list(shapes), np.int64))
        count = np.ones(len(used), np.int64)
        count[shaped] = pieces.rows
        row = np.repeat(np.arange(len(used)), count)
        cut = np.zeros(len(used), np.bool_)
        cut[shaped] = True
        rows = Rows(used[row], place[row], size[used[row]], np.zeros(len(row), np.int64))
        cut = cut[row]
        rows.address[cut, 0], rows.size[cut], rows.part[cut] = pieces[1:]
        return rows

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


def _runs(address: IntArray, end: IntArray, label: IntArray) -> tuple[list[int], list[int]]:
    """(first, end) of the unbroken bytes of equal label around each location, by address."""
    broken = (address[1:] != end[:-1]) | (label[1:] != label[:-1])
    first = np.flatnonzero(np.append(True, broken))
    size = np.diff(np.append(first, len(label)))
    last = first + size - 1
    return np.repeat(address[first], size).tolist(), np.repeat(end[last], size).tolist()
