"""Queues of events, expected messages and slots do in C++ what they do in Python."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from runtime.prng import Prng
from runtime.structures.chi_tables import ExpectedMap, TBEStorage, TriggerQueue
from runtime.structures.dvm_tables import MN_TBEStorage
from tests.runtime.native.core_twin import SLOTS
from tests.runtime.native.test_core_storage import Native

CONTROLLERS = 3


def test_queues_of_events() -> None:
    for seed in range(5):
        prng = Prng(seed).fork("queues")
        native = Native()
        queues: list[list[TriggerQueue[int]]] = [
            [TriggerQueue(), TriggerQueue()] for _ in range(CONTROLLERS)
        ]
        for _ in range(900):
            number, which, value = prng.below(CONTROLLERS), prng.below(2), prng.below(50)
            q, other = queues[number][which], queues[number][1 - which]
            operations: list[Callable[[], Any]] = [
                lambda q=q, v=value: q.push(v),
                lambda q=q, v=value: q.pushNB(v),
                lambda q=q, v=value: q.pushFront(v),
                lambda q=q, v=value: q.pushFrontNB(v),
                q.pop,
                q.front,
                q.back,
                q.frontNB,
                q.backNB,
                q.empty,
                q.size,
                lambda q=q, other=other: q.assign(other),
                lambda q=q, other=other: q == other,
            ]
            op = prng.below(len(operations) + 8)
            op = 4 if op >= len(operations) else op
            if op == 11 and other.size() > 12:
                continue
            native.agree(operations[op], "t_queue", op, number, which, value)
            if prng.below(60) == 0:
                queues[number][which] = TriggerQueue()
                native("t_forget", number, which)
                held = sum(each.size() for pair in queues for each in pair)
                assert native("t_collect") == held
            assert native("t_pool") == 0


def test_expected_messages() -> None:
    for seed in range(5):
        prng = Prng(seed).fork("expected")
        native = Native()
        maps = [ExpectedMap() for _ in range(CONTROLLERS)]
        for _ in range(900):
            number, value = prng.below(CONTROLLERS), (0, 1, 2, 63, 64, 90)[prng.below(6)]
            e = maps[number]
            operations: list[Callable[[], Any]] = [
                lambda e=e, v=value: e.clear(1 + v % 3),
                lambda e=e, v=value: e.addExpectedRespType(v),
                lambda e=e, v=value: e.addExpectedDataType(v),
                lambda e=e, v=value: e.setExpectedCount(v % 4),
                lambda e=e, v=value: e.addExpectedCount(v % 4),
                lambda e=e: e.expected() % (1 << 64),
                e.received,
                e.hasExpected,
                e.hasReceivedData,
                e.hasReceivedResp,
                lambda e=e, v=value: e.receiveResp(v),
                lambda e=e, v=value: e.receiveData(v),
                lambda e=e, v=value: e.receivedDataType(v),
                lambda e=e, v=value: e.receivedRespType(v),
            ]
            op = prng.below(len(operations) + 6)
            op = op if op < len(operations) else (10, 11, 11, 1, 2, 4)[op - len(operations)]
            given = {0: 1 + value % 3, 3: value % 4, 4: value % 4}.get(op, value)
            native.agree(operations[op], "t_expected", op, number, given)


def _slots(storage: TBEStorage, value: int) -> list[Callable[[], Any]]:
    return [
        storage.size,
        storage.capacity,
        storage.reserved,
        lambda: storage.slotsAvailable() % (1 << 64),
        lambda: storage.areNSlotsAvailable(value),
        storage.incrementReserved,
        storage.decrementReserved,
        storage.addEntryToNewSlot,
        lambda: storage.addEntryToSlot(value),
        lambda: storage.removeEntryFromSlot(value),
    ]


def test_slots() -> None:
    for seed in range(5):
        prng = Prng(seed).fork("slots")
        native = Native()
        storages = [[TBEStorage(size) for size in SLOTS] for _ in range(CONTROLLERS)]
        for _ in range(900):
            number, which, value = prng.below(CONTROLLERS), prng.below(2), prng.below(7)
            operations = _slots(storages[number][which], value)
            op = prng.below(len(operations))
            native.agree(operations[op], "t_storage", op, number, which, value)


class Retry:
    def __init__(self, number: int, isNonSync: bool) -> None:
        self.number = number
        self.isNonSync = isNonSync


def test_slots_in_partitions() -> None:
    for seed in range(6):
        prng = Prng(seed).fork("partitions")
        native = Native()
        storages = [
            MN_TBEStorage(Retry, *(TBEStorage(size) for size in SLOTS)) for _ in range(CONTROLLERS)
        ]
        for _ in range(900):
            number, part, value = prng.below(CONTROLLERS), prng.below(2), prng.below(9)
            part = 2 if prng.below(50) == 0 else part
            s = storages[number]
            operations: list[Callable[[], Any]] = [
                s.size,
                s.capacity,
                s.reserved,
                lambda s=s, p=part: s.slotsAvailable(p) % (1 << 64),
                lambda s=s, p=part, v=value: s.areNSlotsAvailable(v, p),
                lambda s=s, p=part: s.incrementReserved(p),
                lambda s=s, p=part: s.decrementReserved(p),
                lambda s=s, p=part: s.addEntryToNewSlot(p),
                lambda s=s, p=part, v=value: s.removeEntryFromSlot(v, p),
                lambda s=s, p=part, v=value: s.emplaceRetryEntry(Retry(v, p == 1)),
                s.hasPossibleRetry,
                lambda s=s: s.popNextRetryEntry().number,
            ]
            op = prng.below(len(operations))
            if op == 9 and prng.below(2):
                op = 11
            native.agree(operations[op], "t_partitions", op, number, part, value)
            if part == 2 and op in (5, 6, 7, 8):
                break  # what follows a verdict is not compared
