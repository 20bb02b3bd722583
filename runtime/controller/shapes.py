"""What every generated controller derives from.

A generated class declares states, events, ports, actions and a table; ``runtime.controller.wakeup``
polls its ports, and ``trigger`` here runs one cell of its table. The four shapes differ in what the
machine has: cache entries, TBEs, both or neither.

Invariant: a transition either runs completely or changes nothing. The four bodies of
``trigger`` are written out because a call that would share them costs a tenth of a transition.
"""

from __future__ import annotations

from typing import Any

from runtime.controller.declarations import COMPUTED as COMPUTED
from runtime.controller.declarations import UNCOUNTED as UNCOUNTED
from runtime.controller.declarations import BufferParameter as BufferParameter
from runtime.controller.declarations import ControllerContext as ControllerContext
from runtime.controller.declarations import InPort as InPort
from runtime.controller.declarations import Need as Need
from runtime.controller.declarations import Parameter as Parameter
from runtime.controller.declarations import PollResult as PollResult
from runtime.controller.declarations import ProtocolInfo as ProtocolInfo
from runtime.controller.declarations import Transaction as Transaction
from runtime.controller.declarations import Transition as Transition
from runtime.controller.declarations import TransitionTable as TransitionTable
from runtime.controller.wakeup import Controller as Controller
from runtime.controller.wakeup import TransitionObserver as TransitionObserver


class EntryTbeController(Controller):
    """Has cache entries and TBEs."""

    __slots__ = ()

    def trigger(self, event: int, address: int, entry: Any, tbe: Any) -> bool:
        """Run the transition of the line's state on ``event``; false if it stalled."""
        state = self.getState(tbe, entry, address)
        index = state * self._stride + event
        self.transition_event = event
        self.transition_state = state
        try:
            row = self._rows[index]
        except IndexError:
            row = None
        if row is None:
            raise self._undefined(state, event)
        next_state, actions, guard = row
        if next_state == COMPUTED:
            next_state = self.getNextState(address)
        if guard is not None:
            blocked = self._blocked(guard, address)
            if blocked is not None:
                return blocked
        t = self.transaction
        t.address = address
        t.cache_entry = entry
        t.tbe = tbe
        for action in actions:
            action(self, t)
        self.counts[index] += 1
        entry = t.cache_entry
        self.setState(t.tbe, entry, address, next_state)
        self.setAccessPermission(entry, address, next_state)
        observer = self.observer
        if observer is not None:
            comment, self._comment = self._comment, ""
            observer(self, address, state, event, next_state, comment)
        return True

    def getState(self, tbe: Any, entry: Any, address: int, /) -> int:
        raise NotImplementedError

    def setState(self, tbe: Any, entry: Any, address: int, state: int, /) -> None:
        raise NotImplementedError

    def setAccessPermission(self, entry: Any, address: int, state: int, /) -> None:
        raise NotImplementedError


class TbeController(Controller):
    """Has TBEs and no cache entries."""

    __slots__ = ()

    def trigger(self, event: int, address: int, tbe: Any) -> bool:
        """Run the transition of the line's state on ``event``; false if it stalled."""
        state = self.getState(tbe, address)
        index = state * self._stride + event
        self.transition_event = event
        self.transition_state = state
        try:
            row = self._rows[index]
        except IndexError:
            row = None
        if row is None:
            raise self._undefined(state, event)
        next_state, actions, guard = row
        if next_state == COMPUTED:
            next_state = self.getNextState(address)
        if guard is not None:
            blocked = self._blocked(guard, address)
            if blocked is not None:
                return blocked
        t = self.transaction
        t.address = address
        t.tbe = tbe
        for action in actions:
            action(self, t)
        self.counts[index] += 1
        self.setState(t.tbe, address, next_state)
        self.setAccessPermission(address, next_state)
        observer = self.observer
        if observer is not None:
            comment, self._comment = self._comment, ""
            observer(self, address, state, event, next_state, comment)
        return True

    def getState(self, tbe: Any, address: int, /) -> int:
        raise NotImplementedError

    def setState(self, tbe: Any, address: int, state: int, /) -> None:
        raise NotImplementedError

    def setAccessPermission(self, address: int, state: int, /) -> None:
        raise NotImplementedError


class EntryController(Controller):
    """Has cache entries and no TBEs."""

    __slots__ = ()

    def trigger(self, event: int, address: int, entry: Any) -> bool:
        """Run the transition of the line's state on ``event``; false if it stalled."""
        state = self.getState(entry, address)
        index = state * self._stride + event
        self.transition_event = event
        self.transition_state = state
        try:
            row = self._rows[index]
        except IndexError:
            row = None
        if row is None:
            raise self._undefined(state, event)
        next_state, actions, guard = row
        if next_state == COMPUTED:
            next_state = self.getNextState(address)
        if guard is not None:
            blocked = self._blocked(guard, address)
            if blocked is not None:
                return blocked
        t = self.transaction
        t.address = address
        t.cache_entry = entry
        for action in actions:
            action(self, t)
        self.counts[index] += 1
        entry = t.cache_entry
        self.setState(entry, address, next_state)
        self.setAccessPermission(entry, address, next_state)
        observer = self.observer
        if observer is not None:
            comment, self._comment = self._comment, ""
            observer(self, address, state, event, next_state, comment)
        return True

    def getState(self, entry: Any, address: int, /) -> int:
        raise NotImplementedError

    def setState(self, entry: Any, address: int, state: int, /) -> None:
        raise NotImplementedError

    def setAccessPermission(self, entry: Any, address: int, state: int, /) -> None:
        raise NotImplementedError


class PlainController(Controller):
    """Has neither cache entries nor TBEs."""

    __slots__ = ()

    def trigger(self, event: int, address: int) -> bool:
        """Run the transition of the line's state on ``event``; false if it stalled."""
        state = self.getState(address)
        index = state * self._stride + event
        self.transition_event = event
        self.transition_state = state
        try:
            row = self._rows[index]
        except IndexError:
            row = None
        if row is None:
            raise self._undefined(state, event)
        next_state, actions, guard = row
        if next_state == COMPUTED:
            next_state = self.getNextState(address)
        if guard is not None:
            blocked = self._blocked(guard, address)
            if blocked is not None:
                return blocked
        t = self.transaction
        t.address = address
        for action in actions:
            action(self, t)
        self.counts[index] += 1
        self.setState(address, next_state)
        self.setAccessPermission(address, next_state)
        observer = self.observer
        if observer is not None:
            comment, self._comment = self._comment, ""
            observer(self, address, state, event, next_state, comment)
        return True

    def getState(self, address: int, /) -> int:
        raise NotImplementedError

    def setState(self, address: int, state: int, /) -> None:
        raise NotImplementedError

    def setAccessPermission(self, address: int, state: int, /) -> None:
        raise NotImplementedError
