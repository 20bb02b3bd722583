"""Selects the addresses of accesses: locations that no conflicting episode uses at the time.

The lanes of an episode pick locations of their groups; a pick that would conflict is repeated with
another location, and after the last round the lane sits the action out. Invariant: what a pick
becomes depends on configuration, seed and the picks before it alone, and is the same with native
loops and without.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from runtime.prng import Prng
from slicc.text.lazy_dataclass import dataclass
from tester.arrays import BoolArray, IntArray
from tester.counter_rng import CounterRng, scaled
from tester.generator.config import GeneratorConfig
from tester.generator.conflict_targeting import Targeting, target_conflicts
from tester.generator.reservation import ROUNDS, LocationRequests, Reservations
from tester.generator.virtual_clock import Timetable
from tester.program.address_map import AddressMap
from tester.program.program import INACTIVE

LANE_BITS: Final = 6
SIZES: Final = np.array((1, 2, 4, 8), np.int64)


@dataclass(frozen=True, slots=True)
class Block:
    """The actions of a block of episodes, before their addresses are selected."""

    table: Timetable
    action: IntArray
    """Counters for random numbers."""
    number: IntArray
    """Within its episode."""
    is_store: BoolArray
    kind_of_size: IntArray
    """Index into SIZES."""
    first: IntArray
    """First action of each episode, and their number at the end."""
    group: IntArray
    """[E, L] of each lane, INACTIVE for lanes that are off."""


@dataclass(frozen=True, slots=True)
class _Picks:
    """One entry per lane of each action: what it does, and a counter for random numbers."""

    action: IntArray
    lane: IntArray
    episode: IntArray
    group: IntArray
    is_store: BoolArray
    size: IntArray  # index into SIZES
    identity: IntArray


class AddressSelector:
    """State between blocks: which lane owns which location."""

    def __init__(self, config: GeneratorConfig, places: AddressMap, prng: Prng) -> None:
        self.config: Final = config
        self.map: Final = places
        self.reservations: Final = Reservations()
        self._lanes: Final = max(agent.lanes for agent in config.agents)
        self._episode_rng = CounterRng(prng.fork("episode"))
        self._action_rng = CounterRng(prng.fork("action"))
        self._round_rngs = tuple(CounterRng(prng.fork(f"pick-{i}")) for i in range(ROUNDS))
        self._first_rng = CounterRng(prng.fork("first"))
        self._target_rng = CounterRng(prng.fork("chase"))
        self._own_rng = CounterRng(prng.fork("own"))
        self._slot_rng = CounterRng(prng.fork("slot"))
        self._line_start: Final = _line_starts(places)
        lanes = sum(agent.lanes for agent in config.agents)
        alive = lanes * sum(config.lengths) // len(config.lengths)
        self._first_share: Final = max(
            10, min(100, 50 * len(places.location_size) // max(alive, 1))
        )

    def addresses(self, block: Block) -> IntArray:
        """[A, L] the address of each lane, INACTIVE where it sits out."""
        table, group = block.table, block.group
        episode = np.repeat(np.arange(len(table.agent)), table.length)
        slot = np.flatnonzero((group >= 0)[episode])
        slot_action, slot_lane = np.divmod(slot, self._lanes)
        picks = _Picks(
            action=slot_action,
            lane=slot_lane,
            episode=episode[slot_action],
            group=group[episode[slot_action], slot_lane],
            is_store=block.is_store[slot_action],
            size=block.kind_of_size[slot_action],
            identity=(block.action[slot_action] << LANE_BITS) | slot_lane,
        )
        location = self._reserve(block, picks)
        taken = np.flatnonzero(location >= 0)
        location, size = location[taken], SIZES[picks.size[taken]]
        places = self.map.location_size[location] // size
        inner = self._slot_rng.below(picks.identity[taken] * 2, places) * size
        address = np.full((len(block.action), self._lanes), INACTIVE, np.int64)
        address.ravel()[slot[taken]] = self.map.location_address[location] + inner
        return address

    def _reserve(self, block: Block, picks: _Picks) -> IntArray:
        """The location of each pick, -1 where the lane sits out."""
        config, slots = self.config, self._slot_rng
        table, number = block.table, block.number
        # Half of the episodes pick among the locations that fit their widest action, so that
        # accesses of different sizes meet in one location.
        widest = np.maximum.reduceat(block.kind_of_size, block.first[:-1])[picks.episode]
        wide = self._episode_rng.percent(table.identity * 4 + 3, 50)[picks.episode]
        reach = self.map.group_reach
        choices = reach[picks.group, picks.size]
        choices = np.where(
            wide & (reach[picks.group, widest] > 0), reach[picks.group, widest], choices
        )

        again = slots.percent(picks.identity * 2 + 1, config.repeat_percent)
        back = self._action_rng.below(picks.identity * 8 + 3, number[picks.action])
        source = np.where(again, picks.action - number[picks.action] + back, picks.action)
        index = self._first_choice(block, picks, source, choices)

        self.reservations.open(table.start, table.hold)
        location = self.reservations.allocate(
            LocationRequests(
                identity=picks.identity,
                episode=picks.episode,
                lane=picks.lane,
                is_store=picks.is_store,
                first_location=self.map.group_first[picks.group],
                choices=choices,
                index=index,
            ),
            self._first_share,
            self._round_rngs,
        )
        pending = np.flatnonzero((location < 0) & (choices > 0))
        self._return_to_own(picks, location, pending)
        return self._targeted(table, picks, location)

    def _targeted(self, table: Timetable, picks: _Picks, location: IntArray) -> IntArray:
        """The locations after some picks were moved to those of other agents' stores."""
        percent = self.config.chase_percent
        if not percent:
            return location
        rng = self._target_rng
        targets = rng.percent(~table.identity, percent)[picks.episode]
        targets &= rng.percent(picks.identity * 2, 50)
        targeting = Targeting(
            picks.episode,
            picks.lane,
            picks.group,
            table.agent[picks.episode],
            picks.is_store,
            SIZES[picks.size],
            targets,
            picks.identity * 2 + 1,
        )
        return target_conflicts(location, targeting, self.map.location_size.astype(np.int64), rng)

    def _return_to_own(self, picks: _Picks, location: IntArray, pending: IntArray) -> None:
        """Move half of the refused picks to a location that their lane owns already."""
        slots = self._own_rng
        pending = pending[slots.percent(picks.identity[pending] * 2, 50)]
        lane_of = (picks.episode << LANE_BITS) | picks.lane
        for may_use, wants in (
            (location >= 0, pending[~picks.is_store[pending]]),
            ((location >= 0) & picks.is_store, pending[picks.is_store[pending]]),
        ):
            owned = np.flatnonzero(may_use)
            owned = owned[np.argsort(lane_of[owned], kind="stable")]
            low = np.searchsorted(lane_of[owned], lane_of[wants], side="left")
            high = np.searchsorted(lane_of[owned], lane_of[wants], side="right")
            some = high > low
            wants, low, high = wants[some], low[some], high[some]
            back = owned[low + slots.below(picks.identity[wants] * 2 + 1, high - low)]
            fits = self.map.location_size[location[back]] >= SIZES[picks.size[wants]]
            location[wants[fits]] = location[back[fits]]

    def _first_choice(
        self, block: Block, picks: _Picks, source: IntArray, choices: IntArray
    ) -> IntArray:
        """Index within the group's locations that each lane requests first."""
        config, rng = self.config, self._action_rng
        table, action = block.table, block.action
        index = scaled(self._first_rng.words((action[source] << LANE_BITS) | picks.lane), choices)
        if config.hot_percent:
            hot = rng.percent(action * 8 + 4, config.hot_percent)[source]
            few = np.minimum(choices, config.hot_cells)
            index = np.where(
                hot, index % np.maximum(few, 1) * (choices // np.maximum(few, 1)), index
            )
        if config.pattern_percent:
            patterned = rng.percent(action * 8 + 5, config.pattern_percent)[source]
            shape = rng.below(action * 8 + 6, 4)
            # Stride 0 is the same location for all lanes: only loads may do that.
            stride = np.array((0, 1, 1, 2))[shape][source]
            stride = np.maximum(stride, picks.is_store)
            own = rng.words(action * 8 + 7)
            lasting = self._episode_rng.words(~table.identity)[picks.episode]
            start = scaled(np.where((shape & 1)[source] == 1, own[source], lasting), choices)
            # One shape in four begins where a line does: its lanes may fill the line.
            first = self.map.group_first[picks.group]
            aligned = self._line_start[np.minimum(first + start, len(self._line_start) - 1)]
            start = np.where(shape[source] == 2, np.maximum(aligned - first, 0), start)
            moved = (start + picks.lane * stride) % np.maximum(choices, 1)
            index = np.where(patterned, moved, index)
        return index


def _line_starts(places: AddressMap) -> IntArray:
    """[C] the first location of each location's line, among those of its group and size."""
    number = np.arange(len(places.location_address))
    group = np.searchsorted(places.group_first, number, side="right")
    line = places.location_address // places.line_size
    new = np.ones(len(number), np.bool_)
    for same in (group, line, places.location_size):
        new[1:] &= same[1:] == same[:-1]
    new = ~new
    new[:1] = True
    return np.asarray(np.maximum.accumulate(np.where(new, number, 0)))
