"""Whether a protocol has a defect that is known of protocols like it.

A defect goes through certain transitions, or shows because some are missing. A text that merely
resembles the known one, with the same states and other transitions, does not have it. Invariant: a
defect with a digest is only found in a text whose transitions concerned are the same, the
statements of their actions included.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
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
    """A digest of the transitions that a defect is about: those it needs, and all others of the
    states in which it lacks some. Names, next states and statements count; places do not."""
    digest = hashlib.sha256()
    for text in sorted({*defect.needs, *defect.lacks}):
        machine, state, event, *_ = text.split(".")
        for kind in protocol.machines:
            if machine == kind.MACHINE:
                only = event if text in defect.needs else None
                for line in _rows(kind, state, only, bodies.get(machine, {})):
                    digest.update(f"{line}\n".encode())
    return digest.hexdigest()[:_LENGTH]


def _rows(
    kind: type[Controller], state: str, event: str | None, bodies: Mapping[str, str]
) -> Iterator[str]:
    """The transitions of a state, or the one on an event, as text."""
    for (from_, on), row in sorted(kind.TRANSITIONS.items()):
        name = kind.EVENTS.name_of(on)
        if kind.STATES.name_of(from_) == state and event in (None, name):
            to = "*" if row.next == COMPUTED else "" if row.next is None else _name(kind, row.next)
            actions = [f"{a.__name__}:{bodies.get(a.__name__, '')}" for a in row.actions]
            yield " ".join([kind.MACHINE, state, name, to, str(row.stalls), *actions])


def _name(kind: type[Controller], state: int) -> str:
    return kind.STATES.name_of(state)


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
