"""What was counted in one run, by name: the same value from either engine.

Invariant: only what occurred has an entry in ``messages``.
"""

from __future__ import annotations

from collections import Counter
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec import Struct, field

from runtime.statistics.words import LATENCY_BUCKETS, TallyWord


class Route(NamedTuple):
    """Where a message went, and what it asked."""

    network: int
    sender: str
    receiver: str
    kind: str


class Histogram(Struct):
    """Latencies of one kind of access (`runtime.statistics.words.latency_bucket`)."""

    counts: list[int] = field(default_factory=lambda: [0] * LATENCY_BUCKETS)
    total: int = 0
    """The sum of all latencies."""


class Occupancy(Struct):
    """How much each series held over time. ``sums``: a row for each interval, a column for each
    series, of what ``interval / SAMPLE_TICKS`` looks saw."""

    series: tuple[tuple[str, str], ...]
    interval: int
    sums: npt.NDArray[np.int64]


class Counted(Struct):
    """What was counted in a run. ``machines``: tallies by machine, in the order of `TallyWord`;
    ``latencies``: by kind of access (`runtime.requesters.port.AccessKind`)."""

    messages: Counter[Route]
    bytes: Counter[Route]
    machines: dict[str, list[int]]
    latencies: dict[int, Histogram]
    occupancy: Occupancy

    def tally(self, machine: str, what: TallyWord) -> int:
        return self.machines[machine][what]
