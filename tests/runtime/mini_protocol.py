"""A protocol written by hand, to test systems: caches, directories, a DMA engine, a GPU cache.

A cache fetches a line on a miss and writes it back on an eviction or flush; nothing keeps
caches coherent with each other, so tests let them meet only where that does not matter.
The controllers override ``wakeup`` in place of a transition table.
"""

from __future__ import annotations

from typing import Any, ClassVar, Final

from runtime.controller.shapes import (
    BufferParameter,
    Controller,
    ControllerContext,
    Parameter,
    ProtocolInfo,
)
from runtime.description import SystemDescription
from runtime.sim.message_buffer import MessageBuffer
from runtime.structures.cache_memory import AbstractCacheEntry
from runtime.structures.tbe_table import TBETable
from runtime.system.builder import build_system
from runtime.system.system import System
from runtime.types.enumeration import Enumeration
from runtime.types.message import Message
from runtime.types.messages import (
    AccessPermission,
    MachineType,
    MemoryMsg,
    MemoryRequestType,
    MessageSizeType,
    RubyRequest,
    RubyRequestType,
    SequencerMsg,
    SequencerRequestType,
)
from runtime.types.values import DataBlock, MachineID, NetDest, WriteMask


class State(Enumeration):
    Absent: Final = 0
    Coming: Final = 1
    Here: Final = 2


class Verb(Enumeration):
    Get: Final = 0
    Put: Final = 1
    Answer: Final = 2


class Msg(Message):
    addr: int = 0
    Type: int = Verb.NUM
    Sender: Any = None
    Destination: NetDest = NetDest()
    DataBlk: DataBlock = DataBlock()
    Len: int = 0


class Entry(AbstractCacheEntry):
    __slots__ = ("CacheState", "DataBlk", "Dirty")

    def __init__(self) -> None:
        super().__init__()
        self.CacheState: int = State.Absent
        self.DataBlk = DataBlock()
        self.Dirty = False


class TBE:
    __slots__ = ("DataBlk", "TBEState", "address", "mask")

    def __init__(self) -> None:
        self.address = 0
        self.TBEState: int = State.Absent
        self.DataBlk = DataBlock()
        self.mask = WriteMask()


class MiniController(Controller):
    """Takes messages off its buffers one by one; subclasses say what to do with them."""

    STATES: ClassVar[type[Enumeration]] = State

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self.p = context.parameters
        self.TBEs: TBETable[TBE] = TBETable(TBE, self.number_of_TBEs, "TBEs")
        self.sources: list[MessageBuffer] = []
        self.waiting_requests: list[Any] = []
        for declared in self.PARAMETERS:
            buffer = self.p[declared.name]
            if isinstance(declared, BufferParameter) and declared.direction != "To":
                if "requestToMemory" in declared.name:
                    self.connect_memory(buffer)
                else:
                    buffer.set_consumer(self)
                    self.sources.append(buffer)
                    if declared.name == "responseFromMemory":
                        self.memory_response = buffer

    def wakeup(self) -> None:
        if self.memory_request is not None and self.memory_request.messages:
            self.service_memory()
        for buffer in self.sources:
            while buffer.isReady():
                message = buffer.peek(Message)
                buffer.dequeue()
                self.take(message)

    def take(self, message: Any) -> None:
        raise NotImplementedError

    def send(self, verb: int, line: int, to: MachineID, data: DataBlock | None = None) -> None:
        message = Msg()
        message.addr = line
        message.Type = verb
        message.Sender = self.machineID
        message.Destination = NetDest(to.bit)
        if data is not None:
            message.DataBlk = data.copy()
        self.p["out"].enqueue(message, self.p["latency"])

    def home(self, line: int) -> MachineID:
        return self.mapAddressToMachine(line, MachineType.Directory)


def _buffers(*names: str) -> tuple[BufferParameter, ...]:
    return (
        BufferParameter("out", direction="To", virtual_network=0),
        BufferParameter("into", direction="From", virtual_network=0),
        *(BufferParameter(name) for name in names),
    )


