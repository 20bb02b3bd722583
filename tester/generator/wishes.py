"""The cells that the accesses of a block of episodes would like to have.

Invariant: plain arrays; `reservation` grants or refuses them, in Python or in C++.
"""

from __future__ import annotations

from dataclasses import dataclass

from tester.arrays import BoolArray, IntArray


@dataclass(frozen=True, slots=True)
class Wishes:
    """One entry per pick, in the order of their actions."""

    identity: IntArray
    """Names to draw numbers with."""
    episode: IntArray
    """Within the open block."""
    lane: IntArray
    is_store: BoolArray
    first_cell: IntArray
    """First cell of the group; the pick may have this one and those up to ..."""
    choices: IntArray
    """... so many further on. 0: the lane sits out."""
    index: IntArray
    """Which of them it would like to have."""
