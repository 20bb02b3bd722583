"""Accesses that target bytes which another agent has just stored.

Locations that are picked at random are rarely handed over at once: when they are read, the store of
the other agent has long reached every copy. Targeting accesses move to the location of one of the
latest stores of their group by another agent, reserved or not, so that their episode starts in the
very tick in which the storing one is complete. Invariant: a location that one lane of an episode
stores into is touched by no other lane of it; with other episodes there is no race, because waits
are derived from the final picks.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from slicc.text.lazy_dataclass import dataclass
from tester.arrays import BoolArray, IntArray
from tester.counter_rng import CounterRng

_REACH: Final = 6
"""How many stores of the group back, at most."""


@dataclass(frozen=True, slots=True)
class Targeting:
    """One entry per pick; picks stand in the order of their episodes."""

    episode: IntArray
    lane: IntArray
    group: IntArray
    agent: IntArray
    is_store: BoolArray
    size: IntArray
    """Bytes of the access."""
    targets: BoolArray
    name: IntArray
    """Counters for random numbers."""


def target_conflicts(
    location: IntArray, picks: Targeting, location_size: IntArray, rng: CounterRng
) -> IntArray:
    """The locations of all picks (-1: sits out), after targeting ones were moved where that is
    possible.
    """
    stored = np.flatnonzero(picks.is_store & (location >= 0))
    wants = np.flatnonzero(picks.targets)
    if not len(stored) or not len(wants):
        return location
    span = int(picks.episode[-1]) + 1
    key = picks.group * span + picks.episode
    stored = stored[np.argsort(key[stored], kind="stable")]
    latest = np.searchsorted(key[stored], key[wants], side="left") - 1
    place = latest - rng.below(picks.name[wants], _REACH)
    wants, place = wants[place >= 0], place[place >= 0]
    source = stored[place]
    suits = picks.group[source] == picks.group[wants]
    suits &= picks.agent[source] != picks.agent[wants]
    suits &= location_size[location[source]] >= picks.size[wants]
    moved = location.copy()
    moved[wants[suits]] = location[source[suits]]
    while len(back := _clashing(location, moved, picks)):
        moved[back] = location[back]
    return moved


def _clashing(location: IntArray, moved: IntArray, picks: Targeting) -> IntArray:
    """Moved picks whose location other lanes of their episode use, one of them all to store."""
    used = np.flatnonzero(moved >= 0)
    key = picks.episode[used] * (int(moved.max()) + 1) + moved[used]
    order = np.argsort(key, kind="stable")
    used, key = used[order], key[order]
    first = np.flatnonzero(np.append(True, key[1:] != key[:-1]))
    lane = picks.lane[used]
    several = np.minimum.reduceat(lane, first) != np.maximum.reduceat(lane, first)
    clash = several & np.logical_or.reduceat(picks.is_store[used], first)
    inside = used[np.repeat(clash, np.diff(np.append(first, len(key))))]
    return np.asarray(inside[moved[inside] != location[inside]])
