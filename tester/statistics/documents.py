"""Statistics as text, JSON, CSV or a page.

CSV has one value a row, with names for what the value is of, so that spreadsheets and data frames
can pivot it. Invariant: the same statistics give the same document.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from runtime.statistics.words import least_latency
from slicc.text.data import json_text
from slicc.text.escapes import visible
from slicc.text.files import write_whole
from tester.statistics.formats import StatsFormat, format_of
from tester.statistics.page import page
from tester.statistics.statistics import Statistics
from tester.statistics.tables import (
    TALLIES,
    Table,
    as_value,
    latencies,
    machines,
    occupancy,
    traffic,
)

_COLUMNS = ("measure", "machine", "what", "network", "from", "to", "at", "value")


def write(statistics: Statistics, path: Path, format: StatsFormat | None, title: str) -> None:
    """Write a file, whole or not at all; as text, if neither its format nor its ending says
    otherwise. Raises OSError."""
    text = document(statistics, format or format_of(path) or StatsFormat.text, title)
    write_whole(path, text.encode())


def document(statistics: Statistics, format: StatsFormat, title: str) -> str:
    """``title``: what the statistics are of."""
    match format:
        case StatsFormat.text:
            return _text(statistics, title)
        case StatsFormat.json:
            return json_text({"title": title, **as_value(statistics)}, indent=1) + "\n"
        case StatsFormat.csv:
            return _csv(statistics)
        case StatsFormat.html:
            return page(statistics, title)


def _text(statistics: Statistics, title: str) -> str:
    tables = (
        machines(statistics),
        latencies(statistics),
        occupancy(statistics),
        traffic(statistics),
    )
    return "\n\n".join([visible(title), *("\n".join(_lines(table)) for table in tables)]) + "\n"


def _lines(table: Table) -> Iterator[str]:
    rows = [table.columns, *([_cell(value) for value in row] for row in table.rows)]
    widths = [max(len(row[place]) for row in rows) for place in range(len(table.columns))]
    yield table.title
    for row in rows:
        cells = (
            cell.ljust(width) if isinstance(first, str) else cell.rjust(width)
            for cell, width, first in zip(row, widths, table.rows[0] if table.rows else row)
        )
        yield f"  {'  '.join(cells)}".rstrip()


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:,}" if isinstance(value, int | float) else visible(value)


def _csv(statistics: Statistics) -> str:
    out = io.StringIO()
    writer = csv.DictWriter(out, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(_values(statistics))
    return out.getvalue()


def _values(statistics: Statistics) -> Iterator[dict[str, object]]:
    for route, count, size in statistics.routes():
        of = {
            "what": route.kind,
            "network": route.network,
            "from": route.sender,
            "to": route.receiver,
        }
        yield {"measure": "messages", **of, "value": count}
        yield {"measure": "bytes", **of, "value": size}
    for machine, tallies in statistics.machines.items():
        for what, value in zip(TALLIES, tallies):
            yield {"measure": what, "machine": machine, "value": value}
    for kind, histogram in statistics.latencies.items():
        for bucket, count in enumerate(histogram.counts):
            if count:
                at = least_latency(bucket)
                yield {"measure": "latency", "what": kind, "at": at, "value": count}
    for (machine, what), series in statistics.occupancy.items():
        for row, mean in enumerate(series.means):
            at = row * statistics.interval
            of = {"machine": machine, "what": what, "at": at}
            yield {"measure": "occupancy", **of, "value": round(mean, 4)}
