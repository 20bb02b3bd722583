"""Where a shrunk leg goes wrong: the transitions that make the difference, in order of blame.

The leg is compared with its neighbours (`tester.blame.neighbours`), which differ in one operation
or one delay. What the failure needs is absent where it is absent: a transition is the more to
blame, the fewer of the neighbours that do not fail so make it as often. And where the leg passes
once a transition does something else (`tester.blame.interventions`), the failure does not happen
without what that transition does. Many changes make one run pass by moving it in time; one is a
remedy if it mends the neighbours that fail as well, and the same leg with drawn delays. Invariant:
the result depends on the leg alone; at most `_RUNS` changes are tried.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import compress, islice, takewhile
from typing import Final

from runtime.controller.source_location import transition_location
from slicc.text.lazy_dataclass import dataclass
from tester.blame.interventions import Cell, Change, changes, passes
from tester.blame.neighbours import Neighbour, neighbours
from tester.campaign.engine_diff import Steps
from tester.campaign.left_out import alike
from tester.execution.events import Verdict
from tester.program.replay_file import Leg
from tester.shrink.scripts import with_policy
from tester.shrink.trials import Trials, derived

SHOWN: Final = 5
_RUNS: Final = 1200
"""Changed rows that are tried, at most."""
_FOR_EACH: Final = 120
"""And for each transition."""
_FAILING: Final = 16
"""Other failing legs that a remedy has to mend, at most."""
_MENDED: Final = 0.9
"""Share of them that it has to."""
_SLOWER: Final = 3
"""So many times as long with delays."""
_TIMINGS: Final = ("uniform", "heavy_tail")
_KEYS: Final = 4
_PATIENCE: Final = 4
"""A run with a changed row hangs after so many times the ticks of the failing one."""
_LEAST_PATIENCE: Final = 2000


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

    def __str__(self) -> str:
        if self.missing:
            remedies = " or ".join(self.remedies[:2])
            return f"{self.cell}: there is none; it passes {remedies} [{self.where}]"
        evidence = []
        if self.absent:
            evidence.append(f"absent from {100 * self.absent:.0f} % of the neighbours that pass")
        if self.remedies:
            evidence.append(f"it passes {' or '.join(self.remedies[:2])}")
        return f"{self.cell} [{self.where}]: {'; '.join(evidence) or 'made in this run'}"


@dataclass(frozen=True, slots=True)
class Blame:
    """``neighbour``: the change that makes the leg pass and keeps most of its run; ``parting``:
    the first transition that is another one then. None: nothing that was tried passes."""

    suspects: tuple[Suspect, ...]
    neighbour: str = ""
    parting: MadeTransition | None = None


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
    suspects = _suspects(_Case(leg, kind, steps, passing, failing, names), trials)
    if not passing:
        return Blame(suspects)
    shared = [_shared(steps, each.steps) for each in passing]
    inside = [each for each in shared if each < len(steps) - 1]  # not only the last one missing
    place = max(inside or shared)
    assert 0 <= place <= len(steps)
    nearest = passing[shared.index(place)]
    return Blame(
        suspects,
        nearest.neighbour.change,
        _step(steps, place, names, trials) if place < len(steps) else None,
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
    """A leg, its transitions, and what is next to it. ``names``: of controllers."""

    leg: Leg
    kind: str
    steps: Steps
    passing: Sequence[_Passing]
    failing: Sequence[Leg]
    names: Sequence[tuple[str, int]]


def _suspects(case: _Case, trials: Trials) -> tuple[Suspect, ...]:
    made = _cells(case.steps, case.names)
    often, last = Counter(made), {cell: place for place, cell in enumerate(made)}
    counts = [Counter(_cells(each.steps, case.names)) for each in case.passing]
    total = max(1, len(counts))
    never = {cell: sum(not count[cell] for count in counts) / total for cell in often}
    seldom = {cell: sum(count[cell] < often[cell] for count in counts) / total for cell in often}
    order = sorted(often, key=lambda cell: (-never[cell], -seldom[cell], -last[cell]))
    for cell in _missing(case.kind, trials):
        order.insert(0, cell)
        last[cell], never[cell], seldom[cell] = len(made), 0.0, 0.0
    found = _remedies(case, order, trials)

    def weight(cell: Cell) -> tuple[float, ...]:
        """The order of suspects: those with remedies, a small one before others, the latest first;
        then those that are absent most often."""
        if cell in found:
            return -found[cell].mended, not found[cell].small, -last[cell]
        return 0, -(never[cell] + seldom[cell]), -last[cell]

    suspects = []
    for cell in sorted((cell for cell in last if cell in often or cell in found), key=weight):
        remedy = found.get(cell)
        name, where = _named(cell, trials)
        missing = remedy is not None and remedy.source != cell
        if remedy is not None and missing:
            where = _named(remedy.source, trials)[1]
        words = () if remedy is None else remedy.words
        suspects.append(Suspect(name, where, seldom[cell], words, missing))
    return tuple(suspects[:SHOWN])


def _missing(kind: str, trials: Trials) -> list[Cell]:
    """The row that there is not, of an undefined transition."""
    verdict, _, place = kind.partition(" ")
    names = place.split(".")
    if verdict != Verdict.UNDEFINED_TRANSITION.value or len(names) != 3:
        return []
    machine = trials.protocol.info.machine(names[0])
    states, events = (each.members() for each in (machine.STATES, machine.EVENTS))
    return [(names[0], states.index(names[1]), events.index(names[2]))]


@dataclass(frozen=True, slots=True)
class _Remedy:
    """What a cell could do instead. ``mended``: share of failing legs; ``small``: see `Change`."""

    words: tuple[str, ...]
    mended: float
    small: bool
    source: Cell


def _remedies(case: _Case, order: Sequence[Cell], trials: Trials) -> dict[Cell, _Remedy]:
    """What mends the leg, and nearly everything that fails next to it."""
    protocol = trials.protocol
    ticks = int(case.steps[-1, 0]) if len(case.steps) else 0
    limit = min(case.leg.deadlock_limit, max(_LEAST_PATIENCE, _PATIENCE * ticks))
    leg = replace(case.leg, deadlock_limit=limit)
    tried = (change for cell in order for change in islice(changes(protocol, cell), _FOR_EACH))
    drawn = list(islice(tried, _RUNS))
    mending = list(compress(drawn, passes(leg, drawn, protocol, trials.engine)))
    if not mending:
        return {}
    slow = _SLOWER * limit
    others = [replace(each, deadlock_limit=slow) for each in _failing(case, trials)]
    found: dict[Cell, _Remedy] = {}
    for change, mended in _mended(mending, others, trials):
        best = found.get(change.cell)
        if best is not None and mended < best.mended:
            continue
        if best is None or mended > best.mended:
            best = _Remedy((), mended, False, change.source)
        words, small = (*best.words, change.words), best.small or change.small
        found[change.cell] = replace(best, words=words, small=small)
    return found


def _mended(
    changes: Sequence[Change], others: Sequence[Leg], trials: Trials
) -> Iterator[tuple[Change, float]]:
    """The changes with which enough of the other legs pass as well, and the share of these."""
    left, failed = list(changes), [0] * len(changes)
    for leg in others:
        passed = passes(leg, left, trials.protocol, trials.engine)
        failed = [count + (not each) for count, each in zip(failed, passed)]
        assert len(passed) == len(left), "each change has a result"
        enough = [count <= (1 - _MENDED) * len(others) for count in failed]
        left, failed = list(compress(left, enough)), list(compress(failed, enough))
    for change, count in zip(left, failed):
        yield change, 1 - count / max(1, len(others))


def _failing(case: _Case, trials: Trials) -> list[Leg]:
    """Legs that fail next to the leg, spread over their kinds."""
    leg = case.leg
    drawn = [
        replace(with_policy(leg, delays), program=replace(leg.program, run_key=key, derived=False))
        for key in range(1, _KEYS + 1)
        for delays in _TIMINGS
    ]
    endings = trials.endings(drawn, sound=True)
    found = [derived(each) for each, ending in zip(drawn, endings) if ending]
    near = case.failing[:: max(1, -(-len(case.failing) // (_FAILING - len(found))))]
    return [*map(derived, near), *found]


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
