"""Bookkeeping classes of token and chained-event protocols."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.errors import ErrorKind, ProtocolError
from runtime.network.network import Topology
from runtime.structures.chi_tables import ExpectedMap, TBEStorage, TriggerQueue
from runtime.structures.persistent_table import PersistentTable
from runtime.types.messages import AccessType, MachineType


def kind_of(call: Callable[[], object]) -> ErrorKind:
    with pytest.raises(ProtocolError) as caught:
        call()
    return caught.value.kind


def test_persistent_requests_favour_the_smallest_node() -> None:
    one, two, three = Topology({MachineType.L1Cache: 3}).nodes
    table = PersistentTable()
    assert table.okToIssueStarving(64, one)
    table.persistentRequestLock(64, three, AccessType.Write)
    table.persistentRequestLock(64, two, AccessType.Read)
    assert (table.findSmallest(64), table.typeOfSmallest(64)) == (two, AccessType.Read)
    assert (table.countStarvingForAddress(64), table.countReadStarvingForAddress(64)) == (2, 1)
    assert table.okToIssueStarving(64, one)
    assert not table.okToIssueStarving(64, two)
    table.markEntries(64)
    assert not table.okToIssueStarving(64, one)
    assert kind_of(lambda: table.markEntries(64)) is ErrorKind.ASSERTION
    table.persistentRequestUnlock(64, two)
    assert (table.findSmallest(64), table.typeOfSmallest(64)) == (three, AccessType.Write)
    again = lambda: table.persistentRequestLock(64, three, AccessType.Read)  # noqa: E731
    assert kind_of(again) is ErrorKind.ALREADY_ALLOCATED
    table.persistentRequestUnlock(64, three)
    assert not table.isLocked(64)
    assert kind_of(lambda: table.findSmallest(64)) is ErrorKind.NOT_ALLOCATED


def test_a_trigger_queue_has_two_ends_and_two_kinds() -> None:
    queue: TriggerQueue[int] = TriggerQueue()
    queue.push(1)
    queue.pushNB(2)
    queue.pushFront(3)
    copy = queue.copy()
    queue.pushFrontNB(4)
    assert (queue.front(), queue.frontNB(), queue.back(), queue.backNB()) == (4, True, 2, True)
    seen = []
    while not queue.empty():
        seen.append((queue.front(), queue.frontNB()))
        queue.pop()
    assert seen == [(4, True), (3, False), (1, False), (2, True)]
    assert copy.size() == 3
    queue.assign(copy)
    assert queue == copy
    queue.pop()
    assert queue != copy
    assert kind_of(TriggerQueue().pop) is ErrorKind.EMPTY_BUFFER


def test_expected_messages_count_when_all_their_parts_are_there() -> None:
    pending = ExpectedMap()
    pending.clear(2)
    pending.setExpectedCount(1)
    pending.addExpectedCount(1)
    pending.addExpectedDataType(5)
    pending.addExpectedRespType(7)
    assert not pending.receiveData(6)
    assert pending.receiveData(5)
    copy = pending.copy()
    assert (pending.expected(), pending.hasReceivedData(), pending.receivedDataType(5)) == (
        2,
        False,
        True,
    )
    assert pending.receiveData(5)
    assert (pending.expected(), pending.hasReceivedData()) == (1, True)
    assert pending.receiveResp(7)
    assert not pending.hasExpected()
    assert pending.receivedRespType(7)
    assert kind_of(lambda: pending.receiveResp(7)) is ErrorKind.ASSERTION
    assert copy.expected() == 2
    assert copy != pending
    copy.assign(pending)
    assert copy == pending


@given(st.lists(st.sampled_from(["new", "share", "leave", "reserve", "unreserve"]), max_size=40))
def test_slots_are_never_given_twice(operations: list[str]) -> None:
    storage = TBEStorage(3)
    users: list[int] = []
    reserved = 0
    for name in operations:
        if name == "new":
            if 3 - len(set(users)) - reserved > 0:
                slot = storage.addEntryToNewSlot()
                assert slot not in users
                users.append(slot)
            else:
                assert kind_of(storage.addEntryToNewSlot) is ErrorKind.TABLE_FULL
        elif name == "share" and users:
            storage.addEntryToSlot(users[0])
            users.append(users[0])
        elif name == "leave" and users:
            storage.removeEntryFromSlot(users.pop(0))
        elif name == "reserve":
            storage.incrementReserved()
            reserved += 1
        elif name == "unreserve" and reserved:
            storage.decrementReserved()
            reserved -= 1
        free = 3 - len(set(users)) - reserved
        assert (storage.size(), storage.reserved()) == (len(set(users)), reserved)
        assert storage.slotsAvailable() == free
        assert storage.areNSlotsAvailable(2) == (free >= 2)
    assert kind_of(lambda: storage.removeEntryFromSlot(99)) is ErrorKind.NOT_ALLOCATED
