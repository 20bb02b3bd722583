"""What the legs of a run cost together.

Invariant: in whatever order legs are added, the numbers are the same.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import field

import numpy as np
import numpy.typing as npt

from runtime.statistics.counted import Counted, Histogram, Route
from runtime.statistics.words import LATENCY_BUCKETS, SAMPLE_TICKS, TallyWord, least_latency
from slicc.text.lazy_dataclass import dataclass
from tester.execution.events import KIND_NAMES

_Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class OccupancySeries:
    """What one series held over the ticks of a leg: per row, the sum over ``looks`` looks."""

    sums: tuple[int, ...]
    looks: tuple[int, ...]

    @property
    def means(self) -> list[float]:
        return [total / looks if looks else 0.0 for total, looks in zip(self.sums, self.looks)]

    @property
    def mean(self) -> float:
        looks = sum(self.looks)
        return sum(self.sums) / looks if looks else 0.0


@dataclass(slots=True)
class Statistics:
    """What ``legs`` legs cost. ``interval``: ticks of a row of a series; see `occupancy`."""

    line_size: int
    legs: int = 0
    messages: Counter[Route] = field(default_factory=Counter)
    bytes: Counter[Route] = field(default_factory=Counter)
    machines: dict[str, list[int]] = field(default_factory=dict)
    latencies: dict[str, Histogram] = field(default_factory=dict)
    interval: int = SAMPLE_TICKS
    _sums: dict[tuple[str, str], _Numbers] = field(default_factory=dict)
    _looks: dict[tuple[str, str], _Numbers] = field(default_factory=dict)

    def add(self, counted: Counted) -> None:
        """One leg more."""
        latencies = {KIND_NAMES[kind]: each for kind, each in counted.latencies.items()}
        occupancy = counted.occupancy
        rows = len(occupancy.sums)
        looks = np.full(rows, occupancy.interval // SAMPLE_TICKS, np.int64)
        sums = dict(zip(occupancy.series, occupancy.sums.T))
        self.merge(
            Statistics(
                self.line_size,
                1,
                counted.messages,
                counted.bytes,
                counted.machines,
                latencies,
                occupancy.interval,
                sums,
                dict.fromkeys(sums, looks),
            )
        )

    def merge(self, other: Statistics) -> None:
        """The legs of another run of the same protocol."""
        self.legs += other.legs
        self.messages.update(other.messages)
        self.bytes.update(other.bytes)
        for name, tallies in other.machines.items():
            mine = self.machines.setdefault(name, [0] * len(TallyWord))
            self.machines[name] = [a + b for a, b in zip(mine, tallies)]
        for kind, theirs in other.latencies.items():
            known = self.latencies.get(kind, Histogram())
            counts = [a + b for a, b in zip(known.counts, theirs.counts)]
            self.latencies[kind] = Histogram(counts, known.total + theirs.total)
        interval = max(self.interval, other.interval)
        self._coarsen(interval)
        for mine_, theirs_ in ((self._sums, other._sums), (self._looks, other._looks)):
            for key, values in theirs_.items():
                mine_[key] = _added(mine_.get(key), _coarsened(values, interval // other.interval))

    def _coarsen(self, interval: int) -> None:
        """Have rows of so many ticks, a power of two times as many as now."""
        for table in (self._sums, self._looks):
            for key, values in table.items():
                table[key] = _coarsened(values, interval // self.interval)
        self.interval = interval

    # ------------------------------------------------------------------ what follows from it

    @property
    def occupancy(self) -> dict[tuple[str, str], OccupancySeries]:
        """By machine, and what of it: the legs added row by row, as long as each lasted."""
        return {
            key: OccupancySeries(tuple(sums.tolist()), tuple(self._looks[key].tolist()))
            for key, sums in self._sums.items()
        }

    def routes(self) -> Iterator[tuple[Route, int, int]]:
        """Where messages went, with their number and bytes; in an order that does not depend on
        the run."""
        for route, count in sorted(self.messages.items()):
            yield route, count, self.bytes[route]

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


def _coarsened(values: _Numbers, times: int) -> _Numbers:
    """With so many rows in one."""
    if times == 1:
        return values
    rows = -(-len(values) // times)
    padded = np.zeros(rows * times, np.int64)
    padded[: len(values)] = values
    summed: _Numbers = padded.reshape(rows, times).sum(axis=1)
    return summed


def _added(one: _Numbers | None, other: _Numbers) -> _Numbers:
    if one is None:
        return other.copy()
    long, short = (one, other) if len(one) >= len(other) else (other, one)
    total = long.copy()
    total[: len(short)] += short
    return total
