"""Every byte of every access of a program.

Invariant: plain arrays; `tester.program.expectations.explode` makes them.
"""

from __future__ import annotations

from slicc.text.lazy_dataclass import dataclass
from tester.arrays import BoolArray, IntArray


@dataclass(frozen=True, slots=True)
class ByteEvents:
    """Every byte of every access, sorted by (byte, place in the order).

    `byte` counts within the lines of the ExpectationState; `slot` is action * lanes + lane;
    `offset` is the byte's place in its access; `before`/`after` are the positions here of the
    nearest store to the same byte, -1 without one.
    """

    byte: IntArray
    slot: IntArray
    offset: IntArray
    is_store: BoolArray
    first: IntArray  # positions where a new byte starts
    before: IntArray
    after: IntArray
