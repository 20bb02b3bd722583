"""Reservations of locations by episodes on the virtual clock.

An episode's lane owns the locations it picked from the start of the episode until its reservation
ends. Any number of lanes may own a location they only load; a lane that stores into it is its only
owner. A pick that breaks this is refused and may be repeated with another location. Invariant: of
the granted picks, no two owners of one location overlap in time if one of them stores, except that
an owner does not conflict with itself.

A whole block of episodes is judged at once instead of one after the other: sorted by (location,
start), a pick clashes with the past if the latest end of the stores before it (or of anything
before it, if it stores itself) lies after its start. That refuses slightly more than necessary,
because the clash may be with a pick that is refused as well; the next round fills such holes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from slicc.scenario_text.bounds import MAX_LANES
from slicc.text.lazy_dataclass import dataclass
from tester.arrays import BoolArray, IntArray
from tester.counter_rng import CounterRng, scaled
from tester.program.program import INACTIVE

ROUNDS: Final = 8
"""How often a lane tries to find a free location for an action."""
_TIME_BITS: Final = 40
_NEVER: Final = np.int64((1 << 63) - 1)
_LANE_BITS: Final = (MAX_LANES - 1).bit_length()


@dataclass(frozen=True, slots=True)
class LocationRequests:
    """One entry per pick, in the order of their actions."""

    identity: IntArray
    """Counters for random numbers."""
    episode: IntArray
    """Within the open block."""
    lane: IntArray
    is_store: BoolArray
    first_location: IntArray
    """First location of the group."""
    choices: IntArray
    """How many locations the pick may choose from, this one included. 0: the lane sits out."""
    index: IntArray
    """Which of them it requests first."""


@dataclass(frozen=True, slots=True)
class _Owners:
    """Granted reservations, one per (location, owner), in that order."""

    location: IntArray
    owner: IntArray  # episode << _LANE_BITS | lane
    store: BoolArray


class Reservations:
    """Ownership of locations by the lanes of a sliding window of episodes."""

    def __init__(self) -> None:
        none = np.zeros(0, np.int64)
        self._start: IntArray = none
        self._hold: IntArray = none
        self._origin = 0
        self._live = 0
        self._owners = _Owners(none, none, np.zeros(0, np.bool_))

    def open(self, start: IntArray, hold: IntArray) -> None:
        """Begin a block: episodes by start (ascending, after all earlier ones) and end of hold.

        Reservations of earlier blocks that last beyond the first start stay in force.
        """
        self._origin, owners = int(start[0]), self._owners
        live = self._hold > self._origin
        number = np.cumsum(live) - 1
        kept = live[owners.owner >> _LANE_BITS]
        episode = number[owners.owner[kept] >> _LANE_BITS]
        lane = owners.owner[kept] & (MAX_LANES - 1)
        self._owners = _Owners(
            owners.location[kept], (episode << _LANE_BITS) | lane, owners.store[kept]
        )
        self._live = int(np.count_nonzero(live))
        self._start = np.concatenate((self._start[live], start))
        self._hold = np.concatenate((self._hold[live], hold))

    def allocate(
        self, requests: LocationRequests, first_share: int, rng: Sequence[CounterRng]
    ) -> IntArray:
        """The location of each pick, -1 for those that found none in `ROUNDS` rounds.

        `first_share` percent ask in the first round: where locations are scarce, picks that ask at
        once mostly refuse each other. `rng`: one for each round.
        """
        location = np.full(len(requests.index), INACTIVE, np.int64)
        tried = np.zeros(len(location), np.bool_)
        pending = np.flatnonzero(requests.choices > 0)
        share = first_share
        for attempt in range(ROUNDS):
            numbers = rng[attempt]
            asks = numbers.percent(requests.identity[pending] * 2 + 1, share)
            asking, waiting = pending[asks], pending[~asks]
            chosen = requests.index[asking]
            if attempt:
                word = numbers.words(requests.identity[asking] * 2)
                chosen = np.where(tried[asking], scaled(word, requests.choices[asking]), chosen)
            tried[asking] = True
            candidate = requests.first_location[asking] + chosen
            granted = self.grant(
                candidate,
                requests.episode[asking],
                requests.lane[asking],
                requests.is_store[asking],
            )
            location[asking[granted]] = candidate[granted]
            pending = np.sort(np.concatenate((waiting, asking[~granted])))
            if len(pending) * 64 < len(location):
                break
            success = int(np.count_nonzero(granted)) * 100 // max(len(asking), 1)
            share = 100 if success > 50 else max(success, 10)
        return location

    def grant(
        self, location: IntArray, episode: IntArray, lane: IntArray, store: BoolArray
    ) -> BoolArray:
        """Which of these picks are granted. `episode` counts within the open block.

        All picks of one lane and episode for one location are granted or refused together.
        """
        held = self._owners
        taken = len(held.location)
        owner = ((episode + self._live) << _LANE_BITS) | lane
        key, place = _sorted(
            np.concatenate((held.location, location)),
            np.concatenate((held.owner, owner)),
            np.concatenate((held.store, store)),
            len(self._start) << _LANE_BITS,
        )
        if len(key) == 0:
            return np.zeros(0, np.bool_)
        first = np.flatnonzero(np.append(True, key[1:] >> 1 != key[:-1] >> 1))
        before = place < taken
        old = np.logical_or.reduceat(before, first)
        old_store = np.logical_or.reduceat(before & ((key & 1) == 1), first)
        last = np.append(first[1:], len(key)) - 1
        stores = (key[last] & 1) == 1  # stores sort behind loads

        locations, owners = np.divmod(key[first] >> 1, len(self._start) << _LANE_BITS)
        base = locations << _TIME_BITS
        begin = base + np.maximum(self._start[owners >> _LANE_BITS] - self._origin, 0)
        end = base + self._hold[owners >> _LANE_BITS] - self._origin

        past_store = _latest_before(np.where(stores, end, -1))
        past_any = _latest_before(end)
        next_store = _earliest_after(np.where(old_store, begin, _NEVER))
        next_any = _earliest_after(np.where(old, begin, _NEVER))
        clash = (past_store > begin) | (next_store < end)
        clash |= stores & ((past_any > begin) | (next_any < end))

        accept = old | ~clash
        self._owners = _Owners(
            locations[accept], owners[accept], (old_store | (stores & ~clash))[accept]
        )
        group = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(key))))
        granted = np.empty(len(key), np.bool_)
        granted[place] = ~clash[group]
        return granted[taken:]


def _sorted(
    location: IntArray, owner: IntArray, store: BoolArray, owners: int
) -> tuple[IntArray, IntArray]:
    """((location * owners + owner) * 2 + store, place in the input), ascending."""
    bits = len(location).bit_length()
    key = (location * owners + owner) * 2 + store
    if len(key) and int(location.max() + 1) * owners * 2 >= 1 << (62 - bits):
        order = np.argsort(key, kind="stable")
        return key[order], order
    packed = (key << bits) | np.arange(len(key))
    packed.sort()
    return packed >> bits, packed & ((1 << bits) - 1)


def _latest_before(time: IntArray) -> IntArray:
    """Largest value at any smaller index; times have the location on top, so that none mix."""
    result = np.empty_like(time)
    result[0] = -1
    np.maximum.accumulate(time[:-1], out=result[1:])
    return result


def _earliest_after(time: IntArray) -> IntArray:
    """Smallest value at any larger index."""
    result = np.empty_like(time)
    result[-1] = _NEVER
    result[:-1] = np.minimum.accumulate(time[:0:-1])[::-1]
    return result
