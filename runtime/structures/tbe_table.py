"""Tables of transaction records, and of timers.

Invariant: a table never holds more records than its capacity, and a record that was
deallocated is removed from it at once. A pointer to it that a transaction keeps is a mistake
(`stillHas`), which the compiler looks for where an action may leave one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Generic, TypeVar, cast

from runtime.errors import ErrorKind, ProtocolError

if TYPE_CHECKING:
    from runtime.sim.engine import Consumer

T = TypeVar("T")


class TBETable(Generic[T]):
    """Transaction records by address.

    ``lookup(address) -> T`` gives the record, or None. ``capacity`` counts records.
    """

    __slots__ = ("capacity", "factory", "isPresent", "lookup", "name", "records")

    lookup: Callable[[int], T]
    isPresent: Callable[[int], bool]

    def __init__(self, factory: Callable[[], T], capacity: int, name: str = "TBETable") -> None:
        if capacity < 0:
            raise ValueError(f"{name}: capacity {capacity} is negative")
        self.factory = factory
        self.capacity = capacity
        self.name = name
        self.records: dict[int, T] = {}
        # The dictionary's own methods: a lookup in C costs a third of one written in Python.
        self.lookup = cast("Callable[[int], T]", self.records.get)
        self.isPresent = self.records.__contains__

    def allocate(self, address: int) -> T:
        """Make a record with default fields. Verdict if there is one or the table is full."""
        records = self.records
        if address in records:
            raise ProtocolError(
                ErrorKind.ALREADY_ALLOCATED, f"{self.name} already has an entry for {address:#x}"
            )
        if len(records) >= self.capacity:
            raise ProtocolError(
                ErrorKind.TABLE_FULL, f"all {self.capacity} records of {self.name} are in use"
            )
        record = records[address] = self.factory()
        cast("Any", record).address = address
        return record

    def deallocate(self, address: int) -> None:
        try:
            del self.records[address]
        except KeyError:
            raise ProtocolError(
                ErrorKind.NOT_ALLOCATED, f"{self.name} has no record of {address:#x}"
            ) from None

    def stillHas(self, record: T) -> None:
        """Verdict if a record that a transaction uses was deallocated."""
        address = cast("Any", record).address
        if self.records.get(address) is not record:
            raise ProtocolError(
                ErrorKind.NOT_ALLOCATED,
                f"{self.name} has freed the record of {address:#x}, which the transition still "
                "has: it lacks `unset_tbe`",
            )

    def areNSlotsAvailable(self, count: int) -> bool:
        return len(self.records) + count <= self.capacity

    def getNullEntry(self) -> T:
        return cast("T", None)

    def __len__(self) -> int:
        return len(self.records)

    def __iter__(self) -> Iterator[T]:
        """Records in the order of allocation."""
        return iter(self.records.values())


class TimerTable:
    """Alarms by line. Ready while the earliest alarm has passed; stays so until unset."""

    __slots__ = ("_consumer", "_times", "name")

    def __init__(self, name: str = "TimerTable") -> None:
        self.name = name
        self._consumer: Consumer | None = None
        self._times: dict[int, int] = {}

    def set_consumer(self, consumer: Consumer) -> None:
        self._consumer = consumer

    def set(self, address: int, tick: int) -> None:
        """Arm an alarm at an absolute tick. Verdict if the line has one."""
        if address in self._times:
            raise ProtocolError(
                ErrorKind.ALREADY_ALLOCATED, f"{self.name} has an alarm already for {address:#x}"
            )
        self._times[address] = tick
        consumer = self._consumer
        if consumer is None:
            raise RuntimeError(f"{self.name} is used before it has a consumer")
        consumer.engine.schedule(consumer, tick)

    def unset(self, address: int) -> None:
        if self._times.pop(address, None) is None:
            raise ProtocolError(ErrorKind.NOT_ALLOCATED, f"{self.name} has no {address:#x}")

    def isSet(self, address: int) -> bool:
        return address in self._times

    def isReady(self) -> bool:
        if not self._times or self._consumer is None:
            return False
        return min(self._times.values()) <= self._consumer.engine.now

    def nextAddress(self) -> int:
        """The line of the earliest alarm; the lowest address among equals."""
        if not self._times:
            raise ProtocolError(ErrorKind.EMPTY_BUFFER, f"no alarm is set in {self.name}")
        return min(self._times, key=lambda address: (self._times[address], address))

    def isEmpty(self) -> bool:
        return not self._times

    def __len__(self) -> int:
        return len(self._times)
