"""What generated C++ takes from the native runtime: classes, their methods, and reserved names.

Plain data. Invariant: a method that is not listed here is refused before any C++ is written; a
listed one exists in the headers under the name ``Class_method`` (a test compiles all of them).
"""

from __future__ import annotations

import re

from slicc.codegen.cpp.acts import Acts
from slicc.prelude.enumerations import ENUMERATIONS

_QUERY = Acts.READS
_RISKY = Acts.READS | Acts.FAILS | Acts.PLACED
_CHANGE = Acts.READS | Acts.CHANGES
_RISKY_CHANGE = _RISKY | Acts.CHANGES


def _methods(
    query: str = "", risky: str = "", change: str = "", risky_change: str = ""
) -> dict[str, Acts]:
    """``risky``: may be a verdict. ``change``: changes the receiver or the system."""
    rows = ((query, _QUERY), (risky, _RISKY), (change, _CHANGE), (risky_change, _RISKY_CHANGE))
    return {name: acts for names, acts in rows for name in names.split()}


def name_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


VALUE_CLASSES: dict[str, dict[str, Acts]] = {
    "MachineID": {},
    "NetDest": _methods(
        query="count isElement isSuperset intersectionIsEmpty isEmpty OR AND",
        risky="smallestElement smallestElement_of",
        change="addNetDest remove removeNetDest broadcast_all broadcast clear",
        risky_change="add setNetDest",
    ),
    "Set": _methods(
        query="count isElement isEqual isSuperset isEmpty intersectionIsEmpty",
        risky="smallestElement",
        change="addSet removeSet broadcast clear",
        risky_change="add remove setSize",
    ),
    "WriteMask": _methods(
        query="containsMask isEmpty isFull isOverlap",
        risky="getMask firstBitSet count test",
        change="clear andMask orMask setInvertedMask fillMask",
        risky_change="setMask",
    ),
    "DataBlock": _methods(
        query="numAtomicLogEntries",
        change="clear copyPartial atomicPartial clearAtomicLogEntries",
        risky_change="copyPartial_range",
    ),
    "BoolVec": _methods(query="size", risky="at", change="clear", risky_change="set_at resize"),
    "TriggerQueue": _methods(
        query="empty size",
        risky="front back frontNB backNB",
        change="push pushNB pushFront pushFrontNB",
        risky_change="pop",
    ),
    "ExpectedMap": _methods(
        query=(
            "hasExpected hasReceivedResp hasReceivedData expected received receivedDataType "
            "receivedRespType"
        ),
        change=("clear addExpectedRespType addExpectedDataType setExpectedCount addExpectedCount"),
        risky_change="receiveResp receiveData",
    ),
}
"""Classes held by value, with their methods."""

REQUESTERS = frozenset(
    {"Sequencer", "HTMSequencer", "GPUCoalescer", "VIPERCoalescer", "DMASequencer"}
)
"""Classes whose methods report a null receiver themselves."""

