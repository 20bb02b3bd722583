"""Values to store: every byte of every store is recognisable.

A stored byte is a hash of the store's identity and the byte's place in it. Where that equals one of
the last 8 versions of the byte it is drawn again, so a stale copy always differs from the current
one. Invariant: no stored byte equals one of the last 8 versions of the same byte.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from runtime.prng import Prng
from tester.arrays import BoolArray, ByteArray, IntArray, WordArray
from tester.counter_rng import CounterRng
from tester.program.byte_events import ByteEvents
from tester.program.program import LOAD, Program

HISTORY: Final = 8
_SIZE_MASK: Final = np.array([(1 << 8 * s) - 1 for s in range(9)], np.uint64)


class Versions:
    """The last versions of every byte under test; `initial` is what memory holds at first."""

    def __init__(self, initial: ByteArray, prng: Prng) -> None:
        self._prng = prng
        self._rngs = [CounterRng(prng)]
        self._history: ByteArray = np.repeat(initial[:, None], HISTORY, axis=1)

    def assign(self, program: Program, events: ByteEvents, identity: IntArray) -> WordArray:
        """[A, L] values for all stores of the next chunk. `identity` [A, L] names each access."""
        stores = (program.action_kind != LOAD)[:, None] & program.active()
        mask = np.where(stores, _SIZE_MASK[program.action_size][:, None], np.uint64(0))
        values = self._rngs[0].words(identity * 8) & mask
        at = np.flatnonzero(events.is_store)
        if len(at) == 0:
            return values

        bytes_ = np.ascontiguousarray(values.astype("<u8")).view(np.uint8).reshape(-1, 8)
        slot, offset = events.slot[at], events.offset[at]
        # One line of versions: per stored byte its history, then its stores in order.
        byte = events.byte[at]
        first = np.flatnonzero(np.append(True, byte[1:] != byte[:-1]))
        stored = byte[first]
        segment = np.cumsum(np.append(True, byte[1:] != byte[:-1]))
        place = np.arange(len(at)) + HISTORY * segment
        line = np.zeros(len(at) + HISTORY * len(first), np.uint8)
        past = (place[first] - HISTORY)[:, None] + np.arange(HISTORY)
        line[past] = self._history[stored]
        line[place] = bytes_[slot, offset]

        is_version = np.zeros(len(line) + HISTORY, np.bool_)
        is_version[place] = True
        seed = np.zeros(len(line), np.int64)
        seed[place] = identity.ravel()[slot] * 8 + offset
        suspects, attempt = place, 0
        while len(suspects := suspects[_repeats(line, suspects)]):
            attempt += 1
            fresh = self._attempt(attempt).words(seed[suspects]) >> np.uint64(56)
            line[suspects] = fresh.astype(np.uint8)
            changed = np.zeros(len(is_version), np.bool_)
            changed[suspects[:, None] + np.arange(HISTORY + 1)] = True
            suspects = np.flatnonzero(changed & is_version)

        bytes_[slot, offset] = line[place]
        end = np.append(place[first[1:] - 1], place[-1])
        self._history[stored] = line[end[:, None] + np.arange(1 - HISTORY, 1)]
        return bytes_.view("<u8").reshape(values.shape).astype(np.uint64)

    def _attempt(self, number: int) -> CounterRng:
        while len(self._rngs) <= number:
            self._rngs.append(CounterRng(self._prng.fork(f"again-{len(self._rngs)}")))
        return self._rngs[number]


def _repeats(line: ByteArray, places: IntArray) -> BoolArray:
    """Which of these places hold one of the values at the 8 places before."""
    result = np.zeros(len(places), np.bool_)
    for lag in range(1, HISTORY + 1):
        result |= line[places] == line[places - lag]
    return result
