"""Legs on other machines: the workers of a Dask scheduler.

A worker needs this package only: the protocol travels as its text and its description, and is
compiled once in each process. Invariant: records are those of local workers; a leg whose worker
dies is run by another one.
"""

from __future__ import annotations

import logging
import threading
import time
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from importlib import import_module
from typing import Any, Final

from protocols.identity import ProtocolIdentity
from protocols.loader import LoadedProtocol, load_protocol, load_texts
from protocols.texts import ProtocolTexts
from runtime.description import DefectDescription, SystemDescription
from slicc.text.command.version import installed_version
from slicc.text.lazy_dataclass import dataclass
from tester.campaign.drawing.options import Options
from tester.campaign.workers import Deal, LegResult, OutOfTime, WorkerDied
from tester.campaign_directory.leg_task import LegRecord, LegRunner, LegTask
from tester.engines.choice import Choice
from tester.engines.selection import choose
from tester.errors import ConfigError
from tester.execution.collector import few_collections

_AHEAD: Final = 2
"""Tasks for each thread of a worker that are handed out at a time."""
_TASK_SECONDS: Final = 0.25
"""Of legs that a task has: what a scheduler does for each is little beside that."""
_MOST_LEGS: Final = 16
"""Of a task."""
_PATIENCE: Final = 30
"""Seconds until a scheduler has to answer."""
_LOOK: Final = 0.2
"""Seconds between two looks at the time that is left, while nothing comes."""


class VersionMismatch(ConfigError):
    """A worker has another version of this package."""


@dataclass(frozen=True, slots=True)
class Job:
    """Everything that a worker has to know of a campaign, by value. ``texts``: None of a shipped
    protocol, which every worker has. ``values``: what the protocol is loaded with."""

    version: str
    identity: ProtocolIdentity
    texts: ProtocolTexts | None
    written: SystemDescription
    description: SystemDescription
    absent_defects: tuple[DefectDescription, ...]
    options: Options
    engine: Choice
    values: Mapping[str, object]

    @staticmethod
    def of(protocol: LoadedProtocol, options: Options, engine: Choice) -> Job:
        """Raises ConfigError if the protocol cannot travel."""
        if protocol.texts is None and protocol.identity.path:
            raise ConfigError(
                f"{protocol.identity.path}: its texts cannot be sent to other machines: they are "
                "too many, or lie outside of its directory and those of --include"
            )
        return Job(
            installed_version(),
            protocol.identity,
            protocol.texts,
            protocol.written,
            protocol.description,
            protocol.absent_defects,
            options,
            engine,
            options.assignments,
        )

    def loaded(self) -> LoadedProtocol:
        """The protocol as the campaign has it, compiled here."""
        native = self.engine is not Choice.python
        if self.texts is None:
            loaded = load_protocol(self.identity.name, native=native, values=self.values)
        else:
            loaded = load_texts(self.texts, self.identity, native, self.values)
        if loaded.identity.digest != self.identity.digest:
            raise VersionMismatch(f"a worker has another text of {self.identity.name}")
        return replace(
            loaded,
            identity=self.identity,
            written=self.written,
            description=self.description,
            absent_defects=self.absent_defects,
        )


class _OfThisThread(threading.local):
    """``runner``: that of the campaign with this ``key``. Threads share nothing: a runner has one
    leg at a time."""

    key = ""
    runner: LegRunner | None = None


_mine = _OfThisThread()


def run_tasks(key: str, job: Job, tasks: Sequence[LegTask]) -> list[LegResult]:
    """What a worker calls. ``key``: of the job, which is compiled once. Raises ConfigError."""
    _check_version(installed_version(), job.version)
    if _mine.runner is None or _mine.key != key:
        protocol = job.loaded()
        engine = choose(job.engine, protocol, lambda text: None)
        _mine.runner, _mine.key = LegRunner(protocol, job.options, engine), key
    with few_collections():
        return [_result(_mine.runner, task) for task in tasks]


def _result(runner: LegRunner, task: LegTask) -> LegResult:
    try:
        return runner.run(task)
    except Exception:  # it recurs where the campaign is, which reports it
        return LegResult(task.number)


def _same(job: Job) -> Job:
    """A job as a task of its own: it is computed again where the worker that had it dies."""
    return job


def _check_version(there: str, here: str) -> None:
    if there != here:
        raise VersionMismatch(
            f"the workers have version {there} of this package, and the campaign {here}"
        )


