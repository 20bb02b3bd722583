"""Random integers that are the same on every machine and in every version.

A counter-based generator: number ``i`` of a stream is a hash of ``(key, i)``, so streams can be
forked by name, drawn from in any order, and computed by numpy in bulk. Invariant: the scalar
and the array forms give the same numbers.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

MASK64 = 0xFFFFFFFFFFFFFFFF
GOLDEN = 0x9E3779B97F4A7C15
_M1 = 0xBF58476D1CE4E5B9
_M2 = 0x94D049BB133111EB
_TWO_PARTS = GOLDEN * 3
"""What :func:`hash64` begins with for two parts."""
_S30, _S27, _S31 = np.uint64(30), np.uint64(27), np.uint64(31)
_A1, _A2 = np.uint64(_M1), np.uint64(_M2)


def mix64(value: int) -> int:
    """The splitmix64 finaliser: a bijection of 64-bit integers that scatters every bit."""
    value &= MASK64
    value = (value ^ (value >> 30)) * _M1 & MASK64
    value = (value ^ (value >> 27)) * _M2 & MASK64
    return value ^ (value >> 31)


def mix64_array(values: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """:func:`mix64` of every element of an array, whose products wrap around."""
    values = values ^ (values >> _S30)
    values *= _A1
    values ^= values >> _S27
    values *= _A2
    values ^= values >> _S31
    return values


def hash64(*parts: int) -> int:
    """A hash of a sequence of integers; order and number of the parts matter."""
    state = GOLDEN * (len(parts) + 1)
    for part in parts:
        state = mix64(state ^ mix64(part + GOLDEN))
    return state & MASK64


_MIXED_BYTES = mix64_array(np.arange(256, dtype=np.uint64) + np.uint64(GOLDEN)).tolist()
"""What `hash64` makes of a part that is a byte."""


@lru_cache(1 << 14)
def hash_name(name: str) -> int:
    """``hash64(*name.encode("utf-8"))``: independent of the Python process."""
    text = name.encode("utf-8")
    state = GOLDEN * (len(text) + 1)
    for byte in text:
        state = mix64(state ^ _MIXED_BYTES[byte])
    return state & MASK64


@lru_cache(1 << 14)
def _mixed_name(name: str) -> int:
    return mix64(hash_name(name) + GOLDEN)


class Prng:
    """One stream of random integers.

    ``fork`` depends on the seed and the names only, never on how much was drawn, so that a new
    draw in one place does not reshuffle another. Its key is ``hash64(key, hash_name(name))``.
    """

    __slots__ = ("_stem", "counter", "key")

    def __init__(self, seed: int) -> None:
        self.key = mix64(seed + GOLDEN)
        self.counter = 0
        self._stem: int | None = None
        """What the keys of all forks begin with."""

    def fork(self, name: str) -> Prng:
        stem = self._stem
        if stem is None:
            stem = self._stem = mix64(_TWO_PARTS ^ mix64(self.key + GOLDEN))
        child = Prng.__new__(Prng)
        child.key = mix64(stem ^ _mixed_name(name))
        child.counter = 0
        child._stem = None
        return child

    def below_in(self, name: str, limit: int) -> int:
        """``fork(name).below(limit)``, for those that draw once from each fork."""
        stem = self._stem
        if stem is None:
            stem = self._stem = mix64(_TWO_PARTS ^ mix64(self.key + GOLDEN))
        key = stem ^ _mixed_name(name)  # mix64 twice, without its calls: a leg draws 45 times
        key = (key ^ (key >> 30)) * _M1 & MASK64
        key = (key ^ (key >> 27)) * _M2 & MASK64
        word = (key ^ (key >> 31)) + GOLDEN & MASK64
        word = (word ^ (word >> 30)) * _M1 & MASK64
        word = (word ^ (word >> 27)) * _M2 & MASK64
        return ((word ^ (word >> 31)) >> 32) * limit >> 32

    def bits64(self) -> int:
        """The next 64 random bits."""
        self.counter += 1
        return mix64(self.key + self.counter * GOLDEN)

    def below(self, limit: int) -> int:
        """A number in ``[0, limit)``; ``limit`` is at most 2**32."""
        if not 0 < limit <= 1 << 32:
            raise ValueError(f"below() takes a limit from 1 to 2**32, not {limit}")
        return (self.bits64() >> 32) * limit >> 32

    def bits64_array(self, count: int) -> NDArray[np.uint64]:
        """The next ``count`` results of :meth:`bits64`."""
        index = np.arange(self.counter + 1, self.counter + count + 1, dtype=np.uint64)
        self.counter += count
        with np.errstate(over="ignore"):
            return mix64_array(np.uint64(self.key) + index * np.uint64(GOLDEN))

    def below_array(self, limit: int, count: int) -> NDArray[np.int64]:
        """The next ``count`` results of ``below(limit)``."""
        if not 0 < limit <= 1 << 32:
            raise ValueError(f"below_array() takes a limit from 1 to 2**32, not {limit}")
        high = self.bits64_array(count) >> np.uint64(32)
        return (high * np.uint64(limit) >> np.uint64(32)).astype(np.int64)


def initial_word(run_key: int, address: int) -> int:
    """What the 8 bytes at an 8-byte aligned address hold before a run, little endian."""
    return mix64(mix64(run_key + GOLDEN) + (address >> 3) * GOLDEN)


def initial_byte(run_key: int, address: int) -> int:
    """What memory holds at an address before a run: a hash, so that no byte looks untouched."""
    return initial_word(run_key, address) >> 8 * (address & 7) & 0xFF


def initial_bytes(run_key: int, addresses: NDArray[np.int64]) -> NDArray[np.uint8]:
    """:func:`initial_byte` of every address."""
    with np.errstate(over="ignore"):
        words = (addresses >> 3).astype(np.uint64) * np.uint64(GOLDEN)
        words = mix64_array(words + np.uint64(mix64(run_key + GOLDEN)))
    shift = (addresses & 7).astype(np.uint64) * np.uint64(8)
    return (words >> shift & np.uint64(0xFF)).astype(np.uint8)
