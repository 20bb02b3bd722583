"""The report of ``gcn litmus``.

Invariant: every outcome that was seen, and every one that is allowed, has one row.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from gpu.litmus.series import Result, Seen, Verdict, first_situation
from gpu.memory_model.explanation import explain
from gpu.memory_model.program import Outcome
from slicc.text.terminal import printable


def block(name: str, result: Result) -> Iterator[str]:
    """The lines about one test, outcomes that were seen often first."""
    yield f"{'FAILED' if result.failed else 'passed'} {name}, {result.runs} runs{_launches(result)}"
    rows = sorted(result.outcomes.items(), key=lambda row: (-row[1].count, row[0]))
    for outcome, seen in rows:
        yield _row(result, outcome, seen)
    for outcome, seen in rows:
        if seen.failed:
            yield from _failure(result, outcome, seen)


def _launches(result: Result) -> str:
    """Where runs share them."""
    return "" if result.instances == 1 else f" in {result.launches} launches"


def _row(result: Result, outcome: Outcome, seen: Seen) -> str:
    ending = "; ".join(f"{term}={value}" for term, value in result.test.outcome(outcome).items())
    what = f"  {seen.count:>6}  {printable(ending)}  {seen.verdict}"
    if not seen.ever:
        never = f"not seen in {result.runs} runs" if seen.possible else "not possible here"
        return f"{what}, {never}"
    refused = f", refused: {printable(str(seen.refused_by))}" if seen.refused_by else ""
    first = f"first in run {seen.number}" if seen.count else "in a steered run"
    return f"{what}, {first}{refused}"


def _failure(result: Result, outcome: Outcome, seen: Seen) -> Iterator[str]:
    test = result.test
    if seen.verdict is Verdict.forbidden:
        for line in explain(test.program, outcome, test.rules).splitlines():
            yield f"  {printable(line)}"
    run = "steered run" if seen.number is None else f"run {seen.number} of seed {result.seed}"
    launched, instance = first_situation(result, seen)
    yield f"  {run}: {printable(str(launched.of(instance)))}"


def summary(results: Sequence[Result]) -> str:
    """The last line."""
    failed = sum(each.failed for each in results)
    count = f"{len(results)} tests, {sum(each.runs for each in results)} runs"
    return f"FAILED: {failed} of {count}" if failed else f"PASSED: {count}"