class ClusterCrew:
    """Hands out legs to the workers that there are. ``left``: as `Workers` has it."""

    def __init__(self, client: Any, job: Job, left: Callable[[], float | None]) -> None:
        self._client = client
        self._wait: Callable[..., Any] = import_module("distributed").wait
        self._left = left
        self._key = uuid.uuid4().hex
        self._job = client.submit(_same, job, pure=False)
        self._under_way: deque[tuple[Sequence[LegTask], Any]] = deque()
        self._room = (0.0, 1)
        self._together = 1

    def results(self, first: int, deal: Deal) -> Iterator[LegResult]:
        """Leg after leg, without end. Raises WorkerDied, OutOfTime, ConfigError."""
        handed_out = first
        try:
            while True:
                while len(self._under_way) < self._most():
                    tasks = self._dealt(handed_out, deal)
                    if not tasks:
                        break
                    future = self._client.submit(
                        run_tasks, self._key, self._job, tasks, pure=False, priority=-handed_out
                    )
                    self._under_way.append((tasks, future))
                    handed_out += len(tasks)
                found = self._first()
                self._under_way.popleft()
                self._measure(found)
                yield from found
        finally:
            with suppress(Exception):  # the scheduler may be gone
                self._client.cancel([future for _, future in self._under_way])

    def _dealt(self, first: int, deal: Deal) -> list[LegTask]:
        """The next legs, as many as are handed out together."""
        tasks = []
        for number in range(first, first + self._together):
            task = deal(number)
            if task is None:
                break
            assert isinstance(task, LegTask)
            tasks.append(task)
        return tasks

    def _measure(self, found: Sequence[LegResult]) -> None:
        """How many legs the next tasks have."""
        seconds = [each.seconds for each in found if isinstance(each, LegRecord)]
        if seconds:
            wanted = _TASK_SECONDS * len(seconds) / max(sum(seconds), 1e-9)
            self._together = max(1, min(int(wanted), _MOST_LEGS, 2 * self._together))

    def _most(self) -> int:
        """Tasks that may be under way; workers come and go."""
        known, room = self._room
        now = time.monotonic()
        if now - known > _LOOK:
            try:
                threads = sum(self._client.nthreads().values())
            except (OSError, RuntimeError) as error:
                raise ConfigError(f"the scheduler does not answer any more: {error}") from None
            room = max(1, threads) * _AHEAD
            self._room = now, room
        return room

    def _first(self) -> list[LegResult]:
        from distributed import CancelledError, KilledWorker

        tasks, future = self._under_way[0]
        while True:
            left = self._left()
            if left == 0.0:
                raise OutOfTime
            try:
                self._wait(future, timeout=_LOOK if left is None else min(left, _LOOK))
                # To fetch a result may take longer than a look where a machine is busy.
                found = future.result(timeout=left)
            except TimeoutError:
                continue
            except KilledWorker as error:
                first = tasks[0].number
                raise WorkerDied(f"the workers that ran leg {first} have died: {error}") from None
            except (CancelledError, OSError) as error:
                raise ConfigError(f"the scheduler does not answer any more: {error}") from None
            except ImportError as error:
                raise ConfigError(f"a worker cannot run legs: {error}") from None
            assert isinstance(found, list)
            return found


@contextmanager
def cluster_crew(
    scheduler: str | None,
    workers: int,
    job: Job,
    left: Callable[[], float | None],
    notify: Callable[[str], None],
) -> Iterator[ClusterCrew]:
    """The workers of a scheduler, or so many of a cluster on this machine. Raises ConfigError."""
    with ExitStack() as stack:
        client = stack.enter_context(_client(scheduler, workers))
        for there in _asked(client, installed_version):
            _check_version(there, job.version)
        if not client.nthreads():
            notify("the scheduler has no workers yet; legs wait for them")
        yield ClusterCrew(client, job, left)


def _asked(client: Any, question: Callable[[], str]) -> set[str]:
    """What workers answer, without those that have just ended: each is asked again with its first
    leg. Raises ConfigError."""
    answers = client.run(question, on_error="return").values()
    for each in answers:
        if isinstance(each, ImportError):
            raise ConfigError(f"a worker cannot run legs: {each}")
    return {each for each in answers if isinstance(each, str)}


@contextmanager
def _client(scheduler: str | None, workers: int) -> Iterator[Any]:
    try:
        distributed: Any = import_module("distributed")
    except ModuleNotFoundError:
        what = "--scheduler" if scheduler is not None else "--local-cluster"
        raise ConfigError(f"{what} needs Dask distributed: pip install 'slicc[cluster]'") from None

    with ExitStack() as stack:
        address: Any = scheduler
        if scheduler is None:
            address = stack.enter_context(_local_cluster(distributed, workers))
        try:
            client = distributed.Client(address, timeout=_PATIENCE)
            stack.callback(_ended, client)
            _check_dask(client.get_versions())
        except (OSError, TimeoutError, ValueError, KeyError, ImportError) as error:
            where = "--local-cluster" if scheduler is None else f"--scheduler {scheduler}"
            raise ConfigError(
                f"{where}: no scheduler answers there: {_first_line(error)}"
            ) from None
        yield client


@contextmanager
def _local_cluster(distributed: Any, workers: int) -> Iterator[Any]:
    """Whose processes keep to the legs: nobody looks at Dask's own pages about them."""
    quiet = {"distributed.worker.profile.enabled": False, "distributed.admin.tick.interval": "1s"}
    import_module("dask").config.set(quiet)
    try:
        cluster = distributed.LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.ERROR,
        )
    except (OSError, TimeoutError, RuntimeError) as error:
        raise ConfigError(
            f"--local-cluster {workers}: its workers do not start: {_first_line(error)}"
        ) from None
    try:
        yield cluster
    finally:
        _ended(cluster)


def _ended(what: Any) -> None:
    """The results are here: a machine that is too busy to end it in time costs none of them."""
    with suppress(OSError, TimeoutError, AssertionError):
        what.close()


def _first_line(error: BaseException) -> str:
    return f"{error}".partition("\n")[0]


def _check_dask(versions: Mapping[str, Any]) -> None:
    """Raises ConfigError if the scheduler has another version of Dask."""
    here, there = (versions[side]["packages"]["distributed"] for side in ("client", "scheduler"))
    if here != there:
        raise ConfigError(
            f"the scheduler has version {there} of Dask distributed, and the campaign {here}"
        )
