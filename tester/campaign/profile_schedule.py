"""Which profile each leg of a run gets.

A run of some twenty legs should have seen everything, so profiles are dealt like cards instead of
drawn one by one. Invariant: the profile of a leg depends on the seed and its number alone.
"""

from __future__ import annotations

from typing import Final

from runtime.prng import Prng
from tester.counter_rng import Draws, shuffled
from tester.scenario.profiles import DEALT, DEFAULT
from tester.scenario.special_profiles import LATE

_GPU_DECK: Final = (
    *DEALT,
    *["relay"] * 6,
    *["system"] * 3,
)
"""A round of `default`. What relays look for is rare, and their episodes are short and cheap; a
system has more kinds of agents than any other profile, so that each of them gets fewer episodes."""
_CPU_DECK: Final = (
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


_GPU_LATE: Final = tuple(LATE)
_CPU_LATE: Final = tuple(name for name in LATE if name != "scope-mix")
"""Dealt besides from the second round on, where long runs begin: what they look for is rarely
there, and short runs should not pay for it. Scopes are for wavefronts."""


def deal(profile: str, prng: Prng, number: int, is_gpu: bool = True) -> str:
    """The profile of leg `number`: for `default` all of them in turn, in an order that is drawn
    anew for every round, so that a short run has seen (nearly) everything."""
    if profile != DEFAULT:
        return profile
    deck = _GPU_DECK if is_gpu else _CPU_DECK
    turn, place = 0, number
    if number >= len(deck):
        first, deck = len(deck), (*deck, *(_GPU_LATE if is_gpu else _CPU_LATE))
        turn, place = divmod(number - first, len(deck))
        turn += 1
    order = shuffled(Draws(prng.fork(f"round {turn}")), len(deck))
    return deck[int(order[place])]
