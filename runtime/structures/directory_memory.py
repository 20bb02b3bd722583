"""Entries of a directory: one per line of memory that it is responsible for, made on demand.

Blocks of data in a new entry hold what memory has for the line: some protocols keep memory's data
in the directory, and read it there first.

Invariant: an entry exists only for lines in the directory's own range.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from runtime.errors import ErrorKind, ProtocolError
from runtime.structures.cache_memory import AbstractCacheEntry
from runtime.types.enumerations import AccessPermission
from runtime.types.values import DataBlock

E = TypeVar("E", bound=AbstractCacheEntry)


class DirectoryMemory(Generic[E]):
    """``owns(address)`` says whether an address lies in the range of this directory;
    ``contents(line)`` are memory's bytes of a line."""

    __slots__ = ("contents", "line_mask", "name", "owns", "records")

    def __init__(
        self,
        name: str,
        owns: Callable[[int], bool] | None = None,
        line_bits: int = 6,
        contents: Callable[[int], int] | None = None,
    ) -> None:
        self.name = name
        self.owns = owns
        self.contents = contents
        self.line_mask = (1 << line_bits) - 1
        self.records: dict[int, E] = {}

    def isPresent(self, address: int) -> bool:
        """Whether this directory is responsible for the address."""
        return self.owns is None or self.owns(address)

    def lookup(self, address: int) -> E:
        """The entry of the address's line, or None."""
        record = self.records.get(address & ~self.line_mask)
        if record is None and not self.isPresent(address):
            raise ProtocolError(
                ErrorKind.UNDELIVERABLE, f"{self.name} is not responsible for {address:#x}"
            )
        return record  # type: ignore[return-value]

    def allocate(self, address: int, entry: E) -> E:
        """Install a new entry with permission Read_Only and memory's data."""
        line = address & ~self.line_mask
        if line in self.records:
            raise ProtocolError(
                ErrorKind.ALREADY_ALLOCATED, f"{self.name} already has an entry for {line:#x}"
            )
        if not self.isPresent(address):
            raise ProtocolError(
                ErrorKind.UNDELIVERABLE, f"{self.name} is not responsible for {address:#x}"
            )
        entry.address = line
        entry.permission = AccessPermission.Read_Only
        self.records[line] = entry
        if self.contents is not None:
            for block in _blocks_of(entry):
                block.data = self.contents(line)
        return entry

    def deallocate(self, address: int) -> None:
        if self.records.pop(address & ~self.line_mask, None) is None:
            raise ProtocolError(ErrorKind.NOT_ALLOCATED, f"{self.name} has no {address:#x}")

    def recordRequestType(self, kind: int) -> None:
        """Accesses to the directory array are not modelled."""

    def entries(self) -> list[E]:
        """All entries in address order."""
        return [self.records[line] for line in sorted(self.records)]


def _blocks_of(entry: AbstractCacheEntry) -> list[DataBlock]:
    """The blocks of data among the fields that the protocol declares."""
    names = getattr(type(entry), "__slots__", ())
    values = (getattr(entry, name) for name in names)
    return [value for value in values if isinstance(value, DataBlock)]
