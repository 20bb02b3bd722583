"""Explores a protocol: the whole of a small system, or as much of it as fits.

Where the whole does not fit, bounds on the messages under way are tried one after the other, so
that what was explored can be said exactly. Invariant: a result that is called exhausted has
expanded every state that its system, operations, bound and reductions allow.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import field, replace
from enum import Enum
from time import monotonic
from typing import Final

from protocols.loader import LoadedProtocol
from slicc.text.lazy_dataclass import dataclass
from tester.exploration.joint_search import JointSearch
from tester.exploration.native_search import (
    Choice,
    Judgement,
    NativeSearch,
    Rules,
    SearchStatistics,
    build,
)
from tester.exploration.native_words import FindingKind, SearchEnd
from tester.exploration.small_system import Bounds, SmallSystem, small_system

_BUDGET: Final = 4000
"""States between two looks at the clock and at Ctrl-C."""
_PILED: Final = (SearchEnd.FULL, SearchEnd.REFUSED)
"""Where a bound on the messages under way may let a search end."""
Notify = Callable[[SearchStatistics], None]


class Conclusion(Enum):
    EXHAUSTED = "exhausted, clean"
    FOUND = "a bug"
    LIMIT = "stopped at a limit"


@dataclass(frozen=True, slots=True)
class Transition:
    """By numbers of the protocol."""

    controller: int
    line: int
    state: int
    event: int
    next: int


@dataclass(frozen=True, slots=True)
class Step:
    """What happened in one system that is followed from the start, and what it led to."""

    choice: Choice
    transitions: tuple[Transition, ...]


@dataclass(frozen=True, slots=True)
class ErrorTrace:
    """``trace``: a shortest way to it. ``judgement`` says more of it."""

    kind: FindingKind
    trace: tuple[Step, ...]
    judgement: Judgement


@dataclass(frozen=True, slots=True)
class Cell:
    """A transition that was made, and where: a state's number and a choice."""

    machine: int
    state: int
    event: int


@dataclass(frozen=True, slots=True)
class Exploration:
    """``bound``: what the statistics are for, 0: none. ``complete_bound``: the largest number of
    messages under way for which everything was explored, where the whole was not; None: none.
    ``piled_up``: messages of which there were most when there were most messages."""

    conclusion: Conclusion
    system: SmallSystem
    rules: Rules
    statistics: SearchStatistics
    end: SearchEnd
    complete_bound: int | None = None
    finding: ErrorTrace | None = None
    reason: str = ""
    cells: frozenset[Cell] = frozenset()
    piled_up: tuple[int, int] | None = None
    """A message's type, and how many of it."""
    interruption: BaseException | None = None
    """What ended it early: Ctrl-C, a signal, or OutOfTime."""
    completion_judged: bool = False
    """Whether it is known that every request can be completed."""
    ways: Mapping[Cell, tuple[Choice, ...]] = field(default_factory=dict)
    """A shortest way to each cell, if they were asked for."""


class OutOfTime(Exception):
    """The time that a search was given is over."""


@dataclass(frozen=True, slots=True)
class _Searched:
    rules: Rules
    end: SearchEnd
    statistics: SearchStatistics
    finding: ErrorTrace | None
    reason: str
    cells: Mapping[Cell, tuple[Choice, ...]]
    piled_up: tuple[int, int] | None
    interruption: BaseException | None
    completion_judged: bool
    stuck: bool
    """Whether the finding is a state from which the moves that were made complete nothing."""


def explore(
    protocol: LoadedProtocol,
    bounds: Bounds,
    rules: Rules,
    *,
    symmetry: bool = True,
    jobs: int = 1,
    notify: Notify | None = None,
    ways: bool = False,
    until: float = math.inf,
) -> Exploration:
    """``ways``: whether a way to each cell is wanted. ``until``: what `time.monotonic` says when it
    is to end; what was found by then is followed nevertheless.

    Raises ConfigError for what cannot be explored, DescriptionError for bad assignments.
    The result does not depend on ``jobs``, but for where it stops at a limit: what several
    find is searched again by one, since only its order of states is always the same.
    """
    system = small_system(protocol, bounds, symmetry=symmetry)
    library = build(protocol)

    def search(which: Rules, threads: int = jobs, last: float = until) -> _Searched:
        with JointSearch(lambda: NativeSearch(library, system, which), threads) as joint:
            found = _search(
                joint, which, protocol, system, notify, last, ways=ways, report=threads == 1
            )
        if found.end is not SearchEnd.FOUND:
            return found
        if found.stuck and which.commuting_steps:
            # A step that was not made may lead to where the request is completed.
            return search(replace(which, commuting_steps=False))
        return search(which, 1, math.inf) if threads > 1 else found

    whole = search(rules)
    if whole.end is SearchEnd.FOUND and rules.local_steps and system.has_local_steps:
        # A trace names every message; where that is too long to find, it lacks some.
        every = replace(rules, local_steps=False)
        full = search(every)
        if full.end is SearchEnd.FOUND:
            whole = full
    if whole.end not in _PILED or rules.bound:
        return _result(system, whole)
    complete = None
    for bound in range(1, whole.statistics.under_way + 1):
        part = search(replace(rules, bound=bound))
        if part.end is not SearchEnd.COMPLETE:
            if part.end is SearchEnd.FOUND:
                return _result(system, part)
            whole = replace(whole, interruption=part.interruption)
            break
        complete = bound
    return replace(_result(system, whole), complete_bound=complete)


