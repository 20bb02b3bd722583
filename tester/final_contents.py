"""What a whole program leaves behind, read off its stores without deriving anything else.

The contents are those of `tester.expectations.final_memory`, at a tenth of the price: whoever runs
a leg at native speed asks once per leg. Invariant: the last store of a byte in the total order is
its last.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from runtime.prng import initial_bytes
from tester.program import ATOMIC_BYTES, STORE, ByteArray, IntArray, Program

_WIDEST = 8
_NOBODY = -1


@dataclass(frozen=True)
class FinalContents:
    """Of all lines that a program touches, in ascending order."""

    lines: IntArray
    addresses: IntArray
    """Of every byte of the lines."""
    contents: ByteArray
    """What memory holds there at the end."""
    writers: IntArray
    """By line: the thread of the last store into it; -1: nobody stores there."""


def final_contents(program: Program, lines: IntArray) -> FinalContents:
    """``lines``: what `tester.expectations.touched_lines` says of the program."""
    size = program.line_size
    addresses: IntArray = (lines[:, None] + np.arange(size)).ravel()
    contents: ByteArray = initial_bytes(program.run_key, addresses)
    stores = (program.lane_address >= 0) & (program.action_kind == STORE)[:, None]
    action, lane = np.nonzero(stores)
    address = program.lane_address[action, lane]
    line = np.searchsorted(lines, address & -size)
    place = line * size + (address & (size - 1))
    offset = np.arange(_WIDEST)
    written = offset < program.action_size[action][:, None]
    values = program.store_value[action, lane].astype("<u8").view(np.uint8).reshape(-1, _WIDEST)
    # Row by row, so that later stores come later; of equal places the last assignment stays.
    contents[(place[:, None] + offset)[written]] = values[written]
    writers = np.full(len(lines), _NOBODY, np.int64)
    writers[line] = program.episode_thread[program.action_episode()[action]]

    words = np.searchsorted(addresses, program.group_word)[:, None] + np.arange(ATOMIC_BYTES)
    shift = 8 * np.arange(ATOMIC_BYTES)
    total = (contents[words].astype(np.int64) << shift).sum(axis=1) + program.increments()
    contents[words] = (total[:, None] >> shift) & 0xFF
    return FinalContents(lines, addresses, contents, writers)
