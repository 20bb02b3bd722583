"""Counter-based random numbers, for whole arrays at once.

The generator must draw the same numbers however it cuts its work into arrays. `Prng` returns them
in sequence; here the caller gives the position in the sequence, so no draw can shift another.
Invariant: `CounterRng(prng).words(c)[i]` is what `prng.bits64()` would return as its number `c[i]`.
"""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

from runtime.prng import GOLDEN, Prng, mix64_array
from tester.arrays import BoolArray, IntArray, WordArray

_HALF: Final = np.uint64(32)
_STEP: Final = np.uint64(GOLDEN)


class CounterRng:
    """Independent uniform numbers, one per counter; negative counters count from 2**64 down."""

    def __init__(self, prng: Prng) -> None:
        self.key: Final = prng.key
        self._key: Final = np.uint64(prng.key)

    def words(self, counters: IntArray) -> WordArray:
        """64 uniform bits for every counter."""
        place = np.asarray(counters, np.int64).view(np.uint64)
        return mix64_array(place * _STEP + self._key)

    def below(self, counters: IntArray, limit: int | IntArray) -> IntArray:
        """Uniform integers in 0 .. limit-1 (0 where the limit is 0); limits below 2**31."""
        return scaled(self.words(counters), limit)

    def percent(self, counters: IntArray, chance: int) -> BoolArray:
        """True with a probability of `chance` in 100."""
        if chance <= 0 or chance >= 100:
            return np.full(counters.shape, chance >= 100)
        return np.asarray(self.below(counters, 100) < chance)


def scaled(words: WordArray, limit: int | IntArray) -> IntArray:
    """The upper halves of uniform words as integers in 0 .. limit-1."""
    return ((words >> _HALF) * np.asarray(limit).astype(np.uint64) >> _HALF).view(np.int64)


def shuffled(rng: CounterRng, count: int) -> npt.NDArray[np.intp]:
    """A random permutation of 0 .. count-1."""
    return np.argsort(rng.words(np.arange(count)), kind="stable")
