"""Names that have changed between versions, as data.

``METHODS`` lists methods whose signature has changed: the old one, and the call that replaces it.
In the latter, a number is an argument of the old call; ``after n`` the tick that many cycles from
now; ``address`` the line of the transition; ``controller f`` calls the controller; ``nothing`` is a
call without effect here (statistics and debugging aids of a simulator). Invariant: the right-hand
side exists today.
"""

from __future__ import annotations

TYPES: dict[str, str] = {
    "Address": "Addr",
    "physical_address_t": "Addr",
    "AbstractEntry": "AbstractCacheEntry",
    "Time": "Cycles",
    "uint64": "uint64_t",
    "MasterID": "RequestorID",
    "GenericMachineType": "MachineType",
    "Prefetcher": "RubyPrefetcher",
    "CacheMsg": "RubyRequest",
    "AccessModeType": "RubyAccessMode",
}
"""Types by their older names."""

INTERFACES: dict[str, str] = {
    "NetworkMessage": "Message",
    "AbstractEntry": "AbstractCacheEntry",
    "AbstractProtocol": "",
}
"""Values of ``interface=`` by their older names; an empty one is none at all."""

FIELDS: dict[str, dict[str, str]] = {"MemoryMsg": {"Address": "addr", "Addr": "addr"}}
"""Fields of library structures by their older names."""

CONSTANT_FIELDS: dict[str, dict[str, str]] = {
    "RubyRequest": {"segment": "HSASegment:GLOBAL", "scope": "HSAScope:UNSPECIFIED"}
}
"""Fields that requests no longer have, and their value for every request here."""

COUNTERS: dict[str, str] = {
    "demand_misses": "profileDemandMiss",
    "demand_hits": "profileDemandHit",
    "prefetch_misses": "profilePrefetchMiss",
    "prefetch_hits": "profilePrefetchHit",
}
"""Statistics that ``++cache.name`` counted, and the methods that do so today."""

FUNCTIONS: dict[str, str] = {
    "wake_up_dependents": "wakeUpBuffers",
    "wake_up_all_dependents": "wakeUpAllBuffers",
}
"""Functions by their older names."""

METHODS: dict[str, tuple[str, ...]] = {
    "Sequencer": (
        "readCallback(Addr, MachineType, DataBlock) -> readCallback 0 2 true 1",
        "writeCallback(Addr, MachineType, DataBlock) -> writeCallback 0 2 true 1",
        "readCallback(Addr, MachineType, DataBlock, Cycles, Cycles, Cycles)"
        " -> readCallback 0 2 true 1 3 4 5",
        "writeCallback(Addr, MachineType, DataBlock, Cycles, Cycles, Cycles)"
        " -> writeCallback 0 2 true 1 3 4 5",
        "invalidateSC(Addr) -> evictionCallback 0",
        "checkCoherence(Addr) -> nothing",
        "profileNack(Addr, int, int, uint64_t) -> nothing",
    ),
    "GPUCoalescer": (
        "checkCoherence(Addr) -> nothing",
        "recordCPReadCallBack(MachineID, MachineID) -> nothing",
        "recordCPWriteCallBack(MachineID, MachineID) -> nothing",
    ),
    "DMASequencer": (
        "ackCallback() -> ackCallback address",
        "dataCallback(DataBlock) -> dataCallback 0 address",
    ),
    "CacheMemory": (
        "getNULL() -> getNullEntry",
        "profileMiss(RubyRequest) -> profileDemandMiss",
        "profileGenericRequest(GenericRequestType, RubyAccessMode, PrefetchBit)"
        " -> profileDemandMiss",
    ),
    "WriteMask": (
        "cmpMask(WriteMask) -> containsMask 0",
        "setBlockSize(int) -> nothing",
        "getBlockSize() -> controller getBlockSizeBytes",
    ),
    "DataBlock": (
        "setBlockSize(int) -> nothing",
        "getBlockSize() -> controller getBlockSizeBytes",
    ),
    "VIPERCoalescer": (
        "invCallback(Addr) -> invTCPCallback 0",
        "readCallback(Addr, MachineType, DataBlock, bool) -> readCallback 0 1 2",
        "writeCallback(Addr, MachineType, DataBlock, bool) -> writeCallback 0 1 2",
    ),
    "DirectoryMemory": ("invalidateBlock(Addr) -> nothing",),
    "TBETable": ("getNULL() -> getNullEntry",),
    "TimerTable": (
        "set(Addr, Cycles) -> set 0 after 1",
        "set(Addr, int) -> set 0 after 1",
        "readyAddress() -> nextAddress",
        "isReady() -> isReady now",
    ),
}
"""By class, methods whose signature has changed."""

NEWER: frozenset[tuple[str, str]] = frozenset(
    {
        ("WriteMask", "setBlockSize"),
        ("WriteMask", "getBlockSize"),
        ("DataBlock", "setBlockSize"),
        ("DataBlock", "getBlockSize"),
        ("VIPERCoalescer", "readCallback"),
        ("VIPERCoalescer", "writeCallback"),
    }
)
"""Those of them that gem5 has had since 2025."""

REMOVED: dict[tuple[str, str], str] = {
    ("VIPERCoalescer", "wbCallback"): "writing back an L1 on release, which coalescers of gem5 "
    "ordered line by line until 2020",
}
"""Methods that belonged to a feature without a counterpart today, and that feature."""

NO_EFFECT: frozenset[str] = frozenset(
    {
        "procProfileCoherenceRequest",
        "dirProfileCoherenceRequest",
        "profile_miss",
        "profile_request",
        "profileMessageReordering",
        "profileMessageReorderingByNetwork",
        "profile_token_retry",
        "profile_persistent_prediction",
        "profile_filter_action",
        "profile_multicast_retry",
        "profile_outstanding_request",
        "profile_outstanding_persistent_request",
        "profile_average_latency_estimate",
        "profileGetX",
        "profileGetS",
        "profile_sharing",
    }
)
"""Functions that only fed an older simulator's statistics."""
