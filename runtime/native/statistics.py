"""The counters of a native run: words that its object counts into, and what they mean.

Invariant: what was counted is the same value that the Python engine counts.
"""

from __future__ import annotations

import json
from collections import Counter
from itertools import accumulate
from typing import Final

import numpy as np
import numpy.typing as npt

from runtime.native.build import Sources
from runtime.statistics.census import ACCESSES, TABLES, Census
from runtime.statistics.counted import Counted, Histogram, Occupancy, Route
from runtime.statistics.words import (
    LATENCY_BUCKETS,
    SAMPLE_ROWS,
    SAMPLE_TICKS,
    CounterWord,
    TallyWord,
)
from runtime.types.enumerations import MessageSizeType, RubyRequestType

_METADATA: Final = "metadata.json"
_OF_THE_LIBRARY: Final = (("RubyRequest",), ("SequencerMsg",), ("MemoryMsg",))
"""Messages with numbers before those of a protocol, from 1 on."""
_KINDS_OF_ACCESS: Final = 7


class NativeCounters:
    """The words of one run. ``kinds``: see `kinds_of`."""

    def __init__(self, census: Census, kinds: tuple[tuple[str, ...], ...]) -> None:
        self._census = census
        self._kinds = kinds
        self._sizes = ("", *MessageSizeType.members())
        self._pairs = sorted(
            {(network, sender) for network, sender in census.ports}
        )  # rows of messages; receivers are columns
        machines, series = len(census.machines), len(census.series)
        row = {pair: place * machines for place, pair in enumerate(self._pairs)}
        index = {name: place for place, name in enumerate(census.series)}
        named = sum(map(len, kinds))
        lists: dict[CounterWord, list[int] | int] = {
            CounterWord.KINDS_OF: [len(each) for each in kinds],
            CounterWord.FIRST_KIND: [0, *accumulate(map(len, kinds))][:-1],
            CounterWord.PORT_ROW: [row[port] for port in census.ports],
            CounterWord.NODE_MACHINE: [*census.nodes],
            CounterWord.CONSUMER_MACHINE: [*census.controllers],
            CounterWord.CACHE_MACHINE: [*census.caches],
            CounterWord.MANDATORY: [int(each) for each in census.mandatory],
            CounterWord.IS_ACCESS: [int(n in ACCESSES) for n in range(RubyRequestType.NUM)],
            CounterWord.BUFFER_SERIES: [*census.buffers],
            CounterWord.TABLE_SERIES: [index[name, TABLES] for name in census.machines],
            CounterWord.VICTIM: [-1] * len(census.caches),
            CounterWord.OCCUPANCY: series,
            CounterWord.MESSAGES: len(self._pairs) * machines * named * len(self._sizes),
            CounterWord.TALLIES: machines * len(TallyWord),
            CounterWord.LATENCIES: _KINDS_OF_ACCESS * LATENCY_BUCKETS,
            CounterWord.LATENCY_SUMS: _KINDS_OF_ACCESS,
            CounterWord.SAMPLES: SAMPLE_ROWS * series,
        }
        rooms = {word: each if isinstance(each, int) else len(each) for word, each in lists.items()}
        starts = dict(zip(rooms, accumulate(rooms.values(), initial=len(CounterWord))))
        self._rooms = {word: slice(starts[word], starts[word] + rooms[word]) for word in rooms}
        self.words: npt.NDArray[np.int64] = np.zeros(
            len(CounterWord) + sum(rooms.values()), np.int64
        )
        for word, start in starts.items():
            self.words[word] = start
        for word, each in lists.items():
            if not isinstance(each, int):
                self.words[self._rooms[word]] = each
        self.words[CounterWord.SIZES] = len(self._sizes)
        self.words[CounterWord.KINDS] = named
        self.words[CounterWord.SERIES] = series
        self.words[CounterWord.BUFFERS] = len(census.buffers)
        self.words[CounterWord.INTERVAL] = SAMPLE_TICKS

    def counted(self) -> Counted:
        """What the words say now."""
        rows = int(self.words[CounterWord.ROWS])
        samples = self._list(CounterWord.SAMPLES).reshape(SAMPLE_ROWS, -1)[:rows]
        tallies = self._list(CounterWord.TALLIES).reshape(-1, len(TallyWord))
        return Counted(
            self._messages(),
            dict(zip(self._census.machines, tallies.tolist())),
            self._latencies(),
            Occupancy(self._census.series, int(self.words[CounterWord.INTERVAL]), samples.tolist()),
        )

    def _list(self, word: CounterWord) -> npt.NDArray[np.int64]:
        return self.words[self._rooms[word]]

    def _messages(self) -> Counter[Route]:
        machines = self._census.machines
        kinds = [kind for each in self._kinds for kind in each]
        shape = len(self._pairs), len(machines), len(kinds), len(self._sizes)
        table = self._list(CounterWord.MESSAGES).reshape(shape)
        found: Counter[Route] = Counter()
        for place in zip(*(each.tolist() for each in table.nonzero())):
            pair, receiver, kind, size = place
            network, sender = self._pairs[pair]
            route = Route(
                network, machines[sender], machines[receiver], kinds[kind], self._sizes[size]
            )
            found[route] += int(table[place])
        return found

    def _latencies(self) -> dict[int, Histogram]:
        table = self._list(CounterWord.LATENCIES).reshape(-1, LATENCY_BUCKETS)
        sums = self._list(CounterWord.LATENCY_SUMS)
        return {
            kind: Histogram(table[kind].tolist(), int(sums[kind]))
            for kind in range(_KINDS_OF_ACCESS)
            if table[kind].any()
        }


def kinds_of(sources: Sources) -> tuple[tuple[str, ...], ...]:
    """By number of a class of messages, what they ask, or what the class is called."""
    written = json.loads(sources.files[_METADATA])["kinds"]
    return (("",), *_OF_THE_LIBRARY, *(tuple(each) for each in written))