def _result(system: SmallSystem, searched: _Searched) -> Exploration:
    conclusion = {SearchEnd.COMPLETE: Conclusion.EXHAUSTED, SearchEnd.FOUND: Conclusion.FOUND}.get(
        searched.end, Conclusion.LIMIT
    )
    return Exploration(
        conclusion,
        system,
        searched.rules,
        searched.statistics,
        searched.end,
        finding=searched.finding,
        reason=searched.reason,
        cells=frozenset(searched.cells),
        ways=searched.cells,
        piled_up=searched.piled_up,
        interruption=searched.interruption,
        completion_judged=searched.completion_judged,
    )


def _search(
    joint: JointSearch,
    rules: Rules,
    protocol: LoadedProtocol,
    system: SmallSystem,
    notify: Notify | None,
    until: float,
    *,
    ways: bool,
    report: bool,
) -> _Searched:
    """``report``: whether to follow what was found."""
    native = joint.leader
    end, statistics, interruption = searched(joint.run, notify, until)
    finding = what_was_found(native) if end is SearchEnd.FOUND and report else None
    cells = _cells(native, protocol, system, ways)
    piled_up = _piled_up(native, statistics) if end in _PILED else None
    judged, stuck = native.stuck() if end is SearchEnd.COMPLETE else (False, None)
    if stuck is not None:
        end = SearchEnd.FOUND
        finding = no_completion(native, stuck) if report else None
    return _Searched(
        rules,
        end,
        statistics,
        finding,
        native.refusal(),
        cells,
        piled_up,
        interruption,
        judged,
        stuck is not None,
    )


def searched(
    run: Callable[[int], tuple[SearchEnd, SearchStatistics]], notify: Notify | None, until: float
) -> tuple[SearchEnd, SearchStatistics, BaseException | None]:
    """Search to the end, or to what interrupts it. ``run`` goes on for as many states."""
    end, statistics = run(1)
    try:
        while end is SearchEnd.CONTINUES:
            if monotonic() >= until:
                return end, statistics, OutOfTime()
            end, statistics = run(_BUDGET)
            if notify is not None:
                notify(statistics)
    except (KeyboardInterrupt, SystemExit) as error:
        return end, statistics, error
    return end, statistics, None


# ------------------------------------------------------------------ what was found


class NotReproduced(RuntimeError):
    """A fault of ours: what was found in states does not happen in a system that is followed."""

    def __init__(self, reason: str) -> None:
        why = f": {reason}" if reason else ""
        super().__init__(f"the abstraction found what a concrete run does not show{why}")


def what_was_found(native: NativeSearch) -> ErrorTrace:
    """What ended a search, with a shortest way to it. Raises NotReproduced."""
    found, judged = native.found(), native.judgement()
    trace, kind = _replayed(native, native.way_to(found.state, found.choice))
    if found.kind is FindingKind.INVARIANT:
        return ErrorTrace(found.kind, trace, judged)
    if found.choice is None:
        kind = native.rest()
    if kind is not found.kind:
        raise NotReproduced(native.refusal())
    return ErrorTrace(kind, trace, native.judgement())


def no_completion(native: NativeSearch, state: int) -> ErrorTrace:
    """What `NativeSearch.stuck` says of a state. Raises NotReproduced."""
    trace, _ = _replayed(native, native.way_to(state))
    return ErrorTrace(FindingKind.NO_COMPLETION, trace, native.judgement())


def _replayed(native: NativeSearch, way: list[int]) -> tuple[tuple[Step, ...], FindingKind]:
    """The way in one system that is never read, and what its last step found."""
    concrete = native.concrete(way)
    if len(concrete) != len(way):
        raise NotReproduced(native.refusal())
    return _followed(native, concrete)


def follow(native: NativeSearch, way: list[int]) -> tuple[Step, ...]:
    """From the first state along choices of a system that is never read."""
    return _followed(native, way)[0]


def _followed(native: NativeSearch, way: list[int]) -> tuple[tuple[Step, ...], FindingKind]:
    native.restart()
    steps = []
    kind = FindingKind.NOTHING
    for packed in way:
        choice = next(each for each in native.choices() if each.packed == packed)
        kind, rows = native.apply(packed)
        made = (Transition(*row[1:]) for row in rows.tolist())
        steps.append(Step(choice, tuple(made)))
    return tuple(steps), kind


def _piled_up(native: NativeSearch, statistics: SearchStatistics) -> tuple[int, int] | None:
    """Of the last state that was found: the message of which most are under way."""
    follow(native, native.concrete(native.way_to(statistics.states - 1)))
    types = [each.type for each in native.choices() if each.type is not None]
    counted = [(types.count(each), each) for each in dict.fromkeys(types)]
    if not counted:
        return None
    count, type_ = max(counted)
    return type_, count


def _cells(
    native: NativeSearch, protocol: LoadedProtocol, system: SmallSystem, ways: bool
) -> dict[Cell, tuple[Choice, ...]]:
    """With a shortest way to each, or with none."""
    hits = native.hits()
    found: dict[Cell, tuple[Choice, ...]] = {}
    for controller, machine in enumerate(system.machines):
        declared = protocol.info.machines[machine]
        stride = declared.EVENTS.NUM + 1
        first = native.first_cell(controller)
        for number in range((declared.STATES.NUM + 1) * stride):
            hit = hits[first + number]
            if hit is None:
                continue
            cell = Cell(machine, number // stride, number % stride)
            way = _way(native, hit) if ways else ()
            if cell not in found or len(way) < len(found[cell]):
                found[cell] = way
    return found


def _way(native: NativeSearch, hit: tuple[int, int]) -> tuple[Choice, ...]:
    steps = follow(native, native.concrete(native.way_to(*hit)))
    return tuple(step.choice for step in steps)
