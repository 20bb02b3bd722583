"""The same litmus test in many situations, each a scenario of its own.

A race shows only if the threads meet at the right moment with their lines in the right states. A
variation draws which agents run the threads, where the locations lie, who has which line beforehand
(read it, or owns it), how long each thread is held up by hits in a line of its own, what pushes
lines out in between, which threads wait for which others, the delay policy and the run key.
Invariant: a variation has no outcome that the test has not, and depends on the seed and its number
alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from runtime.prng import Prng
from runtime.sim.delay_policy import DRAWN_POLICIES
from slicc.scenario_text import syntax
from slicc.scenario_text.conditions import Place
from tester.scenario_text.placement import (
    FIRST_LINE,
    Addresses,
    Cast,
    agents_of_threads,
    places_of,
)

_PRIVATE: Final = "own_"
"""Begins the name of a thread's own line."""
_CROWD: Final = ("crowd_0", "crowd_1", "crowd_2", "crowd_3")
"""Lines of the set that all others are in; as many as most caches have ways."""
_LONGEST_HOLD: Final = 24
_STRIDES: Final = (1, 1, 2, 64, 512)
"""In lines: next to each other, in one bank, in one set of most caches."""


def variation(
    scenario: syntax.Scenario, cast: Cast, line_size: int, seed: int, number: int
) -> syntax.Scenario:
    """Variation ``number`` of a racy scenario; the first is what is written, without delays."""
    prng = Prng(seed).fork(f"litmus run {number}")
    key = prng.fork("key").bits64()
    delays = scenario.delays or DRAWN_POLICIES
    varied = replace(scenario, keys=(key,), delays=(delays[number % len(delays)],))
    if number == 0:
        return varied
    varied = replace(varied, columns=_cast(varied, cast, prng.fork("agents")))
    rows = _crowded(_interleaved(varied, prng.fork("order")), prng.fork("crowd"))
    first, places = _prepared(varied, prng.fork("lines"))
    held = _held(varied, prng.fork("hold"))
    varied = replace(varied, rows=(*first, *_barrier(varied, first), *held, *rows))
    return replace(varied, locations=_located(varied, line_size, prng.fork("places"), places))


def _cast(scenario: syntax.Scenario, cast: Cast, prng: Prng) -> tuple[syntax.Column, ...]:
    """Other processors for the threads whose agents the text leaves open."""
    agents = agents_of_threads(scenario, cast)
    names = {agent.name for agent in cast.agents}
    fixed = [column.agent is not None or column.name in names for column in scenario.columns]
    taken = {agent for agent, is_fixed in zip(agents, fixed) if is_fixed}
    free = [agent for agent in cast.processors() if agent not in taken]
    columns = []
    for column, agent, is_fixed in zip(scenario.columns, agents, fixed):
        chosen = agent if is_fixed else free.pop(prng.below(len(free)))
        columns.append(replace(column, agent=cast.agents[chosen].name))
    return tuple(columns)


def _interleaved(scenario: syntax.Scenario, prng: Prng) -> list[tuple[syntax.Step, ...]]:
    """One operation a row, in a random order that keeps what the text orders; sometimes a thread
    waits for the one above."""
    marks = {s.operation.word for s in scenario.steps() if isinstance(s.operation, syntax.Mark)}
    if marks - {"fence"} or any(isinstance(s.operation, syntax.After) for s in scenario.steps()):
        return [(step,) for step in scenario.steps()]
    left: list[list[list[syntax.Step]]] = [[] for _ in scenario.columns]
    for step in scenario.steps():
        units = left[step.column]
        if isinstance(step.operation, syntax.Access) and step.operation.joins and units:
            units[-1].append(step)
        else:
            units.append([step])
    percent = (0, 0, 30, 80)[prng.below(4)]
    rows: list[tuple[syntax.Step, ...]] = []
    before: syntax.Step | None = None
    while any(left):
        ready = [number for number, units in enumerate(left) if units]
        column = ready[prng.below(len(ready))]
        unit = left[column].pop(0)
        follows = before is not None and before.column != column and not _is_mark(unit[0])
        if before is not None and follows and prng.below(100) < percent:
            waits = syntax.After(scenario.columns[before.column].name)
            rows.append((syntax.Step(column, waits),))
        rows += [(step,) for step in unit]
        if not _is_mark(unit[0]):
            before = unit[0]
    return rows


