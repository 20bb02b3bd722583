"""The compiled code of a run: each protocol object in two tiers.

An optimised object takes seconds to compile, and the author of an edited protocol wants to see a
first leg now. So an object that is not in the cache is compiled twice: at tier 0, which takes a
quarter of the time, while the run waits or does something else (:meth:`Libraries.have`); then
optimised, by a compiler process beside the legs. A run asks for its object before each leg
(:meth:`Libraries.__call__`); that is when the optimised one is swapped in. With ``--jobs`` the
parent alone compiles, and stores what is finished when a leg's result arrives
(:meth:`Libraries.update`); workers are forks and look into the cache.

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
from runtime.native.toolchain.compiler import Compiler, ToolchainError, one_line
from runtime.native.toolchain.object_cache import Cache, CacheError
from runtime.native.toolchain.pending_object import PendingObject

COMPILE_ERRORS: Final = (ToolchainError, CacheError, LibraryError, OSError)
LARGE_LEG: Final = 1_000_000
"""A leg of so many lane accesses waits for the optimised object rather than run without."""
Warn = Callable[[str], None]


class NotHere(RuntimeError):
    """A leg that a worker process would have to compile for; its parent runs it."""


class TieredObject:
    """One object: absent, then at tier 0, then optimised.

    ``how``: the recipe of the optimised one. ``warn``: called if that one fails to come.
    """

    def __init__(self, how: Recipe, clients: Clients, cache: Cache, warn: Warn) -> None:
        self._how = how
        self._clients = clients
        self._cache = cache
        self._warn = warn
        self._first: PendingObject | None = None
        self._first_how = how
        self._optimised: PendingObject | None = None
        self._failed: ToolchainError | None = None
        self.library: Library | None = None
        self.began_on_tier0 = False

    def make(self, optimised: bool) -> None:
        """The first object, however long it takes; ``optimised``: not at tier 0, unless that is
        being compiled. Raises what is in COMPILE_ERRORS.
        """
        with self._once():
            if self._first is None:
                how = self._first_recipe(optimised)
                self._take(build(how, self._clients, self._cache), how)
            else:
                self._take_first(self._first.wait)

    def look(self) -> None:
        """Take the first object if it is there; if it has to be compiled, that begins.

        Raises what is in COMPILE_ERRORS.
        """
        with self._once():
            self._look()

    def _look(self) -> None:
        if self._first is not None:
            self._take_first(self._first.path)
            return
        how = self._first_recipe(False)
        if how.find(self._cache) is None:
            with suppress(OSError):  # where that cannot be written, `make` finds another place
                self._first, self._first_how = how.begin(self._cache), how
                self.began_on_tier0 = True
                return
        self.make(False)

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
        """The object of a worker: the better one of those in the cache."""
        for how in filter(None, (self._how, self._how.at_tier0())):
            path = how.find(self._cache)
            if path is not None:
                if self.library is None or self.library.path != path:
                    self.library = loaded(path, self._clients.load)
                return

    def update(self, wait: bool = False) -> None:
        """Swap the optimised object in if it has come; ``wait``: until it has.

        Raises what is in COMPILE_ERRORS if it is the first one that does not come.
        """
        if self._first is not None:
            self.look()
        pending = self._optimised
        if pending is None:
            return
        try:
            path = pending.wait() if wait else pending.path()
            if path is None:
                return
            self.library = loaded(path, self._clients.load)
        except COMPILE_ERRORS as error:
            pending.stop()
            self._refuse(error)
        self._optimised = None

    def close(self) -> None:
        """Store what is finished, else stop its compiler."""
        with suppress(*COMPILE_ERRORS):
            self.update()
        for pending in filter(None, (self._first, self._optimised)):
            pending.stop()
        self._first = self._optimised = None

    def _first_recipe(self, optimised: bool) -> Recipe:
        tier0 = self._how.at_tier0()
        if optimised or tier0 is None or self._how.find(self._cache) is not None:
            return self._how
        return tier0

    def _take_first(self, arrival: Callable[[], Path | None]) -> None:
        assert self._first is not None
        try:
            path = arrival()
            if path is None:
                return
            library = loaded(path, self._clients.load)
        except COMPILE_ERRORS as error:
            self._first.stop()
            self._first = None
            if not isinstance(error, OSError):
                raise
            self.make(False)
            return
        self._first = None
        self._take(library, self._first_how)

    def _take(self, library: Library, how: Recipe) -> None:
        """Have an object made so; if there is a better one, begin to compile that."""
        self.library = library
        if how == self._how:
            return
        self.began_on_tier0 = True
        try:  # not before: on a small machine the two would slow each other down
            self._optimised = self._how.begin(self._cache)
        except COMPILE_ERRORS as error:
            self._refuse(error)

    def _refuse(self, error: Exception) -> None:
        self._warn(f"the run continues with unoptimised code: {one_line(error)}")


class Libraries:
    """The objects of one protocol for one kind of clients by sizes, each made when first needed.

    ``optimised``: tier 0 will not do. ``warn``: see :class:`TieredObject`.
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
            large = accesses >= LARGE_LEG
            if wanted.library is None:
                wanted.make(self._optimised or large)
            elif not large:
                wanted.update()
            if large:
                wanted.update(wait=True)
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
