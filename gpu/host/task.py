"""What agents beside the GPU do for the host while the device runs.

Invariant: a task that has not ended acts again by itself, so that no kernel is said to wait in
vain, unless it waits for memory in turn.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from gpu.dispatch.device_loop import Loop
from gpu.errors import HostError
from gpu.hsa.activities import Steps

T = TypeVar("T")


class Task(Generic[T]):
    """A sequence of accesses, from now on. ``what``: in messages. ``failed``: called with what the
    sequence raises."""

    def __init__(
        self,
        what: str,
        steps: Steps[T],
        loop: Loop,
        failed: Callable[[Exception], None],
    ) -> None:
        self.what = what
        self._observer = loop.observer
        self._failed = failed
        self._result: T | None = None
        self._problem: Exception | None = None
        self.activity = loop.activities.start(self._run(steps))
        """The sequence that the device runs."""

    def __str__(self) -> str:
        return f"the end of {self.what}"

    @property
    def done(self) -> bool:
        """Whether it has ended, or failed."""
        return self.activity.over

    @property
    def result(self) -> Any:
        """What a program has returned. Raises what it has raised, HostError while it runs."""
        if self._problem is not None:
            raise self._problem
        if not self.done:
            raise HostError(f"{self.what} has not ended yet")
        return self._result

    def _run(self, steps: Steps[T]) -> Steps[None]:
        self._observer.acting += 1
        try:
            self._result = yield from steps
        except Exception as problem:
            self._problem = problem
            self._failed(problem)
        finally:
            self._observer.acting -= 1
