"""Stores of scalar data, whose caches only read.

Such a store goes to memory through the front end's port. Then the cache of its own port is emptied,
so that later loads find it, and only then it is answered. Invariant: a release of a scalar port is
not entered before the port's stores are answered.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from gpu.memory.coherent.request_splitting import PendingRequest, RequestPart
from runtime.requesters.port import AccessKind


class ScalarStores:
    """``enter``: queues a part at its port."""

    def __init__(self, enter: Callable[[RequestPart], None]) -> None:
        self._enter = enter
        self._open: dict[int, int] = {}
        self._held: dict[int, list[RequestPart]] = {}

    def begin(self, port: int) -> None:
        """A store of that scalar port has been entered."""
        self._open[port] = self._open.get(port, 0) + 1

    def hold(self, part: RequestPart) -> bool:
        """Delay a release if stores of its port are outstanding; returns whether that is so."""
        if not self._open.get(part.port):
            return False
        self._held.setdefault(part.port, []).append(part)
        return True

    def performed(self, pending: PendingRequest) -> None:
        """Empty the cache of the port of a store that is in memory as a whole."""
        self._enter(fence(pending, AccessKind.ACQUIRE))

    def answered(self, port: int) -> None:
        """The cache is empty, and the store over."""
        self._open[port] -= 1
        if not self._open[port]:
            for part in self._held.pop(port, []):
                self._enter(part)


def fence(pending: PendingRequest, kind: int) -> RequestPart:
    """A part without lanes for the port of a request; a request for lines keeps its addresses."""
    request = pending.request
    addresses = request.addresses if kind >= AccessKind.FLUSH else np.zeros(0, np.uint64)
    return RequestPart(pending, kind, request.port, addresses, 1)
