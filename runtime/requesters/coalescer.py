"""The port of a compute unit: lanes of one instruction become one request per line.

Life of an instruction: it takes a token and waits in a queue; the coalescer, at the end of a
tick, turns the oldest instructions into *line requests*, one per line, and gives the token back; a
line request goes to the controller when no older one holds its line; a callback answers its lanes.

Invariant: of the requests of a line exactly the first has been sent. A store's request is answered
twice, when the first-level cache takes it and when it is globally performed.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Final

from runtime.errors import ErrorKind, ProtocolError
from runtime.requesters.base import BYTES_MASK, RefusalReason, RequesterBase
from runtime.requesters.invalidation_walk import AcquireWalk
from runtime.requesters.lane_coalescing import (
    ATOMIC_NO_RETURN,
    ATOMIC_RETURN,
    FLUSH,
    LD,
    ST,
    LineRequest,
    coalesce,
)
from runtime.requesters.port import Access, AccessKind, Outstanding
from runtime.types.messages import RubyRequest, RubyRequestType
from runtime.types.values import AtomicOp, DataBlock, WriteMask

if TYPE_CHECKING:
    from runtime.requesters.sequencer import Sequencer
    from runtime.structures.cache_memory import AbstractCacheEntry, CacheMemory

CONTEXT: Final = 100
"""``contextId`` of a coalescer's requests unless the description says otherwise."""


