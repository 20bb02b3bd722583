"""Counts what a run on the Python engine costs; a run that is not counted pays nothing.

Ports, buffers and caches of one system become instances of classes that count, then do what they
did. There is one class for all ports, and one for all buffers: CPython specialises code for the
classes that it sees. Invariant: counting changes nothing of a run, and counts what
``runtime/native/cpp/statistics/counters.hpp`` counts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable
from operator import attrgetter
from typing import Any

import numpy as np

from runtime.controller.shapes import Controller
from runtime.controller.trace import Observers
from runtime.network.bus import BusPort
from runtime.network.network import NetworkPort
from runtime.sim.message_buffer import MessageBuffer
from runtime.statistics.census import ACCESSES, TABLES, Census, census
from runtime.statistics.counted import Counted, Histogram, Occupancy, Route
from runtime.statistics.words import SAMPLE_ROWS, SAMPLE_TICKS, TallyWord, bytes_of, latency_bucket
from runtime.structures.cache_memory import CacheMemory
from runtime.structures.tbe_table import TBETable
from runtime.system.inspection import attributes
from runtime.system.system import System
from runtime.types.enumerations import MessageSizeType
from runtime.types.message import Message, kind_field
from runtime.types.messages import RubyRequest
from runtime.types.values import NetDest


class Counters:
    """What one system does from now on. Its controllers are observed, after others that observe
    them by now."""

    def __init__(self, system: System) -> None:
        self.census: Census = census(system)
        self._engine = system.engine
        self._line_size = system.topology.line_size
        number = {name: place for place, name in enumerate(self.census.machines)}
        self._number = {id(each): number[each.MACHINE] for each in system.controllers}
        self._ports = dict(zip(system.network.ports, self.census.ports))
        self.sent: defaultdict[tuple[Any, ...], int] = defaultdict(int)
        """By port, class of message, and the kind within its class."""
        self.told_by: dict[type[Message], Callable[[Any], tuple[Any, ...]]] = {}
        self.tallies = [[0] * len(TallyWord) for _ in number]
        self._latencies: dict[int, Histogram] = {}
        self.taken = self.late = 0
        self._answers = 0
        self._interval, self._next = SAMPLE_TICKS, 0
        self._rows: list[list[int]] = []
        self._final: Counted | None = None
        place = {key: each for each, key in enumerate(self.census.series)}
        self._buffers = [
            (series, buffer.messages)
            for series, buffer in zip(self.census.buffers, system.buffers.values())
        ]
        self._tables = [
            (place[each.MACHINE, TABLES], table.records)
            for each in system.controllers
            for _, table in attributes(each)
            if isinstance(table, TBETable)
        ]
        self._attach(system)

    def _attach(self, system: System) -> None:
        self._engine.counters = self
        counting = {kind: _counting(kind, self) for kind in (NetworkPort, BusPort)}
        for port in system.network.ports:
            port.__class__ = counting[type(port)]
        for is_queue, buffer in zip(self.census.mandatory, system.buffers.values()):
            buffer.__class__ = _CountingQueue if is_queue else _CountingBuffer
        for each in system.controllers:
            before = each.observer
            mine = self.transition
            each.observer = mine if before is None else Observers(before, mine)
            each.stall_observer = self.stalled
            for cache in each.caches():
                cache.tally, cache.victim = self.tallies[self._number[id(each)]], -1
                cache.__class__ = _CountingCache

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
        if self.taken:
            hit = self._answers and not self.late
            what = TallyWord.HITS if hit else TallyWord.MISSES
            self.tallies[self._number[id(controller)]][what] += 1
            self.taken = self.late = 0
        self._answers = 0
        if self._engine.now >= self._next:
            self._look()

    def stalled(self, controller: Controller, address: int, state: int, event: int, /) -> None:
        """A row of the table was held back, once for each look at it."""
        self.tallies[self._number[id(controller)]][TallyWord.STALLS] += 1

    def waits(self, consumer: object) -> None:
        """A message waits for its line to be woken."""
        self.tallies[self._number[id(consumer)]][TallyWord.WAITS] += 1

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

    def tell_apart(self, kind: type[Message]) -> Callable[[Any], tuple[Any, ...]]:
        """What a message's destination, size and question are read with."""
        asked = kind_field(kind)
        names = [*(["MessageSize"] if hasattr(kind, "MessageSize") else []), *filter(None, [asked])]
        # Twice the destination: of a single name no tuple would be read.
        read = attrgetter("Destination.bits", "Destination.bits", *names)
        self.told_by[kind] = read
        return read

    # ------------------------------------------------------------------ result

    def stop(self) -> None:
        """What is done from now on does not count."""
        self._final = self.counted()

    def counted(self) -> Counted:
        """Up to now, or to the stop."""
        if self._final is not None:
            return self._final
        messages, sizes = self._messages()
        rows = np.array(self._rows, np.int64).reshape(-1, len(self.census.series))
        return Counted(
            messages,
            sizes,
            {name: [*tally] for name, tally in zip(self.census.machines, self.tallies)},
            {
                kind: Histogram([*each.counts], each.total)
                for kind, each in sorted(self._latencies.items())
            },
            Occupancy(self.census.series, self._interval, rows),
        )

    def _messages(self) -> tuple[Counter[Route], Counter[Route]]:
        """Numbers and bytes."""
        names, nodes = self.census.machines, self.census.nodes
        found: Counter[Route] = Counter()
        sizes: Counter[Route] = Counter()
        for (port, kind, (bits, _, *rest)), count in self.sent.items():
            network, owner = self._ports[port]
            size = MessageSizeType.name_of(rest.pop(0)) if hasattr(kind, "MessageSize") else ""
            asked = kind_field(kind)
            name = kind.__name__ if asked is None else kind.ENUMERATIONS[asked].name_of(rest[0])
            for node in NetDest(bits).nodes():
                route = Route(network, names[owner], names[nodes[node]], name)
                found[route] += count
                sizes[route] += count * bytes_of(size, self._line_size)
        return found, sizes

    # ------------------------------------------------------------------ occupancy

    def _look(self) -> None:
        now = [0] * len(self.census.series)
        for series, messages in self._buffers:
            now[series] += len(messages)
        for series, records in self._tables:
            now[series] += len(records)
        while self._next <= self._engine.now:
            if len(self._rows) == SAMPLE_ROWS:
                pairs = zip(self._rows[::2], self._rows[1::2])
                self._rows = [[a + b for a, b in zip(*pair)] for pair in pairs]
                self._interval *= 2
            assert self._interval % SAMPLE_TICKS == 0 and len(self._rows) < SAMPLE_ROWS
            weight = self._interval // SAMPLE_TICKS
            self._rows.append([each * weight for each in now])
            self._next += self._interval


