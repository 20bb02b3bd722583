"""Statistics as one page that needs nothing else: tables, and plots as SVG.

Invariant: no text of an author reaches the page but escaped.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final

from runtime.statistics.counted import Histogram
from runtime.statistics.words import least_latency
from slicc.text.markup import html_text
from tester.statistics.statistics import OccupancySeries, Statistics
from tester.statistics.tables import Table, latencies, machines, occupancy, traffic

_STYLE: Final = """
body{font:14px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:72rem;padding:0 1rem;color:#222}
table{border-collapse:collapse;margin:1rem 0;display:block;overflow-x:auto}
th,td{padding:.15rem .7rem;text-align:right}
th{border-bottom:2px solid #999}td.name,th.name{text-align:left}
tr:nth-child(even) td{background:#f5f5f5}svg{display:block;margin:.5rem 0 1rem}
svg text{font:11px system-ui,sans-serif;fill:#444}rect{fill:#3b78b5}
polyline{fill:none;stroke:#3b78b5;stroke-width:1.5}line{stroke:#ccc}
figure{display:inline-block;margin:0 1rem 0 0;max-width:100%;overflow-x:auto}
figcaption{font-weight:600}"""
_WIDTH: Final = 420
_HEIGHT: Final = 110
_BAR: Final = 18
_MOST_BARS: Final = 24


def page(statistics: Statistics, title: str) -> str:
    """The page. ``title``: what the statistics are of."""
    parts = [
        "<!doctype html>",
        f'<html lang="en"><meta charset="utf-8"><title>{html_text(title)}</title>',
        f"<style>{_STYLE}</style>",
        f"<h1>{html_text(title)}</h1>",
        f"<p>{statistics.legs:,} legs</p>",
        "<h2>Machines</h2>",
        *_table(machines(statistics)),
        "<h2>Latencies</h2>",
        *_table(latencies(statistics)),
        *(_histogram(kind, each) for kind, each in statistics.latencies.items()),
        "<h2>Messages</h2>",
        _bars("bytes by message", _bytes_by_message(statistics)),
        *_table(traffic(statistics)),
        "<h2>Occupancy over the ticks of a leg</h2>",
        *(
            _line(f"{machine} {what}", series, statistics.interval)
            for (machine, what), series in statistics.occupancy.items()
            if any(series.sums)
        ),
        *_table(occupancy(statistics)),
        "</html>",
    ]
    return "\n".join(parts) + "\n"


def _table(table: Table) -> Iterator[str]:
    first = table.rows[0] if table.rows else table.columns
    yield "<table><tr>"
    yield "".join(
        f"<th{_name(each)}>{html_text(head)}</th>" for head, each in zip(table.columns, first)
    )
    yield "</tr>"
    for row in table.rows:
        cells = (f"<td{_name(each)}>{_cell(each)}</td>" for each in row)
        yield f"<tr>{''.join(cells)}</tr>"
    yield "</table>"


def _name(value: Any) -> str:
    return ' class="name"' if isinstance(value, str) else ""


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return html_text(value) if isinstance(value, str) else f"{value:,}"


def _figure(caption: str, width: int, height: int, inside: Sequence[str]) -> str:
    return (
        f"<figure><figcaption>{html_text(caption)}</figcaption>"
        f'<svg width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img">'
        f"<title>{html_text(caption)}</title>{''.join(inside)}</svg></figure>"
    )


def _bytes_by_message(statistics: Statistics) -> list[tuple[str, int]]:
    found: Counter[str] = Counter()
    for route, _, size in statistics.routes():
        found[f"{route.kind} ({route.sender} to {route.receiver})"] += size
    return sorted(found.items(), key=lambda item: (-item[1], item[0]))[:_MOST_BARS]


def _bars(caption: str, values: Sequence[tuple[str, int]]) -> str:
    """Bars beside each other, the longest first."""
    most = max((value for _, value in values), default=0) or 1
    left, right = 300, 90
    inside = []
    for row, (name, value) in enumerate(values):
        y, width = row * _BAR, (_WIDTH * value) // most
        inside += [
            f'<text x="{left - 6}" y="{y + 13}" text-anchor="end">{html_text(name)}</text>',
            f'<rect x="{left}" y="{y + 3}" width="{width}" height="{_BAR - 5}"/>',
            f'<text x="{left + width + 5}" y="{y + 13}">{value:,}</text>',
        ]
    return _figure(caption, left + _WIDTH + right, max(1, len(values)) * _BAR, inside)


def _histogram(kind: str, histogram: Histogram) -> str:
    """Answers by latency; each bar is twice as narrow as a power of two."""
    used = [bucket for bucket, count in enumerate(histogram.counts) if count]
    if not used:
        return ""
    first, last = used[0], used[-1]
    counts = histogram.counts[first : last + 1]
    step, most = _WIDTH / len(counts), max(counts)
    inside = []
    for place, count in enumerate(counts):
        height = _HEIGHT * count / most
        least, width = least_latency(first + place), max(1.0, step - 1)
        inside.append(
            f'<rect x="{place * step:.1f}" y="{_HEIGHT - height:.1f}" width="{width:.1f}" '
            f'height="{height:.1f}"><title>from {least:,} ticks: {count:,}</title></rect>'
        )
    inside += [
        f'<text x="0" y="{_HEIGHT + 14}">{least_latency(first):,} ticks</text>',
        f'<text x="{_WIDTH}" y="{_HEIGHT + 14}" text-anchor="end">'
        f"{least_latency(last):,} ticks</text>",
    ]
    return _figure(f"{kind}: answers by latency", _WIDTH, _HEIGHT + 18, inside)


def _line(caption: str, series: OccupancySeries, interval: int) -> str:
    means = series.means
    most = max(means) or 1.0
    step = _WIDTH / max(1, len(means) - 1)
    points = " ".join(
        f"{place * step:.1f},{_HEIGHT - _HEIGHT * mean / most:.1f}"
        for place, mean in enumerate(means)
    )
    inside = [
        f'<line x1="0" y1="{_HEIGHT}" x2="{_WIDTH}" y2="{_HEIGHT}"/>',
        f'<polyline points="{points}"/>',
        f'<text x="0" y="{_HEIGHT + 14}">highest {most:.2f}</text>',
        f'<text x="{_WIDTH}" y="{_HEIGHT + 14}" text-anchor="end">'
        f"{len(means) * interval:,} ticks</text>",
    ]
    return _figure(caption, _WIDTH, _HEIGHT + 18, inside)
