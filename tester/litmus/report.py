"""What a series of runs is printed as.

Invariant: of every outcome that was seen there is a row, and one that must not be is marked.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from slicc.scenario_text.conditions import Condition, Quantifier, outcome_text
from slicc.text.data import json_text
from tester.litmus.series import LitmusSeries, Seen

MOST_ROWS: Final = 24


def as_lines(file: Path, result: LitmusSeries, again: str, quiet: bool) -> list[str]:
    """A heading, the outcomes by count, the conditions; ``quiet``: the heading alone.

    ``again``: the command that repeats the first run that failed, if its file could be written.
    """
    lines = [_heading(file, result)]
    if not quiet:
        lines += _outcomes(result)
        lines += _conditions(result)
    if result.failed is not None:
        lines.append(f"  {result.failed.what}")
        lines += [f"  {again}"] if again else []
    return lines


def _heading(file: Path, result: LitmusSeries) -> str:
    scenario, judge = result.bound.scenario, result.judge
    verdict = "FAILED" if result.failed is not None else "ok"
    name = f"{file.stem}: {scenario.title}" if scenario.title else file.stem
    parts = [f"{verdict:<7}{name}", f"{result.runs:,} run{'s' if result.runs != 1 else ''}"]
    if judge is not None and judge.allowed is not None and judge.model is not None:
        seen = sum(not each.objections for each in result.seen.values())
        model = judge.model.value.upper()
        parts.append(f"{seen} of the {len(judge.allowed)} outcomes of {model} seen")
    return ", ".join(parts)


def _outcomes(result: LitmusSeries) -> list[str]:
    seen = sorted(result.seen.values(), key=lambda each: (not each.objections, -each.count))
    rows = [_row(each) for each in seen[:MOST_ROWS]]
    if len(seen) > MOST_ROWS:
        rows.append(f"         and {len(seen) - MOST_ROWS} more outcomes")
    return rows


def _row(seen: Seen) -> str:
    mark = f"   <-- {'; '.join(seen.objections)}" if seen.objections else ""
    return f"{seen.count:>8,}  {outcome_text(seen.outcome)}{mark}"


def _conditions(result: LitmusSeries) -> list[str]:
    judge = result.judge
    return [] if judge is None else [f"  {_condition(c, result)}" for c in judge.conditions]


def _condition(condition: Condition, result: LitmusSeries) -> str:
    assert result.judge is not None
    if condition.quantifier is Quantifier.forall:
        return f"{condition}: held in {result.was_seen(condition):,} of {result.runs:,} runs"
    times = result.was_seen(condition)
    text = f"seen in {times:,} run{'s' if times != 1 else ''}" if times else "not seen"
    possible = result.judge.possible(condition)
    if possible is not None and condition.quantifier is Quantifier.exists:
        model = result.judge.model
        assert model is not None
        text = f"{model.value} {'allows' if possible else 'forbids'} it, {text}"
    return f"{condition}: {text}"


def as_json(results: Sequence[tuple[Path, LitmusSeries, Path | None]]) -> str:
    """The results for programs."""
    return json_text([_scenario(*each) for each in results], indent=2)


def _scenario(file: Path, result: LitmusSeries, saved: Path | None) -> dict[str, object]:
    judge, failed = result.judge, result.failed
    return {
        "file": str(file),
        "protocol": result.bound.protocol.identity.name,
        "runs": result.runs,
        "model": judge.model.value if judge is not None and judge.model is not None else None,
        "allowed": None if judge is None or judge.allowed is None else len(judge.allowed),
        "outcomes": [
            {
                "outcome": {str(term): value for term, value in each.outcome.items()},
                "count": each.count,
                "objections": each.objections,
            }
            for each in result.seen.values()
        ],
        "failed": None if failed is None else failed.what,
        "replay": None if saved is None else str(saved),
    }
