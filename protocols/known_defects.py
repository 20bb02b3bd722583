"""Whether a protocol has a defect that is known of protocols like it.

A defect goes through certain transitions, and may show because others are missing. A text that
merely resembles the known one does not have it; a copy of that text in which something else was
changed still has it, be it in the same states. Invariant: a defect with a digest is only found in
a text that goes through the same transitions: the same next states, the same actions by name, and
the same statements of the actions that the defect names, or of all.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Final, TypeAlias

from runtime.controller.declarations import COMPUTED, Transition
from runtime.controller.protocol_info import ProtocolInfo
from runtime.controller.shapes import Controller
from runtime.description import DefectDescription

Bodies: TypeAlias = Mapping[str, Mapping[str, str]]
"""Digests of the actions' statements, by machine and name of the action."""

NO_BODIES: Final[Bodies] = MappingProxyType({})
_LENGTH: Final = 12


def may_show(defect: DefectDescription, protocol: ProtocolInfo, bodies: Bodies = NO_BODIES) -> bool:
    """Whether a protocol can have a defect, by the transitions that the defect needs and lacks.

    The states and events of those it lacks must exist, and at least one transition must not.
    """
    needed = [_cell(text, protocol) for text in defect.needs]
    lacked = [_cell(text, protocol) for text in defect.lacks]
    if not all(needed) or None in lacked or (lacked and all(lacked)):
        return False
    return not defect.same or defect.same == concerned(defect, protocol, bodies)


def concerned(defect: DefectDescription, protocol: ProtocolInfo, bodies: Bodies) -> str:
    """A digest of the transitions that a defect needs. What it lacks is missing in all texts that
    have it, and other transitions of the same states have no part in it."""
    digest = hashlib.sha256()
    for text in sorted(defect.needs):
        machine, state, event, *named = text.split(".")
        for kind in protocol.machines:
            row = _row(kind, state, event) if machine == kind.MACHINE else None
            if row is not None:
                line = _line(kind, row, named, bodies.get(machine, {}))
                digest.update(f"{machine} {state} {event} {line}\n".encode())
    return digest.hexdigest()[:_LENGTH]


def _line(
    kind: type[Controller], row: Transition, named: list[str], bodies: Mapping[str, str]
) -> str:
    """A transition as text, with the statements of the actions that are ``named``, or of all."""
    to = "*" if row.next == COMPUTED else "" if row.next is None else kind.STATES.name_of(row.next)
    names = [action.__name__ for action in row.actions]
    actions = [
        f"{name}:{bodies.get(name, '')}" if name in (named or names) else name for name in names
    ]
    return " ".join([to, str(row.stalls), *actions])


def _row(kind: type[Controller], state: str, event: str) -> Transition | None:
    """The transition of a state on an event, both of which exist."""
    states, events = kind.STATES.members(), kind.EVENTS.members()
    if state not in states or event not in events:
        return None
    return kind.TRANSITIONS.get((states.index(state), events.index(event)))


def _cell(text: str, protocol: ProtocolInfo) -> bool | None:
    """Whether ``Machine.STATE.EVENT`` has a transition, of that action if one is added.

    None: the protocol has no such machine, state or event.
    """
    machine, state, event, *action = text.split(".")
    for kind in protocol.machines:
        if machine == kind.MACHINE:
            states, events = kind.STATES.members(), kind.EVENTS.members()
            if state not in states or event not in events:
                return None
            row = kind.TRANSITIONS.get((states.index(state), events.index(event)))
            return row is not None and {*action} <= _actions(row)
    return None


def _actions(row: Transition) -> set[str]:
    """The names of the actions of a transition."""
    return {action.__name__ for action in row.actions} | ({"z_stall"} if row.stalls else set())
