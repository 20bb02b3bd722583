"""Many runs of one scenario, with what they ended with.

Invariant: what run ``n`` of a series is depends on scenario, protocol, model, seed and ``n`` alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import field, replace
from itertools import islice, product
from typing import Final

from runtime.prng import Prng
from runtime.sim.delay_policy import DRAWN_POLICIES
from slicc.scenario_text import syntax
from slicc.scenario_text.conditions import Condition, Model, Outcome, holds
from slicc.text.lazy_dataclass import dataclass
from tester.campaign.campaign import Campaign
from tester.engines.selection import Chosen
from tester.litmus.binding import Bound
from tester.litmus.judgement import Judge, judge_of
from tester.litmus.single_run import run_once
from tester.litmus.variations import variation

_BATCH: Final = 256
"""Race-free legs in one call."""


@dataclass(slots=True)
class Seen:
    """An outcome: how often, in which run first, and what is wrong with it."""

    outcome: Outcome
    count: int
    first: syntax.Scenario
    objections: list[str]


@dataclass(frozen=True, slots=True)
class Failed:
    """A run that must not be: what it is, and why."""

    scenario: syntax.Scenario
    what: str


@dataclass(slots=True)
class LitmusSeries:
    """A series. ``judge``: None of a race-free scenario, whose every byte is judged."""

    bound: Bound
    judge: Judge | None
    runs: int = 0
    seen: dict[tuple[int, ...], Seen] = field(default_factory=dict)
    failed: Failed | None = None
    """The first of its runs that failed."""

    def was_seen(self, condition: Condition) -> int:
        """Runs for whose outcome the formula of a condition holds."""
        return sum(s.count for s in self.seen.values() if holds(condition.formula, s.outcome))


def run_series(
    bound: Bound,
    engine: Chosen,
    campaign: Campaign,
    runs: int,
    seed: int,
    model: Model | None = None,
    on_run: Callable[[], None] = lambda: None,
) -> LitmusSeries:
    """Run a scenario that often; one that states its keys exactly as it says. Raises ScenarioError.

    Continues behind failures, so that counts are those of all runs.
    """
    scenario = bound.scenario
    if scenario.racy:
        model = scenario.model or model
        bound = bound.of(replace(scenario, model=model))
        result = LitmusSeries(bound, judge_of(bound, model))
        for each in _racy_runs(bound, runs, seed):
            _run_racy(result, each, engine)
            on_run()
        return result
    result = LitmusSeries(bound, None)
    pairs = _race_free_runs(bound, runs, seed)
    while some := list(islice(pairs, _BATCH)):
        legs = [bound.leg(key, delays)[0] for key, delays in some]
        for (key, delays), kind in zip(some, campaign.failures_of(legs)):
            result.runs += 1
            if kind and result.failed is None:
                result.failed = Failed(replace(scenario, keys=(key,), delays=(delays,)), kind)
            on_run()
    return result


def _racy_runs(bound: Bound, runs: int, seed: int) -> Iterator[syntax.Scenario]:
    scenario = bound.scenario
    if scenario.keys:
        for key, delays in product(scenario.keys, bound.delays):
            yield replace(scenario, keys=(key,), delays=(delays,))
        return
    line_size = bound.description.line_size
    for number in range(runs):
        yield variation(scenario, bound.cast, line_size, seed, number)


def _race_free_runs(bound: Bound, runs: int, seed: int) -> Iterator[tuple[int, str]]:
    if bound.scenario.keys:
        yield from product(bound.keys, bound.delays)
        return
    policies = bound.scenario.delays or DRAWN_POLICIES
    for number in range(runs):
        key = Prng(seed).fork(f"scenario run {number}").bits64()
        yield key, policies[number % len(policies)]


def _run_racy(result: LitmusSeries, scenario: syntax.Scenario, engine: Chosen) -> None:
    judge, bound = result.judge, result.bound.of(scenario)
    assert judge is not None
    leg, lowered = bound.leg(scenario.keys[0], scenario.delays[0], overlap=judge.model is Model.tso)
    ended = run_once(leg, lowered, bound.protocol, engine)
    result.runs += 1
    if ended.finding is not None:
        if result.failed is None:
            result.failed = Failed(scenario, ended.finding.verdict.value)
        return
    values = judge.values(ended.outcome)
    seen = result.seen.get(values)
    if seen is None:
        objections = judge.objections(ended.outcome)
        result.seen[values] = Seen(ended.outcome, 1, scenario, objections)
        if objections and result.failed is None:
            result.failed = Failed(scenario, "; ".join(objections))
    else:
        seen.count += 1
