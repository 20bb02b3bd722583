"""Chooses the rows of a history that a report shows.

Invariant: the choice keeps the order of the rows, and says how many each gap leaves out.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from tester.diagnosis.history import Row

_END_ROWS: Final = 24
"""The way into the failure, which is always shown."""


def choose(rows: Sequence[Row], limit: int, spans: Sequence[tuple[int, int]]) -> list[int]:
    """Indices of at most ``limit`` rows, in order.

    The last rows come first; then the beginning of each span of ticks (inclusive), all of them
    together in at most half of what is left; then, in a quarter of the rest, rows that touch the
    bytes in question, latest first; then what comes before the end.
    """
    kept: set[int] = set()

    def keep(numbers: Iterator[int] | range, most: int) -> None:
        for number in numbers:
            if len(kept) >= min(most, limit):
                return
            kept.add(number)

    count = len(rows)
    keep(range(count - 1, max(-1, count - 1 - _END_ROWS), -1), limit)
    each = (limit - len(kept)) // 2 // max(1, len(spans))
    for first, last in spans:
        inside = (n for n, row in enumerate(rows) if first <= row.tick <= last and n not in kept)
        keep(inside, len(kept) + each)
    touching = (n for n in range(count - 1, -1, -1) if rows[n].touched and n not in kept)
    keep(touching, len(kept) + (limit - len(kept)) // 4)
    keep(range(count - 1, -1, -1), limit)
    return sorted(kept)


def gaps(chosen: Sequence[int]) -> list[int]:
    """How many rows are left out before each chosen one; after the last there are none."""
    before = [-1, *chosen]
    return [number - last - 1 for last, number in zip(before, chosen)]
