"""A miniature controller and a recording client, to test requesters without a compiler.

The controller takes every message off its queue and keeps it; tests answer by hand, in the order
they like, through the requester's callbacks. ``perform`` answers like a one-level memory.
"""

from __future__ import annotations

from typing import Any

from runtime.requesters.base import RequesterBase
from runtime.requesters.port import Access, Requester
from runtime.sim.engine import Consumer, Engine
from runtime.sim.message_buffer import MessageBuffer
from runtime.structures.cache_memory import AbstractCacheEntry
from runtime.types.message import Message
from runtime.types.messages import RubyRequest, RubyRequestType, SequencerMsg, SequencerRequestType
from runtime.types.values import DataBlock, WriteMask

LINE = 64


class FakeCache:
    """The part of a cache that a walk looks at."""

    def __init__(self, *lines: int) -> None:
        self.visible = {line: AbstractCacheEntry() for line in lines}


class Mini(Consumer):
    """A controller that receives and does nothing by itself."""

    def __init__(self, engine: Engine, latency: int = 1) -> None:
        super().__init__(engine)
        self.mandatoryQueue = MessageBuffer("mandatoryQueue", engine=engine)
        self.mandatoryQueue.set_consumer(self)
        self.latency = latency
        self.received: list[Any] = []
        self.arrivals: list[int] = []
        self.on_message: Any = None

    def mandatoryQueueLatency(self, request_type: int) -> int:
        return self.latency

    def serve(self, requester: RequesterBase) -> None:
        """Be the controller of a requester."""
        controller: Any = self
        requester.attach(self.engine, controller, self.mandatoryQueue)

    def wakeup(self) -> None:
        while self.mandatoryQueue.isReady():
            message = self.mandatoryQueue.peek(Message)
            self.mandatoryQueue.dequeue()
            self.received.append(message)
            self.arrivals.append(self.engine.now)
            if self.on_message is not None:
                self.on_message(message)

    def types(self) -> list[str]:
        """The types of everything received, in order."""
        return [
            SequencerRequestType.name_of(m.Type)
            if isinstance(m, SequencerMsg)
            else RubyRequestType.name_of(m.Type)
            for m in self.received
        ]

    def lines(self) -> list[int]:
        return [m.LineAddress for m in self.received]


def shifted(data: int, offset: int) -> int:
    """A line's bytes from an offset on, which is negative for a lane that began before the line."""
    return data >> 8 * offset if offset >= 0 else data << -8 * offset


class Recorder(Consumer):
    """A client that writes down every answer with its tick, and reissues what was refused."""

    def __init__(self, engine: Engine, name: str = "client") -> None:
        super().__init__(engine)
        self.name = name
        self.answers: list[tuple[Any, ...]] = []
        self.retries: list[int] = []
        self.pending: list[tuple[Requester, Access]] = []

    def loaded(self, access: Access, lanes: list[int], line: int, data: DataBlock) -> None:
        values = [
            shifted(data.data, access.addresses[lane] - line) & (1 << 8 * access.size) - 1
            for lane in lanes
        ]
        self.answers.append(("loaded", access.tag, lanes, line, values, self.engine.now))

    def stored(self, access: Access, lanes: list[int], line: int) -> None:
        self.answers.append(("stored", access.tag, lanes, line, self.engine.now))

    def store_completed(self, access: Access, lanes: list[int], line: int) -> None:
        self.answers.append(("completed", access.tag, lanes, line, self.engine.now))

    def atomic_done(self, access: Access, lanes: list[int], old_values: list[int]) -> None:
        self.answers.append(("atomic", access.tag, lanes, old_values, self.engine.now))

    def synchronized(self, access: Access) -> None:
        self.answers.append(("synchronized", access.tag, self.engine.now))

    def retry(self, requester: Requester) -> None:
        self.retries.append(self.engine.now)
        if self.pending:
            self.engine.schedule(self, self.engine.now + 1)

    def wakeup(self) -> None:
        pending, self.pending = self.pending, []
        for requester, access in pending:
            self.issue(requester, access)

    def issue(self, requester: Requester, access: Access) -> bool:
        """Issue, and keep what is refused for the retry."""
        if requester.issue(access):
            return True
        self.pending.append((requester, access))
        return False

    def names(self) -> list[str]:
        return [answer[0] for answer in self.answers]


class OneLevelMemory:
    """Answers a VIPERCoalescer from a dictionary of lines, at once."""

    def __init__(self, coalescer: Any) -> None:
        self.coalescer = coalescer
        self.lines: dict[int, DataBlock] = {}

    def block(self, line: int) -> DataBlock:
        return self.lines.setdefault(line, DataBlock())

    def __call__(self, message: RubyRequest) -> None:
        line = message.LineAddress
        block = self.block(line)
        coalescer = self.coalescer
        if message.Type == RubyRequestType.LD:
            coalescer.readCallback(line, 0, block)
        elif message.Type == RubyRequestType.ST:
            block.copyPartial(message.WTData, message.writeMask)
            coalescer.writeCallback(line, 0, block)
            coalescer.writeCompleteCallback(line, message.instSeqNum)
        elif message.Type == RubyRequestType.REPLACEMENT:
            coalescer.invTCPCallback(line)
        elif message.Type == RubyRequestType.InvL2:
            coalescer.invTCCCallback(line)
        elif message.Type == RubyRequestType.FLUSH:
            coalescer.writeCallback(line, 0, block)
        else:
            returns = message.Type == RubyRequestType.ATOMIC_RETURN
            block.atomicPartial(block, message.writeMask, not returns)
            coalescer.atomicCallback(line, 0, block)


def mask_bytes(mask: WriteMask) -> list[int]:
    """The selected byte offsets."""
    return [i for i in range(LINE) if mask.test(i)]
