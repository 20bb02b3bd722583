"""A campaign as one page that needs nothing else: rates, curves, cells never executed, failures.

Invariant: no text of an author or a file reaches the page but escaped; links lead to files of the
campaign's own directory.
"""

from __future__ import annotations

import os.path
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final
from urllib.parse import quote

from slicc.text.markup import html_text
from slicc.text.wording import duration
from tester.campaign_directory.status import Point, Status, rates, title, work

_STYLE: Final = """
:root{color-scheme:light dark;--line:#8886;--soft:#8881;--curve:#2563b8;--bad:#b3261e}
@media(prefers-color-scheme:dark){:root{--curve:#7ab0ff;--bad:#ff8a80}}
body{font:14px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:72rem;padding:0 1rem}
table{border-collapse:collapse;margin:.6rem 0;display:block;overflow-x:auto}
th,td{padding:.2rem .8rem;text-align:right}
th:first-child,td:first-child{text-align:left}th{border-bottom:2px solid var(--line)}
td.text{text-align:left}tr:nth-child(even) td{background:var(--soft)}
.curves{display:flex;flex-wrap:wrap;gap:1rem}figure{margin:0}figcaption{font-weight:600}
svg text{font:11px system-ui,sans-serif;fill:currentColor}
svg .axis{stroke:var(--line)}svg .curve{fill:none;stroke:var(--curve);stroke-width:2}
.failed{color:var(--bad);font-weight:600}code{font-size:12px}summary{cursor:pointer}"""
_WIDTH: Final = 340
_HEIGHT: Final = 180
_LEFT: Final = 52
_BOTTOM: Final = 24
_TOP: Final = 10


def html_page(status: Status, folder: Path) -> str:
    """The page; ``folder``: where it will lie, which its links begin at."""
    heading = html_text(f"Campaign: {title(status)}")
    parts = [
        "<!doctype html>",
        f'<html lang="en"><head><meta charset="utf-8"><title>{heading}</title>',
        f'<style>{_STYLE}</style></head><body class="ready">',
        f"<h1>{heading}</h1>",
        f"<p>{html_text(status.directory)}: {work(status)}.<br>{html_text(rates(status))}</p>",
        *_failures(status, folder),
        "<h2>Over time</h2>",
        *_curves(status),
        "<h2>Coverage</h2>",
        *_coverage(status),
        "<h2>Profiles</h2>",
        *_profiles(status),
        "</body></html>",
    ]
    return "\n".join(parts) + "\n"


def _table(heads: Sequence[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    """Cells are markup by now."""
    yield f"<table><tr>{''.join(f'<th>{html_text(head)}</th>' for head in heads)}</tr>"
    for row in rows:
        yield f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>"
    yield "</table>"


# ---------------------------------------------------------------------- failures


def _failures(status: Status, folder: Path) -> Iterator[str]:
    yield "<h2>Failures</h2>"
    if not status.failures:
        yield "<p>None.</p>"
        return
    yield '<table class="failures"><tr><th>cause</th><th>legs</th><th>first</th>'
    yield "<th>shrunk</th><th>files</th></tr>"
    for row, legs in status.failures:
        links = " ".join(
            f'<a href="{_link(status, name, folder)}">{html_text(what)}</a>'
            for what, name in row.files.items()
        )
        first = html_text(f"leg {row.leg:,} ({row.profile})")
        yield (
            f'<tr><td><span class="failed">{html_text(row.cause)}</span><br>'
            f"{html_text(row.headline)}</td><td>{legs:,}</td><td>{first}</td>"
            f'<td class="text">{html_text(row.least)}</td><td class="text">{links}</td></tr>'
        )
    yield "</table>"


def _link(status: Status, name: str, folder: Path) -> str:
    path = os.path.relpath(Path(status.directory).resolve() / name, folder)
    return html_text(quote(path))


# ---------------------------------------------------------------------- curves


def _curves(status: Status) -> Iterator[str]:
    yield '<div class="curves">'
    for name, value in (
        ("cells executed", lambda point: point.cells),
        ("pairs of one controller", lambda point: point.own),
        ("pairs on a line", lambda point: point.line),
        ("episodes", lambda point: point.episodes),
    ):
        yield f"<figure><figcaption>{name}</figcaption>{_curve(status.curve, value)}</figure>"
    yield "</div>"


def _curve(points: Sequence[Point], value: Callable[[Point], int]) -> str:
    whole = max((point.elapsed for point in points), default=0.0) or 1.0
    most = max((value(point) for point in points), default=0) or 1
    width, height = _WIDTH - _LEFT - 8, _HEIGHT - _TOP - _BOTTOM
    places = [(0.0, 0.0), *((point.elapsed / whole, value(point) / most) for point in points)]
    path = " ".join(f"{_LEFT + width * x:.1f},{_TOP + height * (1 - y):.1f}" for x, y in places)
    floor = _TOP + height
    last = f"{most:,} after {duration(whole)}" if points else "nothing yet"
    return (
        f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" width="{_WIDTH}" height="{_HEIGHT}" role="img">'
        f"<title>{html_text(last)}</title>"
        f'<line class="axis" x1="{_LEFT}" y1="{floor}" x2="{_WIDTH - 8}" y2="{floor}"/>'
        f'<line class="axis" x1="{_LEFT}" y1="{_TOP}" x2="{_LEFT}" y2="{floor}"/>'
        f'<text x="{_LEFT - 6}" y="{_TOP + 8}" text-anchor="end">{most:,}</text>'
        f'<text x="{_LEFT - 6}" y="{floor}" text-anchor="end">0</text>'
        f'<text x="{_LEFT}" y="{_HEIGHT - 6}">0:00</text>'
        f'<text x="{_WIDTH - 8}" y="{_HEIGHT - 6}" text-anchor="end">{duration(whole)}</text>'
        f'<polyline class="curve" points="{path}"/></svg>'
    )


# ---------------------------------------------------------------------- coverage, profiles


def _coverage(status: Status) -> Iterator[str]:
    yield from _table(
        ("machine", "executed", "defined", "", "executions"),
        (
            (
                html_text(machine.name),
                f"{machine.hit:,}",
                f"{machine.defined:,}",
                f"{100 * machine.hit / machine.defined if machine.defined else 100:.1f} %",
                f"{machine.executions:,}",
            )
            for machine in status.machines
        ),
    )
    for machine in status.machines:
        if machine.missed:
            cells = ", ".join(
                f"<code>{html_text('.'.join(cell))}</code>" for cell in machine.missed
            )
            head = html_text(f"{machine.name}: {len(machine.missed)} cells never executed")
            yield f"<details open><summary>{head}</summary><p>{cells}</p></details>"


def _profiles(status: Status) -> Iterator[str]:
    yield from _table(
        ("profile", "legs", "new pairs", "a million transitions", "failed"),
        (
            (
                html_text(each.name),
                f"{each.legs:,}",
                f"{each.new:,}",
                f"{1e6 * each.new / max(1, each.transitions):,.0f}",
                f"{each.failing:,}",
            )
            for each in status.profiles
        ),
    )
