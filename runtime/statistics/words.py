"""What both engines count, and how often: declared here once, and written as C++.

Invariant: a counter exists in both engines or in none (`runtime.native.shared_numbers`).
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

SAMPLE_TICKS: Final = 64
"""Between two looks at what is occupied, at the beginning of a run."""
SAMPLE_ROWS: Final = 128
"""Looks that are kept; when they are used up, two become one, and looks are half as frequent."""
LATENCY_BUCKETS: Final = 64
"""Of a histogram: two for each power of two."""


class TallyWord(IntEnum):
    """What is counted of each machine."""

    HITS = 0
    MISSES = 1
    FILLS = 2
    EVICTIONS = 3
    STALLS = 4
    WAITS = 5


class CounterWord(IntEnum):
    """The head of a run's counters: numbers, and where the lists of the others begin."""

    SIZES = 0
    KINDS = 1
    SERIES = 2
    BUFFERS = 3
    TAKEN = 4
    ANSWERS = 5
    ROWS = 6
    INTERVAL = 7
    NEXT_SAMPLE = 8
    KINDS_OF = 9
    FIRST_KIND = 10
    PORT_ROW = 11
    NODE_MACHINE = 12
    CONSUMER_MACHINE = 13
    CACHE_MACHINE = 14
    MANDATORY = 15
    IS_ACCESS = 16
    BUFFER_SERIES = 17
    TABLE_SERIES = 18
    VICTIM = 19
    OCCUPANCY = 20
    MESSAGES = 21
    TALLIES = 22
    LATENCIES = 23
    LATENCY_SUMS = 24
    SAMPLES = 25
    LATE = 26


def latency_bucket(ticks: int) -> int:
    """The place of a latency in a histogram."""
    if ticks < 2:
        return ticks
    power = ticks.bit_length() - 1
    return min(2 * power + (ticks >> (power - 1) & 1), LATENCY_BUCKETS - 1)


def least_latency(bucket: int) -> int:
    """The lowest latency of a place in a histogram."""
    return bucket if bucket < 2 else (2 + (bucket & 1)) << (bucket // 2 - 1)
