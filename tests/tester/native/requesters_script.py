"""The controllers that follow a scenario's script, for the Python engine, on a flat memory.

Invariant: the script (``machine_wakeup`` in ``requesters_driver.cpp`` is the same one) draws from a
hash of how many messages a controller has seen, so that any difference in order changes
everything that follows. What goes wrong, if anything, goes wrong at the same message in both.
"""

from __future__ import annotations

from typing import Any

from runtime.prng import hash64, initial_byte
from runtime.requesters.port import AtomicWay
from runtime.sim.engine import Consumer, Engine
from runtime.sim.message_buffer import MessageBuffer
from runtime.structures.cache_memory import AbstractCacheEntry, CacheMemory
from runtime.types.messages import (
    Message,
    RubyRequest,
    RubyRequestType,
    SequencerMsg,
    SequencerRequestType,
)
from runtime.types.values import DataBlock
from tests.tester.native.requesters_scenario import Port, RequesterScenario


class Ping(Message):
    addr: int = 0
    value: int = 0
    hops: int = 0


class Script:
    def __init__(self, scenario: RequesterScenario) -> None:
        self.scenario = scenario
        self.seen = 0
        self.lines: dict[int, int] = {}
        self.sequencers: list[Any] = []
        """Who hears that a line changes."""

    def faulty(self, fault: str) -> bool:
        if fault != self.scenario.fault:
            return False
        self.seen += 1
        return self.seen == self.scenario.fault_at

    def block(self, line: int) -> DataBlock:
        if line not in self.lines:
            key = self.scenario.program.run_key
            self.lines[line] = sum(initial_byte(key, line + i) << 8 * i for i in range(64))
        return DataBlock(self.lines[line])

    def keep(self, line: int, block: DataBlock) -> None:
        self.lines[line] = block.data
        for sequencer in self.sequencers:
            sequencer.evictionCallback(line)


