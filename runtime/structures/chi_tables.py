"""Bookkeeping for protocols that keep a list of pending events per transaction.

``TriggerQueue`` and ``ExpectedMap`` are values (fields of a record); ``TBEStorage`` counts slots
that are apart from the records themselves. Invariant: emptiness is never guessed; reading an
empty queue or releasing a slot that is not taken is a verdict.
"""

from __future__ import annotations

from typing import Any, Generic, TypeVar

from runtime.errors import ErrorKind, ProtocolError

V = TypeVar("V")


class TriggerQueue(Generic[V]):
    """Pending events, each blocking or not ("NB": may run while responses are outstanding)."""

    __slots__ = ("_items",)

    def __init__(self, items: list[tuple[V, bool]] | None = None) -> None:
        self._items: list[tuple[V, bool]] = [] if items is None else items

    def copy(self) -> TriggerQueue[V]:
        return TriggerQueue(self._items.copy())

    def assign(self, other: TriggerQueue[V]) -> None:
        self._items = other._items.copy()

    def _at(self, position: int) -> tuple[V, bool]:
        if not self._items:
            raise ProtocolError(ErrorKind.EMPTY_BUFFER, "the trigger queue is empty")
        return self._items[position]

    def front(self) -> V:
        return self._at(0)[0]

    def back(self) -> V:
        return self._at(-1)[0]

    def frontNB(self) -> bool:
        return self._at(0)[1]

    def backNB(self) -> bool:
        return self._at(-1)[1]

    def empty(self) -> bool:
        return not self._items

    def size(self) -> int:
        return len(self._items)

    def push(self, value: V) -> None:
        self._items.append((value, False))

    def pushNB(self, value: V) -> None:
        self._items.append((value, True))

    def pushFront(self, value: V) -> None:
        self._items.insert(0, (value, False))

    def pushFrontNB(self, value: V) -> None:
        self._items.insert(0, (value, True))

    def pop(self) -> None:
        self._at(0)
        del self._items[0]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TriggerQueue) and self._items == other._items

    __hash__ = None  # type: ignore[assignment]


class _Expected:
    """Types that may arrive, whether each has, and complete messages (of ``chunks`` parts)."""

    __slots__ = ("chunks", "parts", "received", "types")

    def __init__(self) -> None:
        self.clear(1)

    def clear(self, chunks: int) -> None:
        self.chunks = chunks
        self.parts = 0
        self.received = 0
        self.types: dict[int, bool] = {}

    def copy(self) -> _Expected:
        new = _Expected()
        new.chunks, new.parts, new.received = self.chunks, self.parts, self.received
        new.types = self.types.copy()
        return new

    def arrive(self, kind: int) -> bool:
        """Account one part; false if its type is not expected."""
        if kind not in self.types:
            return False
        self.types[kind] = True
        self.parts += 1
        if self.parts == self.chunks:
            self.parts = 0
            self.received += 1
        return True


class ExpectedMap:
    """Responses and data that a transaction waits for."""

    __slots__ = ("_data", "_responses", "_total")

    def __init__(self) -> None:
        self._data = _Expected()
        self._responses = _Expected()
        self._total = 0

    def copy(self) -> ExpectedMap:
        new = ExpectedMap()
        new.assign(self)
        return new

    def assign(self, other: ExpectedMap) -> None:
        self._data = other._data.copy()
        self._responses = other._responses.copy()
        self._total = other._total

    def clear(self, chunks: int) -> None:
        """Start again; a data message arrives in ``chunks`` parts."""
        self._data.clear(chunks)
        self._responses.clear(1)
        self._total = 0

    def addExpectedRespType(self, kind: int) -> None:
        self._responses.types[kind] = False

    def addExpectedDataType(self, kind: int) -> None:
        self._data.types[kind] = False

    def setExpectedCount(self, count: int) -> None:
        self._total = count

    def addExpectedCount(self, count: int) -> None:
        self._total += count

    def received(self) -> int:
        return self._data.received + self._responses.received

    def expected(self) -> int:
        """Messages still to come."""
        return self._total - self.received()

    def hasExpected(self) -> bool:
        return self.expected() != 0

    def hasReceivedData(self) -> bool:
        return self._data.received != 0

    def hasReceivedResp(self) -> bool:
        return self._responses.received != 0

    def receiveResp(self, kind: int) -> bool:
        """Account a response; false if its type was not announced."""
        if self.received() >= self._total:
            raise ProtocolError(ErrorKind.ASSERTION, "a response that is not expected")
        return self._responses.arrive(kind)

    def receiveData(self, kind: int) -> bool:
        """Account one part of a data message; false if its type was not announced."""
        if self.received() > self._total:
            raise ProtocolError(ErrorKind.ASSERTION, "data that is not expected")
        return self._data.arrive(kind)

    def receivedDataType(self, kind: int) -> bool:
        return self._data.types.get(kind, False)

    def receivedRespType(self, kind: int) -> bool:
        return self._responses.types.get(kind, False)

    def _state(self) -> tuple[Any, ...]:
        parts = [(e.chunks, e.parts, e.received, e.types) for e in (self._data, self._responses)]
        return (*parts, self._total)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, ExpectedMap) and self._state() == other._state()

    __hash__ = None  # type: ignore[assignment]


class TBEStorage:
    """Slots, some of them reserved for requesters that were promised one."""

    __slots__ = ("_capacity", "_free", "_reserved", "_users")

    def __init__(self, capacity: int) -> None:
        if capacity < 0:
            raise ValueError(f"{capacity} slots")
        self._capacity = capacity
        self._free = list(range(capacity - 1, -1, -1))
        self._users: dict[int, int] = {}
        self._reserved = 0

    def size(self) -> int:
        """Slots in use."""
        return len(self._users)

    def capacity(self) -> int:
        return self._capacity

    def reserved(self) -> int:
        return self._reserved

    def slotsAvailable(self) -> int:
        return len(self._free) - self._reserved

    def areNSlotsAvailable(self, count: int) -> bool:
        return self.slotsAvailable() >= count

    def incrementReserved(self) -> None:
        self._reserved += 1

    def decrementReserved(self) -> None:
        if not self._reserved:
            raise ProtocolError(ErrorKind.ASSERTION, "no slot is reserved")
        self._reserved -= 1

    def addEntryToNewSlot(self) -> int:
        """Take the slot that was freed last and give its number."""
        if self.slotsAvailable() < 1:
            raise ProtocolError(ErrorKind.TABLE_FULL, f"all {self._capacity} slots are taken")
        slot = self._free.pop()
        assert slot not in self._users, "a free slot has no user"
        self._users[slot] = 1
        return slot

    def addEntryToSlot(self, slot: int) -> None:
        """A second transaction shares a slot."""
        if slot not in self._users:
            raise ProtocolError(ErrorKind.NOT_ALLOCATED, f"slot {slot} is not in use")
        self._users[slot] += 1

    def removeEntryFromSlot(self, slot: int) -> None:
        """A transaction leaves its slot; the last one frees it."""
        users = self._users.get(slot, 0)
        if not users:
            raise ProtocolError(ErrorKind.NOT_ALLOCATED, f"slot {slot} is not in use")
        if users == 1:
            del self._users[slot]
            self._free.append(slot)
            assert len(self._free) + len(self._users) == self._capacity
        else:
            self._users[slot] = users - 1
