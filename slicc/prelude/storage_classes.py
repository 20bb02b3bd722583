"""Buffers, caches, directories and tables: what a controller owns or is connected to.

Invariant: everything here is a reference to one object; tables know their element type.
"""

from __future__ import annotations

from slicc.prelude.rows import ClassRow

_CACHE_METHODS = (
    "cacheAvail(Addr) -> bool",
    "cacheProbe(Addr) -> Addr",
    "getNullEntry() -> AbstractCacheEntry",
    "allocate(Addr, AbstractCacheEntry) -> AbstractCacheEntry",
    "allocateVoid(Addr, AbstractCacheEntry)",
    "deallocate(Addr)",
    "lookup(Addr) -> AbstractCacheEntry",
    "isTagPresent(Addr) -> bool",
    "getTagLatency() -> Cycles",
    "getDataLatency() -> Cycles",
    "setMRU(Addr)",
    "setMRU(Addr, int)",
    "setMRU(AbstractCacheEntry) = setMRU_entry",
    "recordRequestType(CacheRequestType, Addr)",
    "checkResourceAvailable(CacheResourceType, Addr) -> bool",
    "htmCommitTransaction()",
    "htmAbortTransaction()",
    "getCacheSize() -> int",
    "getNumBlocks() -> int",
    "getAddressAtIdx(int) -> Addr",
    "profileDemandHit()",
    "profileDemandMiss()",
    "profilePrefetchHit()",
    "profilePrefetchMiss()",
)

STORAGE_CLASSES: dict[str, ClassRow] = {
    "MessageBuffer": ClassRow(
        inport=True,
        outport=True,
        buffer=True,
        parameter=True,
        methods=("areNSlotsAvailable(int, now) -> bool", "getSize(now) -> int"),
    ),
    "WireBuffer": ClassRow(inport=True, outport=True, parameter=True),
    "TimerTable": ClassRow(
        inport=True,
        methods=(
            "isReady(now) -> bool",
            "nextAddress() -> Addr",
            "set(Addr, Tick)",
            "unset(Addr)",
            "isSet(Addr) -> bool",
        ),
    ),
    "CacheMemory": ClassRow(parameter=True, constructor=None, methods=_CACHE_METHODS),
    "DirectoryMemory": ClassRow(
        parameter=True,
        constructor=None,
        methods=(
            "allocate(Addr, AbstractCacheEntry) -> AbstractCacheEntry",
            "lookup(Addr) -> AbstractCacheEntry",
            "deallocate(Addr)",
            "isPresent(Addr) -> bool",
            "recordRequestType(DirectoryRequestType)",
        ),
    ),
    "PerfectCacheMemory": ClassRow(
        parameter=True,
        template=True,
        methods=(
            "allocate(Addr)",
            "deallocate(Addr)",
            "lookup(Addr) -> element",
            "isTagPresent(Addr) -> bool",
        ),
    ),
    "TBETable": ClassRow(
        template=True,
        constructor=("int",),
        methods=(
            "lookup(Addr) -> element",
            "allocate(Addr)",
            "deallocate(Addr)",
            "isPresent(Addr) -> bool",
            "getNullEntry() -> element",
            "areNSlotsAvailable(int, now) -> bool",
        ),
    ),
    "PersistentTable": ClassRow(
        methods=(
            "persistentRequestLock(Addr, MachineID, AccessType)",
            "persistentRequestUnlock(Addr, MachineID)",
            "okToIssueStarving(Addr, MachineID) -> bool",
            "findSmallest(Addr) -> MachineID",
            "typeOfSmallest(Addr) -> AccessType",
            "markEntries(Addr)",
            "isLocked(Addr) -> bool",
            "countStarvingForAddress(Addr) -> int",
            "countReadStarvingForAddress(Addr) -> int",
        )
    ),
    "AbstractCacheEntry": ClassRow(
        pointer=True,
        methods=(
            "changePermission(AccessPermission)",
            "getInHtmReadSet() -> bool",
            "getInHtmWriteSet() -> bool",
            "setInHtmReadSet(bool)",
            "setInHtmWriteSet(bool)",
        ),
    ),
}