class CacheController(MiniController):
    """A write-back cache of one requester."""

    MACHINE = "L1Cache"
    MACHINE_TYPE = MachineType.L1Cache
    PARAMETERS = (
        Parameter("cache", "CacheMemory", pointer=True),
        Parameter("sequencer", "Sequencer", pointer=True),
        Parameter("latency", "Cycles", default=1),
        Parameter("send_evictions", "bool"),
        *_buffers("mandatoryQueue"),
    )
    REQUESTER: ClassVar[str] = "sequencer"

    def take(self, message: Any) -> None:
        cache = self.p["cache"]
        requester = self.p[self.REQUESTER]
        if isinstance(message, Msg):
            entry = cache.lookup(message.addr)
            entry.DataBlk = message.DataBlk.copy()
            self._set(entry, State.Here, AccessPermission.Read_Write)
            waiting, self.waiting_requests = self.waiting_requests, []
            for request in waiting:
                self.take(request)
            return
        assert isinstance(message, RubyRequest)
        line = message.LineAddress
        entry = cache.lookup(line)
        if message.Type in (RubyRequestType.REPLACEMENT, RubyRequestType.FLUSH):
            self._evict(message, entry)
        elif entry is None:
            self._miss(message)
        elif entry.CacheState != State.Here:
            self.waiting_requests.append(message)
        else:
            cache.setMRU(line)
            self.hit(message, entry, requester)

    def hit(self, message: RubyRequest, entry: Entry, requester: Any) -> None:
        if message.Type == RubyRequestType.LD:
            requester.readCallback(message.LineAddress, entry.DataBlk, True)
        else:
            entry.Dirty = True
            requester.writeCallback(message.LineAddress, entry.DataBlk, True)

    def _set(self, entry: Entry, state: int, permission: int) -> None:
        entry.CacheState = state
        entry.changePermission(permission)

    def _miss(self, message: RubyRequest) -> None:
        cache = self.p["cache"]
        line = message.LineAddress
        if not cache.cacheAvail(line):
            victim = cache.lookup(cache.cacheProbe(line))
            if victim.CacheState == State.Coming:
                self.waiting_requests.append(message)
                return
            self._write_back(victim)
        self._set(cache.allocate(line, Entry()), State.Coming, AccessPermission.Busy)
        self.waiting_requests.append(message)
        self.send(Verb.Get, line, self.home(line))

    def _write_back(self, entry: Entry) -> None:
        if entry.Dirty:
            self.send(Verb.Put, entry.address, self.home(entry.address), entry.DataBlk)
        self.p["cache"].deallocate(entry.address)

    def _evict(self, message: RubyRequest, entry: Entry | None) -> None:
        requester = self.p[self.REQUESTER]
        line = message.LineAddress
        block = DataBlock() if entry is None else entry.DataBlk
        if entry is not None and entry.CacheState == State.Here:
            self._write_back(entry)
        if message.Type == RubyRequestType.FLUSH:
            self.flushed(requester, line, block)
        else:
            self.evicted(requester, line)

    def flushed(self, requester: Any, line: int, block: DataBlock) -> None:
        requester.writeCallback(line, block)

    def evicted(self, requester: Any, line: int) -> None:
        requester.invL1Callback()


