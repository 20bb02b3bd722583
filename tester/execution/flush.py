"""Writing everything back at the end of a leg: which requester flushes which lines, and the agent
that does.

Invariant: of a flusher at most one batch is unanswered.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from runtime.requesters.port import Access, AccessKind, Requester
from runtime.sim.engine import Consumer, Engine
from tester.execution.events import Request, RequestObserver, Role
from tester.program.final_memory import FinalContents
from tester.program.program import Program

READ_BACKS: Final = 1 << 40
FLUSHES: Final = 1 << 41
"""Identities of read-back and flush requests start here, above those of any leg."""
_FLUSH_BATCH: Final = 64


class Flusher(Consumer):
    """Flushes lines through one requester, a batch at a time."""

    def __init__(
        self,
        engine: Engine,
        requester: Requester,
        lines: list[int],
        observer: RequestObserver,
        first_identity: int,
    ) -> None:
        super().__init__(engine)
        self.requester = requester
        self._observer = observer
        self._batches = [lines[i : i + _FLUSH_BATCH] for i in range(0, len(lines), _FLUSH_BATCH)]
        self._pending: Request | None = None
        self._identity = first_identity

    @property
    def finished(self) -> bool:
        return not self._batches and self._pending is None

    def wakeup(self) -> None:
        if self._pending is not None or not self._batches:
            return
        lines = self._batches[0]
        self._identity += 1
        lanes = list(range(len(lines)))
        request = Request(
            self._identity, -1, -1, Role.FLUSH, AccessKind.FLUSH, lanes, lines, 1, [], []
        )
        request.issued = self.engine.now
        if self.requester.issue(Access(AccessKind.FLUSH, self, self._identity, lines, 1)):
            self._pending = request
            del self._batches[0]
            self._observer.issued(request, self.engine.now)

    def synchronized(self, access: Access) -> None:
        assert self._pending is not None
        self._observer.synchronized(self._pending, self.engine.now)
        self._pending = None
        self.engine.schedule(self, self.engine.now + 1)

    def retry(self, requester: Requester) -> None:
        self.engine.schedule(self, self.engine.now + 1)

    def loaded(self, access: Access, lanes: list[int], line: int, data: object) -> None:
        raise AssertionError("data for a flush")

    def stored(self, access: Access, lanes: list[int], line: int) -> None:
        raise AssertionError("acceptance for a flush")

    def store_completed(self, access: Access, lanes: list[int], line: int) -> None:
        raise AssertionError("completion for a flush")

    def atomic_done(self, access: Access, lanes: list[int], old_values: list[int]) -> None:
        raise AssertionError("old values for a flush")


def has_flush(events: Iterable[str]) -> bool:
    """Whether a machine with these events has one for flushes."""
    return any("flush" in event.lower() for event in events)


def can_flush(requester: Requester) -> bool:
    """Whether the machine behind a requester has an event for flushes."""
    controller = getattr(requester, "controller", None)
    return controller is not None and has_flush(controller.EVENTS.members())


def flushing_requesters(program: Program) -> list[int]:
    """The requesters of agents that make fetch-adds: flushes go through those."""
    return sorted({agent.requester for agent in program.agents if agent.adds})


def flush_parts(program: Program, final: FinalContents) -> list[tuple[int, list[int]]]:
    """(requester, the lines that it flushes): those of its own agents' last stores, if these make
    fetch-adds; the others in turns."""
    used = flushing_requesters(program)
    ports = [agent.requester if agent.adds else None for agent in program.agents]
    parts: dict[int, list[int]] = {}
    for number, (line, writer) in enumerate(zip(final.lines.tolist(), final.writers.tolist())):
        port = ports[writer] if writer >= 0 else None
        parts.setdefault(used[number % len(used)] if port is None else port, []).append(line)
    return sorted(parts.items())
