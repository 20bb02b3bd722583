"""A row of a table that a native run has in place of the protocol's own: *what if* of a diagnosis.

Only objects that were compiled for it can (`runtime.native.build.Recipe.for_changes`). Invariant: a
run with a changed row makes the transitions that it makes with ``Controller.intervene``; a row that
cannot be said in these words is refused.
"""

from __future__ import annotations

import ctypes
from typing import Final

from runtime.controller.declarations import Transition
from runtime.controller.shapes import Controller

MOST_ACTIONS: Final = 32
_NO_GUARD: Final = -1
_I64 = ctypes.c_int64
_U64 = ctypes.c_uint64


class RowChange(ctypes.Structure):
    """``struct RowChange`` of controller/row_change.hpp."""

    _fields_ = [
        ("machine", _I64),
        ("cell", _I64),
        ("guard", _I64),
        ("next", _I64),
        ("uses", _U64),
        ("actions", _U64),
        ("action", _U64 * MOST_ACTIONS),
    ]


def numbered_actions(machine: type[Controller]) -> dict[str, int]:
    """By name: the actions of rows that do not stall, in the order of their first use."""
    rows = (row for row in machine.TRANSITIONS.values() if not row.stalls)
    names = dict.fromkeys(action.__name__ for row in rows for action in row.actions)
    return {name: number for number, name in enumerate(names)}


class Changeable:
    """Machine ``number`` of a protocol, of which a row is to be changed."""

    def __init__(self, machine: type[Controller], number: int) -> None:
        self._machine = machine
        self._number = number
        self._actions = numbered_actions(machine)

    def change(self, state: int, event: int, row: Transition, uses: int) -> RowChange | None:
        """Another row, which is used so often at most; None: it is too long, or has an action that
        no other row runs."""
        names = [] if row.stalls else [action.__name__ for action in row.actions]
        if len(names) > MOST_ACTIONS or not self._actions.keys() >= set(names):
            return None
        stride = self._machine.EVENTS.NUM + 1
        cell = state * stride + event
        found = RowChange(self._number, cell, _guard(self._machine, row, stride))
        found.next = state if row.next is None else row.next
        found.uses, found.actions = uses, len(names)
        found.action[: len(names)] = [self._actions[name] for name in names]
        return found


def _guard(machine: type[Controller], row: Transition, stride: int) -> int:
    """A cell that needs what the row needs."""
    if not (row.needs or row.requests or row.stalls):
        return _NO_GUARD
    return next(
        state * stride + event
        for (state, event), other in machine.TRANSITIONS.items()
        if (other.needs, other.requests, other.stalls) == (row.needs, row.requests, row.stalls)
    )
