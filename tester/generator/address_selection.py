"""Selects the addresses of accesses: locations that no conflicting episode uses at the time.

The lanes of an episode pick locations of their groups; a pick whose location is held is repeated
with another one, and after the last attempt half of the lanes go to a location that they have
already and the others sit the action out. Invariant: what a pick becomes depends on configuration,
seed and the picks before it alone, and is the same with native loops and without.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

import numpy as np

from runtime.prng import Prng
from slicc.text.lazy_dataclass import dataclass
from tester.arrays import BoolArray, IntArray
from tester.counter_rng import CounterRng, scaled
from tester.generator.config import GeneratorConfig
from tester.generator.conflict_targeting import REACH, LatestStores
from tester.generator.reservation import Claim, Holder
from tester.generator.unaligned import Shape, Shaping, Unaligned
from tester.generator.virtual_clock import Timetable
from tester.program.address_map import AddressMap
from tester.program.program import INACTIVE

LANE_BITS: Final = 6
SIZES: Final = np.array((1, 2, 4, 8), np.int64)
ATTEMPTS: Final = 6
"""How many locations a lane tries for an action."""
STRIDES: Final = (1, 1, 2, -1)
"""Lines between one access of a stream and the next."""


@dataclass(frozen=True, slots=True)
class Block:
    """The actions of a block of episodes, before their addresses are selected."""

    table: Timetable
    action: IntArray
    """Counters for random numbers."""
    number: IntArray
    """Within its episode."""
    is_store: BoolArray
    whole_line: BoolArray
    """It will take the whole line of its location."""
    kind_of_size: IntArray
    """Index into SIZES."""
    first: IntArray
    """First action of each episode, and their number at the end."""
    group: IntArray
    """[E, L] of each lane, INACTIVE for lanes that are off."""
    shaping: Mapping[int, Shaping]
    """Which actions get another shape, all of one lane."""


class Selected(NamedTuple):
    """What became of a block."""

    address: IntArray
    """[A, L] of each lane, INACTIVE where it sits out."""
    shapes: Mapping[int, Shape]
    """Of those actions with another shape whose lane does not sit out."""


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


class _Draws(NamedTuple):
    """What is drawn for a pick, whatever has been taken before."""

    attempts: tuple[int, ...]
    """Indices within the locations of its group, in the order in which they are tried."""
    choices: int
    """How many of these it may choose from; 0: it sits out."""
    any_location: bool
    """No repetition, hot location or pattern decides which one is tried first."""
    target: int
    """How many stores back it targets; -1: none."""
    returns: bool
    """Where it is refused, it goes to a location that its lane has already."""
    own: int
    """A word: to which one."""
    inner: int
    """A word: where it goes inside of its location."""
    whole_line: bool
    """It will take the whole line of its location."""


class _Lane(NamedTuple):
    """What a lane has in the present episode."""

    held: list[int]
    """Locations, as often as it accesses them."""
    stored: list[int]


class AddressSelector:
    """State between blocks: who holds which location."""

    def __init__(
        self, config: GeneratorConfig, places: AddressMap, unaligned: Unaligned, prng: Prng
    ) -> None:
        self.config: Final = config
        self.map: Final = places
        self._unaligned: Final = unaligned
        self._claims: Final = [Claim() for _ in places.location_size]
        self._lanes: Final = max(agent.lanes for agent in config.agents)
        self._episode_rng = CounterRng(prng.fork("episode"))
        self._action_rng = CounterRng(prng.fork("action"))
        self._attempt_rngs = [CounterRng(prng.fork(f"pick-{i}")) for i in range(1, ATTEMPTS)]
        self._first_rng = CounterRng(prng.fork("first"))
        self._target_rng = CounterRng(prng.fork("chase"))
        self._stream_rng = CounterRng(prng.fork("stream"))
        self._streams: BoolArray = np.array([a.streams for a in config.all_abilities()], np.bool_)
        self._own_rng = CounterRng(prng.fork("own"))
        self._slot_rng = CounterRng(prng.fork("slot"))
        self._line_start: Final = _line_starts(places)
        self._line: Final = places.location_address & -places.line_size
        self._sizes: Final[list[int]] = places.location_size.tolist()
        self._addresses: Final[list[int]] = places.location_address.tolist()
        self._is_whole: Final[list[bool]] = unaligned.is_whole.tolist()
        self._group_first: Final[list[int]] = places.group_first.tolist()

    def select(self, block: Block) -> Selected:
        """The addresses of a block, whose episodes start after all earlier ones."""
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
        address = np.full((len(block.action), self._lanes), INACTIVE, np.int64)
        shapes: dict[int, Shape] = {}
        latest = LatestStores()
        rows = zip(
            *(each.tolist() for each in (picks.action, picks.lane, picks.group)),
            *(each.tolist() for each in (picks.is_store, picks.size, picks.episode)),
            self._draws(block, picks),
        )
        agents, identities = table.agent.tolist(), table.identity.tolist()
        steps = self._steps(table)
        starts, holds = table.start.tolist(), table.hold.tolist()
        present, lanes = 0, [_Lane([], []) for _ in range(self._lanes)]
        for action, lane, own_group, stores, size, of_episode, drawn in rows:
            if of_episode != present:
                latest.end_episode(agents[present])
                present, lanes = of_episode, [_Lane([], []) for _ in range(self._lanes)]
            when = identities[present], starts[present], holds[present]
            holder = Holder(*when, agents[present], lane, stores)
            target = location = self._target(latest, own_group, size, drawn, holder)
            if location is None and steps[present] and lanes[lane].held:
                line = int(self._line[lanes[lane].held[-1]]) + steps[present]
                location = self._in_line(line, own_group, drawn, holder)
            if location is None:
                location = self._free(own_group, drawn, holder)
            if location is None:
                location = self._own(lanes[lane], size, drawn, stores)
            if location is None:
                continue
            self._claims[location].hold(holder)
            lanes[lane].held.append(location)
            if stores:
                lanes[lane].stored.append(location)
                if target is None:
                    latest.note(own_group, location)
            inner = _scaled(drawn.inner, self._sizes[location] >> size) << size
            address[action, lane] = place = self._addresses[location] + inner
            if action in block.shaping:
                asked = block.shaping[action]
                shapes[action] = self._unaligned.grown(asked, place, holder, self._claims)
        return Selected(address, shapes)

    def _target(
        self,
        latest: LatestStores,
        group: int,
        size: int,
        drawn: _Draws,
        holder: Holder,
    ) -> int | None:
        """The location of a latest store that the pick targets."""
        if drawn.target < 0 or (stored := latest.back(group, drawn.target)) is None:
            return None
        location, other = stored
        suits = other != holder.agent and self._sizes[location] >= 1 << size
        suits &= self._is_whole[location] or not drawn.whole_line
        return location if suits and self._claims[location].agrees(holder) else None

    def _steps(self, table: Timetable) -> list[int]:
        """By how many bytes each access of an episode that goes from line to line is behind the one
        before; 0: it does not."""
        name, rng = table.identity * 2, self._stream_rng
        in_order = rng.percent(name, self.config.stream_percent) & self._streams[table.agent]
        stride = np.array(STRIDES)[rng.below(name + 1, len(STRIDES))]
        steps: list[int] = np.where(in_order, stride * self.map.line_size, 0).tolist()
        return steps

    def _in_line(self, line: int, group: int, drawn: _Draws, holder: Holder) -> int | None:
        """The first free location in a line, of those that the pick may choose from."""
        first = self._group_first[group]
        there = np.flatnonzero(self._line[first : first + drawn.choices] == line)
        for location in (there + first).tolist():
            if drawn.whole_line and not self._is_whole[location]:
                continue
            if self._claims[location].is_free(holder):
                return int(location)
        return None

    def _free(self, group: int, drawn: _Draws, holder: Holder) -> int | None:
        """Of those that the pick tries, a free location: a preferred one, where any would do."""
        first, found = self._group_first[group], None
        for index in drawn.attempts if drawn.choices else ():
            claim = self._claims[first + index]
            if not claim.is_free(holder):
                continue
            if drawn.whole_line and not self._is_whole[first + index]:
                continue
            if not drawn.any_location or claim.is_preferred(holder):
                return first + index
            if found is None:
                found = first + index
        return found

    def _own(self, lane: _Lane, size: int, drawn: _Draws, stores: bool) -> int | None:
        """A location that the lane of a refused pick has already."""
        own = lane.stored if stores else lane.held
        if not own or not drawn.choices or not drawn.returns:
            return None
        location = own[_scaled(drawn.own, len(own))]
        return location if self._sizes[location] >= 1 << size else None

    def _draws(self, block: Block, picks: _Picks) -> list[_Draws]:
        config, slots, own = self.config, self._slot_rng, self._own_rng
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
        index, any_one = self._first_choice(block, picks, source, choices)
        attempts = [index] + [rng.below(picks.identity, choices) for rng in self._attempt_rngs]
        targets = self._target_rng.percent(~table.identity, config.chase_percent)[picks.episode]
        targets &= self._target_rng.percent(picks.identity * 2, 50)
        columns = (
            choices,
            any_one,
            np.where(targets, self._target_rng.below(picks.identity * 2 + 1, REACH), -1),
            own.percent(picks.identity * 2, 50),
            own.words(picks.identity * 2 + 1),
            slots.words(picks.identity * 2),
            block.whole_line[picks.action],
        )
        tried = zip(*(each.tolist() for each in attempts))
        return list(map(_Draws, tried, *(each.tolist() for each in columns)))

    def _first_choice(
        self, block: Block, picks: _Picks, source: IntArray, choices: IntArray
    ) -> tuple[IntArray, BoolArray]:
        """Index within the group's locations that each lane tries first, and whether any other
        would do as well."""
        config, rng = self.config, self._action_rng
        table, action = block.table, block.action
        index = scaled(self._first_rng.words((action[source] << LANE_BITS) | picks.lane), choices)
        any_one = source == picks.action
        if config.hot_percent:
            hot = rng.percent(action * 8 + 4, config.hot_percent)[source]
            any_one &= ~hot
            few = np.minimum(choices, config.hot_cells)
            index = np.where(
                hot, index % np.maximum(few, 1) * (choices // np.maximum(few, 1)), index
            )
        if config.pattern_percent:
            patterned = rng.percent(action * 8 + 5, config.pattern_percent)[source]
            any_one &= ~patterned
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
        return index, any_one


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


def _scaled(word: int, limit: int) -> int:
    """A uniform word as an integer in 0 .. limit-1."""
    return (word >> 32) * limit >> 32
