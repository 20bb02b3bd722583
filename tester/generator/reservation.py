"""Reservations of locations by episodes on the virtual clock.

An episode's lane holds the locations that it picked from the start of the episode until its
reservation ends. Any number of lanes may hold a location they only load; a lane that stores into it
is the only one. Invariant: of the locations that were free when they were taken, no two holders
overlap in time if one of them stores, except that a lane does not conflict with itself.

Episodes come in the order of their starts, so what earlier ones do to a location comes down to two
ends: that of the last of all, and that of the last one that stores.
"""

from __future__ import annotations

from typing import Final

from slicc.text.lazy_dataclass import dataclass

_SEVERAL: Final = -1
"""Instead of a lane."""
_NO_AGENT: Final = -1


@dataclass(frozen=True, slots=True)
class Holder:
    """A lane of an episode that asks for a location."""

    episode: int
    """Its identity: the same for all of its lanes, another one for each episode."""
    begin: int
    end: int
    agent: int
    lane: int
    stores: bool


class Claim:
    """Until when episodes before the last one hold a location, and how the last one does."""

    __slots__ = ("_end", "_episode", "_held", "_lane", "_stored", "_stores", "_unobserved")

    def __init__(self) -> None:
        self._held = self._stored = self._end = 0
        self._episode = self._lane = -1
        self._stores = False
        self._unobserved = _NO_AGENT  # whose the last store is, if no other agent has loaded it

    def agrees(self, holder: Holder) -> bool:
        """Whether no other lane of the same episode conflicts."""
        alone = self._episode != holder.episode or self._lane == holder.lane
        return alone or not (self._stores or holder.stores)

    def is_free(self, holder: Holder) -> bool:
        """Whether no holder conflicts."""
        held, stored = self._ends(holder)
        if stored > holder.begin or (holder.stores and held > holder.begin):
            return False
        return self.agrees(holder)

    def is_preferred(self, holder: Holder) -> bool:
        """Whether the access observes a store that no other agent has observed, or is a store that
        overwrites none of these."""
        if holder.stores:
            return self._unobserved == _NO_AGENT
        return self._unobserved not in (_NO_AGENT, holder.agent)

    def hold(self, holder: Holder) -> None:
        """The location is held by one more, be it free or not."""
        if holder.stores:
            self._unobserved = holder.agent
        elif self._unobserved != holder.agent:
            self._unobserved = _NO_AGENT
        if self._episode == holder.episode:
            if self._lane != holder.lane:
                self._lane = _SEVERAL
            self._stores |= holder.stores
            return
        self._held, self._stored = self._ends(holder)
        self._episode, self._end = holder.episode, holder.end
        self._lane, self._stores = holder.lane, holder.stores

    def _ends(self, holder: Holder) -> tuple[int, int]:
        """When the last episode before the holder's ends, and the last that stores."""
        if self._episode == holder.episode:
            return self._held, self._stored
        stored = max(self._stored, self._end) if self._stores else self._stored
        return max(self._held, self._end), stored
