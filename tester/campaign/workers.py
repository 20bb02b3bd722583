"""Several processes that run the legs of one campaign.

Legs are numbered, and a leg depends on its number alone, except that the last one of a run may be
cut short. So workers run whole legs ahead of time, in any order, and their results are taken in the
order of the numbers; a leg that does not simply pass is run again by the parent process. Invariant:
what a run prints, counts and finds does not depend on the number of workers.

Workers are forks: they share the loaded protocol and its compiled form with their parent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, cast

from slicc.text.lazy_dataclass import dataclass
from tester import forks
from tester.campaign.campaign import Totals
from tester.campaign.coverage import Coverage
from tester.campaign.drawing.leg_summary import NO_SUMMARY, LegSummary
from tester.statistics.statistics import Statistics

if TYPE_CHECKING:
    from multiprocessing.connection import Connection
    from multiprocessing.process import BaseProcess

_AHEAD: Final = 4
"""Legs per worker that may finish before their turn: a slow one must not make the others wait."""


@dataclass(frozen=True, slots=True)
class LegResult:
    """The result of leg ``number``, run whole.

    ``totals``, ``coverage`` and ``statistics`` (if wanted) count this leg only. They are None if it
    did not simply pass: then it has to be run again in the process that reports. ``summary`` and
    ``ending`` describe the leg and its end.
    """

    number: int
    summary: LegSummary = NO_SUMMARY
    ending: str = ""
    totals: Totals | None = None
    coverage: Coverage | None = None
    statistics: Statistics | None = None


@dataclass(frozen=True, slots=True)
class _Progress:
    number: int
    episodes: int


class OutOfTime(Exception):
    """The time that the run was given is over, within a leg."""


class WorkerDied(RuntimeError):
    """A worker ended without a result."""


OnProgress = Callable[[int], None]
"""Called with the episodes of running legs."""
Work = Callable[[Any, OnProgress], LegResult]
"""Runs the leg of one task whole."""
Deal = Callable[[int], object | None]
"""The task of a leg; None: it is not known yet, legs before it have to be taken first."""


class Workers:
    """``jobs`` processes; a context manager. Results come from :meth:`results`.

    ``on_progress`` is called with the sum over all legs whose turn has not come. ``left``: the
    seconds that waiting may take from now on, if there is a limit. ``tries``: how often a leg is
    begun whose process dies; it gets another process.
    """

    def __init__(
        self,
        jobs: int,
        work: Work,
        on_progress: OnProgress,
        left: Callable[[], float | None] = lambda: None,
        tries: int = 1,
    ) -> None:
        forks.require_forks("--jobs")
        self._jobs = jobs
        self._work = work
        self._on_progress = on_progress
        self._left = left
        self._processes: dict[Connection, BaseProcess] = {}
        self._tries = tries
        self._died: Counter[int] = Counter()
        self._under_way: dict[Connection, tuple[int, object]] = {}
        self._shown: dict[int, _Progress] = {}
        self._done: dict[int, LegResult] = {}

    def __enter__(self) -> Workers:
        for _ in range(self._jobs):
            self._start()
        return self

    def _start(self) -> Connection:
        connection, process = forks.start(partial(_serve, self._work), self._processes)
        self._processes[connection] = process
        return connection

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        forks.end(self._processes)
        self._processes.clear()

    def results(self, first: int = 0, deal: Deal = lambda number: number) -> Iterator[LegResult]:
        """Leg after leg from number ``first`` on, without end. Raises WorkerDied, OutOfTime."""
        taken = handed_out = first
        while True:
            for connection in [each for each in self._processes if each not in self._under_way]:
                if handed_out >= taken + self._jobs * _AHEAD:
                    break
                task = deal(handed_out)
                if task is None:
                    break
                self._hand_out(connection, handed_out, task)
                handed_out += 1
            while taken not in self._done:
                self._receive()
                if len(self._under_way) < self._jobs:
                    break
            if taken in self._done:
                yield self._done.pop(taken)
                self._shown.pop(taken, None)
                taken += 1

    def _hand_out(self, connection: Connection, number: int, task: object) -> None:
        assert connection not in self._under_way, "a worker runs one leg at a time"
        self._under_way[connection] = number, task
        with suppress(BrokenPipeError, ConnectionError):  # that it has died is seen with the rest
            connection.send((number, task))

    def _receive(self) -> None:
        from multiprocessing.connection import wait

        answering = wait(list(self._under_way), self._left())
        if not answering:
            raise OutOfTime
        for ready in cast("list[Connection]", answering):
            try:
                message = ready.recv()
            except (EOFError, ConnectionError):
                self._replace(ready)
                continue
            if isinstance(message, LegResult):
                del self._under_way[ready]
                assert message.number not in self._done, "a leg has one result"
                self._done[message.number] = message
            else:
                self._shown[message.number] = message
                self._on_progress(sum(each.episodes for each in self._shown.values()))

    def _replace(self, dead: Connection) -> None:
        """A process has died: its leg goes to another one. Raises WorkerDied."""
        assert dead in self._processes
        number, task = self._under_way.pop(dead)
        process = self._processes.pop(dead)
        process.join(forks.PATIENCE)
        dead.close()
        self._died[number] += 1
        if self._died[number] >= self._tries:
            raise WorkerDied(
                f"the process that ran leg {number} has died (exit status {process.exitcode})"
            )
        self._hand_out(self._start(), number, task)


def _serve(work: Work, connection: Connection) -> None:
    """The main loop of a worker."""
    while True:
        try:
            number, task = connection.recv()
        except (EOFError, ConnectionError):
            return  # the parent has ended

        def on_progress(episodes: int, number: int = number) -> None:
            connection.send(_Progress(number, episodes))

        try:
            result = work(task, on_progress)
        except Exception:
            result = LegResult(number)  # the error recurs when the leg is run again
        try:
            connection.send(result)
        except (BrokenPipeError, ConnectionError):
            return