class VIPERCoalescer(RequesterBase):
    """Requester and callback object of one vector cache (TCP).

    ``tokens``: instructions accepted and not yet coalesced. ``outstanding``: requests sent or
    waiting for their line. ``one_request_per_lane`` makes every lane an instruction of its own,
    with its own token and sequence number. ``linked`` are sequencers whose caches an acquire walks,
    too. ``atomic_log``: old values of atomic operations come in the log of a block of data; else
    they are computed from the line before the first of them.
    """

    kind = "gpu"

    def __init__(
        self,
        name: str,
        index: int,
        lanes: int,
        line_size: int,
        *,
        caches: tuple[CacheMemory[AbstractCacheEntry], ...] = (),
        linked: tuple[Sequencer, ...] = (),
        tokens: int = 4,
        outstanding: int = 2560,
        coalesces_per_cycle: int = 1,
        one_request_per_lane: bool = False,
        context: int = CONTEXT,
        atomic_log: bool = True,
    ) -> None:
        super().__init__(name, index, lanes, line_size)
        self._atomic_log = atomic_log
        self.linked = linked
        self.max_tokens = tokens
        self.tokens = tokens
        self.max_outstanding = outstanding
        self.coalesces_per_cycle = coalesces_per_cycle
        self.one_request_per_lane = one_request_per_lane
        self.context = context
        self._uncoalesced: deque[tuple[list[LineRequest], int]] = deque()
        """Instructions: requests still to be admitted (next one last), tokens to give back."""
        self._lines: dict[int, list[LineRequest]] = {}
        self._rows = 0
        self._full = False
        self._coalesced_tick = -1
        self._coalesced = 0
        self._completing: dict[tuple[int, int], LineRequest] = {}
        """Stores that are not globally performed, by (sequence, line)."""
        self._walk = AcquireWalk(self, caches, linked, self._walk_over, self._offer_walk)
        self._invalidations: dict[int, list[Access]] = {}
        self._invalidations_sent: dict[int, int] = {}

    # ------------------------------------------------------------------ issue

    def issue(self, access: Access) -> bool:
        kind = access.kind
        if kind <= AccessKind.ATOMIC:
            return self._issue_vector(access)
        if kind == AccessKind.ACQUIRE:
            return self._issue_acquire(access)
        if kind == AccessKind.RELEASE:
            return self._release(access)
        if kind == AccessKind.FLUSH:
            return self._issue_flush(access)
        if kind == AccessKind.INVALIDATE_L2:
            return self._issue_invalidation(access)
        raise self._misuse(access, "a coalescer has no such access")

    def _issue_vector(self, access: Access) -> bool:
        self._check_lanes(access)
        need = len(access.addresses) if self.one_request_per_lane else 1
        if need > self.max_tokens:
            raise self._misuse(access, f"needs {need} of {self.max_tokens} tokens")
        if not self._may_take(access.client, RefusalReason.TOKENS, need):
            return False
        requests = coalesce(self, access, self.one_request_per_lane)
        self.tokens -= need
        assert self.tokens >= 0, f"{self.name}: an instruction has its tokens"
        self._accept(access, len(requests), need)
        sequence = access.sequence
        if self.one_request_per_lane:
            for request in requests:
                request.sequence = sequence
                sequence += 1
                self._uncoalesced.append(([request], 1))
        else:
            for request in requests:
                request.sequence = sequence
            requests.reverse()
            self._uncoalesced.append((requests, 1))
        self.engine.schedule(self, self.engine.now)
        return True

    def _issue_flush(self, access: Access) -> bool:
        mask = (1 << 8 * self.line_size) - 1
        requests = [LineRequest(access, line, FLUSH, [], mask) for line in self._lines_of(access)]
        self._accept(access, len(requests))
        if not requests:
            self._end_next_tick(access)
            return True
        for request in requests:
            request.sequence = access.sequence
        requests.reverse()
        self._uncoalesced.append((requests, 0))
        self.engine.schedule(self, self.engine.now)
        return True

    def _issue_invalidation(self, access: Access) -> bool:
        lines = self._lines_of(access)
        self._accept(access, len(lines))
        if not lines:
            self._end_next_tick(access)
        latency = self.controller.mandatoryQueueLatency(RubyRequestType.InvL2)
        for line in lines:
            self._invalidations.setdefault(line, []).append(access)
            self._invalidations_sent[line] = self._invalidations_sent.get(line, 0) + 1
            message = RubyRequest()
            message.LineAddress = line
            message.PhysicalAddress = line
            message.Type = RubyRequestType.InvL2
            message.contextId = self.context
            self.queue.enqueue(message, latency)
        return True

    def _lines_of(self, access: Access) -> list[int]:
        """The lines of the addresses, in order of their first lanes."""
        line_bits = -self.line_size
        for address in access.addresses:
            if address < 0:
                raise self._misuse(access, f"negative address {address}")
        return list(dict.fromkeys(address & line_bits for address in access.addresses))

    # ------------------------------------------------------------------ requests

    def wakeup(self) -> None:
        if self._ending or self._refused or self._grants:
            super().wakeup()
        if self._uncoalesced:
            self._admit_instructions()

    def _free(self, reason: int) -> int:
        if reason == RefusalReason.TOKENS:
            return self.tokens
        return 0 if self._walk.busy() else 1

    def _admit_instructions(self) -> None:
        """Make requests of the oldest instructions, as many as a cycle allows."""
        now = self.engine.now
        if now != self._coalesced_tick:
            self._coalesced_tick = now
            self._coalesced = 0
        returned = False
        queue = self._uncoalesced
        while queue and self._coalesced < self.coalesces_per_cycle:
            requests, tokens = queue[0]
            self._admit(requests)
            if requests:
                self._full = True  # coalescing continues when a request is complete
                break
            queue.popleft()
            self._coalesced += 1
            if tokens:
                self.tokens += tokens
                assert self.tokens <= self.max_tokens, f"{self.name}: a token comes back twice"
                returned = True
        else:
            if queue:
                self.engine.schedule(self, now + 1)
        if returned and self._refused:
            self._offer(RefusalReason.TOKENS)

    def _admit(self, requests: list[LineRequest]) -> None:
        """Take requests, last one first, while there is room; the first of a line is sent."""
        lines = self._lines
        room = min(len(requests), self.max_outstanding - self._rows)
        self._rows += room
        assert 0 <= self._rows <= self.max_outstanding
        for _ in range(room):
            request = requests.pop()
            line = request.line
            if line in lines:
                lines[line].append(request)
            else:
                lines[line] = [request]
                self._send(request)

    def _send(self, request: LineRequest) -> None:
        access = request.access
        type = request.type
        line = request.line
        message = RubyRequest()
        message.LineAddress = line
        message.PhysicalAddress = (
            max(line, access.addresses[request.lanes[0]]) if request.lanes else line
        )
        message.Type = type
        message.Size = access.size
        message.contextId = self.context
        message.instSeqNum = request.sequence
        if request.operations:
            message.writeMask = WriteMask(request.mask, tuple(request.operations))
        else:
            message.writeMask = WriteMask(request.mask)
        if type == ST:
            message.WTData = DataBlock(request.data)
            assert (request.sequence, line) not in self._completing
            self._completing[request.sequence, line] = request
        if access.glc:
            message.isGLCSet = True
        if access.slc:
            message.isSLCSet = True
        self.queue.enqueue(message, self.controller.mandatoryQueueLatency(type))

    def _head(self, line: int, callback: str) -> LineRequest:
        requests = self._lines.get(line)
        if requests is None:
            raise ProtocolError(
                ErrorKind.BAD_CALLBACK,
                f"{callback} for line {line:#x}, of which {self.name} has no request in flight",
            )
        return requests[0]

    def _finish(self, request: LineRequest) -> None:
        """Take the answered head request out and send the next one of its line."""
        requests = self._lines[request.line]
        assert requests[0] is request, "the first request of a line has been sent"
        if len(requests) == 1:
            del self._lines[request.line]
        else:
            del requests[0]
            self._send(requests[0])
        self._rows -= 1
        if self._full:
            self._full = False
            self.engine.schedule(self, self.engine.now)

    # ------------------------------------------------------------------ callbacks of protocols

    def readCallback(
        self,
        address: int,
        machine: int,
        data: DataBlock,
        initial: int = 0,
        forwarded: int = 0,
        first: int = 0,
        region: bool = False,
    ) -> None:
        """The line's first request, a load, has its data."""
        request = self._head(address, "readCallback")
        if request.type != LD:
            raise self._wrong("readCallback", request)
        self._finish(request)
        access = request.access
        access.client.loaded(access, request.lanes, address, data)
        self._close_part(access)

    def readCallback_plain(self, address: int, data: DataBlock) -> None:
        self.readCallback(address, 0, data)

    def writeCallback(
        self,
        address: int,
        machine: int,
        data: DataBlock,
        initial: int = 0,
        forwarded: int = 0,
        first: int = 0,
        region: bool = False,
    ) -> None:
        """The line's first request has been taken: a store, a flush, an atomic past the cache.

        Writes nothing into ``data``: the protocol took the bytes from ``WTData`` itself. The old
        values of a returning atomic are read from, and removed from, the atomic log of ``data``.
        """
        request = self._head(address, "writeCallback")
        type = request.type
        access = request.access
        if type == ST:
            self._finish(request)
            request.accepted = True
            access.client.stored(access, request.lanes, address)
            if request.completed:
                self._complete(request)
        elif type == FLUSH:
            self._finish(request)
            if access.open == 1:
                access.client.synchronized(access)
            self._close_part(access)
        elif type == LD:
            raise self._wrong("writeCallback", request)
        else:
            self._atomic_done(request, data)

    def writeCallback_plain(self, address: int, data: DataBlock) -> None:
        self.writeCallback(address, 0, data)

    def atomicCallback(self, address: int, machine: int, data: DataBlock) -> None:
        """The line's first request, an atomic, is done; its old values are in ``data``'s log."""
        request = self._head(address, "atomicCallback")
        if request.type != ATOMIC_RETURN and request.type != ATOMIC_NO_RETURN:
            raise self._wrong("atomicCallback", request)
        self._atomic_done(request, data)

    def _atomic_done(self, request: LineRequest, data: DataBlock) -> None:
        access = request.access
        operations = request.operations if request.type == ATOMIC_RETURN else None
        images = self._images(request, data) if self._atomic_log else _computed(operations, data)
        ones = BYTES_MASK[access.size]
        old = [
            image >> 8 * offset & ones
            for image, (offset, _) in zip(images, operations or (), strict=True)
        ]
        self._finish(request)
        access.client.atomic_done(access, request.lanes, old)
        self._close_part(access)

    def _images(self, request: LineRequest, data: DataBlock) -> list[int]:
        """The line before each operation, in the order in which the mask lists them, from the log
        of ``data``, which is empty then."""
        log = data.log or []
        expected = len(request.lanes) if request.type == ATOMIC_RETURN else 0
        if len(log) != expected:
            raise ProtocolError(
                ErrorKind.BAD_CALLBACK,
                f"the atomic log of line {request.line:#x} has {len(log)} entries for "
                f"{expected} returning atomics",
            )
        if log:
            data.clearAtomicLogEntries()
        return log

    def writeCompleteCallback(self, address: int, sequence: int, machine: int = 0) -> None:
        """The store of instruction ``sequence`` to this line is globally performed."""
        request = self._completing.get((sequence, address))
        if request is None or request.completed:
            raise ProtocolError(
                ErrorKind.BAD_CALLBACK,
                f"writeCompleteCallback for line {address:#x}: {self.name} has no incomplete "
                f"store of instruction {sequence} there",
            )
        request.completed = True
        if request.accepted:
            self._complete(request)

    def _complete(self, request: LineRequest) -> None:
        assert request.accepted and request.completed
        del self._completing[request.sequence, request.line]
        access = request.access
        access.client.store_completed(access, request.lanes, request.line)
        self._close_part(access)

    def _wrong(self, callback: str, request: LineRequest) -> ProtocolError:
        return ProtocolError(
            ErrorKind.BAD_CALLBACK,
            f"{callback} for line {request.line:#x}, whose first request is "
            f"{RubyRequestType.name_of(request.type)} ({request.access!r})",
        )

    def evictionCallback(self, address: int) -> None:
        """A line left the cache: nothing here watches lines."""

    # ------------------------------------------------------------------ acquire: the walk

    def _issue_acquire(self, access: Access) -> bool:
        if not self._may_take(access.client, RefusalReason.WALK):
            self._walk.watch()
            return False
        self._accept(access, 1)
        if not self._walk.begin(access):
            self._end_next_tick(access)
        return True

    def _ended(self, access: Access) -> None:
        if access is self._walk.access:
            self._walk.nothing()
            self._offer_walk()

    def _walk_over(self, access: Access) -> None:
        access.client.synchronized(access)
        self._close_part(access)
        self._offer_walk()

    def _offer_walk(self) -> None:
        self._offer(RefusalReason.WALK)
        self._walk.watch()  # a linked cache may be in another's walk by now

    def invTCPCallback(self, address: int) -> None:
        """One line of the walk has been invalidated."""
        self._walk.line_done(address)

    def invTCCCallback(self, address: int) -> None:
        """The shared cache has dropped the line: answers everyone who waits for that."""
        sent = self._invalidations_sent.get(address, 0)
        if not sent:
            raise ProtocolError(
                ErrorKind.BAD_CALLBACK,
                f"invTCCCallback for line {address:#x}, which {self.name} did not ask for",
            )
        if sent == 1:
            del self._invalidations_sent[address]
        else:
            self._invalidations_sent[address] = sent - 1
        for access in self._invalidations.pop(address, []):
            if access.open == 1:
                access.client.synchronized(access)
            self._close_part(access)

    # ------------------------------------------------------------------ reports

    def leaks(self) -> list[str]:
        found = super().leaks()
        if self.tokens != self.max_tokens:
            found.append(f"{self.name}: {self.tokens} of {self.max_tokens} tokens are back")
        found.extend(
            f"{self.name}: {count} invalidations of line {line:#x} unanswered"
            for line, count in self._invalidations_sent.items()
        )
        return found

    def _parts(self) -> list[Outstanding]:
        parts: list[Outstanding] = []

        def part(request: LineRequest, where: str) -> None:
            parts.append(
                Outstanding(
                    request.access, request.lanes, request.line, request.access.issued, where
                )
            )

        for requests, _ in self._uncoalesced:
            for request in reversed(requests):
                part(request, "not yet coalesced")
        for requests in self._lines.values():
            part(requests[0], "sent")
            for request in requests[1:]:
                part(request, f"behind request #{requests[0].sequence} of its line")
        for request in self._completing.values():
            if request.accepted:
                part(request, "accepted, not complete")
        walking = self._walk.access
        if walking is not None and self._walk.parts:
            where = self._walk.progress()
            parts.append(Outstanding(walking, [], -1, walking.issued, where))
        for line, accesses in self._invalidations.items():
            parts.extend(
                Outstanding(access, [], line, access.issued, "invalidation sent")
                for access in accesses
            )
        return parts


def _computed(operations: list[tuple[int, AtomicOp]] | None, data: DataBlock) -> list[int]:
    """The line before each operation, where ``data`` is the line before the first one."""
    scratch = DataBlock()
    scratch.atomicPartial(data, WriteMask(0, tuple(operations or ())), no_return=False)
    return scratch.log or []


GPUCoalescer = VIPERCoalescer
