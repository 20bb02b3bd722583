"""Enumerations of the library: members in numbering order, and the default if there is one.

Invariant: the order of ``MachineType`` is that of the language and defines global node numbering.
"""

from __future__ import annotations

from slicc.text.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class EnumerationRow:
    """``members`` separated by blanks; ``default`` None: a value that is none of them."""

    members: str
    default: str | None = None

    def names(self) -> tuple[str, ...]:
        return tuple(self.members.split())


_MASK_PREDICTOR = (
    "Undefined AlwaysUnicast TokenD AlwaysBroadcast TokenB TokenNull Random Pairwise Owner "
    "BroadcastIfShared BroadcastCounter Group Counter StickySpatial OwnerBroadcast OwnerGroup "
    "OwnerBroadcastMod OwnerGroupMod LastNMasks BandwidthAdaptive"
)

ENUMERATIONS: dict[str, EnumerationRow] = {
    "AccessPermission": EnumerationRow(
        "Read_Only Read_Write Maybe_Stale Backing_Store Backing_Store_Busy Invalid NotPresent Busy",
        "NotPresent",
    ),
    "RubyRequestType": EnumerationRow(
        "LD ST ATOMIC ATOMIC_RETURN ATOMIC_NO_RETURN IFETCH IO REPLACEMENT Load_Linked "
        "Store_Conditional RMW_Read RMW_Write Locked_RMW_Read Locked_RMW_Write COMMIT NULL FLUSH "
        "InvL2 Release Acquire AcquireRelease HTM_Start HTM_Commit HTM_Cancel HTM_Abort TLBI "
        "TLBI_SYNC TLBI_EXT_SYNC TLBI_EXT_SYNC_COMP",
        "NULL",
    ),
    "SequencerRequestType": EnumerationRow("Default LD ST ATOMIC REPLACEMENT FLUSH NULL", "NULL"),
    "MachineType": EnumerationRow(
        "L0Cache L1Cache L2Cache L3Cache Directory DMA Collector L1Cache_wCC L2Cache_wCC CorePair "
        "TCP TCC TCCdir SQC RegionDir RegionBuffer Cache Memory MiscNode NULL",
        "NULL",
    ),
    "MessageSizeType": EnumerationRow(
        "Control Data Request_Control Reissue_Control Response_Data ResponseL2hit_Data "
        "ResponseLocal_Data Response_Control Writeback_Data Writeback_Control Broadcast_Control "
        "Multicast_Control Forwarded_Control Invalidate_Control Unblock_Control "
        "Persistent_Control Completion_Control"
    ),
    "CacheRequestType": EnumerationRow(
        "DataArrayRead DataArrayWrite TagArrayRead TagArrayWrite AtomicALUOperation"
    ),
    "CacheResourceType": EnumerationRow("DataArray TagArray AtomicALUArray"),
    "TransitionResult": EnumerationRow("Valid ResourceStall ProtocolStall Reject"),
    "HtmCallbackMode": EnumerationRow("HTM_CMD LD_FAIL ST_FAIL"),
    "HtmFailedInCacheReason": EnumerationRow("NO_FAIL FAIL_SELF FAIL_REMOTE FAIL_OTHER", "NO_FAIL"),
    "AccessType": EnumerationRow("Read Write"),
    "RubyAccessMode": EnumerationRow("Supervisor User Device", "User"),
    "PrefetchBit": EnumerationRow("No Yes L1_HW L2_HW", "No"),
    "MemoryRequestType": EnumerationRow("MEMORY_READ MEMORY_WB MEMORY_DATA MEMORY_ACK"),
    "RequestStatus": EnumerationRow("Ready Issued BufferFull Aliased NULL", "NULL"),
    "DirectoryRequestType": EnumerationRow("Default"),
    "DMASequencerRequestType": EnumerationRow("Default"),
    "MemoryControlRequestType": EnumerationRow("Default"),
    "TesterStatus": EnumerationRow("Idle Action_Pending Ready Check_Pending"),
    "InvalidateGeneratorStatus": EnumerationRow(
        "Load_Waiting Load_Pending Inv_Waiting Inv_Pending"
    ),
    "SeriesRequestGeneratorStatus": EnumerationRow("Thinking Request_Pending"),
    "LockStatus": EnumerationRow("Unlocked Locked"),
    "SequencerStatus": EnumerationRow("Idle Pending"),
    "MaskPredictorType": EnumerationRow(_MASK_PREDICTOR, "Undefined"),
    "MaskPredictorIndex": EnumerationRow("Undefined DataBlock PC", "Undefined"),
    "MaskPredictorTraining": EnumerationRow("Undefined None Implicit Explicit Both", "Undefined"),
    "LinkDirection": EnumerationRow("In Out"),
}
