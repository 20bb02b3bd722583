"""What the memory model allows a program to end with.

    allowed = judge(program)
    allowed.allows(outcome)         # whether an observed outcome is one of them
    print(explain(program, outcome))  # an execution, or the axiom that each of them breaks

Invariant: `judge` depends on the program and the rules alone; outcomes and races are in the order
of enumeration, which is fixed.
"""

from __future__ import annotations

from collections.abc import Iterator

from gpu.memory_model.axioms import consistent
from gpu.memory_model.enumeration import Batch, batches
from gpu.memory_model.events import Frame, frames
from gpu.memory_model.ordering import Executions, Rules
from gpu.memory_model.program import Outcome, Program
from gpu.memory_model.relations import pairs
from gpu.memory_model.values import outcome_of
from slicc.text.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Race:
    """Two accesses, as text, that some allowed execution leaves unordered."""

    one: str
    other: str

    def __str__(self) -> str:
        return f"{self.one} and {self.other}"


@dataclass(frozen=True, slots=True)
class Allowed:
    """``outcomes``: of the executions that break no axiom. ``races``: each pair once; with one, the
    program is undefined and may end in any way, so ``outcomes`` are what it might end with if its
    accesses were no worse than relaxed atomics."""

    program: Program
    rules: Rules
    outcomes: tuple[Outcome, ...]
    races: tuple[Race, ...]

    @property
    def undefined(self) -> bool:
        """Whether it has a data race: HSA calls the result undefined, OpenCL the behaviour."""
        return bool(self.races)

    def allows(self, outcome: Outcome) -> bool:
        """Whether a run may end so."""
        return self.undefined or outcome in self.outcomes


def judge(program: Program, rules: Rules = Rules.hsa) -> Allowed:
    """All outcomes that the model allows. Raises `events.TooLarge`."""
    outcomes: dict[Outcome, None] = {}
    races: dict[frozenset[str], Race] = {}
    for frame in frames(program):
        for executions, number, outcome in _executions(frame, rules):
            outcomes.setdefault(outcome)
            for one, other in pairs(executions.races[number]):
                race = Race(frame.name(one), frame.name(other))
                races.setdefault(frozenset((race.one, race.other)), race)
    return Allowed(program, rules, tuple(outcomes), tuple(races.values()))


def _executions(frame: Frame, rules: Rules) -> Iterator[tuple[Executions, int, Outcome]]:
    """The consistent executions of a frame: of a batch, which, and its outcome."""
    for batch in batches(frame):
        executions = Executions(frame, batch, rules)
        for number, good in enumerate(consistent(executions)):
            outcome = outcome_of(frame, batch.picks[number]) if good else None
            if outcome is not None:
                yield executions, number, outcome


def witnesses(
    program: Program, outcome: Outcome, rules: Rules = Rules.hsa
) -> Iterator[tuple[Executions, int]]:
    """The consistent executions that end so."""
    for frame in frames(program):
        for executions, number, found in _executions(frame, rules):
            if found == outcome:
                yield executions, number


def candidates(
    program: Program, outcome: Outcome, rules: Rules = Rules.hsa
) -> Iterator[tuple[Executions, int]]:
    """All executions that end so, consistent or not: those that coherence does not prune at once,
    or if there is none, the others."""
    for pruned in (True, False):
        found = False
        for frame in frames(program):
            for batch in batches(frame, pruned):
                for executions, number in _ending(frame, batch, outcome, rules):
                    found = True
                    yield executions, number
        if found:
            return


def _ending(
    frame: Frame, batch: Batch, outcome: Outcome, rules: Rules
) -> Iterator[tuple[Executions, int]]:
    for number, pick in enumerate(batch.picks):
        if outcome_of(frame, pick) == outcome:
            yield Executions(frame, batch, rules), number
