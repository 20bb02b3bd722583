"""Who has asked persistently for a line, in token protocols.

Invariant: a line has a row exactly as long as a requester starves for it; marked requesters are a
subset of the starving ones.
"""

from __future__ import annotations

from runtime.errors import ErrorKind, ProtocolError
from runtime.types.enumerations import AccessType
from runtime.types.values import MachineID


class _Row:
    """Requesters by node number; sets are dictionaries, so that their order is one of numbers."""

    __slots__ = ("marked", "starving", "writing")

    def __init__(self) -> None:
        self.starving: dict[int, MachineID] = {}
        self.marked: set[int] = set()
        self.writing: set[int] = set()


class PersistentTable:
    """Starving requesters by line. The smallest node number has priority."""

    __slots__ = ("_rows",)

    def __init__(self) -> None:
        self._rows: dict[int, _Row] = {}

    def _row(self, address: int) -> _Row:
        row = self._rows.get(address)
        if row is None:
            raise ProtocolError(ErrorKind.NOT_ALLOCATED, f"no requester starves for {address:#x}")
        return row

    def persistentRequestLock(self, address: int, locker: MachineID, kind: int) -> None:
        """A requester starves; ``kind`` is an :class:`AccessType`."""
        if locker.node < 0:
            raise locker.not_in_system()
        row = self._rows.setdefault(address, _Row())
        if locker.node in row.starving:
            raise ProtocolError(
                ErrorKind.ALREADY_ALLOCATED, f"{locker!r} starves for {address:#x} already"
            )
        row.starving[locker.node] = locker
        if kind == AccessType.Write:
            row.writing.add(locker.node)

    def persistentRequestUnlock(self, address: int, unlocker: MachineID) -> None:
        """A requester is satisfied."""
        row = self._row(address)
        if row.starving.pop(unlocker.node, None) is None:
            raise ProtocolError(
                ErrorKind.NOT_ALLOCATED, f"{unlocker!r} does not starve for {address:#x}"
            )
        row.marked.discard(unlocker.node)
        row.writing.discard(unlocker.node)
        assert row.marked <= row.starving.keys() and row.writing <= row.starving.keys()
        if not row.starving:
            del self._rows[address]

    def okToIssueStarving(self, address: int, machine: MachineID) -> bool:
        """Whether a requester may start to starve: nothing is marked, and it does not yet."""
        row = self._rows.get(address)
        return row is None or (machine.node not in row.starving and not row.marked)

    def findSmallest(self, address: int) -> MachineID:
        row = self._row(address)
        return row.starving[min(row.starving)]

    def typeOfSmallest(self, address: int) -> int:
        row = self._row(address)
        return AccessType.Write if min(row.starving) in row.writing else AccessType.Read

    def markEntries(self, address: int) -> None:
        """Mark all who starve now: no other may join until they are satisfied."""
        row = self._rows.get(address)
        if row is None:
            return
        if row.marked:
            raise ProtocolError(ErrorKind.ASSERTION, f"requests for {address:#x} are marked twice")
        row.marked = set(row.starving)

    def isLocked(self, address: int) -> bool:
        return address in self._rows

    def countStarvingForAddress(self, address: int) -> int:
        row = self._rows.get(address)
        return 0 if row is None else len(row.starving)

    def countReadStarvingForAddress(self, address: int) -> int:
        row = self._rows.get(address)
        return 0 if row is None else len(row.starving) - len(row.writing)
