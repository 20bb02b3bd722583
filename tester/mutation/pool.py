"""Processes in which mutants run: a mutant may bring down the engine, or never end.

Workers are forks: they share the loaded protocol and its compiled form with their parent.
Invariant: every mutant that is handed out comes back once; one that takes its process with it costs
that process only.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Final, Generic, TypeVar

from slicc.text.lazy_dataclass import dataclass
from tester import forks
from tester.mutation.outcome import ENGINE_CRASH, NO_END
from tester.mutation.study import Watch

PATIENCE: Final = 300.0
"""Seconds for one leg of a mutant. Runaways end by themselves, in much less; this is for an engine
that does not come back."""
_CHUNK: Final = 8

Found = TypeVar("Found")
Work = Callable[[int, range, int, Watch], Found]
"""Runs one mutant through some legs, with at most so many episodes."""


@dataclass(frozen=True, slots=True)
class Lost:
    """A mutant that ended its process, or did not end. ``verdict``: which."""

    verdict: str


@dataclass(slots=True)
class _Worker:
    """``waiting``: mutants that were handed out and have not come back, the running one first.

    ``since``: when that one began a leg; None: it is not in one.
    """

    process: BaseProcess
    waiting: deque[int]
    since: float | None = None


class Pool(Generic[Found]):
    """``jobs`` processes; a context manager."""

    def __init__(self, jobs: int, work: Work[Found], patience: float = PATIENCE) -> None:
        forks.require_forks("mutate")
        self._jobs = jobs
        self._work = work
        self._patience = patience
        self._workers: dict[Connection, _Worker] = {}

    def __enter__(self) -> Pool[Found]:
        for _ in range(self._jobs):
            self._start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        for connection in list(self._workers):
            self._stop(connection)

    def _start(self) -> None:
        ours, process = forks.start(partial(_serve, self._work), self._workers)
        self._workers[ours] = _Worker(process, deque())

    def _stop(self, connection: Connection) -> None:
        forks.end({connection: self._workers.pop(connection).process})

    # -------------------------------------------------------------- work

    def run(
        self, mutants: Sequence[int], legs: range, most: int
    ) -> Iterator[tuple[int, Found | Lost]]:
        """Each mutant with its ending, as they come. Raises what ``work`` raises."""
        todo = deque(mutants)
        left = len(todo)
        while left:
            for connection, worker in self._workers.items():
                if todo and not worker.waiting:
                    count = max(1, min(_CHUNK, len(todo) // (2 * self._jobs)))
                    chunk = [todo.popleft() for _ in range(min(count, len(todo)))]
                    worker.waiting.extend(chunk)
                    connection.send((chunk, legs, most))
            for mutant, ending in self._endings(todo):
                left -= 1
                yield mutant, ending

    def _endings(self, todo: deque[int]) -> list[tuple[int, Found | Lost]]:
        busy = [each for each, worker in self._workers.items() if worker.waiting]
        found: list[tuple[int, Found | Lost]] = []
        for ready in wait(busy, min(1.0, self._patience)):
            assert isinstance(ready, Connection)
            try:
                message = ready.recv()
            except (EOFError, ConnectionError):
                found.append(self._lost(ready, ENGINE_CRASH, todo))
                continue
            worker = self._workers[ready]
            if isinstance(message, Exception):
                raise message
            if isinstance(message, bool):
                worker.since = time.monotonic() if message else None
            else:
                worker.since = None
                found.append((worker.waiting.popleft(), message))
        now = time.monotonic()
        for connection in busy:
            since = self._workers[connection].since if connection in self._workers else None
            if since is not None and now - since > self._patience:
                found.append(self._lost(connection, NO_END, todo))
        return found

    def _lost(self, connection: Connection, verdict: str, todo: deque[int]) -> tuple[int, Lost]:
        """Replace a worker; the rest of what it had is handed out again."""
        mutant, *rest = self._workers[connection].waiting
        todo.extendleft(reversed(rest))
        self._stop(connection)
        self._start()
        return mutant, Lost(verdict)


def _serve(work: Work[Found], connection: Connection) -> None:
    """The main loop of a worker."""
    try:
        while True:
            chunk, legs, most = connection.recv()
            for mutant in chunk:
                connection.send(_ending_of(work, mutant, legs, most, connection.send))
    except (EOFError, ConnectionError):
        return  # the parent has ended


def _ending_of(
    work: Work[Found], mutant: int, legs: range, most: int, watch: Watch
) -> Found | Exception:
    try:
        return work(mutant, legs, most, watch)
    except ConnectionError:
        raise
    except Exception as error:
        return error
