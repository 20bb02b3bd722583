"""The port of a CPU thread, and of instruction and scalar caches.

Requests to one line form a list; its head has been sent to the controller, the others wait and
mostly complete with it, because a line that serves the head serves them, too.

Invariant: of the requests of a line exactly the first has been sent. Data lives in the cache:
a callback's DataBlock *is* the line, stores are written into it and loads read from it, in the
order of the list.

Atomic operations are done in the way that the requester was built for (:class:`AtomicWay`). A pair
of load-linked and store-conditional keeps the head of the list until the store succeeds. The line
is reserved from the one to the other: in its cache entry, which loses the reservation with its
permission or its frame, and until the protocol says that the line left the cache.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Final

from runtime.errors import ErrorKind, ProtocolError
from runtime.requesters.base import RefusalReason, RequesterBase, resident_lines
from runtime.requesters.port import (
    LINKED_TRIES,
    Access,
    AccessKind,
    AtomicWay,
    Outstanding,
    Scope,
)
from runtime.types.messages import RubyRequest, RubyRequestType
from runtime.types.values import DataBlock, WriteMask

if TYPE_CHECKING:
    from runtime.structures.cache_memory import AbstractCacheEntry, CacheMemory

ATOMIC_RETURN: Final = RubyRequestType.ATOMIC_RETURN
ATOMIC_NO_RETURN: Final = RubyRequestType.ATOMIC_NO_RETURN
STORE_CONDITIONAL: Final = RubyRequestType.Store_Conditional
LD: Final = RubyRequestType.LD
ST: Final = RubyRequestType.ST
IFETCH: Final = RubyRequestType.IFETCH
FLUSH: Final = RubyRequestType.FLUSH
_READS: Final = (LD, IFETCH)
_FAR: Final = (ATOMIC_RETURN, ATOMIC_NO_RETURN)


class Waiting:
    """One lane's request in the list of its line. ``lane`` -1: a flush of the line."""

    __slots__ = ("access", "failures", "lane", "line", "linked", "offset", "type")

    def __init__(self, access: Access, lane: int, line: int, offset: int, type: int) -> None:
        self.access = access
        self.lane = lane
        self.line = line
        self.offset = offset
        self.type = type
        """Of the RubyRequest that is sent for it, or was."""
        self.linked = 0
        """What the load-linked read."""
        self.failures = 0
        """Of store-conditionals."""


