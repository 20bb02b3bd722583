"""Which lines a cache may hold, and for which lines memory itself may be stale.

Only the host needs this, so requests are noted and evaluated lazily. Invariant: `cached` and
`stored` cover everything that was noted; the addresses of a request are not modified.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from gpu.memory.address_space import Addresses, Allocation

_MANY: Final = 1 << 12
"""Requests that are noted before their lines are marked."""

Lines = npt.NDArray[np.bool_]


class LineTracker:
    """By line of an allocation: whether a cache may hold it, whether memory may be stale.

    ``line_size``: bytes.
    """

    def __init__(self, line_size: int) -> None:
        self._line_size = line_size
        self._noted: list[tuple[Allocation, Addresses, int, bool]] = []
        self._flags: dict[int, tuple[Lines, Lines]] = {}

    def note(self, place: Allocation, addresses: Addresses, size: int, stored: bool) -> None:
        """A request touches ``size`` bytes, at most a line, at each of the addresses."""
        self._noted.append((place, addresses, size, stored))
        if len(self._noted) > _MANY:
            self._look()

    def cached(self, place: Allocation) -> Lines:
        """The lines that a cache may hold."""
        self._look()
        return self._of(place)[0]

    def stored(self, place: Allocation) -> Lines:
        """The lines for which memory may be stale; the caller clears those it brings up to date."""
        self._look()
        return self._of(place)[1]

    def _of(self, place: Allocation) -> tuple[Lines, Lines]:
        flags = self._flags.get(place.start)
        if flags is None:
            lines = (place.end - place.start) // self._line_size
            flags = np.zeros(lines, np.bool_), np.zeros(lines, np.bool_)
            self._flags[place.start] = flags
        return flags

    def _look(self) -> None:
        """Mark the lines of what was noted, requests of one kind together."""
        alike: dict[tuple[int, int, bool], tuple[Allocation, list[Addresses]]] = {}
        for place, addresses, size, stored in self._noted:
            alike.setdefault((place.start, size, stored), (place, []))[1].append(addresses)
        self._noted.clear()
        for (_, size, stored), (place, several) in alike.items():
            offsets = np.concatenate(several) - place.base
            first = offsets // np.uint64(self._line_size)
            last = (offsets + np.uint64(size - 1)) // np.uint64(self._line_size)
            assert last.max(initial=0) < len(self._of(place)[0]), "an access lies in its allocation"
            for flags in self._of(place)[: 1 + stored]:
                flags[first] = True
                flags[last] = True
