"""Which lines of memory a cache may have, and in which memory itself may be old.

Asked only by the host, so what requests touch is noted and looked at later. Invariant: `cached` and
`stored` tell of everything that was noted; the addresses of a request stay as they are.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from gpu.memory.address_space import Addresses, Allocation

_MANY: Final = 1 << 12
"""So many requests are noted before their lines are marked."""

Lines = npt.NDArray[np.bool_]


class Marks:
    """By line of an allocation: whether a cache may have it, whether memory may be old.

    ``line_size``: bytes.
    """

    def __init__(self, line_size: int) -> None:
        self._line_size = line_size
        self._noted: list[tuple[Allocation, Addresses, int, bool]] = []
        self._marks: dict[int, tuple[Lines, Lines]] = {}

    def note(self, place: Allocation, addresses: Addresses, size: int, stored: bool) -> None:
        """A request touches ``size`` bytes, at most a line, from each of the addresses on."""
        self._noted.append((place, addresses, size, stored))
        if len(self._noted) > _MANY:
            self._look()

    def cached(self, place: Allocation) -> Lines:
        """The lines that a cache may have."""
        self._look()
        return self._of(place)[0]

    def stored(self, place: Allocation) -> Lines:
        """The lines that memory itself may have old; the caller clears those it brings up to
        date."""
        self._look()
        return self._of(place)[1]

    def _of(self, place: Allocation) -> tuple[Lines, Lines]:
        marks = self._marks.get(place.start)
        if marks is None:
            lines = (place.end - place.start) // self._line_size
            marks = np.zeros(lines, np.bool_), np.zeros(lines, np.bool_)
            self._marks[place.start] = marks
        return marks

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
            for marks in self._of(place)[: 1 + stored]:
                marks[first] = True
                marks[last] = True
