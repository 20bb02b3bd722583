"""Where a shrunk leg goes wrong: the transitions and bodies that make the difference, in order.

The leg is compared with its neighbours (`tester.blame.neighbours`), which differ in one operation
or one delay. What the failure needs is absent where it is absent: a transition is the more to
blame, the fewer of the neighbours that do not fail so make it as often. And where the leg passes
once a transition or a statement does something else, the failure does not happen without what it
does (`tester.blame.remedies`). Invariant: the result depends on the
leg and on the options of its campaign alone.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import takewhile
from typing import Final, TypeVar

from runtime.controller.source_location import transition_location
from slicc.text.lazy_dataclass import dataclass
from tester.blame.executed import executed_lines
from tester.blame.interventions import Cell
from tester.blame.neighbours import Neighbour, neighbours
from tester.blame.remedies import Around, Place, Remedy, remedies
from tester.campaign.engine_diff import Steps
from tester.campaign.left_out import alike
from tester.execution.events import Verdict
from tester.program.replay_file import Leg
from tester.shrink.trials import Trials, derived

_Key = TypeVar("_Key")
SHOWN: Final = 5
_TRACED: Final = 16
"""Passing neighbours whose statements are counted, at most."""
_PATIENCE: Final = 4
"""A run next to the failing one, or with a change, hangs after so many times its ticks."""
_LEAST_PATIENCE: Final = 2000
_NONE: Final = Remedy((), 1.0, 1.0, False, "")


@dataclass(frozen=True, slots=True)
class MadeTransition:
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


@dataclass(frozen=True, slots=True)
class Suspect:
    """A transition to blame. ``absent``: share of the neighbours that do not fail so and make it
    less often. ``remedies``: what it could do instead for the leg to pass. ``missing``: there is no
    such transition, and ``where`` is the one whose text makes the leg pass."""

    cell: str
    where: str
    absent: float
    remedies: tuple[str, ...]
    missing: bool = False
    passed: float = 1.0

    def __str__(self) -> str:
        passes = f"it passes {' or '.join(self.remedies[:2])}"
        if self.passed < 1:
            passes += f", as {100 * self.passed:.0f} % of other legs do"
        if self.missing:
            return f"{self.cell}: there is none; {passes} [{self.where}]"
        evidence = []
        if self.absent:
            evidence.append(f"absent from {100 * self.absent:.0f} % of the neighbours that pass")
        if self.remedies:
            evidence.append(passes)
        return f"{self.cell} [{self.where}]: {'; '.join(evidence) or 'made in this run'}"


@dataclass(frozen=True, slots=True)
class Blame:
    """``neighbour``: the change that makes the leg pass and keeps most of its run; ``parting``:
    the first transition that is another one then. None: nothing that was tried passes. ``lines``:
    of actions, ports and functions, that the fewest of the passing neighbours execute, where no
    suspect has a remedy with which all other legs pass; ``absent``: share that does not."""

    suspects: tuple[Suspect, ...]
    neighbour: str = ""
    parting: MadeTransition | None = None
    lines: tuple[str, ...] = ()
    absent: float = 0.0


@dataclass(frozen=True, slots=True)
class _Passing:
    """A neighbour that does not fail in the same way, and its transitions."""

    neighbour: Neighbour
    steps: Steps


def blame(leg: Leg, kind: str, trials: Trials) -> Blame:
    """``kind``: how the leg fails (`tester.shrink.trials.ending_of`)."""
    steps = trials.traced(leg).steps
    passing, failing = [], []
    for neighbour in neighbours(leg, trials.protocol):
        traced = trials.traced_if_possible(neighbour.leg)
        if traced is None:
            continue
        if not alike(traced.ending, kind):
            passing.append(_Passing(neighbour, traced.steps))
        if traced.ending:
            failing.append(neighbour.leg)
    names = trials.machines_of(leg)
    ticks = int(steps[-1, 0]) if len(steps) else 0
    limit = min(leg.deadlock_limit, max(_LEAST_PATIENCE, _PATIENCE * ticks))
    case = _Case(leg, kind, steps, passing, failing, names, limit)
    lines = _absent_lines(case, trials)
    suspects = _suspects(case, lines, trials)
    if not passing:
        return Blame(suspects)
    shared = [_shared(steps, each.steps) for each in passing]
    inside = [each for each in shared if each < len(steps) - 1]  # not only the last one missing
    place = max(inside or shared)
    assert 0 <= place <= len(steps)
    nearest = passing[shared.index(place)]
    mended = any(each.remedies and each.passed == 1 for each in suspects)
    most = 0.0 if mended else max((each.never for each in lines.values()), default=0.0)
    absent = [line for line, each in lines.items() if each.never == most > 0]
    return Blame(
        suspects,
        nearest.neighbour.change,
        _step(steps, place, names, trials) if place < len(steps) else None,
        tuple(absent),
        most,
    )


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


@dataclass(frozen=True, slots=True)
class _Case:
    """A leg, its transitions, and what is next to it. ``names``: of controllers; ``limit``: ticks
    after which a run next to it hangs."""

    leg: Leg
    kind: str
    steps: Steps
    passing: Sequence[_Passing]
    failing: Sequence[Leg]
    names: Sequence[tuple[str, int]]
    limit: int


def _suspects(case: _Case, lines: Mapping[str, _Absent], trials: Trials) -> tuple[Suspect, ...]:
    made = _cells(case.steps, case.names)
    last = {cell: place for place, cell in enumerate(made)}
    absent = _absent(Counter(made), [Counter(_cells(p.steps, case.names)) for p in case.passing])
    order = sorted(last, key=lambda cell: (*absent[cell].order, -last[cell]))
    for cell in _missing(case.kind, trials):
        order.insert(0, cell)
        last[cell], absent[cell] = len(made), _Absent(0.0, 0.0)
    suspect_lines = sorted(lines, key=lambda line: lines[line].order)
    legs = [each.neighbour.leg for each in case.passing]
    around = Around(case.leg, case.limit, case.failing, legs)
    found = remedies(around, order, suspect_lines, trials)
    bodies = _last_in_bodies(last, trials)

    def weight(place: Place) -> tuple[float, ...]:
        """The order of suspects: those with remedies, the best ones first, a small one before
        others, the latest first; then those that are absent most often."""
        latest = bodies.get(place, 0) if isinstance(place, str) else last[place]
        if place in found:
            best = found[place]
            return 0, -best.score, not best.small, -latest
        assert not isinstance(place, str), "a body is blamed for its remedies"
        return 1, -(absent[place].never + absent[place].seldom), -latest

    there: list[Place] = [cell for cell in last if cell in found or last[cell] < len(made)]
    there += [place for place in found if isinstance(place, str)]
    suspects = []
    for place in sorted(there, key=weight)[:SHOWN]:
        remedy = found.get(place, _NONE)
        missing = False
        if isinstance(place, str):
            name, where = place, str(remedy.source)
            seldom = lines[where].seldom
        else:
            name, where = _named(place, trials)
            seldom = absent[place].seldom
            if not isinstance(remedy.source, str) and remedy.source != place:
                missing, where = True, _named(remedy.source, trials)[1]
        suspects.append(Suspect(name, where, seldom, remedy.words, missing, remedy.passed))
    return tuple(suspects)


@dataclass(frozen=True, slots=True)
class _Absent:
    """Shares of the passing neighbours that do something never, and less often."""

    never: float
    seldom: float

    @property
    def order(self) -> tuple[float, float]:
        return -self.never, -self.seldom


def _absent(often: Counter[_Key], others: Sequence[Counter[_Key]]) -> dict[_Key, _Absent]:
    total = max(1, len(others))
    return {
        key: _Absent(
            sum(not each[key] for each in others) / total,
            sum(each[key] < count for each in others) / total,
        )
        for key, count in often.items()
    }


def _absent_lines(case: _Case, trials: Trials) -> dict[str, _Absent]:
    """Lines that the leg executes."""
    passing = case.passing[:: max(1, -(-len(case.passing) // _TRACED))]
    one, *others = (
        executed_lines(replace(leg, deadlock_limit=case.limit), trials.protocol)
        for leg in (case.leg, *(derived(each.neighbour.leg) for each in passing))
    )
    return _absent(one, others)


def _last_in_bodies(last: Mapping[Cell, int], trials: Trials) -> dict[str, int]:
    """By action: where the run last comes to it."""
    found: dict[str, int] = {}
    for (machine, state, event), place in last.items():
        row = trials.protocol.info.machine(machine).TRANSITIONS.get((state, event))
        for action in () if row is None else row.actions:
            name = f"{machine}.{action.__name__}"
            found[name] = max(place, found.get(name, 0))
    return found


def _missing(kind: str, trials: Trials) -> list[Cell]:
    """The row that there is not, of an undefined transition."""
    verdict, _, place = kind.partition(" ")
    names = place.split(".")
    if verdict != Verdict.UNDEFINED_TRANSITION.value or len(names) != 3:
        return []
    machine = trials.protocol.info.machine(names[0])
    states, events = (each.members() for each in (machine.STATES, machine.EVENTS))
    return [(names[0], states.index(names[1]), events.index(names[2]))]


def _named(cell: Cell, trials: Trials) -> tuple[str, str]:
    """``TCP.V.Load`` and where it is."""
    machine, state, event = cell
    kind = trials.protocol.info.machine(machine)
    name = ".".join((machine, kind.STATES.name_of(state), kind.EVENTS.name_of(event)))
    return name, str(transition_location(kind, state, event))


def _step(
    steps: Steps, place: int, names: Sequence[tuple[str, int]], trials: Trials
) -> MadeTransition:
    tick, controller, line, state, event, following = steps[place].tolist()
    machine, number = names[controller]
    cell, where = _named((machine, state, event), trials)
    states = trials.protocol.info.machine(machine).STATES
    return MadeTransition(tick, f"{machine} {number}", line, cell, states.name_of(following), where)