# ---------------------------------------------------------------------- what counts first


class _CountingBuffer(MessageBuffer):
    __slots__ = ()

    def stall(self, line: int) -> None:
        MessageBuffer.stall(self, line)
        self.engine.counters.waits(self.consumer)


class _CountingQueue(_CountingBuffer):
    """The counting queue of a requester."""

    __slots__ = ()

    def dequeue(self) -> int:
        self._take()
        return MessageBuffer.dequeue(self)

    def drop(self) -> None:
        self._take()
        MessageBuffer.drop(self)

    def _take(self) -> None:
        head = self.messages[0] if self.messages else None
        if head.__class__ is RubyRequest and head.Type in ACCESSES:
            counters, engine = self.engine.counters, self.engine
            counters.taken += 1
            counters.late += head.arrival != engine.now


def _counting(port: type[NetworkPort], counters: Counters) -> type[NetworkPort]:
    """Ports that count what is sent: more than one message for each transition."""
    send, sent = port.enqueue, counters.sent
    told_by, tell_apart = counters.told_by, counters.tell_apart

    def enqueue(self: Any, message: Message, latency: int = 1, bypass: bool = False) -> None:
        send(self, message, latency, bypass)
        kind = message.__class__
        read = told_by.get(kind) or tell_apart(kind)
        sent[self, kind, read(message)] += 1

    return type(port.__name__, (port,), {"__slots__": (), "enqueue": enqueue})


class _CountingCache(CacheMemory[Any]):
    __slots__ = ()

    def cacheProbe(self, address: int) -> int:
        self.victim = victim = CacheMemory.cacheProbe(self, address)
        return victim

    def allocate(self, address: int, entry: Any) -> Any:
        made = CacheMemory.allocate(self, address, entry)
        self.tally[TallyWord.FILLS] += 1
        return made

    def deallocate(self, address: int) -> None:
        CacheMemory.deallocate(self, address)
        if address == self.victim:
            self.victim = -1
            self.tally[TallyWord.EVICTIONS] += 1
