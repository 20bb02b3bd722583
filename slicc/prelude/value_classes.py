"""Values that messages and records are made of: machine ids, sets, masks and data.

Invariant: every method that changes its receiver says ``mutates``.
"""

from __future__ import annotations

from slicc.prelude.rows import ClassRow

DATA_CLASSES: dict[str, ClassRow] = {
    "MachineID": ClassRow(value=True, immutable=True),
    "NetDest": ClassRow(
        value=True,
        methods=(
            "add(MachineID) ; mutates",
            "addNetDest(NetDest) ; mutates",
            "setNetDest(MachineType, Set) ; mutates controller",
            "remove(MachineID) ; mutates",
            "removeNetDest(NetDest) ; mutates",
            "broadcast() = broadcast_all ; mutates controller",
            "broadcast(MachineType) ; mutates controller",
            "clear() ; mutates",
            "count() -> int",
            "isElement(MachineID) -> bool",
            "isSuperset(NetDest) -> bool",
            "intersectionIsEmpty(NetDest) -> bool",
            "isEmpty() -> bool",
            "smallestElement() -> MachineID ; controller",
            "smallestElement(MachineType) -> MachineID = smallestElement_of ; controller",
            "OR(NetDest) -> NetDest",
            "AND(NetDest) -> NetDest",
        ),
    ),
    "Set": ClassRow(
        value=True,
        methods=(
            "setSize(int) ; mutates",
            "add(NodeID) ; mutates",
            "addSet(Set) ; mutates",
            "remove(NodeID) ; mutates",
            "removeSet(Set) ; mutates",
            "broadcast() ; mutates",
            "clear() ; mutates",
            "count() -> int",
            "isElement(NodeID) -> bool",
            "isEqual(Set) -> bool",
            "isSuperset(Set) -> bool",
            "isEmpty() -> bool",
            "intersectionIsEmpty(Set) -> bool",
            "smallestElement() -> NodeID",
        ),
    ),
    "WriteMask": ClassRow(
        value=True,
        methods=(
            "clear() ; mutates",
            "containsMask(WriteMask) -> bool",
            "isEmpty() -> bool",
            "isFull() -> bool ; controller",
            "isOverlap(WriteMask) -> bool",
            "andMask(WriteMask) ; mutates",
            "orMask(WriteMask) ; mutates",
            "setInvertedMask(WriteMask) ; mutates controller",
            "fillMask() ; mutates controller",
            "setMask(int, int) ; mutates controller",
            "setMask(int, int, bool) ; mutates controller",
            "getMask(int, int) -> bool ; controller",
            "firstBitSet(bool) -> int ; controller",
            "firstBitSet(bool, int) -> int ; controller",
            "count() -> int",
            "count(int) -> int",
            "test(int) -> bool",
        ),
    ),
    "DataBlock": ClassRow(
        value=True,
        methods=(
            "clear() ; mutates",
            "copyPartial(DataBlock, int, int) = copyPartial_range ; mutates controller",
            "copyPartial(DataBlock, WriteMask) ; mutates",
            "atomicPartial(DataBlock, WriteMask) ; mutates",
            "atomicPartial(DataBlock, WriteMask, bool) ; mutates",
            "numAtomicLogEntries() -> int",
            "clearAtomicLogEntries() ; mutates",
        ),
    ),
    "BoolVec": ClassRow(
        value=True,
        methods=(
            "at(int) -> bool& [set_at]",
            "clear() ; mutates",
            "resize(int) ; mutates",
            "size() -> int",
        ),
    ),
}