class Sequencer(RequesterBase):
    """Requester and callback object of one CPU (or of one instruction cache).

    ``outstanding``: lane requests accepted and unanswered. ``walk``: an acquire sends one
    REPLACEMENT per line resident in ``caches`` and counts ``invL1Callback``; without it an
    acquire has nothing to do, as behind any coherent cache. ``fetch``: loads go as IFETCH.
    ``acquire_flags``, ``release_flags``: flags of the requests of accesses that are marked so.
    """

    kind = "cpu"

    def __init__(
        self,
        name: str,
        index: int,
        lanes: int,
        line_size: int,
        *,
        caches: tuple[CacheMemory[AbstractCacheEntry], ...] = (),
        walk: bool = False,
        fetch: bool = False,
        outstanding: int = 16,
        context: int = 0,
        atomics: int = AtomicWay.LINE,
        acquire_flags: int = 0,
        release_flags: int = 0,
    ) -> None:
        super().__init__(name, index, lanes, line_size)
        self.sizes = range(1, line_size + 1)
        self.allowed_sizes = f"1 to {line_size} bytes"
        self.caches = caches
        self.walks = walk
        self.context = context
        self.atomics = atomics
        self.acquire_flags = acquire_flags
        self.release_flags = release_flags
        self.max_outstanding = outstanding
        self._read_type = IFETCH if fetch else LD
        self._lines: dict[int, list[Waiting]] = {}
        self._count = 0
        self._walk_left = 0
        self._walk_done: Callable[[], None] | None = None
        self._walk_access: Access | None = None
        self._watchers: list[Callable[[], None]] = []
        self._eviction_watchers: list[Callable[[int], None]] = []

    # ------------------------------------------------------------------ issue

    def issue(self, access: Access) -> bool:
        kind = access.kind
        if kind <= AccessKind.ATOMIC:
            return self._issue_lanes(access)
        if kind == AccessKind.ACQUIRE:
            return self._issue_acquire(access)
        if kind == AccessKind.RELEASE:
            return self._release(access)
        if kind == AccessKind.FLUSH:
            return self._issue_flush(access)
        raise self._misuse(access, "a sequencer has no such access")

    def _issue_lanes(self, access: Access) -> bool:
        self._check_lanes(access)
        addresses = access.addresses
        if not self._room(access, len(addresses)):
            return False
        offset_bits = self.line_size - 1
        last = self.line_size - access.size
        type = self._first_type(access)
        requests = []
        for lane, address in enumerate(addresses):
            offset = address & offset_bits
            if offset > last or address < 0:
                raise self.crossing(access, address)
            requests.append(Waiting(access, lane, address - offset, offset, type))
        self._accept(access, len(requests))
        self._enter(requests)
        return True

    def _first_type(self, access: Access) -> int:
        """The type of the first request that is sent for an access to memory."""
        if access.kind == AccessKind.LOAD:
            return IFETCH if access.instruction else self._read_type
        if access.kind == AccessKind.STORE or self.atomics == AtomicWay.LINE:
            return ST
        if self.atomics == AtomicWay.FAR:
            return ATOMIC_RETURN if access.returns else ATOMIC_NO_RETURN
        return LD

    def _issue_flush(self, access: Access) -> bool:
        lines = dict.fromkeys(address & -self.line_size for address in access.addresses)
        # Never refused: a flush is one instruction, whatever the number of its lines.
        self._accept(access, len(lines))
        if lines:
            self._enter([Waiting(access, -1, line, 0, FLUSH) for line in lines])
        else:
            self._end_next_tick(access)
        return True

    def _room(self, access: Access, need: int) -> bool:
        if need > self.max_outstanding:
            raise self._misuse(access, f"needs {need} of {self.max_outstanding} requests")
        return self._may_take(access.client, RefusalReason.ROOM, need)

    def _free(self, reason: int) -> int:
        if reason == RefusalReason.ROOM:
            return self.max_outstanding - self._count
        return 0 if self._walk_left else 1

    def _enter(self, requests: list[Waiting]) -> None:
        self._count += len(requests)
        for request in requests:
            waiting = self._lines.get(request.line)
            if waiting is None:
                self._lines[request.line] = [request]
                self._send(request)
            else:
                waiting.append(request)

    def _send(self, request: Waiting) -> None:
        access = request.access
        message = RubyRequest()
        message.LineAddress = request.line
        message.PhysicalAddress = request.line + request.offset
        message.Type = request.type
        message.contextId = self.context
        message.instSeqNum = access.sequence
        if request.lane >= 0:
            size = access.size
            message.Size = size
            shift = 8 * request.offset
            ones = (1 << 8 * size) - 1
            if request.type in _FAR:
                operation = self.operation(access, request.lane)
                message.writeMask = WriteMask(ones << shift, ((request.offset, operation),))
            else:
                message.writeMask = WriteMask(ones << shift)
            if access.kind == AccessKind.STORE:
                message.WTData = DataBlock((access.values[request.lane] & ones) << shift)
        if access.glc:
            message.isGLCSet = True
        if access.slc:
            message.isSLCSet = True
        if access.fence:
            message.flags = self._flags(access)
        self.queue.enqueue(message, self.controller.mandatoryQueueLatency(request.type))

    def _flags(self, access: Access) -> int:
        acquires = self.acquire_flags if access.fence & Scope.ACQUIRES else 0
        releases = self.release_flags if access.fence & Scope.RELEASES else 0
        return acquires | releases

    # ------------------------------------------------------------------ callbacks of protocols

    def readCallback(
        self,
        address: int,
        data: DataBlock,
        missed: bool = False,
        machine: int = 0,
        initial: int = 0,
        forwarded: int = 0,
        first: int = 0,
    ) -> None:
        """The line can be read: completes the head and the reads that follow it directly, up to a
        load-linked, whose store-conditional is sent before anything else, or a fence.
        """
        waiting = self._list(address, "readCallback")
        if waiting[0].type not in _READS:
            raise self._wrong("readCallback", waiting[0])
        done = 0
        while done < len(waiting) and waiting[done].type in _READS:
            if waiting[done].access.kind == AccessKind.ATOMIC:
                self._link(waiting[done], data)
                break
            if done and waiting[done].access.fence:
                break
            self._complete(waiting[done], data)
            done += 1
        self._drop(address, waiting, done)

    def writeCallback(
        self,
        address: int,
        data: DataBlock,
        missed: bool = False,
        machine: int = 0,
        initial: int = 0,
        forwarded: int = 0,
        first: int = 0,
    ) -> None:
        """The line can be written: completes the list, in order, on ``data`` itself, up to what
        needs a request of its own.

        A flush completes alone: what follows it cannot rely on a line that was given away.
        """
        waiting = self._list(address, "writeCallback")
        if waiting[0].type in _READS or waiting[0].type in _FAR:
            raise self._wrong("writeCallback", waiting[0])
        if self._is_conditional(waiting[0]) and not self._reserved(address):
            self._fail_conditional(address, waiting)
            return
        alone = waiting[0].type == FLUSH
        self._complete(waiting[0], data)
        done = 1
        while done < len(waiting) and not alone:
            request = waiting[done]
            if request.type == FLUSH or request.type in _FAR or request.access.fence:
                break
            if request.type in _READS and request.access.kind == AccessKind.ATOMIC:
                self._link(request, data)
                break
            self._complete(request, data)
            done += 1
        self._drop(address, waiting, done)

    def _is_conditional(self, head: Waiting) -> bool:
        """Whether the request that has been sent for a line is a store-conditional."""
        linked = self.atomics in (AtomicWay.LINKED, AtomicWay.CONDITIONAL)
        return (
            linked
            and head.access.kind == AccessKind.ATOMIC
            and head.type not in _READS
            and head.failures < LINKED_TRIES
        )

    def _link(self, request: Waiting, data: DataBlock) -> None:
        """A load-linked has its data: the store-conditional is next."""
        request.linked = data.read(request.offset, request.access.size)
        for entry in self._entries(request.line):
            entry.locked_by = self.index
        request.type = STORE_CONDITIONAL if self.atomics == AtomicWay.CONDITIONAL else ST

    def _fail_conditional(self, line: int, waiting: list[Waiting]) -> None:
        """The store-conditional at the head has failed: begin again."""
        head = waiting[0]
        head.failures += 1
        head.type = LD if head.failures < LINKED_TRIES else ST
        self._unreserve(line)
        self._drop(line, waiting, 0)

    def writeUniqueCallback(self, address: int, data: DataBlock) -> None:
        """The head's store is done elsewhere: completes it alone, the next one is sent anew."""
        waiting = self._list(address, "writeUniqueCallback")
        head = waiting[0]
        if head.type in _READS or head.type in _FAR or self._is_conditional(head):
            raise self._wrong("writeUniqueCallback", waiting[0])
        self._complete(waiting[0], data)
        self._drop(address, waiting, 1)

    def _list(self, line: int, callback: str) -> list[Waiting]:
        waiting = self._lines.get(line)
        if waiting is None:
            raise ProtocolError(
                ErrorKind.BAD_CALLBACK,
                f"{callback} for line {line:#x}, of which {self.name} has no request in flight",
            )
        return waiting

    def _wrong(self, callback: str, head: Waiting) -> ProtocolError:
        return ProtocolError(
            ErrorKind.BAD_CALLBACK,
            f"{callback} for line {head.line:#x}, whose first request is "
            f"{RubyRequestType.name_of(head.type)} ({head.access!r})",
        )

    def _drop(self, line: int, waiting: list[Waiting], done: int) -> None:
        """Take ``done`` answered requests off the list, send the next, offer the room."""
        self._count -= done
        assert self._count >= 0 and done <= len(waiting)
        if done == len(waiting):
            del self._lines[line]
        else:
            del waiting[:done]
            self._send(waiting[0])
        self._offer(RefusalReason.ROOM)

    def _complete(self, request: Waiting, data: DataBlock) -> None:
        """Move the data of one request and notify the client."""
        access = request.access
        client = access.client
        kind = access.kind
        lane = request.lane
        line = request.line
        if kind == AccessKind.LOAD:
            client.loaded(access, [lane], line, data)
        elif kind == AccessKind.STORE:
            data.write(request.offset, access.size, access.values[lane])
            client.stored(access, [lane], line)
            client.store_completed(access, [lane], line)
        elif kind == AccessKind.ATOMIC:
            old = data.read(request.offset, access.size)
            if self._is_conditional(request):
                old = request.linked
                self._unreserve(line)
            data.write(request.offset, access.size, self.operation(access, lane).apply(old))
            client.atomic_done(access, [lane], [old] if access.returns else [])
        elif access.open == 1:
            client.synchronized(access)
        self._close_part(access)

    def atomicCallback(
        self,
        address: int,
        data: DataBlock,
        missed: bool = False,
        machine: int = 0,
        initial: int = 0,
        forwarded: int = 0,
        first: int = 0,
    ) -> None:
        """The head's operation is done, here or elsewhere; ``data`` is the line before it."""
        waiting = self._list(address, "atomicCallback")
        request = waiting[0]
        if request.type not in _FAR:
            raise self._wrong("atomicCallback", request)
        access = request.access
        old = [data.read(request.offset, access.size)] if access.returns else []
        access.client.atomic_done(access, [request.lane], old)
        self._close_part(access)
        self._drop(address, waiting, 1)

    def writeCallbackScFail(self, address: int, data: DataBlock) -> None:
        """The head's store-conditional has failed, as the controller found by itself."""
        waiting = self._list(address, "writeCallbackScFail")
        if not self._is_conditional(waiting[0]):
            raise self._wrong("writeCallbackScFail", waiting[0])
        self._fail_conditional(address, waiting)

    def unaddressedCallback(self, identity: int, type: int, *statistics: int) -> None:
        raise self._never("unaddressedCallback", f"request {identity}")

    def _never(self, callback: str, what: str) -> ProtocolError:
        return ProtocolError(
            ErrorKind.BAD_CALLBACK, f"{callback} for {what}, which {self.name} never asked for"
        )

    def llscCheckMonitor(self, address: int) -> bool:
        """Whether a store-conditional to the line would succeed now."""
        return self._reserved(address)

    def llscClearLocalMonitor(self) -> None:
        """No line is reserved any more."""
        for line in self._lines:
            self._unreserve(line)

    def _entries(self, line: int) -> Iterator[AbstractCacheEntry]:
        """The entries of a line in the caches of this processor."""
        for cache in self.caches:
            entry = cache.visible.get(line)
            if entry is not None:
                yield entry

    def _reserved(self, line: int) -> bool:
        return any(entry.locked_by == self.index for entry in self._entries(line))

    def _unreserve(self, line: int) -> None:
        for entry in self._entries(line):
            if entry.locked_by == self.index:
                entry.locked_by = -1

    def evictionCallback(self, address: int) -> None:
        """A line left the cache. Requests in flight keep their place, a reservation is lost."""
        self._unreserve(address)
        for lost in self._eviction_watchers:
            lost(address & -self.line_size)

    def watch_evictions(self, lost: Callable[[int], None]) -> None:
        """Call ``lost`` with every line that the protocol reports to have left the cache."""
        self._eviction_watchers.append(lost)

    def recordRequestType(self, type: int) -> None:
        """Statistics, which are not kept."""

    # ------------------------------------------------------------------ acquire: the walk

    @property
    def walking(self) -> bool:
        return self._walk_left > 0

    def begin_walk(self, done: Callable[[], None]) -> bool:
        """Send a REPLACEMENT for every resident line and call ``done`` when all are answered.

        False when nothing is resident; ``done`` is then never called. One walk at a time.
        """
        assert not self._walk_left, "the caller has asked `walking`"
        lines = resident_lines(self.caches)
        if not lines:
            return False
        self._walk_left = len(lines)
        self._walk_done = done
        self.send_replacements(lines)
        return True

    def watch_walk(self, ended: Callable[[], None]) -> None:
        """Call ``ended`` once, when the walk that is under way has ended."""
        assert self.walking, "a walk that is under way is watched"
        self._watchers.append(ended)

    def invL1Callback(self) -> None:
        """One line of the walk has been invalidated."""
        if not self._walk_left:
            raise self._never("invL1Callback", "a walk")
        self._walk_left -= 1
        if self._walk_left:
            return
        done, self._walk_done = self._walk_done, None
        watchers, self._watchers = self._watchers, []
        assert done is not None
        done()
        self._offer(RefusalReason.WALK)
        for ended in watchers:
            ended()

    def _issue_acquire(self, access: Access) -> bool:
        if self.walks and not self._may_take(access.client, RefusalReason.WALK):
            return False
        self._accept(access, 1)
        if self.walks and self.begin_walk(self._own_walk_done):
            self._walk_access = access
        else:
            self._end_next_tick(access)
        return True

    def _own_walk_done(self) -> None:
        access, self._walk_access = self._walk_access, None
        assert access is not None
        access.client.synchronized(access)
        self._close_part(access)

    # ------------------------------------------------------------------ reports

    def _parts(self) -> list[Outstanding]:
        parts: list[Outstanding] = []
        for waiting in self._lines.values():
            for place, request in enumerate(waiting):
                lanes = [request.lane] if request.lane >= 0 else []
                where = "sent" if not place else f"behind {waiting[0].access!r}"
                access = request.access
                parts.append(Outstanding(access, lanes, request.line, access.issued, where))
        walk = self._walk_access
        if walk is not None:
            where = f"walk: {self._walk_left} lines left"
            parts.append(Outstanding(walk, [], -1, walk.issued, where))
        return parts

    def leaks(self) -> list[str]:
        found = super().leaks()
        if self._walk_left and self._walk_access is None:
            found.append(f"{self.name}: a walk lacks {self._walk_left} answers")
        return found


class HTMSequencer(Sequencer):
    """A sequencer for protocols with hardware transactions; starts none."""

    def htmCallback(self, address: int, mode: int, reason: int) -> None:
        raise self._never("htmCallback", f"line {address:#x}")
