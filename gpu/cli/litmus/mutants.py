"""``gcn litmus --mutate``: which mistakes in the code sequences the tests notice.

Invariant: a mutant that matters to the memory model and that no run showed is counted as missed,
unless every order of the abstract machine's steps was tried.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial

from gpu.litmus.mutation import STEERED, Attempt, attempt, mutants
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
    for name, test in tests.items():
        one = partial(attempt, test, machine, seed, runs)
        changed = mutants(test, machine.processor)
        print(printable(name))
        for each in map(one, changed) if workers is None else workers.map(one, changed):
            attempts.append(each)
            print(_row(each, runs), flush=True)
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
