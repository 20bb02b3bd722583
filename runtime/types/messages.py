"""Enumerations, messages and functions that the library offers to every protocol.

Generated code imports all three from here. Invariant: names and members are those of the
language reference; a mutable field default is shared and never written.
"""

from __future__ import annotations

from typing import Any, ClassVar

from runtime.errors import ErrorKind, ProtocolError
from runtime.types.enumerations import AccessPermission as AccessPermission
from runtime.types.enumerations import AccessType as AccessType
from runtime.types.enumerations import CacheRequestType as CacheRequestType
from runtime.types.enumerations import CacheResourceType as CacheResourceType
from runtime.types.enumerations import DirectoryRequestType as DirectoryRequestType
from runtime.types.enumerations import DMASequencerRequestType as DMASequencerRequestType
from runtime.types.enumerations import HtmCallbackMode as HtmCallbackMode
from runtime.types.enumerations import HtmFailedInCacheReason as HtmFailedInCacheReason
from runtime.types.enumerations import InvalidateGeneratorStatus as InvalidateGeneratorStatus
from runtime.types.enumerations import LinkDirection as LinkDirection
from runtime.types.enumerations import LockStatus as LockStatus
from runtime.types.enumerations import MachineType as MachineType
from runtime.types.enumerations import MaskPredictorIndex as MaskPredictorIndex
from runtime.types.enumerations import MaskPredictorTraining as MaskPredictorTraining
from runtime.types.enumerations import MaskPredictorType as MaskPredictorType
from runtime.types.enumerations import MemoryControlRequestType as MemoryControlRequestType
from runtime.types.enumerations import MemoryRequestType as MemoryRequestType
from runtime.types.enumerations import MessageSizeType as MessageSizeType
from runtime.types.enumerations import PrefetchBit as PrefetchBit
from runtime.types.enumerations import RequestStatus as RequestStatus
from runtime.types.enumerations import RubyAccessMode as RubyAccessMode
from runtime.types.enumerations import RubyRequestType as RubyRequestType
from runtime.types.enumerations import SequencerRequestType as SequencerRequestType
from runtime.types.enumerations import SequencerStatus as SequencerStatus
from runtime.types.enumerations import (
    SeriesRequestGeneratorStatus as SeriesRequestGeneratorStatus,
)
from runtime.types.enumerations import TesterStatus as TesterStatus
from runtime.types.enumerations import TransitionResult as TransitionResult
from runtime.types.functional_packet import Packet as Packet
from runtime.types.functional_packet import testAndRead as testAndRead
from runtime.types.functional_packet import testAndReadMask as testAndReadMask
from runtime.types.functional_packet import testAndWrite as testAndWrite
from runtime.types.integers import remainder
from runtime.types.message import Message as Message
from runtime.types.values import BoolVec, DataBlock, MachineID, WriteMask

INVALID_MACHINE = MachineID(MachineType.NUM, 0)
"""The value of a MachineID that was never set; shared by all systems."""

MAX_TOKENS = 1024

_WRITE_TYPES = frozenset(
    {
        RubyRequestType.ST,
        RubyRequestType.ATOMIC,
        RubyRequestType.RMW_Read,
        RubyRequestType.RMW_Write,
        RubyRequestType.Store_Conditional,
        RubyRequestType.Locked_RMW_Read,
        RubyRequestType.Locked_RMW_Write,
        RubyRequestType.FLUSH,
    }
)
_DATA_READ_TYPES = frozenset({RubyRequestType.LD, RubyRequestType.Load_Linked})
_HTM_TYPES = frozenset(
    {
        RubyRequestType.HTM_Start,
        RubyRequestType.HTM_Commit,
        RubyRequestType.HTM_Cancel,
        RubyRequestType.HTM_Abort,
    }
)


class RubyRequest(Message):
    """What a CPU sequencer or a GPU coalescer puts on a mandatory queue.

    ``pkt`` is whatever the requester wants back; protocols only carry it.
    """

    LineAddress: int = 0
    PhysicalAddress: int = 0
    Type: int = RubyRequestType.NULL
    ProgramCounter: int = 0
    AccessMode: int = RubyAccessMode.User
    Size: int = 0
    Prefetch: int = PrefetchBit.No
    contextId: int = 0
    writeMask: WriteMask = WriteMask()
    WTData: DataBlock = DataBlock()
    wfid: int = 0
    instSeqNum: int = 0
    pkt: Any = None
    htmFromTransaction: bool = False
    htmTransactionUid: int = 0
    isTlbi: bool = False
    tlbiTransactionUid: int = 0
    isGLCSet: bool = False
    isSLCSet: bool = False
    isSecure: bool = False
    flags: int = 0
    """Bit i: the i-th field that the author's library adds is set, and has not its default."""

    ENUMERATIONS: ClassVar = {
        "Type": RubyRequestType,
        "AccessMode": RubyAccessMode,
        "Prefetch": PrefetchBit,
    }

    def getRequestPtr(self) -> Any:
        return self.pkt

    def isFlagged(self, place: int) -> bool:
        return bool(self.flags >> place & 1)

    def functionalRead(self, packet: Packet) -> bool:
        """A request holds no data that may be read."""
        return False

    def functionalReadMasked(self, packet: Packet, mask: WriteMask) -> bool:
        return False

    def functionalWrite(self, packet: Packet) -> bool:
        return testAndWrite(self.LineAddress, self.WTData, packet)


