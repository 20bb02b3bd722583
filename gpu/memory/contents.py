"""What memory without caches keeps for one allocation.

Invariant: the bytes of an allocation are made at its first use, all zero.
"""

from __future__ import annotations

import numpy as np


class Contents:
    """The bytes of one allocation: all of its pages, and views of what programs may access."""

    __slots__ = ("address", "bytes", "dwords", "halves", "memory", "pages", "qwords", "scalars")

    def __init__(self, size: int, pages: int) -> None:
        """``size``: bytes that programs may access, of ``pages`` bytes, which are whole pages."""
        self.pages = np.zeros(pages, np.uint8)
        self.address = self.pages.ctypes.data
        self.bytes = self.pages[:size]
        self.halves = self.pages[: size & -2].view(np.uint16)
        self.dwords = self.pages[: size & -4].view(np.uint32)
        self.qwords = self.pages[: size & -8].view(np.uint64)
        self.memory = self.pages.data
        self.scalars = self.pages.view(np.uint32).data
