"""What memory without caches keeps for one allocation.

Invariant: the bytes of an allocation are made at its first use, all zero.
"""

from __future__ import annotations

import numpy as np


class Contents:
    """The bytes of one allocation, also seen as wider words."""

    __slots__ = ("bytes", "dwords", "halves", "memory", "qwords", "scalars")

    def __init__(self, size: int) -> None:
        self.bytes = np.zeros(size, np.uint8)
        self.halves = self.bytes.view(np.uint16)
        self.dwords = self.bytes.view(np.uint32)
        self.qwords = self.bytes.view(np.uint64)
        self.memory = self.bytes.data
        self.scalars = self.dwords.data