class SequencerMsg(Message):
    """What a DMA sequencer puts on a mandatory queue: ``Len`` bytes inside one line."""

    LineAddress: int = 0
    PhysicalAddress: int = 0
    Type: int = SequencerRequestType.NULL
    ProgramCounter: int = 0
    AccessMode: int = RubyAccessMode.User
    writeMask: WriteMask = WriteMask()
    DataBlk: DataBlock = DataBlock()
    Len: int = 0
    Prefetch: int = PrefetchBit.No
    MessageSize: int = MessageSizeType.Request_Control

    ENUMERATIONS: ClassVar = {
        "Type": SequencerRequestType,
        "AccessMode": RubyAccessMode,
        "Prefetch": PrefetchBit,
        "MessageSize": MessageSizeType,
    }

    def functionalRead(self, packet: Packet) -> bool:
        return False

    def functionalReadMasked(self, packet: Packet, mask: WriteMask) -> bool:
        return False

    def functionalWrite(self, packet: Packet) -> bool:
        return False


class MemoryMsg(Message):
    """A request to memory, or its answer. ``Len`` 0 means the whole line."""

    addr: int = 0
    Type: int = MemoryRequestType.NUM
    Sender: MachineID = INVALID_MACHINE
    OriginalRequestorMachId: MachineID = INVALID_MACHINE
    DataBlk: DataBlock = DataBlock()
    MessageSize: int = MessageSizeType.NUM
    Len: int = 0
    Prefetch: int = PrefetchBit.No
    ReadX: bool = False
    Acks: int = 0
    isGLCSet: bool = False
    isSLCSet: bool = False
    Echoed: bool = False
    """The answer repeats the data of the request: memory's bytes are the directory's to keep."""

    ENUMERATIONS: ClassVar = {
        "Type": MemoryRequestType,
        "MessageSize": MessageSizeType,
        "Prefetch": PrefetchBit,
    }

    def _holds_data(self) -> bool:
        return self.MessageSize in (MessageSizeType.Response_Data, MessageSizeType.Writeback_Data)

    def functionalRead(self, packet: Packet) -> bool:
        return self._holds_data() and testAndRead(self.addr, self.DataBlk, packet)

    def functionalReadMasked(self, packet: Packet, mask: WriteMask) -> bool:
        return self._holds_data() and testAndReadMask(self.addr, self.DataBlk, mask, packet)

    def functionalWrite(self, packet: Packet) -> bool:
        return self._holds_data() and testAndWrite(self.addr, self.DataBlk, packet)


def mod(dividend: int, divisor: int) -> int:
    """The remainder, with the sign of the dividend; a zero divisor is a verdict."""
    return remainder(dividend, divisor)


def log2(value: int) -> int:
    """The position of the highest bit set."""
    if value <= 0:
        raise ProtocolError(ErrorKind.INDEX_RANGE, f"log2 of {value}")
    return value.bit_length() - 1


def max_tokens() -> int:
    """Tokens of a line in a token protocol."""
    return MAX_TOKENS


def intToID(value: int) -> int:
    return value & 0xFFFFFFFF


def IDToInt(value: int) -> int:
    return value


def intToCycles(value: int) -> int:
    return value


def intToTick(value: int) -> int:
    return value


def intToAddress(value: int) -> int:
    return value & 0xFFFFFFFFFFFFFFFF


def zero_time() -> int:
    return 0


def machineIDToMachineType(machine: MachineID) -> int:
    return machine.type


def machineIDToNodeID(machine: MachineID) -> int:
    """The number within its machine type."""
    return machine.num


def addressOffset(address: int, base: int) -> int:
    return address - base


def bitSelect(address: int, low: int, high: int) -> int:
    """Bits ``low`` to ``high``, both included."""
    if not 0 <= low <= high < 64:
        raise ProtocolError(ErrorKind.BAD_SHIFT, f"bits {low} to {high} of an address")
    return address >> low & ((1 << high - low + 1) - 1)


def maskLowOrderBits(address: int, count: int) -> int:
    """The address with its ``count`` lowest bits cleared."""
    if not 0 <= count <= 64:
        raise ProtocolError(ErrorKind.BAD_SHIFT, f"{count} bits of an address")
    return address >> count << count


def addressToInt(address: int) -> int:
    """The address as an int; a verdict when it does not fit 32 bits."""
    if address > 0xFFFFFFFF:
        raise ProtocolError(ErrorKind.INDEX_RANGE, f"address {address:#x} does not fit an int")
    return address


def isWriteRequest(kind: int) -> bool:
    return kind in _WRITE_TYPES


def isDataReadRequest(kind: int) -> bool:
    return kind in _DATA_READ_TYPES


def isReadRequest(kind: int) -> bool:
    return kind in _DATA_READ_TYPES or kind == RubyRequestType.IFETCH


def isHtmCmdRequest(kind: int) -> bool:
    return kind in _HTM_TYPES


def countBoolVec(vector: BoolVec) -> int:
    """How many flags are set."""
    return sum(vector.flags)


def getRequestorID(request: Any) -> int:
    """The requestor of a CPU request; 0 where the requester is not known."""
    return int(getattr(request, "requestor_id", 0))
