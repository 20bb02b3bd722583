"""What the legs of a run cost together.

Invariant: adding legs is commutative, so that the number of processes changes nothing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Final

from runtime.statistics.counted import Counted, Histogram, Occupancy, Route
from runtime.statistics.words import LATENCY_BUCKETS, SAMPLE_TICKS, TallyWord, least_latency
from tester.execution.events import KIND_NAMES

CONTROL_BYTES: Final = 8
"""Of a message; one that carries data has a line besides, as gem5's networks count."""


@dataclass
class Series:
    """What one series held over the ticks of a leg: per row, the sum over ``looks`` looks."""

    sums: list[int] = field(default_factory=list)
    looks: list[int] = field(default_factory=list)

    def coarsened(self) -> Series:
        """With rows of twice the ticks."""
        return Series(_pairs(self.sums), _pairs(self.looks))

    def plus(self, other: Series) -> Series:
        """Of rows of the same ticks."""
        return Series(_added(self.sums, other.sums), _added(self.looks, other.looks))

    @property
    def means(self) -> list[float]:
        return [total / looks if looks else 0.0 for total, looks in zip(self.sums, self.looks)]

    @property
    def mean(self) -> float:
        looks = sum(self.looks)
        return sum(self.sums) / looks if looks else 0.0


@dataclass
class Statistics:
    """``interval``: ticks of a row of ``occupancy``, whose keys are a machine and what it has."""

    line_size: int
    legs: int = 0
    messages: Counter[Route] = field(default_factory=Counter)
    machines: dict[str, list[int]] = field(default_factory=dict)
    latencies: dict[str, Histogram] = field(default_factory=dict)
    interval: int = SAMPLE_TICKS
    occupancy: dict[tuple[str, str], Series] = field(default_factory=dict)

    def add(self, counted: Counted) -> None:
        """One leg more."""
        latencies = {KIND_NAMES[kind]: each for kind, each in counted.latencies.items()}
        self.merge(
            Statistics(
                self.line_size,
                1,
                counted.messages,
                counted.machines,
                latencies,
                counted.occupancy.interval,
                _series(counted.occupancy),
            )
        )

    def merge(self, other: Statistics) -> None:
        """The legs of another run of the same protocol."""
        self.legs += other.legs
        self.messages.update(other.messages)
        for name, tallies in other.machines.items():
            mine = self.machines.setdefault(name, [0] * len(TallyWord))
            self.machines[name] = _added(mine, tallies)
        for kind, theirs in other.latencies.items():
            known = self.latencies.get(kind, Histogram())
            counts = _added(known.counts, theirs.counts)
            self.latencies[kind] = Histogram(counts, known.total + theirs.total)
        interval = max(self.interval, other.interval)
        mine_, theirs_ = self._at(interval), other._at(interval)
        self.interval = interval
        self.occupancy = {
            key: mine_.get(key, Series()).plus(theirs_.get(key, Series()))
            for key in (*mine_, *(each for each in theirs_ if each not in mine_))
        }

    def _at(self, interval: int) -> dict[tuple[str, str], Series]:
        """The occupancy in rows of so many ticks, a power of two times as many as now."""
        found, ticks = self.occupancy, self.interval
        while ticks < interval:
            found, ticks = {key: each.coarsened() for key, each in found.items()}, 2 * ticks
        return found

    # ------------------------------------------------------------------ what follows from it

    def bytes_of(self, size: str) -> int:
        """Of one message, by its size as the protocol names it."""
        return CONTROL_BYTES + (self.line_size if "Data" in size else 0)

    def routes(self) -> Iterator[tuple[Route, int, int]]:
        """Where messages went, with their number and bytes; in an order that does not depend on
        the run."""
        for route, count in sorted(self.messages.items()):
            yield route, count, count * self.bytes_of(route.size)

    def tally(self, machine: str, what: TallyWord) -> int:
        return self.machines.get(machine, [0] * len(TallyWord))[what]

    def hit_rate(self, machine: str | None = None) -> float:
        """Hits among the accesses that a machine took, 0 to 1; None: of all machines."""
        names = self.machines if machine is None else (machine,)
        hits = sum(self.tally(name, TallyWord.HITS) for name in names)
        misses = sum(self.tally(name, TallyWord.MISSES) for name in names)
        return hits / (hits + misses) if hits + misses else 0.0


def accesses(histogram: Histogram) -> int:
    """How many there are."""
    return sum(histogram.counts)


def mean_latency(histogram: Histogram) -> float:
    """In ticks."""
    count = accesses(histogram)
    return histogram.total / count if count else 0.0


def percentile(histogram: Histogram, percent: int) -> int:
    """The least latency of the bucket in which that share of the accesses is reached."""
    left = accesses(histogram) * percent / 100
    for bucket, count in enumerate(histogram.counts):
        left -= count
        if count and left <= 0:
            return least_latency(bucket)
    return least_latency(LATENCY_BUCKETS - 1) if accesses(histogram) else 0


def _series(occupancy: Occupancy) -> dict[tuple[str, str], Series]:
    looks = [occupancy.interval // SAMPLE_TICKS] * len(occupancy.rows)
    return {
        key: Series([row[place] for row in occupancy.rows], looks)
        for place, key in enumerate(occupancy.series)
    }


def _pairs(values: list[int]) -> list[int]:
    return [sum(values[place : place + 2]) for place in range(0, len(values), 2)]


def _added(one: list[int], other: list[int]) -> list[int]:
    return [a + b for a, b in zip_longest(one, other, fillvalue=0)]
