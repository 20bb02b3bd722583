"""Classes for protocols that keep a list of pending events per transaction.

Invariant: ``TriggerQueue`` and ``ExpectedMap`` are values (fields of a TBE); the storage
classes are references. ``any`` stands for types that only the protocol's own declaration fixes.
"""

from __future__ import annotations

from slicc.prelude.rows import ClassRow

TRANSACTION_CLASSES: dict[str, ClassRow] = {
    "TriggerQueue": ClassRow(
        value=True,
        template=True,
        methods=(
            "front() -> element",
            "back() -> element",
            "frontNB() -> bool",
            "backNB() -> bool",
            "empty() -> bool",
            "size() -> int",
            "push(any) ; mutates",
            "pushNB(any) ; mutates",
            "pushFront(any) ; mutates",
            "pushFrontNB(any) ; mutates",
            "pop() ; mutates",
            "next() -> element = front",
        ),
    ),
    "ExpectedMap": ClassRow(
        value=True,
        template=True,
        methods=(
            "clear(int) ; mutates",
            "addExpectedRespType(any) ; mutates",
            "addExpectedDataType(any) ; mutates",
            "setExpectedCount(int) ; mutates",
            "addExpectedCount(int) ; mutates",
            "hasExpected() -> bool",
            "hasReceivedResp() -> bool",
            "hasReceivedData() -> bool",
            "expected() -> int",
            "received() -> int",
            "receiveResp(any) -> bool ; mutates",
            "receiveData(any) -> bool ; mutates",
            "receivedDataType(any) -> bool",
            "receivedRespType(any) -> bool",
        ),
    ),
    "TBEStorage": ClassRow(
        constructor=("int",),
        methods=(
            "size() -> int",
            "capacity() -> int",
            "reserved() -> int",
            "slotsAvailable() -> int",
            "areNSlotsAvailable(int) -> bool",
            "areNSlotsAvailable(int, now) -> bool",
            "incrementReserved()",
            "decrementReserved()",
            "addEntryToNewSlot() -> int",
            "addEntryToSlot(int)",
            "removeEntryFromSlot(int)",
        ),
    ),
    "MN_TBETable": ClassRow(
        constructor=("int",),
        methods=(
            "lookup(Addr) -> element",
            "allocate(Addr)",
            "deallocate(Addr)",
            "isPresent(Addr) -> bool",
            "areNSlotsAvailable(int, now) -> bool",
            "chooseNewDistributor() -> element",
        ),
    ),
    "MN_TBEStorage": ClassRow(
        template=True,
        constructor=("any", "any"),
        methods=(
            "size() -> int",
            "capacity() -> int",
            "reserved() -> int",
            "slotsAvailable(int) -> int",
            "areNSlotsAvailable(int, int) -> bool",
            "incrementReserved(int)",
            "decrementReserved(int)",
            "addEntryToNewSlot(int) -> int",
            "removeEntryFromSlot(int, int)",
            "emplaceRetryEntry(any)",
            "hasPossibleRetry() -> bool",
            "popNextRetryEntry() -> element",
        ),
    ),
}
