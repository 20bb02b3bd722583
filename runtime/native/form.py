"""A protocol compiled for systems of some sizes: the best code there is, better code under way.

An optimised object takes seconds to compile, and who has edited a protocol wants to see a first
leg now. So an object that is new is compiled twice: quickly, in the foreground, then optimised,
beside the legs; and once more, trained, if the run lasts. Invariant: code is only replaced by
better code, and that gives the same results.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

from runtime.native.build import PendingObject, Recipe, build, loaded
from runtime.native.library import Library, LibraryError
from runtime.native.object_cache import Cache, CacheError
from runtime.native.toolchain import ToolchainError
from runtime.native.trained import LaterTrained

SLIPS: Final = (ToolchainError, CacheError, LibraryError, OSError)
"""What may go wrong with compiled code."""
Say = Callable[[str], None]


class Form:
    """``how``: the recipe of the optimised object. ``warn``: told when that failed to come.

    ``later``: the trained object; None: it is not wanted.
    """

    def __init__(self, how: Recipe, cache: Cache, warn: Say, later: LaterTrained | None) -> None:
        self._how = how
        self._cache = cache
        self._warn = warn
        self._optimised: PendingObject | None = None
        self._later = later
        self.library: Library | None = None
        self.began_quick = False
        self.trained = False

    @property
    def quick(self) -> bool:
        """Whether optimised code is still to come."""
        return self._optimised is not None

    def make(self, optimised: bool) -> None:
        """The first code; ``optimised``: none that is quick. Raises what is in SLIPS."""
        if self._later is not None and self._take_trained(self._later.first):
            return
        quick = self._how.quickly()
        if optimised or quick is None or self._how.find(self._cache) is not None:
            self.library = build(self._how, self._cache)
            return
        self.library = build(quick, self._cache)
        self.began_quick = True
        try:  # not before: on a small machine the two would slow each other down
            self._optimised = self._how.begin(self._cache)
        except SLIPS as slip:
            self._refuse(slip)

    def look(self, wait: bool = False) -> None:
        """Take what has come since. ``wait``: until the code is optimised."""
        if self._optimised is not None:
            self._take_optimised(self._optimised, wait)
        elif self._later is not None:
            self._take_trained(self._later.look)

    def find(self) -> None:
        """The same in a fork of the process that makes the code: look into the cache only."""
        if self._later is not None and self._take_trained(self._later.found):
            self._optimised = None
        if self.library is None or self._optimised is not None:
            path = self._how.find(self._cache)
            if path is not None:
                self.library = loaded(path, Library)
                self._optimised = None

    def close(self) -> None:
        """Give up what is not finished."""
        if self._optimised is not None:
            self._take_optimised(self._optimised, wait=False)
        for pending in (self._optimised, self._later):
            if pending is not None:
                pending.stop()
        self._optimised = self._later = None

    def _take_optimised(self, pending: PendingObject, wait: bool) -> None:
        try:
            path = pending.wait() if wait else pending.path()
            if path is None:
                return
            self.library = loaded(path, Library)
        except SLIPS as slip:
            pending.stop()
            self._refuse(slip)
        self._optimised = None

    def _refuse(self, slip: Exception) -> None:
        self._warn(f"the run goes on with quick code: {one_line(slip)}")

    def _take_trained(self, ask: Callable[[], Path | None]) -> bool:
        """Whether there is trained code. Who has not asked for it need not hear why not."""
        later = self._later
        assert later is not None, "somebody wants it"
        try:
            path = ask()
            if path is None:
                return False
            self.library = loaded(path, Library)
            self.trained = True
        except SLIPS as slip:
            later.stop()
            if later.asked_for:
                self._warn(f"nothing is trained: {one_line(slip)}")
        self._later = None
        return self.trained


def one_line(why: Exception) -> str:
    """The first line, and if that promises more, what a compiler had to say first."""
    first, *more = str(why).strip().splitlines() or [type(why).__name__]
    if not first.endswith(":"):
        return first
    told = [line.strip() for line in more if "error" in line.lower()] or [*more, "(no message)"]
    return f"{first} {told[0]}"
