"""A study for people at a terminal, and for programs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from slicc.coverage.mutants import SCHEMA, Fate
from slicc.mutation.mutant import Mutant
from slicc.text.data import json_text
from tester.mutation.journal import Head
from tester.mutation.score import STEPS, Judged, Score, ScoreRow

_SHOWN: Final = 40
"""Survivors with their diffs; the rest is in the other formats."""


def text_lines(score: Score, shown: int = _SHOWN) -> Iterator[str]:
    """The report, line by line."""
    width = max((len(row.name) for row in (*score.by_operator, *score.by_machine)), default=8)
    yield _head("operator", width)
    for row in score.by_operator:
        yield _line(row, width)
    yield _head("machine", width)
    for row in (*score.by_machine, score.total):
        yield _line(row, width)
    steps = ", ".join(f"{score.killed_within(step):,} within {step:,}" for step in STEPS)
    yield f"killed, by episodes: {steps}"
    yield "verdicts: " + ", ".join(f"{name} {count:,}" for name, count in score.verdicts)
    survivors = score.survivors
    if survivors:
        yield f"survivors ({len(survivors)}), where to look first"
    for number, each in enumerate(survivors[:shown], 1):
        yield from _survivor(number, each)
    if len(survivors) > shown:
        yield f"  and {len(survivors) - shown:,} more; --format json and html have them all"


def _head(title: str, width: int) -> str:
    return f"{title:<{width}}  mutants  killed  survived  equivalent    score  median episodes"


def _line(row: ScoreRow, width: int) -> str:
    fates = row.fates
    score = "-" if row.score is None else f"{row.score:.1f} %"
    episodes = "-" if row.episodes is None else f"{row.episodes:,.0f}"
    open_ = fates.get(Fate.OPEN, 0)
    rest = f"  ({open_:,} open)" if open_ else ""
    return (
        f"{row.name:<{width}}  {row.mutants:>7,}  {fates.get(Fate.KILLED, 0):>6,}"
        f"  {fates.get(Fate.SURVIVED, 0):>8,}  {fates.get(Fate.EQUIVALENT, 0):>10,}  {score:>7}"
        f"  {episodes:>15}{rest}"
    )


def _survivor(number: int, each: Judged) -> Iterator[str]:
    mutant = each.mutant
    yield f"  {number}. {mutant.name}"
    yield f"     {place(mutant)}: {mutant.description} ({each.standing})"
    for line in hunk(mutant):
        yield f"       {line}"


def place(mutant: Mutant) -> str:
    """``MI-cache.sm:171``."""
    return f"{mutant.span.file.name}:{mutant.span.line}"


def hunk(mutant: Mutant) -> list[str]:
    """The changed lines, without headers and without the lines around them."""
    return [line for line in mutant.diff().splitlines()[3:] if line[:1] in ("+", "-")]


def json_report(score: Score, head: Head) -> str:
    """Everything, for programs."""
    value = {
        "schema": SCHEMA,
        **head,
        "total": _row_value(score.total),
        "operators": [_row_value(row) for row in score.by_operator],
        "machines": [_row_value(row) for row in score.by_machine],
        "verdicts": dict(score.verdicts),
        "survivors": [each.mutant.name for each in score.survivors],
        "mutants": [_mutant_value(each) for each in score.judged],
    }
    return json_text(value, indent=1)


def _row_value(row: ScoreRow) -> dict[str, Any]:
    fates = {fate.value: row.fates.get(fate, 0) for fate in Fate}
    return {"name": row.name, **fates, "score": row.score, "median_episodes": row.episodes}


def _mutant_value(each: Judged) -> dict[str, Any]:
    mutant = each.mutant
    return {
        "operator": mutant.operator.value,
        "machine": mutant.machine,
        "where": mutant.changed,
        "file": mutant.span.file.name,
        "line": mutant.span.line,
        "description": mutant.description,
        "diff": mutant.diff() if each.outcome.fate is not Fate.KILLED else "",
        **each.outcome.to_json(),
    }
