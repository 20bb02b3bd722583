"""Counts answers at the ports of a run on the Python engine, and how long they took.

Invariant: an answer of one line is one latency, from the tick in which the requester took the
access, as in ``client_loaded`` and its like of ``tester/native/cpp/execution``.
"""

from __future__ import annotations

from runtime.statistics.counters import Counters
from tester.execution.events import Request


class Answers:
    """An observer of requests."""

    def __init__(self, counters: Counters) -> None:
        self._counters = counters

    def issued(self, request: Request, tick: int) -> None:
        pass

    def loaded(self, request: Request, indices: list[int], line: int, data: int, tick: int) -> None:
        self._counters.latency(request.kind, tick - request.issued)
        self._counters.answered()

    def accepted(self, request: Request, indices: list[int], line: int, tick: int) -> None:
        self._counters.answered()

    def completed(self, request: Request, indices: list[int], line: int, tick: int) -> None:
        self._counters.latency(request.kind, tick - request.issued)

    def returned(self, request: Request, indices: list[int], values: list[int], tick: int) -> None:
        self._counters.latency(request.kind, tick - request.issued)
        self._counters.answered()

    def synchronized(self, request: Request, tick: int) -> None:
        self._counters.latency(request.kind, tick - request.issued)
