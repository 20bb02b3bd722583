"""Statistics as tables, which every rendering takes its numbers from.

Invariant: rows are in an order that does not depend on the run.
"""

from __future__ import annotations

from typing import Any, Final

from runtime.statistics.words import TallyWord, least_latency
from slicc.text.lazy_dataclass import dataclass
from tester.statistics.statistics import (
    Statistics,
    accesses,
    mean_latency,
    percentile,
)

SCHEMA: Final = "gpu-tester.statistics/1"
TALLIES: Final = tuple(each.name.lower() for each in TallyWord)


@dataclass(frozen=True, slots=True)
class Table:
    """Names of the columns, and rows of names and numbers."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[Any, ...]]


def traffic(statistics: Statistics) -> Table:
    """Messages by where they went and what they asked."""
    rows = [(*route, count, size) for route, count, size in statistics.routes()]
    columns = ("network", "from", "to", "message", "messages", "bytes")
    return Table("messages between machines", columns, rows)


def machines(statistics: Statistics) -> Table:
    """What the caches and tables of each machine did."""
    rows = []
    for name, tallies in statistics.machines.items():
        hits, misses = tallies[TallyWord.HITS], tallies[TallyWord.MISSES]
        rate = round(100 * statistics.hit_rate(name), 2) if hits + misses else None
        rows.append((name, *tallies, rate))
    return Table("machines", ("machine", *TALLIES, "hit rate %"), rows)


def latencies(statistics: Statistics) -> Table:
    """How long accesses of each kind took, in ticks."""
    rows = [
        (
            kind,
            accesses(each),
            round(mean_latency(each), 1),
            *(percentile(each, percent) for percent in (50, 90, 99)),
        )
        for kind, each in statistics.latencies.items()
    ]
    columns = ("access", "answers", "mean", "median from", "90 % from", "99 % from")
    return Table("latencies in ticks", columns, rows)


def occupancy(statistics: Statistics) -> Table:
    """What buffers and tables held on average and at most, over all instances of a machine."""
    rows = [
        (machine, what, round(series.mean, 3), round(max(series.means, default=0.0), 3))
        for (machine, what), series in statistics.occupancy.items()
    ]
    columns = ("machine", "what", "mean", "highest row")
    return Table("occupancy", columns, rows)


def as_value(statistics: Statistics) -> dict[str, object]:
    """The statistics for programs: histograms and series whole, keys only ever added."""
    return {
        "schema": SCHEMA,
        "legs": statistics.legs,
        "line_size": statistics.line_size,
        "messages": [
            {**route._asdict(), "messages": count, "bytes": size}
            for route, count, size in statistics.routes()
        ],
        "machines": {
            name: dict(zip(TALLIES, tallies)) for name, tallies in statistics.machines.items()
        },
        "latencies": {
            kind: {
                "answers": accesses(each),
                "total": each.total,
                "histogram": [
                    {"from": least_latency(bucket), "answers": count}
                    for bucket, count in enumerate(each.counts)
                    if count
                ],
            }
            for kind, each in statistics.latencies.items()
        },
        "occupancy": {
            "ticks_per_row": statistics.interval,
            "series": [
                {"machine": machine, "what": what, "means": [round(m, 4) for m in series.means]}
                for (machine, what), series in statistics.occupancy.items()
            ],
        },
    }
