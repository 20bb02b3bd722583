"""What memory without caches keeps for one allocation.

Invariant: the bytes of an allocation are made at its first use, all zero.
"""

from __future__ import annotations

import numpy as np


class Contents:
    """The bytes of one allocation, also seen as wider words, as many as are whole."""

    __slots__ = ("bytes", "dwords", "halves", "memory", "qwords", "scalars")

    def __init__(self, size: int) -> None:
        whole = np.zeros(size + 7 & -8, np.uint8)
        self.bytes = whole[:size]
        self.halves = whole[: size & -2].view(np.uint16)
        self.dwords = whole[: size & -4].view(np.uint32)
        self.qwords = whole[: size & -8].view(np.uint64)
        self.memory = self.bytes.data
        self.scalars = self.dwords.data
