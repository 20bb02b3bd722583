"""Tables of the node that distributes operations on translations."""

from __future__ import annotations

import pytest

from runtime.errors import ErrorKind, ProtocolError
from runtime.structures.chi_tables import TBEStorage
from runtime.structures.dvm_tables import MN_TBEStorage, MN_TBETable
from runtime.types.enumeration import Enumeration


class State(Enumeration):
    Unallocated = 0
    DvmSync_ReadyToDist = 1
    DvmSync_Distributing = 2
    DvmSync_Waiting = 3
    DvmNonSync_ReadyToDist = 4
    DvmNonSync_Distributing = 5
    DvmNonSync_Waiting = 6
    NUM = 7


class Record:
    def __init__(self) -> None:
        self.address = 0
        self.state = 0
        self.timestamp = 0
        self.requestor = 0


def table(*rows: tuple[int, int, int]) -> MN_TBETable[Record]:
    """Records (state, timestamp, requestor) at addresses 0, 64, ..."""
    made = MN_TBETable(Record, State, 16)
    for number, (state, timestamp, requestor) in enumerate(rows):
        record = made.allocate(64 * number)
        record.state, record.timestamp, record.requestor = state, timestamp, requestor
    return made


def chosen(*rows: tuple[int, int, int]) -> int | None:
    record: Record | None = table(*rows).chooseNewDistributor()
    return None if record is None else record.address // 64


S = State


@pytest.mark.parametrize(
    "rows, place",
    [
        ((), None),
        (((S.Unallocated, 0, 0),), None),
        # The oldest goes first, the lowest address among equals, whatever its kind.
        (((S.DvmNonSync_ReadyToDist, 5, 0), (S.DvmSync_ReadyToDist, 3, 1)), 1),
        (((S.DvmNonSync_ReadyToDist, 3, 0), (S.DvmSync_ReadyToDist, 3, 1)), 0),
        # What is being distributed stays.
        (((S.DvmNonSync_ReadyToDist, 1, 0), (S.DvmSync_Distributing, 9, 1)), 1),
        # A Sync waits for another Sync, a NonSync does not.
        (((S.DvmSync_ReadyToDist, 1, 0), (S.DvmSync_Waiting, 0, 1)), None),
        (((S.DvmNonSync_ReadyToDist, 1, 0), (S.DvmSync_Waiting, 0, 1)), 0),
        # A Sync waits for older NonSyncs of its requestor, ready or waiting, not of others.
        (((S.DvmSync_ReadyToDist, 2, 7), (S.DvmNonSync_Waiting, 1, 7)), None),
        (((S.DvmSync_ReadyToDist, 2, 7), (S.DvmNonSync_Waiting, 1, 8)), 0),
        (((S.DvmSync_ReadyToDist, 2, 7), (S.DvmNonSync_Waiting, 3, 7)), 0),
        (((S.DvmSync_ReadyToDist, 2, 7), (S.DvmNonSync_ReadyToDist, 1, 7)), 1),
        # Four wait at most.
        (((S.DvmNonSync_ReadyToDist, 1, 0), *[(S.DvmNonSync_Waiting, 0, 1)] * 3), 0),
        (((S.DvmNonSync_ReadyToDist, 1, 0), *[(S.DvmNonSync_Waiting, 0, 1)] * 4), None),
    ],
)
def test_which_operation_is_next(rows: tuple[tuple[int, int, int], ...], place: int | None) -> None:
    assert chosen(*rows) == place


def test_five_that_wait_are_a_mistake() -> None:
    with pytest.raises(ProtocolError) as error:
        chosen(*[(S.DvmNonSync_Waiting, 0, 1)] * 5)
    assert error.value.kind is ErrorKind.ASSERTION


class Retry:
    def __init__(self, isNonSync: bool) -> None:
        self.isNonSync = isNonSync


def storage(generic: int, own: int) -> MN_TBEStorage[Retry]:
    return MN_TBEStorage(Retry, TBEStorage(generic), TBEStorage(own))


def test_a_partition_of_its_own_is_asked_first() -> None:
    s = storage(2, 1)
    assert (s.capacity(), s.slotsAvailable(0), s.slotsAvailable(1)) == (3, 2, 3)
    assert s.addEntryToNewSlot(1) == 0
    # The generic slots follow; those of partition 0 begin behind its own capacity.
    assert s.addEntryToNewSlot(1) == 1
    assert s.addEntryToNewSlot(0) == 2 + 1
    assert s.size() == 3 and not s.areNSlotsAvailable(1, 1)
    s.removeEntryFromSlot(1, 1)
    s.removeEntryFromSlot(3, 0)
    s.removeEntryFromSlot(0, 1)
    assert s.size() == 0


def test_reservations_prefer_the_partition() -> None:
    s = storage(2, 1)
    s.incrementReserved(1)
    assert (s.slotsAvailable(0), s.slotsAvailable(1)) == (2, 2)
    s.incrementReserved(1)
    assert (s.slotsAvailable(0), s.slotsAvailable(1), s.reserved()) == (1, 1, 2)
    s.decrementReserved(1)
    assert (s.slotsAvailable(0), s.slotsAvailable(1)) == (1, 2)
    s.decrementReserved(1)
    assert s.reserved() == 0


def test_the_first_retry_that_fits_goes_first() -> None:
    s = storage(1, 1)
    slot = s.addEntryToNewSlot(0)
    one, other = Retry(False), Retry(True)
    s.emplaceRetryEntry(one)
    assert not s.hasPossibleRetry()
    s.emplaceRetryEntry(other)
    assert s.hasPossibleRetry() and s.popNextRetryEntry() is other
    assert not s.hasPossibleRetry()
    with pytest.raises(ProtocolError):
        s.popNextRetryEntry()
    s.removeEntryFromSlot(slot, 0)
    assert s.popNextRetryEntry() is one


def test_there_is_no_such_partition() -> None:
    with pytest.raises(ProtocolError) as error:
        storage(1, 1).slotsAvailable(2)
    assert error.value.kind is ErrorKind.INDEX_RANGE
