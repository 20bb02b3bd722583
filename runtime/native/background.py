"""Objects that are made while other things go on.

Nothing waits for them and no thread is needed: whoever wants one asks now and then whether it is
there. Invariant: what this process has started is over when it ends, however it ends short of
being killed outright, and leaves either a whole entry of the cache or none. Forks of it neither
start nor end anything; they find what it has finished.
"""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import threading
from contextlib import suppress
from pathlib import Path
from types import FrameType
from typing import Final, Protocol

from runtime.native.object_cache import Cache

_ENDINGS: Final = ("SIGTERM", "SIGHUP")


class Step(Protocol):
    """What goes on beside us; see :class:`runtime.native.toolchain.Compilation`."""

    def finished(self) -> bool:
        """Whether it is over. Raises ToolchainError, OSError if it has failed."""

    def wait(self) -> None:
        """Until it is over. Raises ToolchainError, OSError."""

    def stop(self) -> None:
        """End it, if it is not over."""


class Pending:
    """One entry of the cache to be. ``fresh``: its directory, where ``step`` writes."""

    def __init__(self, cache: Cache, kind: str, key: str, fresh: Path, step: Step) -> None:
        self._place = kind, key
        self._cache = cache
        self._fresh = fresh
        self._step = step
        self._entry: Path | None = None
        self._owner = os.getpid()
        _started.append(self)
        _heed_endings()

    def entry(self) -> Path | None:
        """The directory of the entry, once it is there. Raises ToolchainError, OSError."""
        if os.getpid() != self._owner:
            return self._cache.find(*self._place)
        if self._entry is None and self._step.finished():
            self._entry = self._cache.keep(self._fresh, *self._place)
            self.stop()
        return self._entry

    def wait(self) -> Path:
        """The same, however long it takes. Raises ToolchainError, OSError."""
        assert os.getpid() == self._owner, "only who has started it can wait for it"
        if self._entry is None:
            self._step.wait()
        entry = self.entry()
        assert entry is not None, "what has ended is finished or has failed"
        return entry

    def stop(self) -> None:
        """End it; what is not finished leaves nothing."""
        if os.getpid() != self._owner:
            return
        self._step.stop()
        shutil.rmtree(self._fresh, ignore_errors=True)
        with suppress(ValueError):
            _started.remove(self)


_started: list[Pending] = []


def stop_all() -> None:
    """What is finished is kept, the rest is ended."""
    for pending in _started[:]:
        with suppress(Exception):
            pending.entry()
        pending.stop()


atexit.register(stop_all)


def _heed_endings() -> None:
    """Let these signals end the process the orderly way: so that :func:`stop_all` is called."""
    if threading.current_thread() is not threading.main_thread():
        return
    for name in _ENDINGS:
        number = getattr(signal, name, None)
        if number is not None and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, _end)


def _end(number: int, frame: FrameType | None) -> None:
    raise SystemExit(128 + number)
