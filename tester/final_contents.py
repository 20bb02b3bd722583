"""What memory must hold after a leg, read off its stores without deriving anything else.

The same as `tester.expectations.final_memory`, at a tenth of the price: whoever runs a leg at
native speed asks once per leg. Invariant: the last store of a byte in the total order is its last.
"""

from __future__ import annotations

import numpy as np

from runtime.prng import initial_bytes
from tester.expectations import touched_lines
from tester.program import ATOMIC_BYTES, STORE, ByteArray, IntArray, Program

_WIDEST = 8


def final_contents(program: Program) -> tuple[IntArray, ByteArray]:
    """(addresses, bytes) of every line that a whole program touches, ascending."""
    size = program.line_size
    lines = touched_lines(program)
    addresses: IntArray = (lines[:, None] + np.arange(size)).ravel()
    contents: ByteArray = initial_bytes(program.run_key, addresses)
    stores = (program.lane_address >= 0) & (program.action_kind == STORE)[:, None]
    action, lane = np.nonzero(stores)
    address = program.lane_address[action, lane]
    place = np.searchsorted(lines, address & -size) * size + (address & (size - 1))
    offset = np.arange(_WIDEST)
    written = offset < program.action_size[action][:, None]
    values = program.store_value[action, lane].astype("<u8").view(np.uint8).reshape(-1, _WIDEST)
    # Row by row, so that later stores come later; of equal places the last assignment stays.
    contents[(place[:, None] + offset)[written]] = values[written]

    words = np.searchsorted(addresses, program.group_word)[:, None] + np.arange(ATOMIC_BYTES)
    shift = 8 * np.arange(ATOMIC_BYTES)
    total = (contents[words].astype(np.int64) << shift).sum(axis=1) + program.increments()
    contents[words] = (total[:, None] >> shift) & 0xFF
    return addresses, contents
