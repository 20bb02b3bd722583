"""Page tables as bytes in memory: four levels of tables, each a page of entries of 8 bytes.

An entry of the lowest table names a page, one of the others the next table. Invariant: a walk reads
exactly `LEVELS` entries, whatever they hold, so tables that point at each other end it as well.

Source: the bits of an entry are those of the Linux driver's public header ``amdgpu_vm.h``; bits of
features that the model does not have are reserved.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Final

from gpu.memory.address_space import PAGE
from slicc.text.lazy_dataclass import dataclass

PAGE_BITS: Final = 12
LEVELS: Final = 4
LEVEL_BITS: Final = 9
ENTRIES: Final = 1 << LEVEL_BITS
ENTRY_BYTES: Final = 8
VALID: Final = 1 << 0
READABLE: Final = 1 << 5
WRITEABLE: Final = 1 << 6
ADDRESS: Final = (1 << 48) - PAGE

VMIDS: Final = range(8, 16)
"""Those of processes, as the Linux driver has them; 0 is the device's own."""
APERTURE_BITS: Final = 43
"""Each VMID has addresses of its own, so that no address means two things on a device."""


def aperture(vmid: int) -> range:
    """The addresses that a process may have (D3, "apertures")."""
    return range(vmid << APERTURE_BITS, vmid + 1 << APERTURE_BITS)


class PageFault(Exception):
    """An address cannot be translated; the message gives the reason."""


@dataclass(frozen=True, slots=True)
class Entry:
    """``address``: of the page, or of the next table."""

    address: int
    readable: bool
    writeable: bool

    @classmethod
    def unpack(cls, word: int, level: int) -> Entry:
        """Raises PageFault."""
        where = f"its entry in the page table of level {level}"
        if not word & VALID:
            raise PageFault(f"{where} is not valid")
        if word & ~(VALID | READABLE | WRITEABLE | ADDRESS):
            raise PageFault(f"{where} has reserved bits: {word:#x}")
        return cls(word & ADDRESS, bool(word & READABLE), bool(word & WRITEABLE))

    def pack(self) -> int:
        """The entry as a number of 8 bytes."""
        assert not self.address & ~ADDRESS, "an entry names whole pages"
        return self.address | VALID | READABLE * self.readable | WRITEABLE * self.writeable


def place(table: int, address: int, level: int) -> int:
    """Where the entry for an address lies in a table of that level."""
    assert 0 <= level < LEVELS and not table % PAGE
    return table + ENTRY_BYTES * (address >> PAGE_BITS + LEVEL_BITS * level & ENTRIES - 1)


def walk(root: int, address: int) -> Generator[int, int, Entry]:
    """Yields where to load an entry and is sent what is there. Raises PageFault."""
    table = root
    for level in reversed(range(1, LEVELS)):
        table = Entry.unpack((yield place(table, address, level)), level).address
    return Entry.unpack((yield place(table, address, 0)), 0)


def walk_at_once(load: Callable[[int], int], root: int, address: int) -> Entry:
    """The walk with a memory that answers at once. Raises PageFault, and what ``load`` raises."""
    steps = walk(root, address)
    where = next(steps)
    try:
        while True:
            where = steps.send(load(where))
    except StopIteration as end:
        entry: Entry = end.value
        return entry
