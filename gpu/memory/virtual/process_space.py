"""What one process has mapped: its allocations, the memory behind them, and its page tables.

The driver's side of page tables: it decides what they say. Entries change in memory when `updates`
are written there, which a walk of the tables does first. Invariant: once they are written, the
tables translate every page of every allocation, and no other page.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable

import numpy as np

from gpu.memory.address_space import PAGE, AddressSpace, Allocation
from gpu.memory.virtual.page_table import (
    ENTRY_BYTES,
    LEVEL_BITS,
    LEVELS,
    PAGE_BITS,
    Entry,
    aperture,
    place,
)

Forget = Callable[[int, range], None]
"""Called with VMID and pages whose translations must no longer be used."""


class ProcessSpace(AddressSpace):
    """``physical``: the memory of the device. ``first``: the first address that may be mapped.
    ``root``: address of the highest table."""

    def __init__(self, vmid: int, physical: AddressSpace, first: int, forget: Forget) -> None:
        super().__init__(first, aperture(vmid).stop)
        self.vmid = vmid
        self.updates: deque[tuple[int, bytes]] = deque()
        """Address and bytes of entries that are to be written, in this order."""
        self._physical = physical
        self._forget = forget
        self._tables: dict[tuple[int, int], int] = {}
        self.root = self._new_table()

    def behind(self, allocation: Allocation) -> Allocation:
        """The memory of the device that an allocation of the process is."""
        assert allocation.behind is not None, "every allocation of a process has some"
        return allocation.behind

    def close(self) -> None:
        """Give back all memory, that of the tables included."""
        for allocation in self.allocations:
            self.free(allocation.start)
        for table in (self.root, *self._tables.values()):
            self._physical.free(table)
        self._tables.clear()
        self.updates.clear()

    # ------------------------------------------------------------------ allocations

    def _add(self, allocation: Allocation) -> None:
        super()._add(allocation)
        allocation.behind = self._found_behind(allocation)
        self._map_pages(allocation)

    def _map_pages(self, allocation: Allocation) -> None:
        assert not allocation.start % PAGE and not allocation.end % PAGE, "whole pages are mapped"
        flags = Entry(0, allocation.on_store is None, allocation.writable).pack()
        pages = allocation.end - allocation.start >> PAGE_BITS
        self._write(allocation.start, self.behind(allocation).start + flags, PAGE, pages)

    def _found_behind(self, allocation: Allocation) -> Allocation:
        on_store, start = allocation.on_store, allocation.start
        if on_store is None:
            return self._physical.allocate(
                allocation.size,
                memory_type=allocation.memory_type,
                writable=allocation.writable,
                name=allocation.name,
            )
        made = self._physical.map_doorbells(
            allocation.size,
            lambda address, data: on_store(address - made.start + start, data),
            allocation.name,
        )
        return made

    def free(self, address: int) -> Allocation:
        """Unmap an allocation. Raises ValueError."""
        freed = super().free(address)
        pages = range(freed.start >> PAGE_BITS, freed.end >> PAGE_BITS)
        self._write(freed.start, 0, 0, len(pages))
        self._forget(self.vmid, pages)
        self._physical.free(self.behind(freed).start)
        return freed

    def restore(self, allocation: Allocation) -> None:
        """Map an allocation again that was freed, with the same memory behind it."""
        super().restore(allocation)
        self._physical.restore(self.behind(allocation))
        self._map_pages(allocation)

    # ------------------------------------------------------------------ tables

    def _new_table(self) -> int:
        name = f"page table of process {self.vmid}"
        return self._physical.allocate(PAGE, memory_type="cc", name=name).start

    def _write(self, address: int, word: int, step: int, pages: int) -> None:
        """Entries for consecutive pages, each ``step`` more than the one before."""
        while pages:
            table = self._table(address, 0)
            where = place(table, address, 0)
            some = min(pages, (table + PAGE - where) // ENTRY_BYTES)
            assert some > 0 and table <= where < table + PAGE, "entries lie in their table"
            words = np.uint64(word) + np.uint64(step) * np.arange(some, dtype=np.uint64)
            self.updates.append((where, words.tobytes()))
            address, word, pages = address + some * PAGE, word + some * step, pages - some

    def _table(self, address: int, level: int) -> int:
        """The table of that level for an address; it is made if there is none."""
        if level == LEVELS - 1:
            return self.root
        key = (level, address >> PAGE_BITS + LEVEL_BITS * (level + 1))
        table = self._tables.get(key)
        if table is None:
            assert level < LEVELS - 1, "the root is there from the start"
            table = self._tables[key] = self._new_table()
            above = place(self._table(address, level + 1), address, level + 1)
            word = Entry(table, False, False).pack()
            self.updates.append((above, word.to_bytes(ENTRY_BYTES, "little")))
        return table
