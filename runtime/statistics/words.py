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


CONTROL_BYTES: Final = 8
"""Of a message; one that carries data has a line besides, as gem5's networks count."""


class TallyWord(IntEnum):
    """What is counted of each machine."""

    HITS = 0
    MISSES = 1
    FILLS = 2
    EVICTIONS = 3
    STALLS = 4
    WAITS = 5


class CounterWord(IntEnum):
    """The head of a run's counters: numbers, and where the lists of the others begin.

    What is counted stands in the lists from OCCUPANCY to END, in this order, and begins with 0.
    """

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
    BYTES_OF = 19
    VICTIM = 20
    OCCUPANCY = 21
    MESSAGES = 22
    BYTES = 23
    TALLIES = 24
    LATENCIES = 25
    LATENCY_SUMS = 26
    SAMPLES = 27
    END = 28
    LATE = 29


def bytes_of(size: str, line_size: int) -> int:
    """The size of one message, by its `MessageSizeType`."""
    return CONTROL_BYTES + (line_size if "Data" in size else 0)


def latency_bucket(ticks: int) -> int:
    """The place of a latency in a histogram."""
    if ticks < 2:
        return ticks
    power = ticks.bit_length() - 1
    return min(2 * power + (ticks >> (power - 1) & 1), LATENCY_BUCKETS - 1)


def least_latency(bucket: int) -> int:
    """The lowest latency of a place in a histogram."""
    return bucket if bucket < 2 else (2 + (bucket & 1)) << (bucket // 2 - 1)
