"""The compiled code of a run: each protocol object in tiers.

An optimised object takes seconds to compile, and the author of an edited protocol wants to see a
first leg now. So an object that is not in the cache is compiled more than once
(`runtime.native.toolchain.compiler.TIERS`): at tier 0, while the run waits or does something else
(:meth:`Libraries.have`); then better and better, by a compiler process beside the legs. A run asks
for its object before each leg (:meth:`Libraries.__call__`); that is when a better one is swapped
in, and the next begun. With ``--jobs`` the parent alone compiles, and stores what is finished when
a leg's result arrives (:meth:`Libraries.update`); workers are forks and look into the cache.

Invariant: which tier a leg runs on changes its time and nothing else.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from runtime.native.build import Clients, Recipe, Sizes, Sources, build, loaded, recipe
from runtime.native.ctypes_api import Library, LibraryError
from runtime.native.toolchain.compiler import TIERS, Compiler, ToolchainError, one_line
from runtime.native.toolchain.object_cache import Cache, CacheError
from runtime.native.toolchain.pending_object import PendingObject

COMPILE_ERRORS: Final = (ToolchainError, CacheError, LibraryError, OSError)
LARGE_LEG: Final = 1_000_000
"""A leg of so many lane accesses waits for something better than tier 0."""
Warn = Callable[[str], None]


class NotHere(RuntimeError):
    """A leg that a worker process would have to compile for; its parent runs it."""


class TieredObject:
    """One object: absent, then at a tier, then at a better one.

    ``how``: the recipe of the best one. ``warn``: called if a better one fails to come.
    """

    def __init__(self, how: Recipe, clients: Clients, cache: Cache, warn: Warn) -> None:
        self._how = how
        self._clients = clients
        self._cache = cache
        self._warn = warn
        self._tier = 0
        """Of the library."""
        self._coming: tuple[int, PendingObject] | None = None
        """What is being compiled, and its tier."""
        self._failed: ToolchainError | None = None
        self.library: Library | None = None
        self.began_on_tier0 = False

    def make(self, least: int) -> None:
        """The first object, however long it takes, at tier ``least`` or better, unless another one
        is being compiled. Raises what is in COMPILE_ERRORS.
        """
        with self._once():
            if self._coming is None:
                tier = self._first_tier(least)
                self._take(build(self._how.tiers[tier], self._clients, self._cache), tier)
            else:
                self._take_first(self._coming[1].wait)

    def look(self) -> None:
        """Take the first object if it is there; if it has to be compiled, that begins.

        Raises what is in COMPILE_ERRORS.
        """
        with self._once():
            self._look()

    def _look(self) -> None:
        if self._coming is not None:
            self._take_first(self._coming[1].path)
            return
        tier = self._first_tier(0)
        if self._how.tiers[tier].find(self._cache) is None:
            with suppress(OSError):  # where that cannot be written, `make` finds another place
                self._coming = tier, self._how.tiers[tier].begin(self._cache)
                self.began_on_tier0 = True
                return
        self.make(0)

    @contextmanager
    def _once(self) -> Iterator[None]:
        """What a compiler has refused it is not asked for again."""
        if self._failed is not None:
            raise self._failed.with_traceback(None)
        try:
            yield
        except ToolchainError as error:
            self._failed = error
            raise

    def find(self) -> None:
        """The object of a worker: the best one of those in the cache."""
        for how in reversed(self._how.tiers):
            path = how.find(self._cache)
            if path is not None:
                if self.library is None or self.library.path != path:
                    self.library = loaded(path, self._clients.load)
                return

    def update(self, least: int = 0) -> None:
        """Swap a better object in if it has come; below tier ``least``, wait until it has.

        Raises what is in COMPILE_ERRORS if it is the first one that does not come.
        """
        if self.library is None and self._coming is not None:
            self.look()
        while self.library is not None and self._coming is not None:
            tier, pending = self._coming
            try:
                path = pending.wait() if self._tier < least else pending.path()
                if path is None:
                    return
                self._take(loaded(path, self._clients.load), tier)
            except COMPILE_ERRORS as error:
                pending.stop()
                self._coming = None
                self._refuse(error)

    def close(self) -> None:
        """Store what is finished, else stop its compiler."""
        with suppress(*COMPILE_ERRORS):
            self.update()
        if self._coming is not None:
            self._coming[1].stop()
            self._coming = None

    def _first_tier(self, least: int) -> int:
        """The best one in the cache that will do, else the one to be compiled."""
        last = len(self._how.tiers) - 1
        least = min(least, last)
        for tier in range(last, least - 1, -1):
            if self._how.tiers[tier].find(self._cache) is not None:
                return tier
        return least

    def _take_first(self, arrival: Callable[[], Path | None]) -> None:
        assert self._coming is not None
        tier, pending = self._coming
        try:
            path = arrival()
            if path is None:
                return
            library = loaded(path, self._clients.load)
        except COMPILE_ERRORS as error:
            pending.stop()
            self._coming = None
            if not isinstance(error, OSError):
                raise
            self.make(0)
            return
        self._take(library, tier)

    def _take(self, library: Library, tier: int) -> None:
        """Have an object of a tier; if there is a better one, begin to compile that."""
        self.library, self._tier, self._coming = library, tier, None
        if tier == len(self._how.tiers) - 1:
            return
        self.began_on_tier0 |= tier == 0
        try:  # not before: on a small machine the two would slow each other down
            better = self._how.tiers[tier + 1].begin(self._cache, idle=tier > 0)
            self._coming = tier + 1, better
        except COMPILE_ERRORS as error:
            self._refuse(error)

    def _refuse(self, error: Exception) -> None:
        self._warn(f"the run continues with code that is less optimised: {one_line(error)}")


class Libraries:
    """The objects of one protocol for one kind of clients by sizes, each made when first needed.

    ``optimised``: only the best tier will do. ``warn``: see :class:`TieredObject`.
    """

    def __init__(
        self,
        sources: Sources,
        clients: Clients,
        compiler: Compiler,
        cache: Cache,
        warn: Warn,
        optimised: bool = False,
    ) -> None:
        self._sources = sources
        self._clients = clients
        self._compiler = compiler
        self._cache = cache
        self._warn = warn
        self._optimised = optimised
        self._owner = os.getpid()
        self._objects: dict[Sizes, TieredObject] = {}

    def __call__(self, sizes: Sizes, accesses: int = 0) -> Library:
        """What a leg of so many lane accesses is to run on.

        Raises ToolchainError, CacheError, LibraryError; NotHere in a worker.
        """
        wanted = self._object(sizes)
        if os.getpid() != self._owner:
            wanted.find()
        else:
            least = len(TIERS) - 1 if self._optimised else int(accesses >= LARGE_LEG)
            if wanted.library is None:
                wanted.make(least)
            wanted.update(least)
        if wanted.library is None:
            raise NotHere(f"no object for {sizes}")
        return wanted.library

    def for_changes(self, sizes: Sizes) -> Library | None:
        """An object in which rows can be changed; None: a run did not begin with it lately, and to
        compile it takes longer than to do without. Raises ToolchainError, LibraryError."""
        how = recipe(self._sources, self._clients, sizes, self._compiler).for_changes()
        path = how.find(self._cache)
        return None if path is None else loaded(path, self._clients.load)

    def have(self, sizes: Sizes) -> bool:
        """Whether a call would not wait for a compiler. One that has to work begins now.

        Raises ToolchainError, CacheError, LibraryError.
        """
        wanted = self._object(sizes)
        if wanted.library is None:
            if os.getpid() != self._owner:
                wanted.find()
            else:
                wanted.look()
        return wanted.library is not None

    def _object(self, sizes: Sizes) -> TieredObject:
        wanted = self._objects.get(sizes)
        if wanted is None:
            how = recipe(self._sources, self._clients, sizes, self._compiler)
            wanted = TieredObject(how, self._clients, self._cache, self._warn)
            self._objects[sizes] = wanted
        return wanted

    @property
    def began_on_tier0(self) -> bool:
        """Whether legs ran on code that was not optimised."""
        return any(each.began_on_tier0 for each in self._objects.values())

    def update(self) -> None:
        """Store what was finished meanwhile, for workers to find.

        Raises ToolchainError, CacheError, LibraryError if there will be no object.
        """
        for each in self._objects.values():
            each.update()

    def close(self) -> None:
        """No further leg is run: stop what is not finished."""
        for each in self._objects.values():
            each.close()
