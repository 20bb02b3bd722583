"""What if a transition did something else: tables with one row changed, on the Python engine.

A row is changed into what the author wrote for the same event in other states: an action more, an
action less, another next state, another row. If the leg passes then, the failure does not happen
without what the row does now. Invariant: nothing outlives a run; a row is changed in a
system that was built for it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from protocols.loader import LoadedProtocol
from runtime.controller.declarations import COMPUTED, Transition
from runtime.controller.shapes import Controller
from runtime.system.system import build_system
from tester.campaign.campaign import leg_run
from tester.program.replay_file import Leg

Cell = tuple[str, int, int]
"""Machine, state and event, as its numbers."""


def remedies(
    leg: Leg, protocol: LoadedProtocol, cell: Cell, most: int
) -> Iterator[tuple[str, bool]]:
    """Other rows in place of one, in words, and whether the leg passes with them."""
    machine, state, event = cell
    kind = protocol.info.machine(machine)
    for number, (change, row) in enumerate(_other_rows(kind, state, event)):
        if number == most:
            return
        yield change, passes_with(leg, protocol, cell, row)


def passes_with(leg: Leg, protocol: LoadedProtocol, cell: Cell, row: Transition) -> bool:
    """Whether a leg passes with another row in place of one."""
    machine, state, event = cell
    system = build_system(protocol.info, leg.description, leg.run_key)
    for controller in system.controllers:
        if machine == controller.MACHINE:
            controller.intervene(state, event, row)
    try:
        return leg_run(leg, system).run().finding is None
    except Exception:  # a row of another state, which relies on what is not there
        return False


def _other_rows(
    machine: type[Controller], state: int, event: int
) -> Iterator[tuple[str, Transition]]:
    row = machine.TRANSITIONS.get((state, event))
    if row is None:
        return
    seen = {_content(row)}
    for change, other in _changes(machine, state, event, row):
        if _content(other) not in seen:
            seen.add(_content(other))
            yield change, other


def _content(row: Transition) -> tuple[object, ...]:
    return row.next, row.actions, row.stalls


def _changes(
    machine: type[Controller], state: int, event: int, row: Transition
) -> Iterator[tuple[str, Transition]]:
    name = machine.STATES.name_of
    table = machine.TRANSITIONS.items()
    same_event = [(of, other) for (of, on), other in table if on == event and of != state]
    near = [other for _, other in same_event]
    near += [other for (of, on), other in table if of == state and on != event]
    for place, action in enumerate(row.actions):
        actions = row.actions[:place] + row.actions[place + 1 :]
        yield f"without {action.__name__}", replace(row, actions=actions)
    for following in dict.fromkeys((None, *(other.next for other in near))):
        if following != COMPUTED:
            shown = name(state if following is None else following)
            yield f"with {shown} as its next state", replace(row, next=following)
    for action in dict.fromkeys(action for other in near for action in other.actions):
        if action not in row.actions:
            yield f"with {action.__name__}", replace(row, actions=(action, *row.actions))
    for of, other in same_event:
        yield f"as in {name(of)}", other
        yield f"with the actions of {name(of)}", replace(other, next=row.next)