OBJECT_CLASSES: dict[str, dict[str, Acts]] = {
    "MessageBuffer": _methods(query="areNSlotsAvailable getSize"),
    "WireBuffer": {},
    "CacheMemory": _methods(
        query="getNullEntry isTagPresent getTagLatency getDataLatency getCacheSize getNumBlocks",
        risky="cacheAvail cacheProbe lookup checkResourceAvailable getAddressAtIdx",
        change="profileDemandHit profileDemandMiss profilePrefetchHit profilePrefetchMiss",
        risky_change=(
            "allocate allocateVoid deallocate setMRU setMRU_entry recordRequestType "
            "htmCommitTransaction htmAbortTransaction"
        ),
    ),
    "DirectoryMemory": _methods(
        query="isPresent",
        risky="lookup",
        change="recordRequestType",
        risky_change="allocate deallocate",
    ),
    "TBETable": _methods(
        query="lookup isPresent getNullEntry areNSlotsAvailable",
        risky="stillHas",
        risky_change="allocate deallocate",
    ),
    "TBEStorage": _methods(
        query="size capacity reserved slotsAvailable areNSlotsAvailable",
        change="incrementReserved",
        risky_change="decrementReserved addEntryToNewSlot addEntryToSlot removeEntryFromSlot",
    ),
    "MN_TBETable": _methods(
        query="lookup isPresent areNSlotsAvailable",
        risky="chooseNewDistributor",
        risky_change="allocate deallocate",
    ),
    "MN_TBEStorage": _methods(
        query="size capacity reserved",
        risky="slotsAvailable areNSlotsAvailable hasPossibleRetry",
        change="emplaceRetryEntry",
        risky_change=(
            "incrementReserved decrementReserved addEntryToNewSlot removeEntryFromSlot "
            "popNextRetryEntry"
        ),
    ),
    "RubyPrefetcherProxy": _methods(
        query="notifyPfHit notifyPfFill regProbePoints",
        change="notifyPfEvict",
        risky_change="notifyPfMiss completePrefetch",
    ),
    "RubyPrefetcher": _methods(risky_change="observeMiss observePfHit observePfMiss"),
    "RequestPtr": {},
    "TimerTable": _methods(
        query="isSet isReady isEmpty", risky="nextAddress", risky_change="set unset"
    ),
    "PersistentTable": _methods(
        query=("okToIssueStarving isLocked countStarvingForAddress countReadStarvingForAddress"),
        risky="findSmallest typeOfSmallest",
        risky_change="persistentRequestLock persistentRequestUnlock markEntries",
    ),
    "PerfectCacheMemory": _methods(
        query="isTagPresent", change="allocate lookup", risky_change="deallocate"
    ),
    "Sequencer": _methods(
        risky_change=(
            "readCallback writeCallback writeUniqueCallback atomicCallback unaddressedCallback "
            "writeCallbackScFail llscCheckMonitor llscClearLocalMonitor evictionCallback "
            "invL1Callback recordRequestType"
        ),
    ),
    "HTMSequencer": _methods(risky_change="htmCallback"),
    "GPUCoalescer": _methods(
        risky_change=(
            "readCallback readCallback_plain writeCallback writeCallback_plain evictionCallback"
        ),
    ),
    "VIPERCoalescer": _methods(
        risky_change="atomicCallback invTCPCallback invTCCCallback writeCompleteCallback",
    ),
    "DMASequencer": _methods(risky_change="ackCallback dataCallback atomicCallback"),
}
"""Classes whose objects are numbers of something in the block, with their methods."""

MESSAGE_METHODS = {"RubyRequest": _methods(query="getRequestPtr isFlagged")}
"""Methods of messages of the library."""

ENTRY_METHODS = _methods(
    query="getInHtmReadSet getInHtmWriteSet",
    change="changePermission setInHtmReadSet setInHtmWriteSet",
)
"""Methods of every cache entry."""

CONTROLLER_FUNCTIONS = _methods(
    query=(
        "clockEdge curCycle curTick cyclesToTicks ticksToCycles makeLineAddress getOffset "
        "makeNextStrideAddress getBlockSizeBits getBlockSizeBytes mapAddressToMachine "
        "machineCount createMachineID respondsTo broadcast curTransitionEvent "
        "curTransitionNextState"
    ),
    risky="mapAddressToDownstreamMachine mapAddressToRange allUpstreamDest",
    change="scheduleEvent wakeUpBuffers wakeUpAllBuffers profileMsgDelay",
    risky_change=(
        "dequeueMemRespQueue incomingTransactionStart incomingTransactionEnd "
        "outgoingTransactionStart outgoingTransactionEnd"
    ),
)
"""Functions that every controller offers: ``controller_NAME(x, c, …)``."""

LIBRARY_FUNCTIONS = _methods(
    query=(
        "max_tokens intToID IDToInt intToCycles intToTick intToAddress zero_time "
        "machineIDToMachineType machineIDToNodeID addressOffset isWriteRequest "
        "isDataReadRequest isReadRequest isHtmCmdRequest getRequestorID "
        "countBoolVec"
    ),
    risky="mod log2 bitSelect maskLowOrderBits addressToInt",
)
"""Free functions: ``library_NAME(x, …)``."""

CREATED_OBJECTS = {
    "TBETable": "x, c.machine, {word}",
    "MN_TBETable": "x, c.machine, {word}",
    "TBEStorage": "x, {word}",
    "RubyPrefetcherProxy": "x, {word}",
    "TimerTable": "x, c.id",
    "PersistentTable": "x",
    "PerfectCacheMemory": "x, c.machine",
}
"""The arguments of ``Class_create`` for an object of a machine; ``{word}``: a word of the plan."""

TYPED_METHODS = frozenset({("PerfectCacheMemory", "allocate"), ("PerfectCacheMemory", "lookup")})
"""Methods that take the structure of the elements: ``Class_method<Element>``."""

ALIASES = {"WireBuffer": "MessageBuffer", "MN_TBETable": "TBETable"}
"""Classes that are another one here."""

TRACKING = name_set(
    "incomingTransactionStart incomingTransactionEnd outgoingTransactionStart "
    "outgoingTransactionEnd"
)
"""Functions that track transactions in progress."""

