"""Objects compiled beside the legs: one compiler process each, asked now and then how far it is.

Invariant: a process that reaches the end of Python (exit, error, Ctrl-C, and SIGTERM where a
command line turns it into an exit) leaves no compiler running, and every object it has started is
a whole entry of the cache or absent. One that is killed outright leaves a compiler that ends by
itself and a directory that the cache sweeps away later. Forks start, end and store nothing here:
they find in the cache what their parent has stored.
"""

from __future__ import annotations

import atexit
import os
import shutil
from contextlib import suppress
from pathlib import Path
from typing import Final

from runtime.native.toolchain.compiler import Compilation
from runtime.native.toolchain.object_cache import Cache


class PendingObject:
    """An entry of the cache to be: ``compilation`` writes its file ``name`` into ``fresh``."""

    def __init__(
        self, cache: Cache, kind: str, key: str, fresh: Path, name: str, compilation: Compilation
    ) -> None:
        self._cache = cache
        self._place: Final = kind, key
        self._fresh = fresh
        self._name = name
        self._compilation = compilation
        self._stored: Path | None = None
        self._owner = os.getpid()
        _started.append(self)

    def path(self) -> Path | None:
        """The object, once it is there. Raises ToolchainError, OSError."""
        if os.getpid() != self._owner:
            entry = self._cache.find(*self._place)
            return None if entry is None else entry / self._name
        if self._stored is None and not self._compilation.finished():
            return None
        return self._store()

    def wait(self) -> Path:
        """The object, however long it takes. Raises ToolchainError, OSError."""
        assert os.getpid() == self._owner, "a fork cannot wait for its parent's child"
        if self._stored is None:
            self._compilation.wait()
        return self._store()

    def stop(self) -> None:
        """End the compiler; an object that is not stored yet leaves nothing."""
        if os.getpid() != self._owner:
            return
        self._compilation.stop()
        shutil.rmtree(self._fresh, ignore_errors=True)
        with suppress(ValueError):
            _started.remove(self)

    def _store(self) -> Path:
        if self._stored is None:
            self._stored = self._cache.keep(self._fresh, *self._place) / self._name
            self.stop()
        return self._stored


_started: Final[list[PendingObject]] = []


def stop_all() -> None:
    """Store what is finished, stop the rest."""
    for pending in _started[:]:
        with suppress(Exception):
            pending.path()
        pending.stop()


atexit.register(stop_all)