def _crowded(rows: list[tuple[syntax.Step, ...]], prng: Prng) -> list[tuple[syntax.Step, ...]]:
    """Loads by which a thread pushes lines out of its cache, between its operations; of every third
    variation, and only where every row is an episode."""
    steps = [step for row in rows for step in row]
    marks = {s.operation.word for s in steps if isinstance(s.operation, syntax.Mark)}
    joined = any(isinstance(s.operation, syntax.Access) and s.operation.joins for s in steps)
    if prng.below(3) or marks - {"fence"} or joined:
        return rows
    column = steps[prng.below(len(steps))].column
    for name in _CROWD:
        place = prng.below(len(rows) + 1)
        rows.insert(place, (syntax.Step(column, syntax.Load(Place(name))),))
    return rows


def _is_mark(step: syntax.Step) -> bool:
    return isinstance(step.operation, syntax.Mark)


def _threads(scenario: syntax.Scenario) -> list[int]:
    """The columns of threads that do anything."""
    return sorted({step.column for step in scenario.steps()})


def _prepared(
    scenario: syntax.Scenario, prng: Prng
) -> tuple[list[tuple[syntax.Step, ...]], list[Place]]:
    """Rows by which threads read lines beforehand, or write the zeroes that they hold."""
    sizes: dict[Place, int] = {}
    for step in scenario.steps():
        if isinstance(step.operation, syntax.Access):
            place = replace(step.operation.place)
            sizes[place] = max(sizes.get(place, 0), step.operation.bytes)
    threads = _threads(scenario)
    rows: list[tuple[syntax.Step, ...]] = []
    for place, size in sizes.items():
        way = prng.below(5)
        if way in (1, 2):
            owner = threads[prng.below(len(threads))]
            rows.append((syntax.Step(owner, syntax.Store(place, size=size, value=0)),))
        if way in (2, 3):
            readers = [thread for thread in threads if prng.below(2)]
            if way == 2:  # after the owner, who keeps an older copy
                rows += [
                    (syntax.Step(r, syntax.After(scenario.columns[owner].name)),)
                    for r in readers
                    if r != owner
                ]
            rows += [(syntax.Step(r, syntax.Load(place, size=size)),) for r in readers]
    return rows, list(sizes)


def _held(scenario: syntax.Scenario, prng: Prng) -> list[tuple[syntax.Step, ...]]:
    """Loads of a line of its own, which hold a thread up."""
    rows: list[tuple[syntax.Step, ...]] = []
    for thread in _threads(scenario):
        loads = prng.below(_LONGEST_HOLD) if prng.below(2) else 0
        own = syntax.Load(Place(f"{_PRIVATE}{thread}"))
        rows += [(syntax.Step(thread, own),)] * loads
    return rows


def _barrier(
    scenario: syntax.Scenario, rows: Sequence[tuple[syntax.Step, ...]]
) -> list[tuple[syntax.Step, ...]]:
    """Every thread waits until all have done these rows."""
    busy = sorted({step.column for row in rows for step in row})
    return [
        (syntax.Step(thread, syntax.After(scenario.columns[other].name)),)
        for thread in _threads(scenario)
        for other in busy
        if other != thread
    ]


def _located(
    scenario: syntax.Scenario, line_size: int, prng: Prng, places: Sequence[Place]
) -> tuple[syntax.Location, ...]:
    """Lines for the locations that the text leaves open."""
    known = {location.name for location in scenario.locations}
    names = [
        name for name in dict.fromkeys(p.name for p in places_of(scenario)) if name not in known
    ]
    span = max((place.offset // line_size + 1 for place in places), default=1)
    stride = _STRIDES[-1 if _CROWD[0] in names else prng.below(len(_STRIDES))] * span * line_size
    addresses = Addresses(scenario, line_size)
    used = [addresses.of(place) for place in places if place.name in known]
    first = max(FIRST_LINE, *(address // line_size * line_size for address in used), 0)
    first += line_size * span * (4 + prng.below(4))
    free = list(range(len(names)))
    made = []
    for name in names:
        turn = free.pop(prng.below(len(free)))
        made.append(syntax.Location(name, None, first + stride * turn))
    return (*scenario.locations, *made)
