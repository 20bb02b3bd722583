"""What a racing load may return: the one load of a program that stores of others may overtake.

A racing load anticipates the first load of its episode, while episodes that it must wait for still
store. The versions of each of its bytes stand in one order all the same, because their writers wait
for each other. Two rules follow, where no cache may answer with an old copy (:class:`EarlyRule`):

* A load returns a version that is not older than the last one complete when the load was issued,
  and not newer than the last one issued when it is answered.
* A processor may keep such a value, as one that executes loads ahead of older ones does, until its
  machine reports that a line of it has left the cache. If nothing was reported when the episode
  begins, the value is the one that the episode's own load must return, but for what processors of
  the same port have stored since: no machine reports that, it is their own affair.

Complete is a store whose completion has arrived, or, where its agent has to flush at hand-overs,
one of an episode after which its agent has begun another. Invariant: a version is known by its
place in the arrays, which no run changes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from enum import IntEnum
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from runtime.requesters.port import AccessKind
from slicc.text.lazy_dataclass import dataclass
from tester.execution.events import Request, Role
from tester.program.atomics import written
from tester.program.program import CONTINUES, GLC, LOAD, MAX_ROW_BYTES, RACING_LOAD, Program

Array = npt.NDArray[Any]
MOST_BYTES: Final = 64
"""Of a racing load that are judged: its first ones."""
NOTHING: Final = -1
"""In place of a version: what memory held at first."""


class EarlyRule(IntEnum):
    """Which racing loads of an agent are judged."""

    NEVER = 0
    """A cache may answer with what it had before the acquire."""
    BYPASSING = 1
    """Those that miss the first-level cache on purpose."""
    ALWAYS = 2
    """Caches are coherent, or there is none."""
    HELD = 3
    """The same, and the machine reports lines that leave the cache."""


@dataclass(frozen=True, slots=True)
class Versions:
    """What is stored to bytes that racing loads read: one entry per byte and store, ordered by
    byte, then by the order of the program."""

    byte: Array
    row: Array
    """Of the program: the first one of the access that stores it."""
    value: Array
    episode: Array
    agent: Array

    def before(self, byte: int, episode: int) -> range:
        """The versions of a byte that stand before an episode."""
        first, end = np.searchsorted(self.byte, (byte, byte + 1)).tolist()
        return range(first, first + int(np.searchsorted(self.episode[first:end], episode)))


_NONE: Final = np.zeros(0, np.int64)
NO_VERSIONS: Final = Versions(_NONE, _NONE, _NONE, _NONE, _NONE)


def versions_of(program: Program) -> Versions:
    """The versions that racing loads of a program may see."""
    loaded = np.zeros(0, np.int64)
    racing = program.episode_scope & RACING_LOAD > 0
    episode = np.repeat(np.arange(program.episodes), np.diff(program.episode_first_action))
    further = program.action_scope & CONTINUES > 0
    loads = np.flatnonzero(
        racing[episode]
        & (program.action_kind == LOAD)
        & ~further
        & (program.lane_address >= 0).any(axis=1)
    )
    access = np.cumsum(~further) - 1
    if len(loads):
        first = loads[np.diff(episode[loads], prepend=-1) > 0]
        chosen = np.zeros(len(access), np.bool_)
        chosen[access[first]] = True
        rows = np.flatnonzero(chosen[access])
        loaded = np.unique(_bytes(program, *_lanes(program, rows))[0])
    row, lane = _stores_near(program, loaded)
    byte, place, offset = _bytes(program, row, lane)
    row = row[place]
    kept = np.flatnonzero(_among(loaded, byte))
    kept = kept[np.argsort(byte[kept], kind="stable")]  # rows ascend
    row, place, offset = row[kept], place[kept], offset[kept]
    value = written(program)[row, lane[place]] >> (8 * offset).astype(np.uint64)
    writer = episode[row]
    return Versions(
        byte[kept],
        np.flatnonzero(~further)[access[row]],
        (value & np.uint64(0xFF)).astype(np.uint8),
        writer,
        program.episode_thread[writer].astype(np.int64),
    )


def _stores_near(program: Program, wanted: Array) -> tuple[Array, Array]:
    """Row and lane of what stores to words of some bytes, and perhaps of others."""
    if not len(wanted):
        return _NONE, _NONE
    words = np.unique(wanted >> 3)
    row, lane = _lanes(program, np.flatnonzero(program.action_kind != LOAD))
    address = program.lane_address[row, lane]
    near = np.zeros(len(row), np.bool_)
    for last in (0, MAX_ROW_BYTES - 1):
        word = address + last >> 3
        near |= _among(words, word)
    return row[near], lane[near]


def _among(known: Array, values: Array) -> Array:
    """Which values are in a sorted array."""
    if not len(known):
        return np.zeros(len(values), np.bool_)
    found: Array = known[np.searchsorted(known, values) % len(known)] == values
    return found


def _lanes(program: Program, rows: Array) -> tuple[Array, Array]:
    """Row and number of every lane of some rows."""
    row, lane = np.nonzero(program.lane_address[rows] >= 0)
    return rows[row], lane


def _bytes(program: Program, row: Array, lane: Array) -> tuple[Array, Array, Array]:
    """Address, place of its lane in ``row``, and place in the lane, of every byte of lanes."""
    size = program.action_size[row].astype(np.int64)
    each = np.repeat(np.arange(len(row)), size)
    offset = np.arange(len(each)) - np.repeat(np.cumsum(size) - size, size)
    return program.lane_address[row, lane].astype(np.int64)[each] + offset, each, offset


class WrongByte(NamedTuple):
    """A byte of a racing load with a value that it must not have."""

    request: Request
    lane: int
    """Its index in the request."""
    address: int
    expected: int
    """The newest of the values that it may have."""
    got: int
    held: bool


@dataclass(slots=True)
class _Early:
    """A racing load between its issue and the beginning of its episode."""

    request: Request
    lower: list[int]
    """By byte: the last version that was complete when it was issued."""
    values: list[int]


class EarlyLoads:
    """Judges the racing loads of one run, from the events that the checker has.

    ``rules``, ``flushes`` and ``ports``, where their requests go, are by agent;
    ``initial(address)`` is the byte that memory holds at first.
    """

    def __init__(
        self,
        versions: Versions,
        rules: Sequence[EarlyRule],
        flushes: Sequence[bool],
        ports: Sequence[int],
        initial: Callable[[int], int],
    ) -> None:
        self._versions = versions
        self._rules = rules
        self._flushes = flushes
        self._ports = ports
        self._initial = initial
        self._stores: dict[int, bool] = {}
        """By row: whether a store that was issued is complete."""
        self._latest: dict[int, int] = {}
        """By agent: the episode that it was last seen in."""
        self._early: dict[int, _Early] = {}
        """By agent."""

    def issued(self, request: Request) -> WrongByte | None:
        """A request was taken; what is wrong with the value that its episode begins with."""
        if request.role == Role.RACING_LOAD:
            self._begin(request)
            return None
        self._latest[request.agent] = request.episode
        if request.role == Role.ACTION and request.kind != AccessKind.LOAD:
            self._stores[request.row] = False
        early = self._early.get(request.agent)
        if early is None or -1 in early.values:
            return None
        del self._early[request.agent]
        return self._begun(early)

    def completed(self, request: Request) -> None:
        """All bytes of a store or an atomic operation are performed."""
        if request.row in self._stores:
            self._stores[request.row] = True

    def answered(self, request: Request, index: int, data: int, line: int) -> WrongByte | None:
        """A lane of a racing load has its data; the first byte that is wrong."""
        early = self._early.get(request.agent)
        if early is None or early.request is not request:
            return None
        first = index * request.size
        for number in range(first, min(first + request.size, len(early.lower))):
            address = request.addresses[index] + number - first
            got = early.values[number] = data >> 8 * (address - line) & 0xFF
            allowed = self._window(address, request.episode, early.lower[number])
            if got not in allowed:
                return WrongByte(request, index, address, allowed[-1], got, False)
        if -1 in early.values or self._latest.get(request.agent) != request.episode:
            return None
        del self._early[request.agent]  # its episode has begun
        return self._begun(early)

    # ------------------------------------------------------------------ helpers

    def _begin(self, request: Request) -> None:
        rule = self._rules[request.agent]
        if rule == EarlyRule.NEVER or (rule == EarlyRule.BYPASSING and not request.scope & GLC):
            return
        addresses = [a + i for a in request.addresses for i in range(request.size)][:MOST_BYTES]
        lower = [self._last_complete(address, request.episode) for address in addresses]
        self._early[request.agent] = _Early(request, lower, [-1] * len(lower))

    def _begun(self, early: _Early) -> WrongByte | None:
        """The episode begins: what was held must be what it would load."""
        request = early.request
        if request.lost or self._rules[request.agent] != EarlyRule.HELD:
            return None
        for number, got in enumerate(early.values):
            index, offset = divmod(number, request.size)
            address = request.addresses[index] + offset
            before = self._versions.before(address, request.episode)
            wanted = self._value(address, before[-1] if before else NOTHING)
            if got != wanted and not self._is_own_affair(request.agent, before, got):
                return WrongByte(request, index, address, wanted, got, True)
        return None

    def _is_own_affair(self, agent: int, versions: range, got: int) -> bool:
        """Whether all versions behind the one that was kept are those of an agent's port."""
        for version in reversed(versions):
            if int(self._versions.value[version]) == got:
                return True
            if self._ports[int(self._versions.agent[version])] != self._ports[agent]:
                return False
        return True

    def _last_complete(self, address: int, episode: int) -> int:
        for version in reversed(self._versions.before(address, episode)):
            if self._is_complete(version):
                return version
        return NOTHING

    def _window(self, address: int, episode: int, lower: int) -> list[int]:
        """The values that a byte may have now, oldest first."""
        issued = filter(self._is_issued, self._versions.before(address, episode))
        later = (version for version in issued if version > lower)
        return [self._value(address, version) for version in (lower, *later)]

    def _value(self, address: int, version: int) -> int:
        return self._initial(address) if version == NOTHING else int(self._versions.value[version])

    def _is_issued(self, version: int) -> bool:
        return int(self._versions.row[version]) in self._stores

    def _is_complete(self, version: int) -> bool:
        agent, episode = int(self._versions.agent[version]), int(self._versions.episode[version])
        if self._latest.get(agent, -1) > episode:
            return True
        done = self._stores.get(int(self._versions.row[version]), False)
        return done and not self._flushes[agent]
