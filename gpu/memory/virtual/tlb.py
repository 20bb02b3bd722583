"""Translations that were found by walks and are kept, the least recently used one until last.

Invariant: there are never more of them than the TLB has entries.
"""

from __future__ import annotations

from collections import OrderedDict

from gpu.memory.virtual.page_table import Entry

Key = tuple[int, int]
"""VMID, and the number of a page."""


class Tlb:
    """``entries``: how many it can keep. ``hits``, ``misses``: of `find`."""

    def __init__(self, entries: int) -> None:
        self._entries = entries
        self._kept: OrderedDict[Key, Entry] = OrderedDict()
        self.hits = 0
        self.misses = 0

    def __contains__(self, key: Key) -> bool:
        return key in self._kept

    def __len__(self) -> int:
        return len(self._kept)

    def find(self, key: Key) -> Entry | None:
        """The translation of a page, if it is kept."""
        found = self._kept.get(key)
        if found is None:
            self.misses += 1
            return None
        self.hits += 1
        self._kept.move_to_end(key)
        return found

    def keep(self, key: Key, entry: Entry) -> None:
        """Keep a translation, in place of the one that was used longest ago."""
        self._kept[key] = entry
        self._kept.move_to_end(key)
        if len(self._kept) > self._entries:
            self._kept.popitem(last=False)

    def forget(self, vmid: int, pages: range) -> None:
        """Drop the translations of some pages of a process."""
        for key in [key for key in self._kept if key[0] == vmid and key[1] in pages]:
            del self._kept[key]
