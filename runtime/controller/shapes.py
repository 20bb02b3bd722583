"""What every generated controller derives from.

A generated class declares states, events, ports, actions and a table; ``runtime.controller.wakeup``
polls its ports and runs the cells of its table. The four shapes differ in what the machine has:
cache entries, TBEs, both or neither, and so in what its ``getState``, ``setState`` and
``setAccessPermission`` take.
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
from runtime.controller.declarations import Transaction as Transaction
from runtime.controller.declarations import Transition as Transition
from runtime.controller.declarations import TransitionTable as TransitionTable
from runtime.controller.protocol_info import ProtocolInfo as ProtocolInfo
from runtime.controller.wakeup import Accessors
from runtime.controller.wakeup import Controller as Controller
from runtime.controller.wakeup import TransitionObserver as TransitionObserver


class EntryTbeController(Controller):
    """Has cache entries and TBEs."""

    __slots__ = ()

    def accessors(self) -> Accessors:
        return self.getState, self.setState, self.setAccessPermission

    def getState(self, tbe: Any, entry: Any, address: int, /) -> int:
        raise NotImplementedError

    def setState(self, tbe: Any, entry: Any, address: int, state: int, /) -> None:
        raise NotImplementedError

    def setAccessPermission(self, entry: Any, address: int, state: int, /) -> None:
        raise NotImplementedError


class TbeController(Controller):
    """Has TBEs and no cache entries."""

    __slots__ = ()

    def accessors(self) -> Accessors:
        get, put, permit = self.getState, self.setState, self.setAccessPermission
        return (
            lambda tbe, entry, address: get(tbe, address),
            lambda tbe, entry, address, state: put(tbe, address, state),
            lambda entry, address, state: permit(address, state),
        )

    def getState(self, tbe: Any, address: int, /) -> int:
        raise NotImplementedError

    def setState(self, tbe: Any, address: int, state: int, /) -> None:
        raise NotImplementedError

    def setAccessPermission(self, address: int, state: int, /) -> None:
        raise NotImplementedError


class EntryController(Controller):
    """Has cache entries and no TBEs."""

    __slots__ = ()

    def accessors(self) -> Accessors:
        get, put, permit = self.getState, self.setState, self.setAccessPermission
        return (
            lambda tbe, entry, address: get(entry, address),
            lambda tbe, entry, address, state: put(entry, address, state),
            permit,
        )

    def getState(self, entry: Any, address: int, /) -> int:
        raise NotImplementedError

    def setState(self, entry: Any, address: int, state: int, /) -> None:
        raise NotImplementedError

    def setAccessPermission(self, entry: Any, address: int, state: int, /) -> None:
        raise NotImplementedError


class PlainController(Controller):
    """Has neither cache entries nor TBEs."""

    __slots__ = ()

    def accessors(self) -> Accessors:
        get, put, permit = self.getState, self.setState, self.setAccessPermission
        return (
            lambda tbe, entry, address: get(address),
            lambda tbe, entry, address, state: put(address, state),
            lambda entry, address, state: permit(address, state),
        )

    def getState(self, address: int, /) -> int:
        raise NotImplementedError

    def setState(self, address: int, state: int, /) -> None:
        raise NotImplementedError

    def setAccessPermission(self, address: int, state: int, /) -> None:
        raise NotImplementedError
