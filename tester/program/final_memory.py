"""Memory after a whole program, computed from its stores without deriving anything else.

The contents are those of `tester.program.expectations.final_memory`, at a tenth of the cost: every
leg needs them at its end. Invariant: a byte holds the value of the last store to it in the total
order.
"""

from __future__ import annotations

import numpy as np

from runtime.prng import initial_bytes
from slicc.text.lazy_dataclass import dataclass
from tester.arrays import ByteArray, IntArray
from tester.program.atomics import written
from tester.program.expectations import touched_lines
from tester.program.program import ATOMIC_BYTES, LOAD, Program

_WIDEST = 8
_NOBODY = -1


@dataclass(frozen=True, slots=True)
class FinalContents:
    """The last contents of all lines that a program touches, in ascending order."""

    lines: IntArray
    addresses: IntArray
    """Of every byte of the lines."""
    contents: ByteArray
    """What memory holds there at the end."""
    owners: IntArray
    """By byte: the agent of the last store to it, or of the last to add to it; -1: none."""
    writers: IntArray
    """By line: the agent of the last store into it; -1: none."""


def final_contents(program: Program, lines: IntArray | None = None) -> FinalContents:
    """``lines``: `tester.program.expectations.touched_lines` of the program, if at hand."""
    if lines is None:
        lines = touched_lines(program)
    size = program.line_size
    addresses: IntArray = (lines[:, None] + np.arange(size)).ravel()
    contents: ByteArray = initial_bytes(program.run_key, addresses)
    owners = np.full(len(addresses), _NOBODY, np.int64)
    writers = np.full(len(lines), _NOBODY, np.int64)

    action, lane = np.nonzero((program.lane_address >= 0) & (program.action_kind != LOAD)[:, None])
    address = program.lane_address[action, lane]
    line = np.searchsorted(lines, address & -size)
    assert np.array_equal(lines[line], address & -size), "stores are to lines that are touched"
    bytes_ = (line * size + (address & (size - 1)))[:, None] + np.arange(_WIDEST)
    inside = np.arange(_WIDEST) < program.action_size[action][:, None]
    values = written(program)[action, lane].astype("<u8").view(np.uint8).reshape(-1, _WIDEST)
    agent = program.episode_thread[program.action_episode()[action]]
    # Row by row, so that later stores come later; of equal places the last assignment stays.
    contents[bytes_[inside]] = values[inside]
    owners[bytes_[inside]] = np.broadcast_to(agent[:, None], inside.shape)[inside]
    writers[line] = agent

    words = np.searchsorted(addresses, program.group_word)[:, None] + np.arange(ATOMIC_BYTES)
    shift = 8 * np.arange(ATOMIC_BYTES)
    total = (contents[words].astype(np.int64) << shift).sum(axis=1) + program.increments()
    contents[words] = (total[:, None] >> shift) & 0xFF
    episode, lane = np.nonzero((program.episode_group >= 0) & program.adds()[:, None])
    added = words[program.episode_group[episode, lane]]
    owners[added] = program.episode_thread[episode][:, None]
    return FinalContents(lines, addresses, contents, owners, writers)
