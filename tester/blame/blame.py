"""Where a shrunk leg goes wrong: the transitions that make the difference, in order of blame.

The leg is compared with its neighbours (`tester.blame.neighbours`), which differ in one operation
or one delay. What the failure needs is absent where it is absent: a transition is the more to
blame, the fewer of the neighbours that do not fail so make it as often. And where the leg passes
once a transition does something else (`tester.blame.interventions`), the failure does not happen
without what that transition does. Invariant: the result depends on the leg alone; at most `_RUNS`
legs are run with changed rows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import takewhile
from typing import Final

from runtime.controller.source_location import transition_location
from tester.blame.interventions import Cell, remedies
from tester.blame.neighbours import Neighbour, neighbours
from tester.campaign.engine_diff import Steps
from tester.campaign.left_out import alike
from tester.execution.events import Finding
from tester.program.replay_file import Leg
from tester.shrink.trials import Trials

SHOWN: Final = 5
_RUNS: Final = 300
_FOR_EACH: Final = 60
"""Changed rows for each transition, at most."""
_ENOUGH: Final = 2
"""Remedies of a transition after which no more are looked for."""
_TRANSITIONS: Final = 10
"""Of which remedies are looked for: those that are absent most often."""
_PATIENCE: Final = 4
"""A run with a changed row hangs after so many times the ticks of the failing one."""
_LEAST_PATIENCE: Final = 2000


@dataclass(frozen=True)
class Step:
    """A transition that was made: when, by whom, on what."""

    tick: int
    controller: str
    line: int
    cell: str
    following: str
    where: str

    def __str__(self) -> str:
        return (
            f"tick {self.tick:,}, {self.controller}, {self.line:#x}: "
            f"{self.cell} -> {self.following} [{self.where}]"
        )


@dataclass(frozen=True)
class Suspect:
    """A transition to blame. ``absent``: share of the neighbours that do not fail so and make it
    less often. ``remedies``: what it could do instead for the leg to pass."""

    cell: str
    where: str
    absent: float
    remedies: tuple[str, ...]

    def __str__(self) -> str:
        evidence = []
        if self.absent:
            evidence.append(f"absent from {100 * self.absent:.0f} % of the neighbours that pass")
        if self.remedies:
            evidence.append(f"it passes {' or '.join(self.remedies[:2])}")
        return f"{self.cell} [{self.where}]: {'; '.join(evidence) or 'made in this run'}"


@dataclass(frozen=True)
class Blame:
    """``neighbour``: the change that makes the leg pass and keeps most of its run; ``parting``:
    the first transition that is another one then. None: nothing that was tried passes."""

    suspects: tuple[Suspect, ...]
    neighbour: str = ""
    parting: Step | None = None


@dataclass(frozen=True)
class _Passing:
    """A neighbour that does not fail in the same way, and its transitions."""

    neighbour: Neighbour
    steps: Steps


def blame(leg: Leg, kind: str, trials: Trials) -> Blame:
    """``kind``: how the leg fails (`tester.shrink.trials.ending_of`)."""
    steps, _ = trials.traced(leg)
    passing = []
    for neighbour in neighbours(leg, trials.protocol):
        traced = trials.traced_if_possible(neighbour.leg)
        if traced is not None and not alike(_verdict(traced[1]), kind):
            passing.append(_Passing(neighbour, traced[0]))
    names = trials.machines_of(leg)
    suspects = _suspects(leg, steps, passing, names, trials)
    if not passing:
        return Blame(suspects)
    shared = [_shared(steps, each.steps) for each in passing]
    inside = [each for each in shared if each < len(steps) - 1]  # not only the last one missing
    place = max(inside or shared)
    nearest = passing[shared.index(place)]
    return Blame(
        suspects,
        nearest.neighbour.change,
        _step(steps, place, names, trials) if place < len(steps) else None,
    )


def _verdict(finding: Finding | None) -> str:
    return "" if finding is None else finding.verdict.value


def _shared(one: Steps, other: Steps) -> int:
    """How many transitions two runs have in common from the beginning, whenever they are made."""
    pairs = zip(one[:, 1:].tolist(), other[:, 1:].tolist())
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def _cells(steps: Steps, names: Sequence[tuple[str, int]]) -> list[Cell]:
    return [
        (names[controller][0], state, event)
        for controller, state, event in steps[:, [1, 3, 4]].tolist()
        if controller < len(names)
    ]


def _suspects(
    leg: Leg,
    steps: Steps,
    passing: Sequence[_Passing],
    names: Sequence[tuple[str, int]],
    trials: Trials,
) -> tuple[Suspect, ...]:
    made = _cells(steps, names)
    often, last = Counter(made), {cell: place for place, cell in enumerate(made)}
    counts = [Counter(_cells(each.steps, names)) for each in passing]
    total = max(1, len(counts))
    never = {cell: sum(not count[cell] for count in counts) / total for cell in often}
    seldom = {cell: sum(count[cell] < often[cell] for count in counts) / total for cell in often}
    order = sorted(often, key=lambda cell: (-never[cell], -seldom[cell], -last[cell]))
    found = _remedies(leg, order, int(steps[-1, 0]) if len(steps) else 0, trials)

    def weight(cell: Cell) -> tuple[float, ...]:
        """Those with remedies, the latest first; then those that are absent most often."""
        if cell in found:
            return -len(found[cell]), -last[cell]
        return 0, -(never[cell] + seldom[cell]), -last[cell]

    return tuple(
        Suspect(*_named(cell, trials), seldom[cell], tuple(found.get(cell, ())))
        for cell in sorted(often, key=weight)[:SHOWN]
    )


def _remedies(leg: Leg, order: Sequence[Cell], ticks: int, trials: Trials) -> dict[Cell, list[str]]:
    """What each of the cells could do instead, for the first of them."""
    limit = min(leg.deadlock_limit, max(_LEAST_PATIENCE, _PATIENCE * ticks))
    leg = replace(leg, deadlock_limit=limit)
    found: dict[Cell, list[str]] = {}
    left = _RUNS
    for cell in order[:_TRANSITIONS]:
        for change, passes in remedies(leg, trials.protocol, cell, min(left, _FOR_EACH)):
            left -= 1
            if passes:
                found.setdefault(cell, []).append(change)
            if len(found.get(cell, ())) == _ENOUGH:
                break
    return found


def _named(cell: Cell, trials: Trials) -> tuple[str, str]:
    """``TCP.V.Load`` and where it is."""
    machine, state, event = cell
    kind = trials.protocol.info.machine(machine)
    name = ".".join((machine, kind.STATES.name_of(state), kind.EVENTS.name_of(event)))
    return name, str(transition_location(kind, state, event))


def _step(steps: Steps, place: int, names: Sequence[tuple[str, int]], trials: Trials) -> Step:
    tick, controller, line, state, event, following = steps[place].tolist()
    machine, number = names[controller]
    cell, where = _named((machine, state, event), trials)
    states = trials.protocol.info.machine(machine).STATES
    return Step(tick, f"{machine} {number}", line, cell, states.name_of(following), where)
