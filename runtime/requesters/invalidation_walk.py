"""The walk through private caches that makes an acquire: everything resident is thrown out.

Invariant: a walk is over exactly when every REPLACEMENT it sent has been answered, in its own
cache line by line, in each linked cache as a whole.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from runtime.errors import ErrorKind, ProtocolError
from runtime.requesters.base import RequesterBase, resident_lines

if TYPE_CHECKING:
    from runtime.requesters.port import Access
    from runtime.requesters.sequencer import Sequencer
    from runtime.structures.cache_memory import AbstractCacheEntry, CacheMemory


class AcquireWalk:
    """The one walk of a coalescer, and who waits until the next can begin.

    ``over`` is called with the access when its walk has ended, ``ready`` when another requester's
    walk through a linked cache has ended and a new one might begin.
    """

    def __init__(
        self,
        owner: RequesterBase,
        caches: tuple[CacheMemory[AbstractCacheEntry], ...],
        linked: tuple[Sequencer, ...],
        over: Callable[[Access], None],
        ready: Callable[[], None],
    ) -> None:
        self.owner = owner
        self.caches = caches
        self.linked = linked
        self.access: Access | None = None
        self.lines: set[int] = set()
        self.parts = 0
        """Unanswered: lines of the own caches, and linked caches."""
        self._over = over
        self._ready = ready
        self._watching = False

    def busy(self) -> bool:
        """Whether a walk would have to wait, for the own cache or a linked one."""
        return self.access is not None or any(other.walking for other in self.linked)

    def begin(self, access: Access) -> bool:
        """Send the replacements; false when nothing is resident and so nothing will be answered.

        The walk counts as under way in either case, until it has ended or :meth:`nothing`.
        """
        assert self.access is None and not self.parts, "the caller has asked `busy`"
        lines = resident_lines(self.caches)
        self.access = access
        self.lines.update(lines)
        self.parts = len(lines)
        self.owner.send_replacements(lines)
        for other in self.linked:
            if other.begin_walk(self._part_done):
                self.parts += 1
        return self.parts > 0

    def nothing(self) -> None:
        """End a walk that had nothing to do."""
        self.access = None

    def line_done(self, line: int) -> None:
        """The own cache has thrown the line out. Verdict if the walk did not ask for that."""
        if line not in self.lines:
            raise ProtocolError(
                ErrorKind.BAD_CALLBACK,
                f"invTCPCallback for line {line:#x}, which no walk of {self.owner} waits for",
            )
        self.lines.remove(line)
        self._part_done()

    def _part_done(self) -> None:
        self.parts -= 1
        assert self.parts >= 0
        if not self.parts:
            assert not self.lines, "every line of the own cache is a part"
            access, self.access = self.access, None
            assert access is not None
            self._over(access)

    def watch(self) -> None:
        """Call ``ready`` when the linked caches that are in the way are free again.

        The own walk needs no watching: its end is ``over``.
        """
        if self._watching or self.access is not None:
            return
        for other in self.linked:
            if other.walking:
                self._watching = True
                other.watch_walk(self._linked_ended)
                return

    def _linked_ended(self) -> None:
        self._watching = False
        if self.busy():
            self.watch()
        else:
            self._ready()

    def progress(self) -> str:
        """What is missing, as text."""
        left = ", ".join(f"{line:#x}" for line in sorted(self.lines)[:4])
        return f"walk: {self.parts} parts left" + (f" ({left})" if left else "")