PORT_CLASSES: dict[str, dict[str, Acts]] = {
    "MessageBuffer": _methods(
        query="isReady isEmpty isStallMapEmpty getStallMapSize hasStalledMsg getSize",
        risky_change="dequeue recycle",
    ),
    "TimerTable": _methods(query="isReady isEmpty"),
}
"""Classes that an in-port may read, with the operations of such ports."""


CPP_WORDS = name_set(
    "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t "
    "char32_t class compl concept const consteval constexpr constinit const_cast continue "
    "co_await co_return co_yield decltype default delete do double dynamic_cast else enum "
    "explicit export extern false final float for friend goto if import inline int long module "
    "mutable namespace new noexcept not not_eq nullptr operator or or_eq override private "
    "protected public register reinterpret_cast requires return short signed sizeof static "
    "static_assert static_cast struct switch template this thread_local throw true try typedef "
    "typeid typename typeof union unsigned using virtual void volatile wchar_t while xor xor_eq"
)
"""Keywords of C++20, contextual ones included."""

_MACROS = name_set(
    "EOF I LIKELY LINE_BYTES NODE_WORDS NOINLINE NULL TINY UNLIKELY assert errno i386 linux "
    "offsetof unix stdin stdout stderr"
) - {"I"}
_MACRO_PATTERN = re.compile(
    r"(U?INT(_LEAST|_FAST)?\d*|U?INT(MAX|PTR)|SIZE|PTRDIFF|SIG_ATOMIC|WCHAR|WINT|CHAR|U?CHAR|SCHAR)"
    r"_(MAX|MIN|C|WIDTH|BIT)"
)

RUNTIME_WORDS = (
    name_set(
        "u8 u16 u32 u64 u128 i8 i16 i32 i64 size_t ptrdiff_t max_align_t NIL NONE LINE_WORDS "
        "LINE_BITS LINE_MASK "
        "MASK_WORDS Context System Controller Message AbstractCacheEntry TbeHeader MachineShape "
        "Marker "
        "PlanView ErrorKind MessageType AnyMessage AnyController WaitRow WaitBits Place "
        "INVALID_MACHINE RubyRequest SequencerMsg MemoryMsg POLL_NOTHING POLL_RAN POLL_UNCOUNTED "
        "fail valid present required scratch peek now new_message new_entry new_record "
        "set_defaults equal assign made mark_values observe schedule permission_of "
        "undefined_transition protocol std controller machine_start machine_wakeup machine_mark "
        "default_of troubled Transaction Machine State Event trigger wakeup start mark cell "
        "prototypes STRIDE PERMISSIONS Port x c t self AnyEntry AnyRecord Mutants Variant row_of "
        "resource_stall protocol_stall take_arrays Requests Requested COLD count_stall"
    )
    | frozenset(ENUMERATIONS)
    | frozenset(VALUE_CLASSES)
    | frozenset(OBJECT_CLASSES)
)
"""Names that generated code uses itself; nothing else in scope may have them."""

_RUNTIME_PATTERN = re.compile(
    rf"({'|'.join([*VALUE_CLASSES, *OBJECT_CLASSES, 'AbstractCacheEntry', 'NetworkPort'])}"
    r"|controller|library|topology|machine|divide|remainder|shift_left|shift_right|message|value)"
    r"_\w+"
)


def is_taken(name: str) -> bool:
    """Whether C++ or the runtime has a meaning for the name, wherever it stands."""
    return (
        name in CPP_WORDS
        or name in _MACROS
        or name in RUNTIME_WORDS
        or _MACRO_PATTERN.fullmatch(name) is not None
        or _RUNTIME_PATTERN.fullmatch(name) is not None
    )


def is_word(name: str) -> bool:
    """Whether the name is not even allowed for a member of a structure."""
    return name in CPP_WORDS or name in _MACROS or _MACRO_PATTERN.fullmatch(name) is not None


MESSAGE_FIELDS = name_set(
    "arrival sequence next self type delivery touched target flight line TYPE"
)
ENTRY_FIELDS = name_set(
    "address next self permission locked_by cache set way machine limbo live read_set write_set "
    "kind TYPE"
)
RECORD_FIELDS = name_set("address next self machine used live table kind")
CONTROLLER_FIELDS = name_set(
    "recycle_latency mandatory_queue_latency busy_tick memory_tick id machine version clusterID "
    "machineID number_of_TBEs transitions_per_cycle buffer_size max_transitions limit left "
    "current mandatory_queue memory_request memory_response held last_held counts waiting "
    "tracked neighbours downstream upstream transition_state transition_event woken has_memory "
    "arrays ports buffers stall_tick stall_state stall_event "
    "ranked rank_of_port buffer_of_port port_buffer locked locks "
)
"""Members of the structures that generated ones derive from."""
