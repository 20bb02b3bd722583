"""What generated code takes from the runtime: the module of each name, and reserved names.

Plain data: the compiler does not import the runtime. Invariant: every name here exists in the
runtime (a test compares), and every public attribute of the runtime's base classes is either
reserved or a function that protocols define.
"""

from __future__ import annotations


def name_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_MODULES: dict[str, str] = {
    "runtime.structures.cache_memory": "AbstractCacheEntry CacheMemory PerfectCacheMemory",
    "runtime.requesters.coalescer": "GPUCoalescer VIPERCoalescer",
    "runtime.controller.shapes": (
        "BufferParameter COMPUTED ControllerContext EntryController EntryTbeController InPort "
        "Need Parameter PlainController PollResult ProtocolInfo TbeController Transaction "
        "Transition TransitionTable UNCOUNTED"
    ),
    "runtime.structures.directory_memory": "DirectoryMemory",
    "runtime.requesters.dma_sequencer": "DMASequencer",
    "runtime.types.enumeration": "Enumeration",
    "runtime.errors": "ErrorKind ProtocolError",
    "runtime.types.integers": "divide int32 int64 remainder shift_left shift_right uint32 uint64",
    "runtime.types.messages": (
        "AccessPermission AccessType CacheRequestType CacheResourceType "
        "DMASequencerRequestType DirectoryRequestType HtmCallbackMode "
        "HtmFailedInCacheReason IDToInt INVALID_MACHINE InvalidateGeneratorStatus "
        "LinkDirection LockStatus MachineType MaskPredictorIndex MaskPredictorTraining "
        "MaskPredictorType MemoryControlRequestType MemoryMsg MemoryRequestType "
        "MessageSizeType Packet PrefetchBit RequestStatus RubyAccessMode RubyRequest "
        "RubyRequestType SequencerMsg SequencerRequestType SequencerStatus "
        "SeriesRequestGeneratorStatus TesterStatus TransitionResult addressOffset "
        "addressToInt bitSelect countBoolVec getRequestorID intToAddress intToCycles "
        "intToID intToTick isDataReadRequest isHtmCmdRequest isReadRequest isWriteRequest "
        "log2 machineIDToMachineType machineIDToNodeID maskLowOrderBits max_tokens mod "
        "testAndRead testAndReadMask testAndWrite zero_time "
    ),
    "runtime.types.message": "Message",
    "runtime.sim.message_buffer": "MessageBuffer",
    "runtime.structures.dvm_tables": "MN_TBEStorage MN_TBETable",
    "runtime.network.network": "NetworkPort",
    "runtime.structures.persistent_table": "PersistentTable",
    "runtime.structures.prefetcher": "RubyPrefetcher RubyPrefetcherProxy",
    "runtime.requesters.sequencer": "HTMSequencer Sequencer",
    "runtime.structures.tbe_table": "TBETable TimerTable",
    "runtime.structures.chi_tables": "ExpectedMap TBEStorage TriggerQueue",
    "runtime.types.values": "BoolVec DataBlock MachineID NetDest Set WriteMask",
}

RUNTIME_MODULES: dict[str, str] = {
    name: module for module, names in _MODULES.items() for name in names.split()
}
"""Module of every runtime name that generated code may import."""

RUNTIME_CLASSES = {"WireBuffer": "MessageBuffer"}
"""Classes of the language that another class implements: a wire is a buffer without a network."""

NAMED_CLASSES = frozenset({"MN_TBETable", "TBETable", "TimerTable"})
"""Classes whose objects get their name, as the last argument of the constructor."""

ENTRY_CLASSES = frozenset({"CacheMemory", "DirectoryMemory"})
"""Classes that hold entries of a type that the protocol does not state."""

GENERIC_CLASSES = ENTRY_CLASSES | name_set(
    "MN_TBEStorage MN_TBETable PerfectCacheMemory TBETable TriggerQueue"
)
"""Classes with an element type."""

CONTROLLER_ATTRIBUTES = name_set(
    "EVENTS MACHINE MACHINE_TYPE PARAMETERS PERMISSIONS REQUEST_TYPES RESOURCES_ONLY_CACHES "
    "STATES TRANSITIONS accessors allUpstreamDest assertion_failed bind bit block_line blocked "
    "broadcast buffer_size busy_cycles busy_tick caches clockEdge clusterID comment "
    "connect_memory consumer_id context count_of counts createMachineID curCycle curTick "
    "curTransitionEvent curTransitionNextState current cyclesToTicks debug delays_seen "
    "dequeueMemRespQueue downstream dprintf engine full_mask functionalMemoryRead "
    "functionalMemoryWrite getBlockSizeBits getBlockSizeBytes getOffset has_resource_stalls "
    "held_responses "
    "incomingTransactionEnd incomingTransactionStart intervene is_blocked is_locked_by left "
    "line_bits run_before stall_observer "
    "line_mask line_size machineCount machineID makeLineAddress makeNextStrideAddress "
    "mandatory_queue mandatory_queue_latency mapAddressToDownstreamMachine "
    "mapAddressToMachine mapAddressToRange max_transitions_per_tick memory memory_request "
    "memory_response memory_tick misaligned number_of_TBEs observer outgoingTransactionEnd "
    "outgoingTransactionStart panic parameters ports profileMsgDelay ranked recycle_latency "
    "respondsTo scheduleEvent service_memory stall_and_wait stall_port stalled_at ticksToCycles "
    "topology trace_sink transaction transaction_latencies transition_event transition_state "
    "transitions transitions_per_cycle trigger unblock_line upstream version waiting "
    "wakeUpAllBuffers wakeUpBuffers wakeup wakeup_port woken "
)
"""Attributes of the controller base that no protocol defines."""

CONTROLLER_HOOKS = name_set(
    "checkResourceAvailable coalesce enqueuePrefetch functionalRead functionalWrite "
    "getAccessPermission getNextState getState hasBeenPrefetched inCache inMissQueue "
    "mandatoryQueueLatency notifyCoalesced recordRequestType regProbePoints "
    "setAccessPermission setState "
)
"""Functions that the runtime calls on a controller, by the author's name."""

ENUMERATION_ATTRIBUTES = name_set("Final NUM count members mro name_of value_of")
MESSAGE_ATTRIBUTES = frozenset(
    {
        "ENUMERATIONS",
        "LINE_FIELD",
        "arrival",
        "assign",
        "copy",
        "created",
        "fields",
        "identity",
        "line_address",
        "sequence",
    }
)
STRUCT_ATTRIBUTES = frozenset({"assign", "copy"})
ENTRY_ATTRIBUTES = name_set(
    "address cache changePermission getInHtmReadSet getInHtmWriteSet index invalidateEntry "
    "locked_by permission read_set setInHtmReadSet setInHtmWriteSet way write_set"
)
TBE_ATTRIBUTES = frozenset({"address"})
