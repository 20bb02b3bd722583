"""Addresses of a process to addresses of memory, once the entries of their pages are known.

Invariant: the bytes of a lane lie side by side in memory, or the lane is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from gpu.memory.address_space import PAGE, Addresses, AddressSpace, Unmapped
from gpu.memory.interface import MemoryRequest
from gpu.memory.virtual.page_table import PAGE_BITS, Entry, aperture
from runtime.requesters.port import AccessKind

_OFFSET = np.uint64(PAGE - 1)
_SHIFT = np.uint64(PAGE_BITS)


@dataclass(frozen=True, slots=True, eq=False)
class VirtualLanes:
    """What an access of a process asks for: ``size`` bytes at each of its addresses."""

    vmid: int
    addresses: Addresses
    size: int
    writes: bool
    loads: bool

    @classmethod
    def of(cls, request: MemoryRequest) -> VirtualLanes:
        """The lanes of a request that has addresses."""
        writes, loads = request.kind != AccessKind.LOAD, request.kind != AccessKind.STORE
        return cls(request.vmid, request.addresses, request.size, writes, loads)

    @property
    def pages(self) -> list[int]:
        """The numbers of the pages that it touches, each once."""
        first = self.addresses.tolist()
        pages = dict.fromkeys(address >> PAGE_BITS for address in first)
        if self.size > 1:
            pages |= dict.fromkeys(address + self.size - 1 >> PAGE_BITS for address in first)
        return list(pages)

    def refused(self, page: int, why: str) -> Unmapped:
        """The error for the first lane that touches a page."""
        for lane, address in enumerate(self.addresses.tolist()):
            if page in (address >> PAGE_BITS, address + self.size - 1 >> PAGE_BITS):
                return Unmapped(address, lane, why)
        raise ValueError(f"no lane touches page {page:#x}")

    def as_mapped(self, error: Unmapped, space: AddressSpace | None) -> Unmapped:
        """A refusal with the address of the process, and its reason in terms of what the process
        has mapped."""
        address = self.addresses.item(error.lane)
        try:
            if space is not None and address in aperture(self.vmid):
                space.at(address, self.size, error.lane, writes=self.writes, loads=self.loads)
        except Unmapped as known:
            return known
        return type(error)(address, error.lane, error.why)

    def translate(self, entries: Mapping[int, Entry]) -> Addresses:
        """``entries``: by page, for all that it touches. Raises Unmapped."""
        for page, entry in entries.items():
            if self.writes and not entry.writeable:
                raise self.refused(page, "its page may not be written")
            if self.loads and not entry.readable:
                raise self.refused(page, "its page may not be read")
        if len(entries) == 1:
            (entry,) = entries.values()
            return (self.addresses & _OFFSET) + np.uint64(entry.address)
        self._check_neighbours(entries)
        pages = [entries[page].address for page in (self.addresses >> _SHIFT).tolist()]
        return (self.addresses & _OFFSET) + np.array(pages, np.uint64)

    def _check_neighbours(self, entries: Mapping[int, Entry]) -> None:
        for lane, address in enumerate(self.addresses.tolist()):
            first, last = address >> PAGE_BITS, address + self.size - 1 >> PAGE_BITS
            if first != last and entries[last].address != entries[first].address + PAGE:
                why = f"its {self.size} bytes reach into a page that lies elsewhere"
                raise Unmapped(address, lane, why)
