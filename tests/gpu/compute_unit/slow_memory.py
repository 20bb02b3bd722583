"""Flat memory whose answers take as long as a test says, in any order."""

from __future__ import annotations

from collections.abc import Callable
from heapq import heappop, heappush

from gpu.memory.flat_memory import FlatMemory
from gpu.memory.interface import (
    Answer,
    MemoryRequest,
)
from runtime.requesters.port import AccessKind

Delay = Callable[[MemoryRequest], int]


class SlowMemory(FlatMemory):
    """``delay``: ticks from a request to its answers. ``requests``: all but fetches, in order."""

    def __init__(self, delay: Delay, cus: int = 1) -> None:
        super().__init__(cus=cus)
        self._delay = delay
        self._waiting: list[tuple[int, int, Answer]] = []
        self._number = 0
        self.requests: list[MemoryRequest] = []

    def push(self, request: MemoryRequest) -> None:
        """Performed now, answered later."""
        super().push(request)
        fetch = request.port == self.ports.fetch(0)
        if not fetch:
            self.requests.append(request)
        ticks = 1 if fetch else self._delay(request)
        for answer in super().run(self.now):
            self._number += 1
            heappush(self._waiting, (self.now - 1 + ticks, self._number, answer))
        self.now -= 1

    @property
    def busy(self) -> bool:
        return bool(self._waiting)

    def run(self, until: int | None) -> list[Answer]:
        """The answers of the first tick that has any, or none before ``until``."""
        if not self._waiting or (until is not None and self._waiting[0][0] >= until):
            self.now = self.now if until is None else max(until, self.now)
            return []
        tick = self._waiting[0][0]
        answers = []
        while self._waiting and self._waiting[0][0] == tick:
            answers.append(heappop(self._waiting)[2])
        self.now = max(self.now, tick) + 1
        return answers


def by_kind(**ticks: int) -> Delay:
    """Delays by the name of the request's kind, 1 for others."""
    delays = {AccessKind.value_of(name.upper()): value for name, value in ticks.items()}
    return lambda request: delays.get(request.kind, 1)
