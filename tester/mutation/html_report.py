"""A study as one page that needs nothing else.

Invariant: no text of an author or a file reaches the page but escaped.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from slicc.coverage.mutants import Fate
from slicc.text.markup import html_text
from tester.mutation.score import Judged, Score, ScoreRow
from tester.mutation.text_report import place

_STYLE: Final = """
body{font:14px/1.5 system-ui,sans-serif;margin:2rem auto;max-width:70rem;padding:0 1rem;color:#222}
table{border-collapse:collapse;margin:1rem 0;display:block;overflow-x:auto}
th,td{padding:.2rem .7rem;text-align:right}
th:first-child,td:first-child{text-align:left}th{border-bottom:2px solid #999}
tr:nth-child(even) td{background:#f5f5f5}pre{background:#f7f7f7;padding:.6rem;overflow-x:auto}
.add{color:#176117}.del{color:#a01818}summary{cursor:pointer;margin:.4rem 0}
.where{color:#666}"""


def html_report(score: Score, title: str, notes: Iterable[str]) -> str:
    """The page. ``notes``: of what study it is."""
    equivalent = score.of(Fate.EQUIVALENT)
    parts = [
        "<!doctype html>",
        f'<html lang="en"><meta charset="utf-8"><title>{html_text(title)}</title>',
        f"<style>{_STYLE}</style>",
        f"<h1>{html_text(title)}</h1>",
        *(f"<p>{html_text(note)}</p>" for note in notes),
        *_table("operator", [*score.by_operator, score.total]),
        *_table("machine", score.by_machine),
        "<h2>How mutants were killed</h2><table><tr><th>verdict</th><th>mutants</th></tr>",
        *(
            f"<tr><td>{html_text(name)}</td><td>{count:,}</td></tr>"
            for name, count in score.verdicts
        ),
        "</table>",
        "<h2>Survivors, where to look first</h2>",
        *(line for each in score.survivors for line in _mutant(each, each.standing)),
        "<h2>Equivalent</h2>",
        *(line for each in equivalent for line in _mutant(each, each.outcome.reason)),
        "</html>",
    ]
    return "\n".join(parts) + "\n"


def _table(title: str, rows: Iterable[ScoreRow]) -> Iterator[str]:
    heads = (
        title,
        "mutants",
        "killed",
        "survived",
        "equivalent",
        "open",
        "score",
        "median episodes",
    )
    yield f"<table><tr>{''.join(f'<th>{html_text(head)}</th>' for head in heads)}</tr>"
    fates = (Fate.KILLED, Fate.SURVIVED, Fate.EQUIVALENT, Fate.OPEN)
    for row in rows:
        cells = [
            html_text(row.name),
            f"{row.mutants:,}",
            *(f"{row.fates.get(fate, 0):,}" for fate in fates),
            "-" if row.score is None else f"{row.score:.1f} %",
            "-" if row.episodes is None else f"{row.episodes:,.0f}",
        ]
        yield f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
    yield "</table>"


def _mutant(each: Judged, standing: str) -> Iterator[str]:
    mutant = each.mutant
    yield (
        f"<details><summary>{html_text(mutant.description)} "
        f'<span class="where">{html_text(f"{mutant.machine}, {place(mutant)}; {standing}")}</span>'
        f"</summary><pre>{_diff(mutant.diff())}</pre></details>"
    )


def _diff(text: str) -> str:
    marks = {"+": "add", "-": "del"}
    lines = []
    for line in text.splitlines():
        mark = marks.get(line[:1])
        shown = html_text(line)
        lines.append(f'<span class="{mark}">{shown}</span>' if mark else shown)
    return "\n".join(lines)
