"""Counts what a run on the Python engine costs; a run that is not counted pays nothing.

Ports, buffers and caches of one system become instances of classes that count, then do what they
did. Invariant: counting changes nothing of a run, and counts what
``runtime/native/cpp/statistics/counters.hpp`` counts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

from runtime.controller.shapes import Controller
from runtime.controller.trace import Observers
from runtime.network.network import NetworkPort
from runtime.statistics.census import ACCESSES, TABLES, Census, census
from runtime.statistics.counted import Counted, Histogram, Occupancy, Route
from runtime.statistics.words import SAMPLE_ROWS, SAMPLE_TICKS, TallyWord, latency_bucket
from runtime.structures.cache_memory import CacheMemory
from runtime.structures.tbe_table import TBETable
from runtime.system.inspection import attributes
from runtime.system.system import System
from runtime.types.enumerations import MessageSizeType
from runtime.types.message import kind_of
from runtime.types.messages import RubyRequest
from runtime.types.values import NetDest


class Counters:
    """What one system does from now on. Its controllers are observed, after others that observe
    them by now."""

    def __init__(self, system: System) -> None:
        self.census: Census = census(system)
        self._engine = system.engine
        number = {name: place for place, name in enumerate(self.census.machines)}
        self._number = {id(each): number[each.MACHINE] for each in system.controllers}
        self._sent: Counter[tuple[int, int, int, str, str]] = Counter()
        self._tallies = [[0] * len(TallyWord) for _ in number]
        self._latencies: dict[int, Histogram] = {}
        self._taken = self._late = self._answers = 0
        self._interval, self._next = SAMPLE_TICKS, 0
        self._rows: list[list[int]] = []
        place = {key: each for each, key in enumerate(self.census.series)}
        self._buffers = [
            (series, buffer) for series, buffer in zip(self.census.buffers, system.buffers.values())
        ]
        self._tables = [
            (place[each.MACHINE, TABLES], table.records)
            for each in system.controllers
            for _, table in attributes(each)
            if isinstance(table, TBETable)
        ]
        self._attach(system)

    def _attach(self, system: System) -> None:
        for port, (network, owner) in zip(system.network.ports, self.census.ports):
            _count_port(port, self._sent, network, owner, self.census.nodes)
        for is_queue, buffer in zip(self.census.mandatory, system.buffers.values()):
            self._count_buffer(buffer, is_queue)
        for each in system.controllers:
            before = each.observer
            mine = self.transition
            each.observer = mine if before is None else Observers(before, mine)
            each.stall_observer = self.stalled
            for cache in each.caches():
                _count_cache(cache, self._tallies[self._number[id(each)]])

    # ------------------------------------------------------------------ what is called

    def transition(
        self,
        controller: Controller,
        address: int,
        state: int,
        event: int,
        next_state: int,
        comment: str,
        /,
    ) -> None:
        """After every transition. An access was a hit if the transition that took it answered it,
        in the tick in which it arrived."""
        if self._taken:
            hit = self._answers and not self._late
            what = TallyWord.HITS if hit else TallyWord.MISSES
            self._tallies[self._number[id(controller)]][what] += 1
            self._taken = self._late = 0
        self._answers = 0
        if self._engine.now >= self._next:
            self._look()

    def stalled(self, controller: Controller, address: int, state: int, event: int, /) -> None:
        """A row of the table was held back, once for each look at it."""
        self._tallies[self._number[id(controller)]][TallyWord.STALLS] += 1

    def answered(self) -> None:
        """Lanes have their data, or the cache has theirs."""
        self._answers += 1

    def latency(self, kind: int, ticks: int) -> None:
        """A line of an access was answered."""
        found = self._latencies.get(kind)
        if found is None:
            found = self._latencies[kind] = Histogram()
        found.counts[latency_bucket(ticks)] += 1
        found.total += ticks

    # ------------------------------------------------------------------ result

    def counted(self) -> Counted:
        names = self.census.machines
        return Counted(
            Counter(
                {
                    Route(network, names[sender], names[receiver], kind, size): count
                    for (network, sender, receiver, kind, size), count in self._sent.items()
                }
            ),
            dict(zip(names, self._tallies)),
            dict(sorted(self._latencies.items())),
            Occupancy(self.census.series, self._interval, self._rows),
        )

    # ------------------------------------------------------------------ occupancy

    def _look(self) -> None:
        now = [0] * len(self.census.series)
        for series, buffer in self._buffers:
            now[series] += len(buffer.messages)
        for series, records in self._tables:
            now[series] += len(records)
        while self._next <= self._engine.now:
            if len(self._rows) == SAMPLE_ROWS:
                pairs = zip(self._rows[::2], self._rows[1::2])
                self._rows = [[a + b for a, b in zip(*pair)] for pair in pairs]
                self._interval *= 2
            weight = self._interval // SAMPLE_TICKS
            self._rows.append([each * weight for each in now])
            self._next += self._interval

    # ------------------------------------------------------------------ buffers

    def _count_buffer(self, buffer: Any, is_queue: bool) -> None:
        kind = type(buffer)
        members: dict[str, Any] = {"__slots__": ()}
        machine = self._number.get(id(buffer.consumer))
        if machine is not None:
            members["stall"] = _waiting(kind, self._tallies[machine])
        if is_queue:
            members |= {name: self._taking(kind, name) for name in ("dequeue", "drop")}
        buffer.__class__ = type(kind.__name__, (kind,), members)

    def _taking(self, kind: type[Any], name: str) -> Callable[[Any], Any]:
        take = getattr(kind, name)

        def taking(buffer: Any) -> Any:
            head = buffer.messages[0] if buffer.messages else None
            if head.__class__ is RubyRequest and head.Type in ACCESSES:
                self._taken += 1
                self._late += head.arrival != self._engine.now
            return take(buffer)

        return taking


def _waiting(kind: type[Any], tally: list[int]) -> Callable[[Any, int], None]:
    stall = kind.stall

    def waiting(buffer: Any, line: int) -> None:
        stall(buffer, line)
        tally[TallyWord.WAITS] += 1

    return waiting


def _count_port(
    port: NetworkPort,
    sent: Counter[tuple[int, int, int, str, str]],
    network: int,
    owner: int,
    machines: tuple[int, ...],
) -> None:
    kind = type(port)
    enqueue = kind.enqueue
    sizes = MessageSizeType.members()
    sizes_known = tuple(sizes)

    def counting(self: Any, message: Any, latency: int = 1, bypass: bool = False) -> None:
        bits = message.Destination.bits
        size = getattr(message, "MessageSize", None)
        named = sizes_known[size] if size is not None and 0 <= size < len(sizes_known) else ""
        asked = kind_of(message)
        if bits & (bits - 1):
            for node in NetDest(bits).nodes():
                sent[network, owner, machines[node], asked, named] += 1
        elif bits:
            sent[network, owner, machines[bits.bit_length() - 1], asked, named] += 1
        enqueue(self, message, latency, bypass)

    port.__class__ = type(kind.__name__, (kind,), {"__slots__": (), "enqueue": counting})


def _count_cache(cache: Any, tally: list[int]) -> None:
    kind: type[CacheMemory[Any]] = type(cache)
    victim = -1

    def probe(self: Any, address: int) -> int:
        nonlocal victim
        victim = kind.cacheProbe(self, address)
        return victim

    def allocate(self: Any, address: int, entry: Any) -> Any:
        made = kind.allocate(self, address, entry)
        tally[TallyWord.FILLS] += 1
        return made

    def deallocate(self: Any, address: int) -> None:
        nonlocal victim
        kind.deallocate(self, address)
        if address == victim:
            victim = -1
            tally[TallyWord.EVICTIONS] += 1

    members = {"cacheProbe": probe, "allocate": allocate, "deallocate": deallocate}
    cache.__class__ = type(kind.__name__, (kind,), {"__slots__": (), **members})
