"""The cells that the accesses of a block of episodes request.

Invariant: plain arrays; `reservation` grants or refuses the requests, in Python or in C++.
"""

from __future__ import annotations

from dataclasses import dataclass

from tester.arrays import BoolArray, IntArray


@dataclass(frozen=True, slots=True)
class CellRequests:
    """One entry per pick, in the order of their actions."""

    identity: IntArray
    """Counters for random numbers."""
    episode: IntArray
    """Within the open block."""
    lane: IntArray
    is_store: BoolArray
    first_cell: IntArray
    """First cell of the group."""
    choices: IntArray
    """How many cells the pick may choose from, this one included. 0: the lane sits out."""
    index: IntArray
    """Which of them it requests first."""
