"""What the abstract machine can end with, by trying every order of its steps.

Invariant: an `Exhaustion` that is ``complete`` has tried every placement of the groups on units,
every choice of warm lines and every order of steps; its outcomes are all there are.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from typing import Final

from gpu.litmus.kernel import Sequences, as_written
from gpu.litmus.scenario import Test
from gpu.litmus.situation import CUS
from gpu.litmus.steering.abstract_machine import (
    EVERY_RULE,
    AbstractMachine,
    Move,
    Rule,
    State,
    Warm,
)
from gpu.memory_model.ordering import Rules
from gpu.memory_model.program import Outcome
from slicc.text.lazy_dataclass import dataclass

MOST_STATES: Final = 300_000
"""Of one search, over all placements."""


@dataclass(frozen=True, slots=True)
class Way:
    """Steps that end with an outcome. ``warm``: slots of the machine."""

    machine: AbstractMachine
    warm: Warm
    moves: tuple[Move, ...]
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Exhaustion:
    """``way``: to an outcome that was wanted, one of the shortest in its placement; then the search
    has ended there. ``states``: that were reached."""

    way: Way | None
    outcomes: frozenset[Outcome]
    states: int
    complete: bool


def explore(
    test: Test,
    processor: str,
    *,
    sequences: Sequences = as_written,
    wanted: Callable[[Outcome], bool] = lambda outcome: False,
    whole: bool = False,
    rules: frozenset[Rule] = EVERY_RULE,
    most: int = MOST_STATES,
) -> Exhaustion:
    """Every way, up to the first one that is wanted. ``whole``: operations are issued as one step,
    which not every run does; such a search is never complete."""
    outcomes: set[Outcome] = set()
    states = 0
    for placement in placements(test):
        machine = AbstractMachine(
            *(test.program, placement),
            processor=processor,
            opencl=test.rules is Rules.opencl,
            sequences=sequences,
            rules=rules,
        )
        came: dict[State, tuple[State, Move] | Warm] = {}
        for warm in _subsets(machine.can_be_warm()):
            came.setdefault(machine.start(warm), warm)
        left = deque(came)
        while left:
            state = left.popleft()
            outcome = machine.outcome(state)
            if outcome is not None:
                outcomes.add(outcome)
                if wanted(outcome):
                    way = _way(machine, came, state, outcome)
                    return Exhaustion(way, frozenset(outcomes), states + len(came), False)
            for move, after in machine.moves(state, whole):
                if after not in came:
                    came[after] = state, move
                    left.append(after)
            if states + len(came) > most:
                return Exhaustion(None, frozenset(outcomes), states + len(came), False)
        states += len(came)
    return Exhaustion(None, frozenset(outcomes), states, not whole)


def _way(
    machine: AbstractMachine,
    came: dict[State, tuple[State, Move] | Warm],
    state: State,
    outcome: Outcome,
) -> Way:
    moves: list[Move] = []
    origin = came[state]
    while isinstance(origin, tuple):
        before, move = origin
        moves.append(move)
        origin = came[before]
    return Way(machine, origin, tuple(reversed(moves)), outcome)


def placements(test: Test) -> Iterator[dict[int, int]]:
    """The units of the groups: all different first. Units that nothing tells apart are named in
    the order of the groups."""
    groups = sorted({t.position.group for t in test.program.threads if t.position.agent == "gpu"})
    found = list(_placed(groups, {}, dict(test.units)))
    found.sort(key=lambda each: -len(set(each.values())))
    yield from found


def _placed(
    groups: list[int], units: dict[int, int], fixed: dict[int, int]
) -> Iterator[dict[int, int]]:
    if not groups:
        yield dict(units)
        return
    group, *rest = groups
    used = {*units.values(), *fixed.values()}
    free = [unit for unit in range(CUS) if unit not in used]
    choices = [fixed[group]] if group in fixed else [*sorted(used), *free[:1]]
    for unit in choices:
        yield from _placed(rest, {**units, group: unit}, fixed)


def _subsets(slots: list[int]) -> Iterator[Warm]:
    for bits in range(1 << len(slots)):
        yield frozenset(slot for at, slot in enumerate(slots) if bits >> at & 1)
