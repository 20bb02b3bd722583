"""What was counted in one run, by name: the same value from either engine.

Invariant: only what occurred has an entry in ``messages``.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import NamedTuple

from runtime.statistics.words import LATENCY_BUCKETS, TallyWord


class Route(NamedTuple):
    """Where a message went, what it asked, and its size as the protocol names it."""

    network: int
    sender: str
    receiver: str
    kind: str
    size: str


@dataclass
class Histogram:
    """Latencies of one kind of access (`runtime.statistics.words.latency_bucket`)."""

    counts: list[int] = field(default_factory=lambda: [0] * LATENCY_BUCKETS)
    total: int = 0
    """The sum of all latencies."""


@dataclass
class Occupancy:
    """How much each series held over time: ``rows`` of sums over ``interval / SAMPLE_TICKS`` looks
    each."""

    series: tuple[tuple[str, str], ...]
    interval: int
    rows: list[list[int]]


@dataclass
class Counted:
    """Of a run. ``machines``: tallies by machine, in the order of `TallyWord`; ``latencies``: by
    kind of access (`runtime.requesters.port.AccessKind`)."""

    messages: Counter[Route]
    machines: dict[str, list[int]]
    latencies: dict[int, Histogram]
    occupancy: Occupancy

    def tally(self, machine: str, what: TallyWord) -> int:
        return self.machines[machine][what]
