"""Base of controllers in their fused form: one function for each transition.

A fused class derives from this one and from the readable controller, whose ports, table and
functions it keeps. Invariant: a run does not show which form it uses; whatever the generated
class does not define runs in the readable form.
"""

from __future__ import annotations

from collections.abc import Callable
from types import MethodType
from typing import Any, ClassVar, cast

from runtime.declarations import InPort, TransitionTable
from runtime.polling import Controller


class FusedController(Controller):
    """``CELLS``: position in the table (state * stride + event) -> function of the transition.

    A cell is called with its position, the line, what the machine's shape has of entry and TBE,
    and the message that its port looks at (or None). It answers as ``trigger`` does.
    """

    CELLS: ClassVar[dict[int, Callable[..., bool]]] = {}

    def bind(self, ports: tuple[InPort, ...], transitions: TransitionTable) -> None:
        super().bind(ports, transitions)
        self._cells: list[Callable[..., bool]] = [
            self._undefined_cell if row is None else self._readable_cell for row in self._rows
        ]
        for index, function in self.CELLS.items():
            self._cells[index] = MethodType(function, self)
        self._arrays = not self.RESOURCES_ONLY_CACHES or self.has_resource_stalls()
        """Whether request types have to be asked for."""

    def _undefined_cell(self, index: int, address: int, *_: Any) -> bool:
        raise self._undefined(*divmod(index, self._stride))

    def _readable_cell(self, index: int, address: int, *pointers: Any) -> bool:
        """A transition that has no fused form; the last argument is the message."""
        readable: Any = cast("Any", super()).trigger
        return bool(readable(index % self._stride, address, *pointers[:-1]))

    def _take_arrays(
        self, requests: tuple[int, ...], records: tuple[int, ...], address: int
    ) -> bool:
        """Record the request types if none of them has to wait."""
        for request in requests:
            if not self.checkResourceAvailable(request, address):
                return False
        for request in records:
            self.recordRequestType(request, address)
        return True

    def _protocol_stall(self) -> bool:
        port = self.current
        return self._stalled(None if port is None else port.protocol_stall_handler)

    def _observed(self, index: int, address: int, following: int) -> None:
        """Tell the observer of a transition; called if there is one."""
        comment, self._comment = self._comment, ""
        state, event = divmod(index, self._stride)
        observer: Any = self.observer
        observer(self, address, state, event, following, comment)
