"""``gcn litmus --mutate``: which mistakes in the code sequences the tests notice.

Invariant: a mutant that matters to the memory model and that no run showed is counted as missed,
unless every order of the abstract machine's steps was tried.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from gpu.litmus.mutation import (
    NOTHING_OUTSTANDING,
    STEERED,
    Attempt,
    attempt,
    mutants,
    row_of,
)
from gpu.litmus.scenario import Test
from gpu.litmus.single_run import Machine
from slicc.text.terminal import printable


def mutate(
    tests: Mapping[str, Test],
    machine: Machine,
    seed: int,
    runs: int,
    workers: ProcessPoolExecutor | None,
) -> bool:
    """Prints a row for each mutant. Returns whether one was missed."""
    attempts: list[Attempt] = []
    rows: dict[str, list[Attempt]] = {}
    for name, test in tests.items():
        one = partial(attempt, test, machine, seed, runs)
        changed = mutants(test, machine.processor)
        print(printable(name))
        for each in map(one, changed) if workers is None else workers.map(one, changed):
            attempts.append(each)
            rows.setdefault(row_of(test, each.mutant), []).append(each)
            print(_row(each, runs), flush=True)
    if len(tests) > 1:
        print("\n".join(_by_row(rows)))
    print(_summary(attempts))
    return any(each.missed for each in attempts)


def _row(attempt: Attempt, runs: int) -> str:
    if not attempt.matters:
        return f"  needless  {attempt.mutant}"
    if attempt.missed:
        return f"  MISSED    {attempt.mutant}, not seen in {runs} runs"
    if attempt.hidden is not None:
        return f"  hidden    {attempt.mutant}, in {attempt.states} states: {attempt.hidden}"
    run = "a steered run" if attempt.shown_in == STEERED else f"run {attempt.shown_in}"
    return f"  shown     {attempt.mutant}, by {run}"


def _by_row(rows: Mapping[str, Sequence[Attempt]]) -> Iterator[str]:
    """What became of each change of a row of the table in all tests; if none shows it, why."""
    yield "by row of the table (shown, hidden, needless, missed)"
    for name, attempts in sorted(rows.items()):
        shown = sum(each.shown_in is not None for each in attempts)
        reasons = Counter(each.hidden for each in attempts if each.hidden is not None)
        needless = sum(not each.matters for each in attempts)
        missed = sum(each.missed for each in attempts)
        numbers = f"{shown:>4} {reasons.total():>4} {needless:>4} {missed:>4}"
        # Where a wait waits for nothing says little of the row.
        others = Counter({why: n for why, n in reasons.items() if why != NOTHING_OUTSTANDING})
        why = "" if shown else "".join(f": {w}" for w, _ in (others or reasons).most_common(1))
        yield f"  {numbers}  {name}{why}"


def _summary(found: Sequence[Attempt]) -> str:
    """The last line: of those that can show, how many are shown."""
    matter = sum(each.matters for each in found)
    hidden = sum(each.hidden is not None for each in found)
    shown = sum(each.shown_in is not None for each in found)
    can = matter - hidden
    share = f" ({100 * shown / can:.1f} %)" if can else ""
    return (
        f"{len(found)} mutants: {shown} shown of {can} that can show{share}, {hidden} hidden, "
        f"{len(found) - matter} needless"
    )
