"""Enumerations that the library declares for every protocol.

Invariant: members stand in the numbering order of the language reference; ``MachineType`` order
is the global node numbering.
"""

from __future__ import annotations

from typing import Final

from runtime.types.enumeration import Enumeration


class AccessPermission(Enumeration):
    """What a controller may do with a line, as declared for each state."""

    Read_Only: Final = 0
    Read_Write: Final = 1
    Maybe_Stale: Final = 2
    Backing_Store: Final = 3
    Backing_Store_Busy: Final = 4
    Invalid: Final = 5
    NotPresent: Final = 6
    Busy: Final = 7


class RubyRequestType(Enumeration):
    """What a requester asks for."""

    LD: Final = 0
    ST: Final = 1
    ATOMIC: Final = 2
    ATOMIC_RETURN: Final = 3
    ATOMIC_NO_RETURN: Final = 4
    IFETCH: Final = 5
    IO: Final = 6
    REPLACEMENT: Final = 7
    Load_Linked: Final = 8
    Store_Conditional: Final = 9
    RMW_Read: Final = 10
    RMW_Write: Final = 11
    Locked_RMW_Read: Final = 12
    Locked_RMW_Write: Final = 13
    COMMIT: Final = 14
    NULL: Final = 15
    FLUSH: Final = 16
    InvL2: Final = 17
    Release: Final = 18
    Acquire: Final = 19
    AcquireRelease: Final = 20
    HTM_Start: Final = 21
    HTM_Commit: Final = 22
    HTM_Cancel: Final = 23
    HTM_Abort: Final = 24
    TLBI: Final = 25
    TLBI_SYNC: Final = 26
    TLBI_EXT_SYNC: Final = 27
    TLBI_EXT_SYNC_COMP: Final = 28


class SequencerRequestType(Enumeration):
    """What a DMA engine asks for."""

    Default: Final = 0
    LD: Final = 1
    ST: Final = 2
    ATOMIC: Final = 3
    REPLACEMENT: Final = 4
    FLUSH: Final = 5
    NULL: Final = 6


class MachineType(Enumeration):
    """Kinds of machines. The order defines the global node numbering."""

    L0Cache: Final = 0
    L1Cache: Final = 1
    L2Cache: Final = 2
    L3Cache: Final = 3
    Directory: Final = 4
    DMA: Final = 5
    Collector: Final = 6
    L1Cache_wCC: Final = 7
    L2Cache_wCC: Final = 8
    CorePair: Final = 9
    TCP: Final = 10
    TCC: Final = 11
    TCCdir: Final = 12
    SQC: Final = 13
    RegionDir: Final = 14
    RegionBuffer: Final = 15
    Cache: Final = 16
    Memory: Final = 17
    MiscNode: Final = 18
    NULL: Final = 19


class MessageSizeType(Enumeration):
    """Control or data message; also says what it carries, for statistics."""

    Control: Final = 0
    Data: Final = 1
    Request_Control: Final = 2
    Reissue_Control: Final = 3
    Response_Data: Final = 4
    ResponseL2hit_Data: Final = 5
    ResponseLocal_Data: Final = 6
    Response_Control: Final = 7
    Writeback_Data: Final = 8
    Writeback_Control: Final = 9
    Broadcast_Control: Final = 10
    Multicast_Control: Final = 11
    Forwarded_Control: Final = 12
    Invalidate_Control: Final = 13
    Unblock_Control: Final = 14
    Persistent_Control: Final = 15
    Completion_Control: Final = 16


class CacheRequestType(Enumeration):
    """An access to an array of a cache."""

    DataArrayRead: Final = 0
    DataArrayWrite: Final = 1
    TagArrayRead: Final = 2
    TagArrayWrite: Final = 3
    AtomicALUOperation: Final = 4


class CacheResourceType(Enumeration):
    """An array of a cache whose banks may be busy."""

    DataArray: Final = 0
    TagArray: Final = 1
    AtomicALUArray: Final = 2


class TransitionResult(Enumeration):
    Valid: Final = 0
    ResourceStall: Final = 1
    ProtocolStall: Final = 2
    Reject: Final = 3


class HtmCallbackMode(Enumeration):
    HTM_CMD: Final = 0
    LD_FAIL: Final = 1
    ST_FAIL: Final = 2


class HtmFailedInCacheReason(Enumeration):
    NO_FAIL: Final = 0
    FAIL_SELF: Final = 1
    FAIL_REMOTE: Final = 2
    FAIL_OTHER: Final = 3


class AccessType(Enumeration):
    Read: Final = 0
    Write: Final = 1


class RubyAccessMode(Enumeration):
    Supervisor: Final = 0
    User: Final = 1
    Device: Final = 2


class PrefetchBit(Enumeration):
    No: Final = 0
    Yes: Final = 1
    L1_HW: Final = 2
    L2_HW: Final = 3


class MemoryRequestType(Enumeration):
    """What a controller asks its memory for, and what the memory answers."""

    MEMORY_READ: Final = 0
    MEMORY_WB: Final = 1
    MEMORY_DATA: Final = 2
    MEMORY_ACK: Final = 3


class RequestStatus(Enumeration):
    Ready: Final = 0
    Issued: Final = 1
    BufferFull: Final = 2
    Aliased: Final = 3
    NULL: Final = 4


class DirectoryRequestType(Enumeration):
    Default: Final = 0


class DMASequencerRequestType(Enumeration):
    Default: Final = 0


class MemoryControlRequestType(Enumeration):
    Default: Final = 0


class TesterStatus(Enumeration):
    Idle: Final = 0
    Action_Pending: Final = 1
    Ready: Final = 2
    Check_Pending: Final = 3


class InvalidateGeneratorStatus(Enumeration):
    Load_Waiting: Final = 0
    Load_Pending: Final = 1
    Inv_Waiting: Final = 2
    Inv_Pending: Final = 3


class SeriesRequestGeneratorStatus(Enumeration):
    Thinking: Final = 0
    Request_Pending: Final = 1


class LockStatus(Enumeration):
    Unlocked: Final = 0
    Locked: Final = 1


class SequencerStatus(Enumeration):
    Idle: Final = 0
    Pending: Final = 1


class MaskPredictorType(Enumeration):
    Undefined: Final = 0
    AlwaysUnicast: Final = 1
    TokenD: Final = 2
    AlwaysBroadcast: Final = 3
    TokenB: Final = 4
    TokenNull: Final = 5
    Random: Final = 6
    Pairwise: Final = 7
    Owner: Final = 8
    BroadcastIfShared: Final = 9
    BroadcastCounter: Final = 10
    Group: Final = 11
    Counter: Final = 12
    StickySpatial: Final = 13
    OwnerBroadcast: Final = 14
    OwnerGroup: Final = 15
    OwnerBroadcastMod: Final = 16
    OwnerGroupMod: Final = 17
    LastNMasks: Final = 18
    BandwidthAdaptive: Final = 19


class MaskPredictorIndex(Enumeration):
    Undefined: Final = 0
    DataBlock: Final = 1
    PC: Final = 2


class MaskPredictorTraining(Enumeration):
    Undefined: Final = 0
    None_: Final = 1
    Implicit: Final = 2
    Explicit: Final = 3
    Both: Final = 4


class LinkDirection(Enumeration):
    In: Final = 0
    Out: Final = 1
