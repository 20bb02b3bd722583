"""What if a transition did something else: tables with one row changed.

A row is changed into what the author wrote elsewhere in the machine: an action more, an action
less, two in the other order, one in place of another, another next state, another row for the same
event. A row that is missing becomes one for the same event, or for another event of the same port
in that state. If the leg passes then, the failure does not happen without what the row does now.
Invariant: nothing outlives a run; a row is changed in a system that was built for it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from typing import Any, Final

from protocols.loader import LoadedProtocol
from runtime.controller.declarations import COMPUTED, Transaction, Transition
from runtime.controller.shapes import Controller
from runtime.controller.trace import TraceHash
from runtime.native.row_change import Changeable, RowChange
from runtime.system.builder import build_completed
from slicc.text.lazy_dataclass import dataclass
from tester.campaign.campaign import leg_run
from tester.engines.selection import CANNOT, Chosen
from tester.native.batch import FAILS
from tester.native.leg import sizes_of
from tester.program.replay_file import Leg

_USES: Final = 1000
"""Of a changed row in a run, unless that has more accesses; one that takes its message no more is
used half a million times before the watchdog says so."""

Cell = tuple[str, int, int]
"""Machine, state and event, as its numbers."""


@dataclass(frozen=True, slots=True)
class Change:
    """Another row for a cell. ``words``: how it differs; ``small``: in an action more or less, in
    the order of two, or in the next state; ``source``: the cell whose text it is, where the table
    has no row for this one."""

    cell: Cell
    words: str
    row: Transition
    small: bool
    source: Cell

    @property
    def place(self) -> Cell:
        return self.cell


def changes(protocol: LoadedProtocol, cell: Cell) -> Iterator[Change]:
    """Other rows for a cell, what differs least first."""
    machine, state, event = cell
    kind = protocol.info.machine(machine)
    row = kind.TRANSITIONS.get((state, event))
    if row is None:
        for of, other in _of_like_states_first(kind, state, event):
            words = f"as in {kind.STATES.name_of(of)}"
            yield Change(cell, words, other, False, (machine, of, event))
        for on, other in _same_state(kind, state, event):
            words = f"as on {kind.EVENTS.name_of(on)}"
            yield Change(cell, words, other, False, (machine, state, on))
        return
    seen = {_content(row)}
    for words, other in _other_rows(kind, state, event, row):
        if _content(other) not in seen:
            seen.add(_content(other))
            yield Change(cell, words, other, _distance(row, other) <= 1, cell)


class _TooOften(Exception):
    """A changed row is used again and again."""


def traces(
    leg: Leg, changes: Sequence[Change], protocol: LoadedProtocol, engine: Chosen
) -> list[int]:
    """The hash of a leg's transitions with each change, or FAILS. What the native engine cannot
    say the Python one does."""
    natively = _natively(leg, changes, protocol, engine)
    return [
        trace_with(leg, protocol, change) if known is None else known
        for change, known in zip(changes, natively, strict=True)
    ]


def _natively(
    leg: Leg, changes: Sequence[Change], protocol: LoadedProtocol, engine: Chosen
) -> list[int | None]:
    """None: not known."""
    found: list[int | None] = [None] * len(changes)
    if engine.batch is None or engine.libraries is None:
        return found
    rows = native_rows(protocol, changes, _uses(leg))
    with suppress(*CANNOT):
        library = engine.libraries.for_changes(sizes_of(leg.description))
        if library is not None:
            ends = engine.batch.traces(leg, library, list(rows.values()))
            for place, trace in zip(rows, ends, strict=True):
                found[place] = trace
    return found


def _uses(leg: Leg) -> int:
    """How often a row may be used."""
    return max(_USES, leg.program.lane_address.size)


def native_rows(
    protocol: LoadedProtocol, changes: Sequence[Change], uses: int = _USES
) -> dict[int, RowChange]:
    """Changes as the native engine takes them, by place; without those that it does not."""
    machines = {
        kind.MACHINE: Changeable(kind, number) for number, kind in enumerate(protocol.info.machines)
    }
    found = {}
    for place, each in enumerate(changes):
        machine, state, event = each.cell
        row = machines[machine].change(state, event, each.row, uses)
        if row is not None:
            found[place] = row
    return found


def trace_with(leg: Leg, protocol: LoadedProtocol, change: Change) -> int:
    """The hash of a leg's transitions with a changed row, or FAILS, on the Python engine."""
    machine, state, event = change.cell
    system = build_completed(protocol.info, leg.description, leg.run_key)
    left = iter(range(_uses(leg)))

    def count(*_: object) -> None:
        if next(left, None) is None:
            raise _TooOften

    row = replace(change.row, actions=(count, *change.row.actions))
    trace = TraceHash()
    for controller in system.controllers:
        controller.observer = trace
        if machine == controller.MACHINE:
            controller.intervene(state, event, row)
    try:
        return trace.value if leg_run(leg, system).run().finding is None else FAILS
    except Exception:  # a row of another state, which relies on what is not there
        return FAILS


