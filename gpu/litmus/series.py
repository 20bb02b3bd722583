"""A litmus test many times, and the judgement of what it ended with.

A launch has one or more instances of the test, and each of them is a run. Invariant: the outcomes
of a series depend on the test, the seed, the number of runs and of instances alone, and not on how
many processes make them.
"""

from __future__ import annotations

from collections.abc import Iterable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import field, replace
from enum import StrEnum
from functools import partial
from itertools import chain, islice

from gpu.litmus.kernel import Sequences, as_written
from gpu.litmus.scenario import Test
from gpu.litmus.single_run import Machine, run_instances
from gpu.litmus.situation import Situation, most_instances, situation
from gpu.litmus.steering.direction import directed
from gpu.litmus.steering.search import Way, explore
from gpu.memory_model.model import Allowed, judge
from gpu.memory_model.ordering import Rules
from gpu.memory_model.program import Fence, Operation, Order, Outcome, Program
from gpu.memory_model.scopes import Scope
from slicc.scenario_text.conditions import Condition
from slicc.text.lazy_dataclass import dataclass


class Verdict(StrEnum):
    """What an outcome is found to be."""

    usual = "usual"
    """Some interleaving of the threads ends so."""
    weak = "weak"
    """Allowed, and no interleaving ends so."""
    undefined = "undefined"
    """The test has a data race; the outcome is none of relaxed atomics."""
    forbidden = "forbidden"


@dataclass(slots=True)
class Seen:
    """``count``: of the runs whose situation was drawn; ``number``: of the first of them.
    ``steered``: the situation of a steered run that ended so. ``possible``: whether any order of
    the abstract machine's steps does, as far as it was tried."""

    verdict: Verdict
    count: int = 0
    number: int | None = None
    steered: Situation | None = None
    possible: bool = True
    refused_by: Condition | None = None

    @property
    def ever(self) -> bool:
        """Whether some run ended so."""
        return self.count > 0 or self.steered is not None

    @property
    def failed(self) -> bool:
        """Whether it is a failure that some run ended so."""
        wrong = self.verdict is Verdict.forbidden or self.refused_by is not None
        return wrong and self.ever