class Mini(Consumer):
    """The controller of one requester."""

    requester: Any

    def __init__(self, engine: Engine, script: Script, number: int, port: Port) -> None:
        super().__init__(engine)
        self.script = script
        self.number = number
        self.port = port
        self.queue = MessageBuffer(f"queue{number}", engine=engine)
        self.done = MessageBuffer(f"done{number}", engine=engine)
        self.queue.set_consumer(self)
        self.done.set_consumer(self)
        sets, ways = port.cache
        self.cache: CacheMemory[AbstractCacheEntry] = CacheMemory(f"cache{number}", sets, ways)
        self.turns = 0

    def mandatoryQueueLatency(self, request_type: int) -> int:
        return 1

    def wakeup(self) -> None:
        script = self.script
        while self.done.isReady():
            ping = self.done.peek(Ping)
            self.done.dequeue()
            if ping.hops:
                self.requester.writeCallback(ping.addr, 0, script.block(ping.addr))
            else:
                self.complete(ping.addr, ping.value)
        serve = {"gpu": self.serve_coalescer, "cpu": self.serve_sequencer, "dma": self.serve_dma}
        while self.queue.isReady():
            h = hash64(script.scenario.seed, self.number, self.turns)
            self.turns += 1
            if h % 4 < script.scenario.slow:
                self.queue.recycle(1 + (h >> 8) % 20)
                continue
            message: Any = self.queue.peek(Message)
            self.queue.dequeue()
            serve[self.port.kind](message, h >> 16)

    def reside(self, line: int, h: int) -> None:
        cache = self.cache
        if h % 3 == 0 and not cache.isTagPresent(line) and cache.cacheAvail(line):
            cache.allocate(line, AbstractCacheEntry())

    def spoil(self, request: RubyRequest, block: DataBlock) -> None:
        if self.script.faulty("wrong byte"):
            block.data ^= 1 << 8 * (request.PhysicalAddress - request.LineAddress)

    def spoil_end(self, end: int, block: DataBlock) -> None:
        if self.script.faulty("wrong end"):
            block.data ^= 1 << 8 * (end - 1)

    def complete(self, line: int, sequence: int) -> None:
        if self.script.faulty("lost completion"):
            return
        self.requester.writeCompleteCallback(line, sequence)
        if self.script.faulty("double completion"):
            self.requester.writeCompleteCallback(line, sequence)

    def later(self, line: int, sequence: int, what: int, h: int) -> None:
        ping = Ping()
        ping.addr, ping.value, ping.hops = line, sequence, what
        self.done.enqueue(ping, 1 + (h >> 8) % 60)

    def atomic(self, request: RubyRequest) -> None:
        faulty = self.script.faulty
        line = request.LineAddress
        returns = request.Type == RubyRequestType.ATOMIC_RETURN
        block = self.script.block(line)
        result = block.copy()
        idle = faulty("idle atomic")
        result.atomicPartial(block, request.writeMask, not returns)
        if not idle:
            block = DataBlock(result.data)
        offset = request.PhysicalAddress - line
        word = block.read(offset, 4)
        if faulty("double atomic"):
            word += 1
        if faulty("foreign atomic"):
            word ^= 1 << 30
        if faulty("backward atomic"):
            word -= 3
        block.write(offset, 4, word & 0xFFFFFFFF)
        self.script.keep(line, block)
        if returns and faulty("short log"):
            assert result.log is not None
            del result.log[0]
        if not faulty("lost answer"):
            self.requester.atomicCallback(line, 0, result)

    def serve_coalescer(self, request: RubyRequest, h: int) -> None:
        faulty = self.script.faulty
        requester = self.requester
        line = request.LineAddress
        block = self.script.block(line)
        if request.Type == RubyRequestType.LD:
            self.reside(line, h)
            self.spoil(request, block)
            if faulty("lost answer"):
                return
            if faulty("wrong callback"):
                requester.writeCallback(line, 0, block)
                return
            requester.readCallback(line + 4 if faulty("wrong address") else line, 0, block)
        elif request.Type == RubyRequestType.ST:
            self.reside(line, h)
            if not faulty("lost store"):
                block.copyPartial(request.WTData, request.writeMask)
                self.script.keep(line, block)
            sequence = request.instSeqNum
            mode = (h >> 4) % 4
            if mode & 1:
                self.complete(line, sequence)
            if mode < 3:
                requester.writeCallback(line, 0, block)
            else:
                self.later(line, sequence, 1, h)
            if mode == 0:
                self.complete(line, sequence)
            if mode == 2:
                self.later(line, sequence, 0, h)
        elif request.Type == RubyRequestType.REPLACEMENT:
            self.cache.deallocate(line)
            if not faulty("lost walk"):
                requester.invTCPCallback(line)
        elif request.Type == RubyRequestType.InvL2:
            requester.invTCCCallback(line)
        elif request.Type == RubyRequestType.FLUSH:
            requester.writeCallback(line, 0, block)
        else:
            self.atomic(request)

    def serve_sequencer(self, request: RubyRequest, h: int) -> None:
        faulty = self.script.faulty
        line = request.LineAddress
        block = self.script.block(line)
        if request.Type == RubyRequestType.REPLACEMENT:
            self.cache.deallocate(line)
            if not faulty("lost walk"):
                self.requester.invL1Callback()
        elif request.Type in (RubyRequestType.ATOMIC_RETURN, RubyRequestType.ATOMIC_NO_RETURN):
            old = block.copy()
            block.atomicPartial(old, request.writeMask)
            block.clearAtomicLogEntries()
            self.script.keep(line, block)
            if not faulty("lost answer"):
                self.requester.atomicCallback(line, old)
        elif request.Type in (RubyRequestType.LD, RubyRequestType.IFETCH):
            self.reside(line, h)
            self.spoil(request, block)
            self.spoil_end(request.PhysicalAddress - line + request.Size, block)
            if faulty("lost answer"):
                return
            if faulty("wrong callback"):
                self.requester.writeCallback(line, block)
                return
            self.requester.readCallback(line, block)
        else:
            linked = self.port.atomics in (AtomicWay.LINKED, AtomicWay.CONDITIONAL)
            if linked and h % 7 == 0 and self.requester.llscCheckMonitor(line):
                self.requester.writeCallbackScFail(line, block)
            elif h % 4 or linked:
                self.requester.writeCallback(line, block)
            else:
                self.requester.writeUniqueCallback(line, block)
            if not faulty("lost store"):
                self.script.keep(line, block)

    def serve_dma(self, request: SequencerMsg, h: int) -> None:
        block = self.script.block(request.LineAddress)
        if self.script.faulty("lost answer"):
            return
        if request.Type == SequencerRequestType.LD:
            self.spoil_end(request.PhysicalAddress - request.LineAddress + request.Len, block)
            self.requester.dataCallback(block, request.PhysicalAddress)
            return
        if not self.script.faulty("lost store"):
            block.copyPartial(request.DataBlk, request.writeMask)
            self.script.keep(request.LineAddress, block)
        self.requester.ackCallback(request.LineAddress)