def _content(row: Transition) -> tuple[object, ...]:
    return row.next, row.actions, row.stalls


def _distance(row: Transition, other: Transition) -> int:
    """How many actions one row has and the other has not, and whether they end differently."""
    actions = len(set(row.actions) ^ set(other.actions))
    return actions + (row.next != other.next) + (row.stalls != other.stalls)


def _same_event(machine: type[Controller], state: int, event: int) -> list[tuple[int, Transition]]:
    """Rows for an event in other states."""
    table = machine.TRANSITIONS.items()
    return [(of, other) for (of, on), other in table if on == event and of != state]


def _same_state(machine: type[Controller], state: int, event: int) -> list[tuple[int, Transition]]:
    """Rows for other events in a state that may take the event's message: those with an action
    that it meets in other states. All of them, if no state has a row for it."""
    known = {action for _, other in _same_event(machine, state, event) for action in other.actions}
    return [
        (on, other)
        for (of, on), other in machine.TRANSITIONS.items()
        if of == state and on != event and (not known or known.intersection(other.actions))
    ]


def _with(
    machine: type[Controller], row: Transition, action: Callable[[Any, Transaction], None]
) -> Iterator[tuple[str, Transition]]:
    """The row with one action more: first where the author writes it in most rows, behind the
    others, as a wake-up or what pops and frees, or before them; then elsewhere."""
    rows = [each.actions for each in machine.TRANSITIONS.values() if action in each.actions]
    late = sum(2 * actions.index(action) >= len(actions) for actions in rows)
    end = len(row.actions)
    usual = end if 2 * late > len(rows) else 0
    for place in dict.fromkeys((usual, max(0, end - 1), end, 0)):
        where = f" before {row.actions[place].__name__}" if place < end else " at its end"
        actions = (*row.actions[:place], action, *row.actions[place:])
        words = f"with {action.__name__}{'' if place == usual else where}"
        yield words, replace(row, actions=actions)


def _of_like_states_first(
    machine: type[Controller], state: int, event: int
) -> list[tuple[int, Transition]]:
    """Rows for an event in other states, those first whose states do the same as this one for most
    events: the row that is missing is most often like theirs."""

    def does(of: int, on: int) -> tuple[object, ...] | None:
        row = machine.TRANSITIONS.get((of, on))
        return None if row is None else (row.actions, row.stalls)

    def differing(of: int) -> int:
        mine, theirs = ([does(each, on) for on in events] for each in (state, of))
        return sum(one is None or one != two for one, two in zip(mine, theirs, strict=True))

    events = range(machine.EVENTS.NUM)
    return sorted(_same_event(machine, state, event), key=lambda row: differing(row[0]))


def _other_rows(
    machine: type[Controller], state: int, event: int, row: Transition
) -> Iterator[tuple[str, Transition]]:
    name = machine.STATES.name_of
    same_event = _same_event(machine, state, event)
    near = [other for _, other in same_event]
    near += [
        other for (of, on), other in machine.TRANSITIONS.items() if of == state and on != event
    ]
    added = [
        action
        for action in dict.fromkeys(action for other in near for action in other.actions)
        if action not in row.actions
    ]
    for place, action in enumerate(row.actions):
        actions = row.actions[:place] + row.actions[place + 1 :]
        yield f"without {action.__name__}", replace(row, actions=actions)
    for place, (first, second) in enumerate(pairwise(row.actions)):
        actions = (*row.actions[:place], second, first, *row.actions[place + 2 :])
        yield f"with {second.__name__} before {first.__name__}", replace(row, actions=actions)
    states = range(machine.STATES.NUM)
    for following in dict.fromkeys((None, *(other.next for other in near), *states)):
        if following not in (COMPUTED, state):
            shown = name(state if following is None else following)
            yield f"with {shown} as its next state", replace(row, next=following)
    for action in added:
        yield from _with(machine, row, action)
    for of, other in same_event:
        yield f"as in {name(of)}", other
        yield f"with the actions of {name(of)}", replace(other, next=row.next)
    far = dict.fromkeys(
        action for other in machine.TRANSITIONS.values() for action in other.actions
    )
    for action in far:  # a wake-up or a release that only rows of other events have
        if action not in row.actions and action not in added:
            yield from _with(machine, row, action)
    for place, action in enumerate(row.actions):
        together = {
            each
            for other in machine.TRANSITIONS.values()
            if action in other.actions
            for each in other.actions
        }
        for other_action in added:
            if other_action not in together:  # the one or the other, wherever they are
                actions = (*row.actions[:place], other_action, *row.actions[place + 1 :])
                words = f"with {other_action.__name__} in place of {action.__name__}"
                yield words, replace(row, actions=actions)
