"""Every run of a racy scenario on a small system: what it can end with, and what never.

Invariant: an outcome is called impossible only if all runs were explored; what is refused comes
with a shortest run that ends so.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from slicc.scenario_text.conditions import (
    Model,
    Outcome,
    Quantifier,
    holds,
    outcome_text,
    text_of,
)
from slicc.text.data import json_text
from slicc.text.lazy_dataclass import dataclass
from tester.exploration.exploration import (
    ErrorTrace,
    Notify,
    Step,
    follow,
    no_completion,
    searched,
    what_was_found,
)
from tester.exploration.native_search import NativeSearch, Rules, SearchStatistics, build
from tester.exploration.native_words import FindingKind, SearchEnd
from tester.exploration.report import Namer, not_judged, omission_probability
from tester.litmus.judgement import Judge, judge_of
from tester.litmus.script import Script


@dataclass(frozen=True, slots=True)
class Ending:
    """An outcome that some run has. ``objections``: why it must not be, with such a run."""

    outcome: Outcome
    objections: tuple[str, ...]
    trace: tuple[Step, ...] = ()


@dataclass(frozen=True, slots=True)
class EveryRun:
    """``finding``: a fault of the protocol, which ended the search. ``interruption``: what ended it
    early: Ctrl-C, a signal, or OutOfTime."""

    script: Script
    judge: Judge
    rules: Rules
    end: SearchEnd
    statistics: SearchStatistics
    endings: tuple[Ending, ...]
    finding: ErrorTrace | None = None
    refusal: str = ""
    interruption: BaseException | None = None
    completion_judged: bool = False
    """Whether it is known that every request can be completed, so that all programs can end."""

    @property
    def whole(self) -> bool:
        """Whether all runs were explored."""
        return self.end is SearchEnd.COMPLETE

    @property
    def failed(self) -> bool:
        return self.finding is not None or any(each.objections for each in self.endings)


def explore_scenario(
    script: Script,
    model: Model,
    rules: Rules,
    notify: Notify | None = None,
    until: float = math.inf,
) -> EveryRun:
    """``until``: as for `tester.exploration.exploration.explore`. Raises ConfigError,
    ScenarioError."""
    judge = judge_of(script.bound, model)
    found = _search(script, judge, rules, notify, until)
    if found.finding is not None and found.finding.kind is FindingKind.NO_COMPLETION:
        # A step that was not made may lead to where the request is completed.
        found = _search(script, judge, replace(rules, commuting_steps=False), notify, until)
    return found


def _search(
    script: Script,
    judge: Judge,
    rules: Rules,
    notify: Notify | None,
    until: float,
) -> EveryRun:
    with NativeSearch(build(script.bound.protocol), script.system, rules) as native:
        if not native.follow_script(script.words):
            raise MemoryError("a script")
        end, statistics, interruption = searched(native.run, notify, until)
        finding = what_was_found(native) if end is SearchEnd.FOUND else None
        endings = tuple(_endings(native, script, judge))
        judged, stuck = native.stuck() if end is SearchEnd.COMPLETE else (False, None)
        if stuck is not None:
            end, finding = SearchEnd.FOUND, no_completion(native, stuck)
        return EveryRun(
            *(script, judge, rules, end, statistics, endings, finding),
            refusal=native.refusal(),
            interruption=interruption,
            completion_judged=judged,
        )


def _endings(native: NativeSearch, script: Script, judge: Judge) -> Iterator[Ending]:
    for registers, state in native.outcomes():
        outcome = script.outcome(registers)
        objections = tuple(judge.objections(outcome))
        trace: tuple[Step, ...] = ()
        if objections:
            trace = follow(native, native.concrete(native.way_to(state)))
        yield Ending(outcome, objections, trace)


# ---------------------------------------------------------------- as text


def as_lines(name: str, found: EveryRun, namer: Namer) -> Iterator[str]:
    """The outcomes, what is said of each condition, and a run for what must not be."""
    scenario, stats = found.script.bound.scenario, found.statistics
    title = f"{name}: {scenario.title}" if scenario.title else name
    yield f"{_verdict(found):<10}{title}, {stats.states:,} states, {stats.steps:,} steps"
    for ending in found.endings:
        mark = f"   <-- {'; '.join(ending.objections)}" if ending.objections else ""
        yield f"          {outcome_text(ending.outcome)}{mark}"
    yield from _conditions(found)
    never = _never(found)
    if never:
        yield f"  {never}"
    if found.refusal:
        yield f"  the search stopped: {found.refusal}"
    if found.whole and not found.completion_judged:
        yield f"  {not_judged(found.rules)}"
    yield from _run(found, namer)


def _verdict(found: EveryRun) -> str:
    if found.failed:
        return "FOUND"
    return "EXHAUSTED" if found.whole else "LIMIT"


def _conditions(found: EveryRun) -> Iterator[str]:
    for condition in found.judge.conditions:
        seen = [each for each in found.endings if holds(condition.formula, each.outcome)]
        text = f"{condition.quantifier.value} {text_of(condition.formula)}"
        if condition.quantifier is Quantifier.forall:
            broken = len(seen) < len(found.endings)
            yield f"  {text}: {'broken' if broken else _so_far(found, 'always')}"
        elif seen:
            yield f"  {text}: happens"
        else:
            yield f"  {text}: {_so_far(found, 'never')}"


def _so_far(found: EveryRun, word: str) -> str:
    return f"{word}, in every run" if found.whole else f"{word} so far"


def _never(found: EveryRun) -> str:
    """What the model allows and no run of this system ends with."""
    judge = found.judge
    if not found.whole or judge.allowed is None or judge.model is None:
        return ""
    seen = {judge.values(each.outcome) for each in found.endings}
    never = len(judge.allowed - seen)
    chance = omission_probability(found.statistics.states, 128 if found.rules.wide else 64)
    return (
        f"{len(judge.allowed) - never} of the {len(judge.allowed)} outcomes of "
        f"{judge.model.value.upper()} happen; a state was left out with probability {chance:.1g}"
    )


def _run(found: EveryRun, namer: Namer) -> Iterator[str]:
    """The first run that must not be."""
    trace = next((each.trace for each in found.endings if each.objections), ())
    if found.finding is not None:
        yield f"  {namer.headline(found.finding)}"
        trace = found.finding.trace
    for number, step in enumerate(trace, 1):
        yield f"  {number:>4}  {namer.choice(step.choice)}"
        for text in namer.transitions(step):
            yield f"            {text}"


def as_json(results: list[tuple[str, EveryRun, Namer]]) -> str:
    """For programs."""
    return json_text([_table(*each) for each in results], indent=1)


def _table(name: str, found: EveryRun, namer: Namer) -> dict[str, Any]:
    return {
        "scenario": name,
        "protocol": namer.protocol.info.name,
        "verdict": _verdict(found).lower(),
        "states": found.statistics.states,
        "steps": found.statistics.steps,
        "outcomes": [
            {
                "outcome": {str(term): value for term, value in each.outcome.items()},
                "objections": list(each.objections),
                "run": [namer.choice(step.choice) for step in each.trace],
            }
            for each in found.endings
        ],
        "conditions": [line.strip() for line in _conditions(found)],
        "fault": None if found.finding is None else namer.headline(found.finding),
    }
