"""Which addresses there are: allocations, what may be done there, and how caches treat them.

Invariant: allocations take whole pages, none overlaps another, and behind each (or behind the last
of `AddressSpace.allocate_parts`) at least one page is left unmapped. An access past the bytes that
were requested faults, also within the last page: hardware would let it pass, and the kernel would
read what is not its own.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final

import numpy as np
import numpy.typing as npt

from gpu.errors import GpuError
from gpu.memory.contents import Contents

Addresses = npt.NDArray[np.uint64]

PAGE: Final = 4096
"""Bytes; what can be mapped is a multiple of it."""
FIRST_ADDRESS: Final = 1 << 32
"""Where allocations begin: no null pointer, and no address whose upper half is zero."""
LAST_ADDRESS: Final = 1 << 47
"""Above it are the apertures through which flat addresses mean LDS and scratch."""

OnStore = Callable[[int, bytes], None]
"""Called at a store to a doorbell with its address and bytes."""


class Unmapped(GpuError):
    """A lane's address is in no allocation, or may not be used so.

    ``lane`` is the index among the addresses of the request.
    """

    def __init__(self, address: int, lane: int, why: str) -> None:
        super().__init__(f"address {address:#x}: {why}")
        self.address = address
        self.lane = lane
        self.why = why


class Misaligned(Unmapped):
    """An atomic whose address is no multiple of its size."""


class MemoryType(Enum):
    """How the caches of the GPU treat an allocation."""

    RW = "rw"
    """Cached wherever a cache likes: coherent at the scope that the program asks for."""
    CC = "cc"
    """Coherent with the other agents at every access: accesses go past the shared cache."""
    UC = "uc"
    """Not cached: the same, and loads miss the first-level cache on purpose."""

    @property
    def bypasses(self) -> bool:
        """Whether accesses get the bit slc."""
        return self is not MemoryType.RW


@dataclass(slots=True, eq=False)
class Allocation:
    """Addresses from ``start`` to ``end`` - 1, of which the first ``size`` may be accessed."""

    start: int
    size: int
    end: int
    name: str
    memory_type: MemoryType
    writable: bool
    on_store: OnStore | None
    """A doorbell: its stores are reported here and reach no memory; it cannot be loaded."""
    base: Addresses
    """``start`` as an array without dimensions."""
    contents: Contents | None = field(default=None, repr=False)
    """What a flat memory keeps here, once it has been touched."""
    mapped: bool = field(default=True, repr=False)
    behind: Allocation | None = field(default=None, repr=False)
    """In the space of a process: the memory of the device that it is."""

    def limit(self, whole_pages: bool) -> int:
        """The address behind the last byte that may be accessed. ``whole_pages``: by the device
        itself (`gpu.memory.interface.PortKind.moves_lines`)."""
        return self.end if whole_pages else self.start + self.size

    def why_not(
        self, address: int, size: int, writes: bool, loads: bool, whole_pages: bool = False
    ) -> str | None:
        """Why an access is refused, as text; None if it is allowed."""
        if address < self.start or address + size > self.limit(whole_pages):
            return f"{size} bytes reach past the end of {self}"
        if writes and not self.writable:
            return f"{self} may not be written"
        if loads and self.on_store is not None:
            return f"{self} is a doorbell, which can only be stored into"
        return None

    def __str__(self) -> str:
        return f"{self.name} at {self.start:#x}, {self.size:,} bytes"


class AddressSpace:
    """All allocations, from ``first`` on and below ``last``. Addresses depend on nothing but the
    calls made."""

    def __init__(self, first: int = FIRST_ADDRESS, last: int = LAST_ADDRESS) -> None:
        self._starts: list[int] = []
        self._allocations: list[Allocation] = []
        self.addresses = range(first, last)
        """Those that there can be."""
        self._next = first

    @property
    def allocations(self) -> tuple[Allocation, ...]:
        """In ascending order."""
        return tuple(self._allocations)

    # ------------------------------------------------------------------ mapping

    def allocate(
        self,
        size: int,
        *,
        memory_type: MemoryType | str = MemoryType.RW,
        writable: bool = True,
        name: str = "memory",
        alignment: int = PAGE,
    ) -> Allocation:
        """Map at least ``size`` zeroed bytes at a new address, a multiple of ``alignment``.

        Addresses of freed allocations are not reused. Raises ValueError for a size below
        1 or beyond the address space, or an alignment that is no power of two.
        """
        return self._map(size, MemoryType(memory_type), writable, name, alignment, None)

    def allocate_parts(
        self, parts: Sequence[tuple[int, bool]], *, name: str = "memory"
    ) -> list[Allocation]:
        """Map parts of whole pages, one behind the other without a gap: bytes, writable or not.

        An access may not reach from one part into the next. Raises ValueError for a part that is
        not whole pages.
        """
        for size, _ in parts:
            if size < PAGE or size % PAGE:
                raise ValueError(f"{name}: a part of {size} bytes is not whole pages")
        start, _ = self._place(sum(size for size, _ in parts), PAGE, name)
        made = []
        for size, writable in parts:
            base = np.array(start, np.uint64)
            end = start + size
            part = Allocation(start, size, end, name, MemoryType.RW, writable, None, base)
            self._add(part)
            made.append(part)
            start = end
        return made

    def map_doorbells(self, size: int, on_store: OnStore, name: str = "doorbells") -> Allocation:
        """Map addresses whose stores are reported to ``on_store``, lane by lane."""
        return self._map(size, MemoryType.UC, True, name, PAGE, on_store)

    def _map(
        self,
        size: int,
        memory_type: MemoryType,
        writable: bool,
        name: str,
        alignment: int,
        on_store: OnStore | None,
    ) -> Allocation:
        start, end = self._place(size, alignment, name)
        base = np.array(start, np.uint64)
        made = Allocation(start, size, end, name, memory_type, writable, on_store, base)
        self._add(made)
        return made

    def _place(self, size: int, alignment: int, name: str) -> tuple[int, int]:
        """Addresses for an allocation, from the first to behind the last page."""
        if size < 1:
            raise ValueError(f"{name}: {size} bytes cannot be allocated")
        if alignment < 1 or alignment & alignment - 1:
            raise ValueError(f"{name}: alignment {alignment} is not a power of two")
        alignment = max(alignment, PAGE)
        start = self._next + alignment - 1 & -alignment
        end = start + (size + PAGE - 1 & -PAGE)
        if end + PAGE > self.addresses.stop:
            raise ValueError(f"{name}: {size:,} bytes do not fit into the address space")
        self._next = end + PAGE
        return start, end

    def _add(self, allocation: Allocation) -> None:
        """Map what was placed behind all others."""
        assert not self._starts or allocation.start >= self._allocations[-1].end
        assert allocation.start < allocation.start + allocation.size <= allocation.end
        self._starts.append(allocation.start)
        self._allocations.append(allocation)

    @property
    def extent(self) -> int:
        """Changes whenever something is mapped."""
        return self._next

    def adopt(self, allocation: Allocation) -> None:
        """Map an allocation made elsewhere, behind all there are. Raises ValueError."""
        if allocation.start < self._next and self._starts:
            raise ValueError(f"{allocation} is not behind what is mapped")
        self._starts.append(allocation.start)
        self._allocations.append(allocation)
        self._next = allocation.end

    def free(self, address: int) -> Allocation:
        """Unmap the allocation that starts at ``address``. Raises ValueError if none does."""
        place = bisect_right(self._starts, address) - 1
        if place < 0 or self._starts[place] != address:
            raise ValueError(f"no allocation starts at {address:#x}")
        del self._starts[place]
        freed = self._allocations.pop(place)
        freed.mapped = False
        return freed

    def restore(self, allocation: Allocation) -> None:
        """Map an allocation of this space again that was freed; its addresses are still its own."""
        allocation.mapped = True
        place = bisect_right(self._starts, allocation.start)
        self._starts.insert(place, allocation.start)
        self._allocations.insert(place, allocation)

    # ------------------------------------------------------------------ lookup

    def find(self, address: int) -> Allocation | None:
        """The allocation that has this byte."""
        place = bisect_right(self._starts, address) - 1
        if place < 0:
            return None
        found = self._allocations[place]
        return found if address < found.end else None

    def at(
        self,
        address: int,
        size: int,
        lane: int = 0,
        *,
        writes: bool = False,
        loads: bool = False,
        atomic: bool = False,
        whole_pages: bool = False,
    ) -> Allocation:
        """The allocation that has all bytes of an access. Raises Unmapped, for lane ``lane``."""
        found = self.find(address)
        if found is None:
            raise Unmapped(address, lane, self._nothing_at(address))
        why = found.why_not(address, size, writes, loads, whole_pages)
        if why is not None:
            raise Unmapped(address, lane, why)
        if atomic and address % size:
            raise Misaligned(address, lane, f"an atomic of {size} bytes must be aligned")
        return found

    def locate(
        self,
        addresses: Addresses,
        size: int,
        *,
        writes: bool,
        loads: bool,
        atomic: bool,
        whole_pages: bool = False,
    ) -> list[Allocation]:
        """The allocation of each lane. Raises Unmapped for the first that has none."""
        lanes: list[int] = addresses.tolist()
        may = {"writes": writes, "loads": loads, "atomic": atomic, "whole_pages": whole_pages}
        return [self.at(address, size, lane, **may) for lane, address in enumerate(lanes)]

    def _nothing_at(self, address: int) -> str:
        next_place = bisect_right(self._starts, address)
        last = self._allocations[max(next_place - 1, 0) : next_place]
        following = self._allocations[next_place : next_place + 1]
        past = min((address - each.end for each in last), default=PAGE)
        short = min((each.start - address for each in following), default=PAGE)
        text = "nothing is mapped there"
        if short < min(past, PAGE):
            return f"{text}; it is {short:,} bytes before the start of {following[0]}"
        return f"{text}; it is behind the end of {last[0]}" if past < PAGE else text
