"""Whether an outcome may be: by the conditions of a scenario, and by a memory model.

Invariant: a condition that the model contradicts is an error of the text, found before anything
runs; what is refused afterwards is the protocol's fault.
"""

from __future__ import annotations

from collections.abc import Sequence

from slicc.scenario_text.conditions import (
    Condition,
    Model,
    Outcome,
    Place,
    Quantifier,
    Term,
    holds,
    outcome_text,
)
from slicc.scenario_text.errors import ScenarioError
from slicc.text.lazy_dataclass import dataclass
from tester.litmus.binding import DEFAULT_KEY, Bound
from tester.litmus.models import TooManyStates, allowed, threads_of
from tester.scenario_text.episodes import episodes_of
from tester.scenario_text.placement import Addresses, agents_of_threads
from tester.scenario_text.to_program import Lowered


@dataclass(frozen=True, slots=True)
class Judge:
    """What one scenario under one model may end with.

    ``allowed``: outcomes as values of ``terms``; None: the model has no say.
    """

    conditions: tuple[Condition, ...]
    terms: tuple[Term, ...]
    model: Model | None
    allowed: frozenset[tuple[int, ...]] | None

    def outcomes(self) -> list[Outcome]:
        """The outcomes that the model allows, in order."""
        return [dict(zip(self.terms, values)) for values in sorted(self.allowed or ())]

    def values(self, outcome: Outcome) -> tuple[int, ...]:
        """An outcome as a value to count by."""
        return tuple(outcome[term] for term in self.terms)

    def objections(self, outcome: Outcome) -> list[str]:
        """Why a run must not end so; empty: it may."""
        found = []
        if self.model and self.allowed is not None and self.values(outcome) not in self.allowed:
            found.append(f"forbidden by {self.model.value}")
        found += [
            f"refused by line {condition.span.line}"
            for condition in self.conditions
            if condition.refused_by(outcome)
        ]
        return found

    def possible(self, condition: Condition) -> bool | None:
        """Whether the model allows an outcome for which a formula holds; None: it has no say."""
        if self.allowed is None:
            return None
        return any(holds(condition.formula, outcome) for outcome in self.outcomes())


def judge_of(bound: Bound, model: Model | None) -> Judge:
    """Raises ScenarioError, also for conditions that the model contradicts."""
    scenario = bound.scenario
    _, lowered = bound.leg(DEFAULT_KEY)
    terms = tuple(lowered.observables)
    conditions = tuple(c for c in scenario.conditions if c.applies(model))
    outcomes = None if model is None else _allowed(bound, lowered, model, terms)
    judge = Judge(conditions, terms, model if outcomes is not None else None, outcomes)
    for condition in conditions:
        _check(condition, judge)
    return judge


def _allowed(
    bound: Bound, lowered: Lowered, model: Model, terms: Sequence[Term]
) -> frozenset[tuple[int, ...]] | None:
    scenario, cast, line_size = bound.scenario, bound.cast, bound.description.line_size
    agents = agents_of_threads(scenario, cast)
    addresses = Addresses(scenario, line_size)
    program = lowered.program
    places: dict[Term, tuple[int, int]] = {
        term: (
            addresses.of(term),
            sum(int(program.action_size[row]) for row in lowered.observables[term].rows),
        )
        for term in terms
        if isinstance(term, Place)
    }
    threads = threads_of(scenario, episodes_of(scenario, agents, cast), addresses, places)
    if threads is None:
        return None
    try:
        return allowed(threads, model, terms)
    except TooManyStates as error:
        what = f"{error} under {model.value}: the scenario is too large to be judged"
        raise ScenarioError("too-large", what, scenario.conditions[0].span) from None


def _check(condition: Condition, judge: Judge) -> None:
    """Raises ScenarioError where the text contradicts the model."""
    if judge.model is None:
        return
    if condition.quantifier is Quantifier.exists:
        if condition.under is not None and not judge.possible(condition):
            what = f"no run under {judge.model.value} ends like that"
            raise ScenarioError("condition", what, condition.span)
        return
    for outcome in judge.outcomes():
        if condition.refused_by(outcome):
            what = f"{judge.model.value} allows what `{condition.quantifier.value}` rules out"
            raise ScenarioError("condition", what, condition.span, outcome_text(outcome))
