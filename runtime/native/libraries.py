"""The compiled code of a run: quick code at first, the optimised as soon as it is there.

An optimised object takes seconds to compile, and who has edited a protocol wants to see a first
leg now. So an object that is new is compiled twice: quickly, in the foreground, then optimised,
beside the legs; a leg takes what there is when it begins. Invariant: which code a leg runs on
changes its time and nothing else.

Forks only look into the cache, where they find what their parent has finished; it is asked for
now and then with :meth:`Libraries.look`.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Final

from runtime.native.build import PendingObject, Sizes, Sources, build, recipe
from runtime.native.library import Library, LibraryError
from runtime.native.object_cache import Cache, CacheError
from runtime.native.toolchain import Compiler, ToolchainError

LARGE_LEG: Final = 1_000_000
"""A leg of so many lane accesses waits for the optimised code rather than run without."""

SLIPS: Final = (ToolchainError, CacheError, LibraryError, OSError)
"""Why code may fail to come."""
Say = Callable[[str], None]


class NotHere(RuntimeError):
    """A leg that a worker process would have to compile for; its parent runs it."""


class Libraries:
    """The compiled forms of one protocol, each made when first asked for.

    ``optimised``: nothing else will do. ``warn``: told when the optimised code failed to come.
    """

    def __init__(
        self,
        sources: Sources,
        compiler: Compiler,
        cache: Cache,
        warn: Say,
        optimised: bool = False,
    ) -> None:
        self._sources = sources
        self._compiler = compiler
        self._cache = cache
        self._warn = warn
        self._optimised = optimised
        self._owner = os.getpid()
        self.began_quick = False
        self._made: dict[Sizes, Library] = {}
        self._pending: dict[Sizes, PendingObject] = {}

    def __call__(self, sizes: Sizes, accesses: int = 0) -> Library:
        """What a leg of so many lane accesses is to run on.

        Raises ToolchainError, CacheError, LibraryError; NotHere in a worker.
        """
        if os.getpid() != self._owner:
            return self._found(sizes)
        library = self._made.get(sizes)
        if library is None:
            library = self._first(sizes, accesses >= LARGE_LEG)
            self._made[sizes] = library
        elif sizes in self._pending:
            self._look(sizes, accesses >= LARGE_LEG)
            library = self._made[sizes]
        return library

    @property
    def quick(self) -> bool:
        """Whether optimised code is still to come."""
        return bool(self._pending)

    def look(self) -> None:
        """Store what was finished meanwhile, for workers to find."""
        for sizes in list(self._pending):
            self._look(sizes)

    def close(self) -> None:
        """Give up what is not finished."""
        self.look()
        for pending in self._pending.values():
            pending.stop()
        self._pending.clear()

    def _first(self, sizes: Sizes, large: bool) -> Library:
        how = recipe(self._sources, sizes, self._compiler)
        quick = how.quickly()
        if self._optimised or large or quick is None or how.find(self._cache) is not None:
            return build(how, self._cache)
        library = build(quick, self._cache)
        self.began_quick = True
        try:  # not before: on a small machine the two would slow each other down
            self._pending[sizes] = how.begin(self._cache)
        except SLIPS as slip:
            self._refuse(slip)
        return library

    def _look(self, sizes: Sizes, wait: bool = False) -> None:
        pending = self._pending[sizes]
        try:
            path = pending.wait() if wait else pending.path()
            if path is None:
                return
            self._made[sizes] = Library(path)
        except SLIPS as slip:
            pending.stop()
            self._refuse(slip)
        del self._pending[sizes]

    def _refuse(self, slip: Exception) -> None:
        self._warn(f"the run goes on with quick code: {one_line(slip)}")

    def _found(self, sizes: Sizes) -> Library:
        """In a fork: what it has, or what its parent has made since."""
        library = self._made.get(sizes)
        if library is not None and sizes not in self._pending:
            return library
        how = recipe(self._sources, sizes, self._compiler)
        path = how.find(self._cache)
        if path is not None:
            self._pending.pop(sizes, None)
            library = self._made[sizes] = Library(path)
        if library is None:
            raise NotHere(f"no object for {sizes}")
        return library


def one_line(why: Exception) -> str:
    """The first line, whatever a compiler had to say."""
    return str(why).strip().splitlines()[0].rstrip(":")
