"""Which profile each leg of a run gets.

A run of some twenty legs should have run every profile, so `default` goes through a shuffled list
of them instead of drawing each on its own. The first few legs are dealt apart: most runs are short,
and many a fault is gross. Invariant: what a leg gets depends on the seed and its number alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import lru_cache
from types import MappingProxyType
from typing import Final

from runtime.prng import Prng
from slicc.text.lazy_dataclass import dataclass
from tester.counter_rng import CounterRng, shuffled
from tester.profiles.profiles import DEFAULT


@dataclass(frozen=True, slots=True)
class Turn:
    """What one leg runs."""

    profile: str
    pinned: Mapping[str, object] = field(default_factory=dict)
    """Options that the leg has unless the user fixes them."""

    @property
    def longest(self) -> int | None:
        """Episodes of the leg at most, where all legs of the profile are short."""
        return _LONGEST.get(self.profile)


_LONGEST: Final = MappingProxyType(
    {"system": 150, "scope-mix": 150, "starvation": 150, "scarcity": 60}
)
"""What these find depends on the system that is drawn more than on how long it runs. Where tables
are small, a port of low priority may even be passed over for as long as there is work."""

_WRITE_THROUGH: Final = Turn("replacement", {"write_back": False, "dmas": 1})
_WRITE_BACK: Final = Turn("write-back", {"pressure": 3, "dmas": 1})
_GPU_OPENING: Final = (
    _WRITE_THROUGH,
    _WRITE_BACK,
    Turn("system"),
    Turn("scope-mix", {"dmas": 1}),
    Turn("starvation", {"dmas": 1}),
)
"""The first legs of a run, in an order that is drawn. Each has a DMA engine at work, if there are
any; a second level smaller than the data is written through and written back."""
_CPU_OPENING: Final = (
    _WRITE_THROUGH,
    _WRITE_BACK,
    Turn("system"),
    Turn("line-duel", {"dmas": 1}),
    Turn("starvation", {"dmas": 1}),
)
"""The same for protocols without wavefronts: lanes, acquires and scopes mean nothing there."""

_MANY_READERS: Final = Turn("coherence", {"units": 16, "load_percent": (60, 95)})
"""More copies of a line than a byte has bits."""
_GPU_ROTATION: Final = (
    *[Turn("relay")] * 6,
    *[Turn("probe-crossing", {"write_back": False})] * 6,
    *[Turn("probe-crossing", {"write_back": True})] * 6,
    *[Turn("system")] * 7,
    *[Turn("scarcity")] * 2,
    *[Turn("whole-line")] * 2,
    Turn("replacement"),
    Turn("coherence"),
    _MANY_READERS,
    Turn("hot-ping-pong"),
    Turn("line-duel"),
    Turn("set-conflict"),
    *[Turn("lane-merge")] * 2,
    Turn("write-back"),
    Turn("acquire-crossing"),
    Turn("bank-skew"),
    Turn("scope-mix"),
    Turn("starvation"),
)
"""A round of `default` after these. What relays look for is rare, and their episodes are short and
cheap; a system has more kinds of agents than any other profile, so that each of them gets fewer
episodes."""
_TWO_FRAMES: Final = {
    "l1_sets": 2,
    "l1_ways": 1,
    "delays": "stragglers",
    "instruction_percent": 50,
}
"""Lines are given up and asked for again while answers to the eviction are under way."""
_SHARED_PORTS: Final = {
    "units": 2,
    "processor_threads": 3,
    "l1_sets": 2,
    "l1_ways": 1,
    "peek_percent": 100,
    "chase_percent": 100,
}
"""What a processor keeps, a value or a reservation, is lost when its line is replaced for another
processor of the same cache: the machine must report that, too. Two caches are enough for it, and
with more the last of so many processors in one set waits long."""
_ONE_SLOT: Final = Turn("hot-ping-pong", {"units": 16, "send_slots": 1})
"""Owners that cannot answer in time: what they owe is overtaken by what was asked for later."""
_OWNERS_AND_ENGINES: Final = Turn("hot-ping-pong", {**_TWO_FRAMES, "dmas": 2})
"""Owners from which an engine takes a line, and that want it again before their answer arrives."""
_ALONE: Final = (
    Turn("line-duel", {"units": 1, "dmas": 2, "flush_percent": 0}),
    Turn("set-conflict", {"units": 1, "dmas": 0, "flush_percent": 40}),
)
"""One processor: what asks the other caches has none to ask. Engines and flushes are apart, for
each hides faults of the other."""
_CPU_ROTATION: Final = (
    *[Turn("set-conflict")] * 2,
    _OWNERS_AND_ENGINES,
    _ONE_SLOT,
    *[Turn("set-conflict", _TWO_FRAMES)] * 2,
    *[Turn("set-conflict", _SHARED_PORTS)] * 2,
    Turn("line-duel", _SHARED_PORTS),
    *[Turn("line-duel")] * 2,
    Turn("line-duel", _TWO_FRAMES),
    _OWNERS_AND_ENGINES,
    *_ALONE,
    Turn("set-conflict", {"dmas": 3}),
    *[Turn("replacement")] * 2,
    *[Turn("system")] * 2,
    *[Turn("scarcity")] * 2,
    Turn("probe-crossing"),
    Turn("coherence"),
    _MANY_READERS,
    Turn("hot-ping-pong"),
    Turn("write-back"),
    Turn("bank-skew"),
    Turn("starvation"),
)
_LATE_OWNERS: Final = Turn(
    "hot-ping-pong", {**_ONE_SLOT.pinned, "load_percent": (5, 30), "delays": "skewed"}
)
"""Many writers of which each has several lines to hand over, one after the other: what they ask for
themselves arrives before their own request has its turn on the bus."""
_BUS_ROTATION: Final = (*_CPU_ROTATION, *[_LATE_OWNERS] * 8)
"""A cache on a bus answers requests in their order, so that it may have to wait with its own."""


_STREAMS: Final = Turn(
    "replacement", {"stream_percent": 80, "lengths": (20,), "groups": 2, "lines": 64}
)
"""Accesses that go from line to line, as those that a prefetcher waits for."""


def rotation(is_gpu: bool, on_bus: bool = False, prefetches: bool = False) -> tuple[Turn, ...]:
    """What `default` deals in a round: each turn as often as it is there."""
    deck = _BUS_ROTATION if on_bus else _GPU_ROTATION if is_gpu else _CPU_ROTATION
    return (*deck, *[_STREAMS] * 4) if prefetches else deck


def turn_of_leg(
    profile: str,
    prng: Prng,
    number: int,
    is_gpu: bool = True,
    on_bus: bool = False,
    prefetches: bool = False,
) -> Turn:
    """What leg `number` runs: for `default` every profile in turn, in an order that is drawn for
    every round, so that a short run covers (nearly) all of them."""
    if profile != DEFAULT:
        return Turn(profile)
    opening = _GPU_OPENING if is_gpu else _CPU_OPENING
    if number < len(opening):
        return opening[_order(prng, "opening", len(opening))[number]]
    deck = rotation(is_gpu, on_bus, prefetches)
    turn, place = divmod(number - len(opening), len(deck))
    return deck[_order(prng, f"round {turn}", len(deck))[place]]


@lru_cache(4)
def _order(prng: Prng, name: str, count: int) -> list[int]:
    """In which turns are dealt; drawn once for all legs that are dealt from it."""
    order: list[int] = shuffled(CounterRng(prng.fork(name)), count).tolist()
    return order
