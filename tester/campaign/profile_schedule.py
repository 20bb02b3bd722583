"""Which profile each leg of a run gets.

A run of some twenty legs should have run every profile, so `default` goes through a shuffled list
of them instead of drawing each on its own. Invariant: the profile of a leg depends on the seed and
its number alone.
"""

from __future__ import annotations

from typing import Final

from runtime.prng import Prng
from tester.counter_rng import CounterRng, shuffled
from tester.scenario.profiles import DEFAULT, ROTATION
from tester.scenario.special_profiles import LATER_ROUNDS

_GPU_ROTATION: Final = (
    *ROTATION,
    *["relay"] * 6,
    *["system"] * 3,
)
"""A round of `default`. What relays look for is rare, and their episodes are short and cheap; a
system has more kinds of agents than any other profile, so that each of them gets fewer episodes."""
_CPU_ROTATION: Final = (
    *["set-conflict"] * 5,
    *["line-duel"] * 3,
    *["replacement"] * 2,
    *["system"] * 2,
    "coherence",
    "hot-ping-pong",
    "write-back",
    "bank-skew",
)
"""The same for protocols without wavefronts: lanes and acquires mean nothing there."""


_GPU_LATER: Final = tuple(LATER_ROUNDS)
_CPU_LATER: Final = tuple(name for name in LATER_ROUNDS if name != "scope-mix")
"""Added from the second round on, which only long runs reach: the bugs they look for are rare, and
short runs should not pay for them. Scopes are for wavefronts."""


def profile_of_leg(profile: str, prng: Prng, number: int, is_gpu: bool = True) -> str:
    """The profile of leg `number`: for `default` all of them in turn, in an order that is drawn
    for every round, so that a short run covers (nearly) all of them."""
    if profile != DEFAULT:
        return profile
    rotation = _GPU_ROTATION if is_gpu else _CPU_ROTATION
    turn, place = 0, number
    if number >= len(rotation):
        first, rotation = len(rotation), (*rotation, *(_GPU_LATER if is_gpu else _CPU_LATER))
        turn, place = divmod(number - first, len(rotation))
        turn += 1
    order = shuffled(CounterRng(prng.fork(f"round {turn}")), len(rotation))
    return rotation[int(order[place])]
