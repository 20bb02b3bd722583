// Enumerations that the library declares for every protocol, as plain numbers.
//
// Invariant: names and numbers are those of runtime/types/enumerations.py (a test compares them);
// a name that C++ keeps for itself ends in `_`. NUM is the number of members and itself no member.

#pragma once

#include "block/base.hpp"

namespace AccessPermission {
inline constexpr i32 Read_Only = 0, Read_Write = 1, Maybe_Stale = 2, Backing_Store = 3,
    Backing_Store_Busy = 4, Invalid = 5, NotPresent = 6, Busy = 7, NUM = 8;
}  // namespace AccessPermission

namespace RubyRequestType {
inline constexpr i32 LD = 0, ST = 1, ATOMIC = 2, ATOMIC_RETURN = 3, ATOMIC_NO_RETURN = 4, IFETCH = 5, IO = 6,
    REPLACEMENT = 7, Load_Linked = 8, Store_Conditional = 9, RMW_Read = 10, RMW_Write = 11,
    Locked_RMW_Read = 12, Locked_RMW_Write = 13, COMMIT = 14, NULL_ = 15, FLUSH = 16, InvL2 = 17,
    Release = 18, Acquire = 19, AcquireRelease = 20, HTM_Start = 21, HTM_Commit = 22, HTM_Cancel = 23,
    HTM_Abort = 24, TLBI = 25, TLBI_SYNC = 26, TLBI_EXT_SYNC = 27, TLBI_EXT_SYNC_COMP = 28, NUM = 29;
}  // namespace RubyRequestType

namespace SequencerRequestType {
inline constexpr i32 Default = 0, LD = 1, ST = 2, ATOMIC = 3, REPLACEMENT = 4, FLUSH = 5, NULL_ = 6, NUM = 7;
}  // namespace SequencerRequestType

namespace MachineType {
inline constexpr i32 L0Cache = 0, L1Cache = 1, L2Cache = 2, L3Cache = 3, Directory = 4, DMA = 5,
    Collector = 6, L1Cache_wCC = 7, L2Cache_wCC = 8, CorePair = 9, TCP = 10, TCC = 11, TCCdir = 12, SQC = 13,
    RegionDir = 14, RegionBuffer = 15, Cache = 16, Memory = 17, MiscNode = 18, NULL_ = 19, NUM = 20;
}  // namespace MachineType

namespace MessageSizeType {
inline constexpr i32 Control = 0, Data = 1, Request_Control = 2, Reissue_Control = 3, Response_Data = 4,
    ResponseL2hit_Data = 5, ResponseLocal_Data = 6, Response_Control = 7, Writeback_Data = 8,
    Writeback_Control = 9, Broadcast_Control = 10, Multicast_Control = 11, Forwarded_Control = 12,
    Invalidate_Control = 13, Unblock_Control = 14, Persistent_Control = 15, Completion_Control = 16,
    NUM = 17;
}  // namespace MessageSizeType

namespace CacheRequestType {
inline constexpr i32 DataArrayRead = 0, DataArrayWrite = 1, TagArrayRead = 2, TagArrayWrite = 3,
    AtomicALUOperation = 4, NUM = 5;
}  // namespace CacheRequestType

namespace CacheResourceType {
inline constexpr i32 DataArray = 0, TagArray = 1, AtomicALUArray = 2, NUM = 3;
}  // namespace CacheResourceType

namespace TransitionResult {
inline constexpr i32 Valid = 0, ResourceStall = 1, ProtocolStall = 2, Reject = 3, NUM = 4;
}  // namespace TransitionResult

namespace HtmCallbackMode {
inline constexpr i32 HTM_CMD = 0, LD_FAIL = 1, ST_FAIL = 2, NUM = 3;
}  // namespace HtmCallbackMode

namespace HtmFailedInCacheReason {
inline constexpr i32 NO_FAIL = 0, FAIL_SELF = 1, FAIL_REMOTE = 2, FAIL_OTHER = 3, NUM = 4;
}  // namespace HtmFailedInCacheReason

namespace AccessType {
inline constexpr i32 Read = 0, Write = 1, NUM = 2;
}  // namespace AccessType

namespace RubyAccessMode {
inline constexpr i32 Supervisor = 0, User = 1, Device = 2, NUM = 3;
}  // namespace RubyAccessMode

namespace PrefetchBit {
inline constexpr i32 No = 0, Yes = 1, L1_HW = 2, L2_HW = 3, NUM = 4;
}  // namespace PrefetchBit

namespace MemoryRequestType {
inline constexpr i32 MEMORY_READ = 0, MEMORY_WB = 1, MEMORY_DATA = 2, MEMORY_ACK = 3, NUM = 4;
}  // namespace MemoryRequestType

namespace RequestStatus {
inline constexpr i32 Ready = 0, Issued = 1, BufferFull = 2, Aliased = 3, NULL_ = 4, NUM = 5;
}  // namespace RequestStatus

namespace DirectoryRequestType {
inline constexpr i32 Default = 0, NUM = 1;
}  // namespace DirectoryRequestType

namespace DMASequencerRequestType {
inline constexpr i32 Default = 0, NUM = 1;
}  // namespace DMASequencerRequestType

namespace MemoryControlRequestType {
inline constexpr i32 Default = 0, NUM = 1;
}  // namespace MemoryControlRequestType

namespace TesterStatus {
inline constexpr i32 Idle = 0, Action_Pending = 1, Ready = 2, Check_Pending = 3, NUM = 4;
}  // namespace TesterStatus

namespace InvalidateGeneratorStatus {
inline constexpr i32 Load_Waiting = 0, Load_Pending = 1, Inv_Waiting = 2, Inv_Pending = 3, NUM = 4;
}  // namespace InvalidateGeneratorStatus

namespace SeriesRequestGeneratorStatus {
inline constexpr i32 Thinking = 0, Request_Pending = 1, NUM = 2;
}  // namespace SeriesRequestGeneratorStatus

namespace LockStatus {
inline constexpr i32 Unlocked = 0, Locked = 1, NUM = 2;
}  // namespace LockStatus

namespace SequencerStatus {
inline constexpr i32 Idle = 0, Pending = 1, NUM = 2;
}  // namespace SequencerStatus

namespace MaskPredictorType {
inline constexpr i32 Undefined = 0, AlwaysUnicast = 1, TokenD = 2, AlwaysBroadcast = 3, TokenB = 4,
    TokenNull = 5, Random = 6, Pairwise = 7, Owner = 8, BroadcastIfShared = 9, BroadcastCounter = 10,
    Group = 11, Counter = 12, StickySpatial = 13, OwnerBroadcast = 14, OwnerGroup = 15,
    OwnerBroadcastMod = 16, OwnerGroupMod = 17, LastNMasks = 18, BandwidthAdaptive = 19, NUM = 20;
}  // namespace MaskPredictorType

namespace MaskPredictorIndex {
inline constexpr i32 Undefined = 0, DataBlock = 1, PC = 2, NUM = 3;
}  // namespace MaskPredictorIndex

namespace MaskPredictorTraining {
inline constexpr i32 Undefined = 0, None_ = 1, Implicit = 2, Explicit = 3, Both = 4, NUM = 5;
}  // namespace MaskPredictorTraining

namespace LinkDirection {
inline constexpr i32 In = 0, Out = 1, NUM = 2;
}  // namespace LinkDirection
