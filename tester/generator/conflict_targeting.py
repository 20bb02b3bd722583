"""Accesses that target bytes which another agent has just stored.

Locations that are picked at random are rarely handed over at once: when they are read, the store of
the other agent has long reached every copy. Targeting accesses go to the location of one of the
latest stores of their group by another agent, free or not, so that their episode starts in the very
tick in which the storing one is complete. Invariant: a location that one lane of an episode stores
into is touched by no other lane of it; with other episodes there is no race, because waits are
derived from the final picks.
"""

from __future__ import annotations

from collections import defaultdict, deque
from typing import Final

REACH: Final = 6
"""How many stores of the group back, at most."""


class LatestStores:
    """The latest stores of each group of a block, by episodes before the present one."""

    def __init__(self) -> None:
        self._stores: defaultdict[int, deque[tuple[int, int]]] = defaultdict(
            lambda: deque(maxlen=REACH)
        )
        self._present: list[tuple[int, int]] = []

    def back(self, group: int, number: int) -> tuple[int, int] | None:
        """(location, agent) of the latest store but ``number`` of the group."""
        stores = self._stores[group]
        return stores[-1 - number] if number < len(stores) else None

    def note(self, group: int, location: int) -> None:
        """The present episode stores there."""
        self._present.append((group, location))

    def end_episode(self, agent: int) -> None:
        """The present episode is of this agent; the next one begins."""
        for group, location in self._present:
            self._stores[group].append((location, agent))
        self._present.clear()
