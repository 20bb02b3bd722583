"""A run of a litmus test as a picture: a sequence diagram, in SVG.

A column for each controller, a row for each tick at which something happens. Invariant: nothing in
it is drawn to the scale of time, and no two labels of one column share a row.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from gpu.litmus.messages import Accessed, Sent, Watched, watch
from gpu.litmus.series import Result, Verdict, first_situation
from slicc.text.files import write_whole
from slicc.text.markup import html_text

_COLUMN: Final = 250
_ROW: Final = 22
_LEFT: Final = 140
_TOP: Final = 70
_STYLE: Final = (
    "text { font: 12px sans-serif; fill: #222 } .tick { fill: #888; text-anchor: end } "
    ".head { font-weight: bold; text-anchor: middle } .life { stroke: #bbb } "
    ".access { fill: #0b5394; text-anchor: end } .message { stroke: #a33; marker-end: url(#tip) } "
    ".words { fill: #a33; text-anchor: middle }"
)


def draw(directory: Path, name: str, result: Result, processor: str) -> Iterator[Path]:
    """The files, one for each outcome that is not usual and that some run had; its first run is
    made again. Raises OSError."""
    number = 0
    for outcome, seen in sorted(result.outcomes.items()):
        if not seen.ever or (seen.verdict is Verdict.usual and not seen.failed):
            continue
        number += 1
        test = result.test
        ends = "; ".join(f"{term}={value}" for term, value in test.outcome(outcome).items())
        run = watch(test, *first_situation(result, seen), processor)
        title = f"{name}, {processor}: {ends} ({seen.verdict})"
        path = directory / f"{name}-{number}.svg"
        yield write_whole(path, picture(title, run).encode(), parents=True)


def picture(title: str, run: Watched) -> str:
    """The document."""
    columns = {name: _LEFT + _COLUMN // 2 + _COLUMN * n for n, name in enumerate(run.names)}
    rows = _Rows(run)
    width, height = _LEFT + _COLUMN * len(columns), _TOP + _ROW * (rows.count + 1)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}">',
        f"<title>{html_text(title)}</title>",
        f"<style>{_STYLE}</style>",
        '<defs><marker id="tip" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="8" '
        'markerHeight="8" orient="auto"><path d="M0 0 8 4 0 8z" fill="#a33"/></marker></defs>',
        '<rect width="100%" height="100%" fill="#fff"/>',
        f'<text x="10" y="20">{html_text(title)}</text>',
    ]
    for name, x in columns.items():
        lines.append(
            f'<text class="head" x="{x}" y="{_TOP - 24}">{html_text(run.names[name])}</text>'
        )
        lines.append(f'<line class="life" x1="{x}" x2="{x}" y1="{_TOP - 16}" y2="{height - 10}"/>')
    for tick, y in rows.ticks():
        lines.append(f'<text class="tick" x="{_LEFT - 20}" y="{y + 4}">{tick}</text>')
    for event in run.events:
        lines += _drawn(event, columns, rows)
    return "\n".join([*lines, "</svg>", ""])


def _drawn(event: Sent | Accessed, columns: dict[str, int], rows: _Rows) -> Iterator[str]:
    y = rows.of(event)
    if isinstance(event, Accessed):
        x = columns[event.where]
        yield f'<circle class="access" cx="{x}" cy="{y}" r="3"/>'
        yield f'<text class="access" x="{x - 8}" y="{y + 4}">{html_text(event.words)}</text>'
        return
    start, end = columns[event.sender], columns[event.receiver]
    there = rows.arrival(event)
    yield f'<line class="message" x1="{start}" y1="{y}" x2="{end}" y2="{there}"/>'
    middle, above = (start + end) // 2, (y + there) // 2 - 4
    yield f'<text class="words" x="{middle}" y="{above}">{html_text(event.words)}</text>'


class _Rows:
    """The rows of ticks: as many for a tick as one column has events in it."""

    def __init__(self, run: Watched) -> None:
        used: dict[int, dict[str, int]] = {}
        self._places: dict[int, int] = {}
        for event in run.events:
            where = event.where if isinstance(event, Accessed) else event.sender
            of_tick = used.setdefault(event.tick, {})
            self._places[id(event)] = of_tick.get(where, 0)
            of_tick[where] = of_tick.get(where, 0) + 1
            if isinstance(event, Sent):
                used.setdefault(event.arrival, {})
        self._first: dict[int, int] = {}
        self.count = 0
        for tick in sorted(used):
            self._first[tick] = self.count
            self.count += max([1, *used[tick].values()])

    def ticks(self) -> Iterator[tuple[int, int]]:
        """Each with its height."""
        for tick, row in self._first.items():
            yield tick, _TOP + _ROW * row

    def of(self, event: Sent | Accessed) -> int:
        """The height of what happened, or of where a message was sent."""
        return _TOP + _ROW * (self._first[event.tick] + self._places[id(event)])

    def arrival(self, event: Sent) -> int:
        """The height of where a message arrives."""
        return _TOP + _ROW * self._first[event.arrival]