class GpuController(CacheController):
    """The same behind a coalescer."""

    MACHINE = "TCP"
    MACHINE_TYPE = MachineType.TCP
    PARAMETERS = (
        Parameter("cache", "CacheMemory", pointer=True),
        Parameter("coalescer", "VIPERCoalescer", pointer=True),
        Parameter("sequencer", "Sequencer", pointer=True),
        Parameter("latency", "Cycles", default=1),
        Parameter("Directory_select_num_bits", "int"),
        *_buffers("mandatoryQueue"),
    )
    REQUESTER = "coalescer"

    def hit(self, message: RubyRequest, entry: Entry, requester: Any) -> None:
        line = message.LineAddress
        block = entry.DataBlk
        if message.Type == RubyRequestType.LD:
            requester.readCallback(line, 0, block)
        elif message.Type == RubyRequestType.ST:
            entry.Dirty = True
            block.copyPartial(message.WTData, message.writeMask)
            requester.writeCallback(line, 0, block)
            requester.writeCompleteCallback(line, message.instSeqNum)
        else:
            entry.Dirty = True
            returns = message.Type == RubyRequestType.ATOMIC_RETURN
            block.atomicPartial(block, message.writeMask, not returns)
            requester.atomicCallback(line, 0, block)

    def flushed(self, requester: Any, line: int, block: DataBlock) -> None:
        requester.writeCallback(line, 0, block)

    def evicted(self, requester: Any, line: int) -> None:
        requester.invTCPCallback(line)


class DirectoryController(MiniController):
    """Reads and writes memory; one line at a time, in the order of requests."""

    MACHINE = "Directory"
    MACHINE_TYPE = MachineType.Directory
    PARAMETERS = (
        Parameter("directory", "DirectoryMemory", pointer=True),
        Parameter("latency", "Cycles", default=2),
        *_buffers("requestToMemory", "responseFromMemory"),
    )

    def take(self, message: Any) -> None:
        directory = self.p["directory"]
        if isinstance(message, MemoryMsg):
            if message.Type == MemoryRequestType.MEMORY_READ:
                self.send(
                    Verb.Answer, message.addr, message.OriginalRequestorMachId, message.DataBlk
                )
            elif message.Len:
                self.send(Verb.Answer, message.addr, message.OriginalRequestorMachId)
            return
        assert isinstance(message, Msg)
        assert directory.isPresent(message.addr), "requests come to the line's own directory"
        request = MemoryMsg()
        request.addr = message.addr
        request.Sender = message.Sender
        request.Len = message.Len
        if message.Type == Verb.Put:
            request.Type = MemoryRequestType.MEMORY_WB
            request.MessageSize = MessageSizeType.Writeback_Data
            request.DataBlk = message.DataBlk.copy()
        else:
            request.Type = MemoryRequestType.MEMORY_READ
        self.p["requestToMemory"].enqueue(request, 1)


class DmaController(MiniController):
    """Passes transfers on and remembers them in a TBE."""

    MACHINE = "DMA"
    MACHINE_TYPE = MachineType.DMA
    PARAMETERS = (
        Parameter("dma_sequencer", "DMASequencer", pointer=True),
        Parameter("latency", "Cycles", default=1),
        *_buffers("mandatoryQueue"),
    )

    def take(self, message: Any) -> None:
        dma = self.p["dma_sequencer"]
        if isinstance(message, SequencerMsg):
            line = message.LineAddress
            tbe = self.TBEs.allocate(line)
            tbe.TBEState = State.Coming
            tbe.DataBlk = message.DataBlk.copy()
            tbe.mask = message.writeMask.copy()
            out = Msg()
            out.addr = line
            out.Sender = self.machineID
            out.Destination = NetDest(self.home(line).bit)
            if message.Type == SequencerRequestType.ST:
                out.addr = message.PhysicalAddress
                out.Type = Verb.Put
                out.Len = message.Len
                out.DataBlk = message.DataBlk.copy()
            else:
                out.Type = Verb.Get
            self.p["out"].enqueue(out, self.p["latency"])
            return
        assert isinstance(message, Msg)
        line = message.addr & ~self.line_mask
        self.TBEs.deallocate(line)
        if "DataBlk" in vars(message):
            dma.dataCallback(message.DataBlk, line)
        else:
            dma.ackCallback(line)


MINI = ProtocolInfo("mini", (CacheController, DirectoryController, DmaController))
GPU = ProtocolInfo("mini gpu", (GpuController, CacheController, DirectoryController))


def build(text: str = "", protocol: ProtocolInfo = MINI, key: int = 1, **fields: Any) -> System:
    description = SystemDescription.from_toml(text, "mini.toml").override(fields)
    return build_system(protocol, description, key)
