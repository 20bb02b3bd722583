"""Running a device until what the host waits for has come.

Invariant: an error that nothing has handled is raised by the run in which it happens, or by the
next one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from gpu.dispatch.device_loop import Loop
from gpu.errors import NoProgressError
from gpu.host.task import Task
from gpu.host_wait import HostWait
from gpu.hsa.host_memory import Host
from gpu.hsa.signal import VALUE, Signal

Until = Signal | Task[Any] | Callable[[], bool]
"""A signal is below 1, a task has ended, a condition holds."""


class Waiting(Protocol):
    """Whose host program waits."""

    @property
    def host(self) -> Host: ...

    @property
    def failed(self) -> bool:
        """Whether an error is to be raised."""

    @property
    def stopping(self) -> bool:
        """Whether a queue whose errors are raised is coming to its end."""

    def handle_of(self, signal: Signal) -> int: ...

    def raise_error(self) -> None:
        """Raise the first error that was not raised yet."""


def run(loop: Loop, who: Waiting, until: Until | None, limit: int | None) -> None:
    """See `gpu.host.processes.context.Context.run`."""
    if isinstance(until, Signal):
        _to_signal(loop, who, until, limit)
    elif isinstance(until, Task):
        _to_task(loop, who, until, limit)
    else:
        how = HostWait.FOR_EVER if until is None else HostWait.ON_CONDITION
        with loop.host_waits(how if limit is None else HostWait.FOR_A_WHILE):
            _to_condition(loop, who, until, None if limit is None else loop.memory.now + limit)


def _to_condition(
    loop: Loop, who: Waiting, until: Callable[[], bool] | None, end: int | None
) -> None:
    while not (until is not None and until()) and (end is None or loop.memory.now < end):
        moved = loop.tick(end, watched=until is not None)
        who.raise_error()
        if not moved:
            if until is not None and not until():
                raise NoProgressError("the condition", loop.waiting)
            return


def _to_signal(loop: Loop, who: Waiting, signal: Signal, limit: int | None) -> None:
    def accept(data: bytes) -> bool:
        return who.failed or int.from_bytes(data, "little", signed=True) < 1

    where = who.handle_of(signal) + VALUE
    data = who.host.wait(where, accept, limit, f"{signal} < 1")
    if int.from_bytes(data, "little", signed=True) < 0:
        # An error is reported by the signal first, and by its queue once its kernels have ended.
        while who.stopping and loop.tick():
            pass
    who.raise_error()


def _to_task(loop: Loop, who: Waiting, task: Task[Any], limit: int | None) -> None:
    how = HostWait.FOR_EVER if limit is None else HostWait.FOR_A_WHILE
    end = None if limit is None else loop.memory.now + limit
    with loop.host_waits(how):
        moved = loop.finish(task.activity, end)
    who.raise_error()
    if not moved:
        raise NoProgressError(str(task), loop.waiting)