@dataclass(slots=True)
class Result:
    """All outcomes that are allowed or were seen."""

    test: Test
    runs: int
    seed: int
    allowed: Allowed
    outcomes: dict[Outcome, Seen] = field(default_factory=dict)
    instances: int = 1
    """Of a launch: run ``n`` is instance ``n % instances`` of launch ``n // instances``."""

    @property
    def launches(self) -> int:
        """The number of launches of all runs that are not steered."""
        return -(-self.runs // self.instances)

    @property
    def failed(self) -> bool:
        return any(seen.failed for seen in self.outcomes.values())


def outcome_of(
    test: Test, machine: Machine, seed: int, number: int, *, sequences: Sequences = as_written
) -> Outcome:
    """What one run ends with, in a launch of its own."""
    return launched(test, machine, seed, 1, number, sequences=sequences)[0]


def launched(
    test: Test,
    machine: Machine,
    seed: int,
    instances: int,
    number: int,
    *,
    sequences: Sequences = as_written,
) -> list[Outcome]:
    """What the instances of a launch end with."""
    drawn = situation(test.program, seed, number, test.units, instances)
    return _run(test, machine, drawn, sequences)


def steered_outcome(
    test: Test, machine: Machine, way: Way, *, sequences: Sequences = as_written
) -> Outcome:
    """What a run ends with that is steered along a way."""
    return _run(test, machine, directed(test.program, way), sequences)[0]


def _run(test: Test, machine: Machine, drawn: Situation, sequences: Sequences) -> list[Outcome]:
    opencl = test.rules is Rules.opencl
    return run_instances(test.program, drawn, machine, opencl=opencl, sequences=sequences)


def run_series(
    test: Test,
    runs: int,
    seed: int = 1,
    machine: Machine | None = None,
    workers: ProcessPoolExecutor | None = None,
    instances: int = 1,
) -> Result:
    """Runs 0 to ``runs`` - 1, and one more for each outcome that is weak or not allowed, and that
    they did not have, steered to it. ``instances``: of a launch, a power of two; fewer if the test
    has no room for so many. Raises `gpu.memory_model.events.TooLarge` for a test that
    cannot be judged, and what a device raises."""
    machine = machine or Machine()
    instances = min(instances, most_instances(test.program))
    allowed = judge(test.program, test.rules)
    result = Result(test, runs, seed, allowed, instances=instances)
    interleaved = usual_outcomes(test)
    for outcome in result.allowed.outcomes:
        _entry(result, outcome, interleaved)
    for number, outcome in enumerate(_outcomes(result, machine, workers)):
        seen = _entry(result, outcome, interleaved)
        seen.count += 1
        if seen.number is None:
            seen.number = number
    _steer(result, machine, interleaved)
    return result


def first_situation(result: Result, seen: Seen) -> tuple[Situation, int]:
    """The situation of the first run that ended so, and its instance; some run did."""
    if seen.number is None:
        assert seen.steered is not None, "a run ended so"
        return seen.steered, 0
    launch, instance = divmod(seen.number, result.instances)
    test = result.test
    return situation(test.program, result.seed, launch, test.units, result.instances), instance


def _steer(result: Result, machine: Machine, interleaved: frozenset[Outcome]) -> None:
    """To what the abstract machine can end with: the weak outcomes, and those that are not allowed,
    as far as no run had them."""
    search = partial(explore, result.test, machine.processor)
    can = search()
    for outcome, seen in result.outcomes.items():
        seen.possible = not can.complete or outcome in can.outcomes
    for outcome in sorted(can.outcomes):
        known = result.outcomes.get(outcome)
        if known is not None and (known.ever or known.verdict is not Verdict.weak):
            continue
        way = search(wanted=outcome.__eq__, whole=True).way
        if way is not None:
            steered = directed(result.test.program, way)
            (ended,) = _run(result.test, machine, steered, as_written)
            _entry(result, ended, interleaved).steered = steered


def _outcomes(
    result: Result, machine: Machine, workers: ProcessPoolExecutor | None
) -> Iterable[Outcome]:
    one = partial(launched, result.test, machine, result.seed, result.instances)
    launches = range(result.launches)
    if workers is None:
        ends: Iterable[list[Outcome]] = map(one, launches)
    else:
        ends = workers.map(one, launches, chunksize=max(1, len(launches) // 16))
    return islice(chain.from_iterable(ends), result.runs)


def _entry(result: Result, outcome: Outcome, interleaved: frozenset[Outcome]) -> Seen:
    if outcome not in result.outcomes:
        if outcome in interleaved:
            verdict = Verdict.usual
        elif outcome in result.allowed.outcomes:
            verdict = Verdict.weak
        else:
            verdict = Verdict.undefined if result.allowed.undefined else Verdict.forbidden
        refused = result.test.refused_by(outcome)
        result.outcomes[outcome] = Seen(verdict, refused_by=refused)
    return result.outcomes[outcome]


def usual_outcomes(test: Test) -> frozenset[Outcome]:
    """What interleavings of the threads on one memory end with: the same test with every access
    seq_cst at system scope, as the memory model judges it."""
    return frozenset(judge(strengthened(test.program), Rules.hsa).outcomes)


def strengthened(program: Program) -> Program:
    """A program with all of its operations sequentially consistent."""
    return replace(
        program,
        threads=tuple(
            replace(each, operations=tuple(map(_strengthened, each.operations)))
            for each in program.threads
        ),
    )


def _strengthened(operation: Operation) -> Operation:
    if isinstance(operation, Fence):
        return operation
    return replace(operation, order=Order.seq_cst, scope=Scope.system)
