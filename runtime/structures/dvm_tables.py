"""Tables of a node that distributes operations on translations (DVM) to all processors.

``MN_TBETable`` chooses which operation is distributed next; ``MN_TBEStorage`` counts its slots,
some of them for operations of one kind. Invariant: what is chosen depends on the records and
their addresses alone, not on the order in which they were made.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast

from runtime.errors import ErrorKind, ProtocolError
from runtime.structures.chi_tables import TBEStorage
from runtime.structures.tbe_table import TBETable
from runtime.types.enumeration import Enumeration

T = TypeVar("T")
R = TypeVar("R")

MAX_WAITING = 4
"""Operations that may wait for answers at one time."""


class MN_TBETable(TBETable[T]):
    """Records of operations: fields ``state``, ``timestamp`` and ``requestor`` are looked at.

    ``states``: the machine's; the choice depends on six of them.
    """

    __slots__ = ("_distributing", "_ready", "_waiting")

    def __init__(
        self,
        factory: Callable[[], T],
        states: type[Enumeration],
        capacity: int,
        name: str = "MN_TBETable",
    ) -> None:
        super().__init__(factory, capacity, name)
        kinds = ("DvmNonSync", "DvmSync")
        numbers = {name: number for number, name in enumerate(states.members())}
        self._distributing = {numbers.get(f"{kind}_Distributing", -1) for kind in kinds}
        self._ready = tuple(numbers.get(f"{kind}_ReadyToDist", -1) for kind in kinds)
        self._waiting = tuple(numbers.get(f"{kind}_Waiting", -1) for kind in kinds)

    def chooseNewDistributor(self) -> T:
        """The operation to distribute next, or None.

        One that is being distributed stays; else the oldest that is ready, of equal ones that of
        the lowest address. At most four wait for answers. A Sync waits while another Sync does,
        and for older NonSyncs of its requestor that are not complete.
        """
        records: list[Any] = [self.records[address] for address in sorted(self.records)]
        for record in records:
            if record.state in self._distributing:
                return cast("T", record)
        waiting = [record for record in records if record.state in self._waiting]
        if len(waiting) > MAX_WAITING:
            raise ProtocolError(
                ErrorKind.ASSERTION, f"{len(waiting)} operations of {self.name} wait for answers"
            )
        if len(waiting) == MAX_WAITING:
            return cast("T", None)
        nonsync_ready, sync_ready = self._ready
        nonsync_waiting, sync_waiting = self._waiting
        unfinished = [r for r in records if r.state in (nonsync_ready, nonsync_waiting)]
        blocked = any(record.state == sync_waiting for record in waiting)
        chosen = None
        for record in records:
            if record.state == sync_ready:
                if blocked or any(
                    record.timestamp > other.timestamp and record.requestor == other.requestor
                    for other in unfinished
                ):
                    continue
            elif record.state != nonsync_ready:
                continue
            if chosen is None or record.timestamp < chosen.timestamp:
                chosen = record
        return cast("T", chosen)


class MN_TBEStorage(Generic[R]):
    """Slots in partitions: number 0 is for everything, each other one for one kind of operations
    and asked first. Retries wait in the order of their coming; the first that fits goes first.
    """

    __slots__ = ("_parts", "_retries")

    def __init__(self, _entry: type[R], *partitions: TBEStorage) -> None:
        self._parts = partitions
        self._retries: list[R] = []

    def _part(self, partition: int) -> TBEStorage:
        if not 0 <= partition < len(self._parts):
            raise ProtocolError(ErrorKind.INDEX_RANGE, f"there is no partition {partition}")
        return self._parts[partition]

    def size(self) -> int:
        return sum(part.size() for part in self._parts)

    def capacity(self) -> int:
        return sum(part.capacity() for part in self._parts)

    def reserved(self) -> int:
        return sum(part.reserved() for part in self._parts)

    def slotsAvailable(self, partition: int) -> int:
        free = self._part(partition).slotsAvailable()
        return free + self._parts[0].slotsAvailable() if partition else free

    def areNSlotsAvailable(self, count: int, partition: int) -> bool:
        return self.slotsAvailable(partition) >= count

    def incrementReserved(self, partition: int) -> None:
        part = self._part(partition)
        (part if partition and part.areNSlotsAvailable(1) else self._parts[0]).incrementReserved()

    def decrementReserved(self, partition: int) -> None:
        part = self._part(partition)
        (part if partition and part.reserved() else self._parts[0]).decrementReserved()

    def addEntryToNewSlot(self, partition: int) -> int:
        """Take a slot. Numbers of the partition for everything follow those of the other."""
        part = self._part(partition)
        if partition and part.areNSlotsAvailable(1):
            return part.addEntryToNewSlot()
        return part.capacity() + self._parts[0].addEntryToNewSlot()

    def removeEntryFromSlot(self, slot: int, partition: int) -> None:
        own = self._part(partition).capacity()
        if slot < own:
            self._parts[partition].removeEntryFromSlot(slot)
        else:
            self._parts[0].removeEntryFromSlot(slot - own)

    # ------------------------------------------------------------ retries

    def _next(self) -> int | None:
        """The place of the first retry for which there is a slot."""
        for place, entry in enumerate(self._retries):
            if self.areNSlotsAvailable(1, int(cast("Any", entry).isNonSync)):
                return place
        return None

    def emplaceRetryEntry(self, entry: R) -> None:
        self._retries.append(entry)

    def hasPossibleRetry(self) -> bool:
        return self._next() is not None

    def popNextRetryEntry(self) -> R:
        place = self._next()
        if place is None:
            raise ProtocolError(ErrorKind.EMPTY_BUFFER, "no retry fits now")
        return self._retries.pop(place)
