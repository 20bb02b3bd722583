"""Memory behind a protocol's caches, whichever engine runs them.

What both engines share: addresses are checked, requests split into parts and reassembled, doorbells
notified, and the host's reads and writes kept coherent with the caches.

Invariants: both engines receive the same parts at the same ticks, so they give the same
answers at the same ticks. A line that no request has touched since the host's last write is in no
cache, so the host may write it in memory itself; a line that no request has stored into since the
host's last read is up to date in memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final, Protocol

import numpy as np
import numpy.typing as npt

from gpu.memory.address_space import AddressSpace, Allocation
from gpu.memory.coherent.line_tracking import Lines, LineTracker
from gpu.memory.coherent.recording import HostAccess, Recording
from gpu.memory.coherent.request_splitting import (
    LANES,
    Cutter,
    PendingRequest,
    RequestPart,
    UnderWay,
    all_lanes,
)
from gpu.memory.coherent.scalar_stores import ScalarStores, fence
from gpu.memory.coherent.system_scope import SharedLines, SystemScope
from gpu.memory.coherent.system_selection import KernelSystem
from gpu.memory.coherent.transition_counts import Executed
from gpu.memory.interface import Answer, MemoryRequest, PortKind, Translator
from gpu.memory.request_validation import check_shape, translator_of
from runtime.requesters.port import AccessKind, AnswerKind

PATIENCE: Final = 1_000_000
"""Ticks after which an unanswered request is called stuck."""
SLICE: Final = 1 << 16
"""Ticks without an answer after which memory is checked for being stuck."""


class MemoryStuck(Exception):
    """The protocol has stopped answering; the message lists the outstanding requests."""


class Backend(Protocol):
    """An engine with a client on every port. Ticks count from 1."""

    def enter(self, part: RequestPart) -> None:
        """Queue a part at its port; the port's client issues it in the tick that runs next."""

    def run(self, now: int, last: int | None) -> list[tuple[RequestPart, AnswerKind]]:
        """Let clients that were given parts act at tick ``now``, and run to the end of the first
        tick with answers; no later than ``last``. Results are in the parts."""

    @property
    def tick(self) -> int:
        """The last tick that had anything to do."""

    @property
    def idle(self) -> bool:
        """Nothing is pending."""

    def quiet(self, last: int) -> bool:
        """Nothing was entered, and something is pending, but for later than tick ``last``."""

    def peek(self, address: int, size: int) -> bytes:
        """Bytes of main memory itself."""

    def poke(self, address: int, data: bytes) -> None:
        """Write main memory itself."""

    def waiting(self) -> list[str]:
        """The unanswered requests as text, one line each."""

    def executed(self) -> Executed:
        """What the controllers have done."""


class Steering(Protocol):
    """An issue engine, which also runs the protocol's engine and makes requests of its own."""

    @property
    def under_way(self) -> int:
        """Requests of instructions that it has made and that are not answered."""

    def look(self) -> None:
        """The memory has run: there may be answers to its requests."""


class CoherentMemory:
    """Memory of a `KernelSystem`; see `gpu.memory.interface.Memory`.

    The control port is a coalescer of its own whose loads miss on purpose: it caches nothing, its
    atomics are performed where those of kernels are, which is what makes both atomic with each
    other. What a processor or a DMA engine stores is in no cache of the GPU: no fence has to move
    it.
    """

    def __init__(
        self, system: KernelSystem, backend: Backend, space: AddressSpace | None = None
    ) -> None:
        self.system = system
        self.backend = backend
        self.space = AddressSpace() if space is None else space
        self.ports = system.ports()
        self.line_size = system.description.line_size
        self.translator: Translator | None = None
        self.now = 1
        self.steering: Steering | None = None
        self.recording: Recording | None = None
        """Notified of every request and host access, if there is one."""
        self._cutter = Cutter(self.line_size)
        self._kinds = [port.kind for port in self.ports]
        self._pending: dict[int, PendingRequest] = {}
        """Unanswered requests by ``id``, oldest first."""
        self._patient_until = 0
        """Until this tick no request can have waited too long."""
        self._at_once: list[PendingRequest] = []
        """Requests without parts: answered in the tick in which they are made."""
        self._rung: list[tuple[Allocation, int, bytes]] = []
        self._line_tracker = LineTracker(self.line_size)
        self._scalar_stores = ScalarStores(backend.enter)
        self._shared: SharedLines | None = None
        """The lines of a shared cache that fences have to write back or invalidate."""
        if system.system_scope != SystemScope():
            self._shared = SharedLines(
                system.system_scope, self.space, self.line_size, self.ports.control
            )

    # ------------------------------------------------------------------ requests

    def push(self, request: MemoryRequest) -> None:
        """Enter a request at tick `now`, after those pushed before at its port.

        Raises Unmapped, and ValueError for a request that no memory could answer.
        """
        check_shape(request, self._kinds)
        if request.vmid:
            translator_of(self, request).push(request)
            return
        kind = self._kinds[request.port]
        pending = PendingRequest(request, self.now)
        if request.kind > AccessKind.ATOMIC:
            parts = [fence(pending, request.kind)]
        else:
            self._check_port(request, kind)
            parts = self._parts(pending, kind)
        pending.begin(len(parts))
        if self.recording is not None:
            self.recording.note(self.now, request)
        if not parts:
            self._at_once.append(pending)
            return
        self._pending[id(pending)] = pending
        if kind is PortKind.SCALAR and request.kind == AccessKind.STORE:
            self._scalar_stores.begin(request.port)
            for part in parts:
                part.port = self.ports.control
        elif kind is PortKind.SCALAR and request.kind == AccessKind.RELEASE:
            parts = [part for part in parts if not self._scalar_stores.hold(part)]
        for part in parts:
            self.backend.enter(part)

    def note_fetches(self, address: int, size: int) -> Allocation:
        """The issue engine will load these bytes itself. Raises Unmapped."""
        place = self.space.at(address, size, loads=True, whole_pages=True)
        self._line_tracker.note(place, np.array([address], np.uint64), size, False)
        return place

    def plain(
        self, first: int, behind: int, stores: bool
    ) -> tuple[Allocation, Lines, Lines] | None:
        """The allocation that has all these bytes, of which the issue engine may then load and
        store any itself; and the flags by line that it has to set: of those it accesses, and of
        those it stores into. None if such requests have to be pushed."""
        place = self._plain(first, behind, stores, False)
        if place is None:
            return None
        return place, self._line_tracker.cached(place), self._line_tracker.stored(place)

    @property
    def notes_lines(self) -> bool:
        """Whether every request of compute units has to be pushed, for its lines to be known to
        fences."""
        return self._shared is not None

    def system_fence(self, kind: int) -> list[list[MemoryRequest]]:
        """See `gpu.memory.interface.Memory.system_fence`."""
        return [] if self._shared is None else self._shared.steps(kind)

    def record(self) -> Recording:
        """Record every request from now on; only for a memory that has had none yet."""
        if self.steering is not None:
            raise ValueError("compute units fetch past this memory: their requests are not seen")
        self.recording = Recording(self.space)
        return self.recording

    def _check_port(self, request: MemoryRequest, kind: PortKind) -> None:
        store = kind is PortKind.SCALAR and request.kind == AccessKind.STORE
        only_reads = kind in (PortKind.SCALAR, PortKind.FETCH)
        if only_reads and request.kind != AccessKind.LOAD and not store:
            raise ValueError(
                f"{AccessKind.name_of(request.kind)} request, tag {request.tag}: the caches of "
                f"scalar data and instructions of {self.system.protocol.name} only read"
            )

    def _parts(self, pending: PendingRequest, kind: PortKind) -> list[RequestPart]:
        request = pending.request
        addresses = request.addresses
        writes = request.kind != AccessKind.LOAD
        loads = request.kind != AccessKind.STORE
        atomic = request.kind == AccessKind.ATOMIC
        if request.size > self.line_size:
            raise ValueError(f"{request.size} bytes are more than a line")
        whole = self._one_place(request, kind, writes, atomic)
        if whole is not None:
            self._line_tracker.note(whole, addresses, request.size, writes)
            return self._cutter.whole(pending, kind, whole)
        places = self.space.locate(
            addresses,
            request.size,
            writes=writes,
            loads=loads,
            atomic=atomic,
            whole_pages=kind.moves_lines,
        )
        for place in dict.fromkeys(places):
            lanes = [lane for lane, other in enumerate(places) if other is place]
            if place.on_store is None:
                self._line_tracker.note(place, addresses[lanes], request.size, writes)
        parts, doorbells = self._cutter.mixed(pending, kind, places)
        for lane in doorbells:
            assert request.data is not None, "only stores reach doorbells"
            self._rung.append((places[lane], int(addresses[lane]), request.data[lane].tobytes()))
        return parts

    def _one_place(
        self, request: MemoryRequest, kind: PortKind, writes: bool, atomic: bool
    ) -> Allocation | None:
        """The allocation that has all lanes, if none of them is refused."""
        addresses, size = request.addresses, request.size
        if request.extent is not None and not atomic:
            low, high, bits = request.extent.low, request.extent.high, 0
        elif len(addresses) == 1:
            bits = low = high = int(addresses[0])
        else:
            low = int(np.minimum.reduce(addresses))
            high = int(np.maximum.reduce(addresses))
            bits = int(np.bitwise_or.reduce(addresses)) if atomic else 0
        place = self._plain(low, high + size, writes, kind.moves_lines)
        return None if atomic and bits % size else place

    def _plain(self, first: int, behind: int, writes: bool, whole_pages: bool) -> Allocation | None:
        """The allocation that has all these bytes, if it is no doorbell and grants the access."""
        place = self.space.find(first)
        if place is None or place.on_store is not None or (writes and not place.writable):
            return None
        return None if behind > place.limit(whole_pages) else place

    # ------------------------------------------------------------------ time

    @property
    def busy(self) -> bool:
        return bool(self._pending or self._at_once) or not self.backend.idle

    def run(self, until: int | None) -> list[Answer]:
        """See `gpu.memory.interface.Memory.run`.

        Raises ProtocolError, and MemoryStuck when a request is never answered.
        """
        if until is not None and until <= self.now:
            return []
        if until is not None and not self._at_once and self.backend.quiet(until - 1):
            self.now = until
            return []
        last = None if until is None else until - 1
        answers = self._answer_at_once() if self._at_once else []
        if answers:
            last = self.now
        when = self.now  # what has been entered is issued
        while True:
            slice_end = max(self.backend.tick, self.now) + SLICE
            limit = slice_end if last is None else min(last, slice_end)
            parts = self.backend.run(when, limit)
            when = max(when, self.backend.tick + 1)
            self._take(parts, answers)
            if answers:
                self.now = max(self.backend.tick, self.now) + 1
                break
            if parts:
                continue  # of requests that have others: it stopped before the limit
            if self.backend.idle or (last is not None and limit >= last):
                self.now = max(self.now, self.backend.tick + 1, until or 0)
                break
        if self.steering is not None:
            self.steering.look()
        if self._rung:
            self._ring()
        return answers

    # ------------------------------------------------------------------ for the issue engine

    @property
    def under_way(self) -> int:
        """Unanswered requests."""
        return len(self._pending)

    @property
    def answers_at_once(self) -> bool:
        """Whether there are answers for this very tick, after which a run ends."""
        return bool(self._at_once)

    @property
    def rung(self) -> bool:
        """Whether doorbells are to be notified once memory has run."""
        return bool(self._rung)

    def deliver(self, parts: list[tuple[RequestPart, AnswerKind]]) -> list[Answer]:
        """The answers that there are for this tick, and those that these parts complete."""
        answers = self._answer_at_once() if self._at_once else []
        self._take(parts, answers)
        return answers

    def reached(self, tick: int) -> None:
        """The issue engine has run the protocol's engine up to ``tick``."""
        self.now = tick
        if self._rung:
            self._ring()

    def _take(self, parts: list[tuple[RequestPart, AnswerKind]], answers: list[Answer]) -> None:
        for part, kind in parts:
            self._answered(part, kind, answers)
        self.watch([])

    def _answer_at_once(self) -> list[Answer]:
        pending_requests, self._at_once = self._at_once, []
        return [
            Answer(pending.request, kind, self.now, all_lanes(len(pending.request.addresses)))
            for pending in pending_requests
            for kind in pending.left
        ]

    def _answered(self, part: RequestPart, kind: AnswerKind, answers: list[Answer]) -> None:
        pending = part.pending
        request = pending.request
        data = None
        if kind is AnswerKind.LOADED or kind is AnswerKind.OLD_VALUES:
            part.deliver()
            data = pending.data
        elif part.kind == AccessKind.ACQUIRE and request.kind == AccessKind.STORE:
            self._scalar_store_over(pending, answers)
            return
        if not pending.answered(kind):
            return
        if request.kind == AccessKind.STORE and part.port != request.port:
            if not pending.left:
                self._scalar_stores.performed(pending)
            return
        lanes = all_lanes(min(len(request.addresses), LANES))
        tick = self.backend.tick
        answers.append(Answer(request, kind, tick, lanes, data, pending.hits, pending.misses))
        if not pending.left:
            del self._pending[id(pending)]
            if self._shared is not None and request.port <= self.ports.control:
                self._shared.note(request)

    def _scalar_store_over(self, pending: PendingRequest, answers: list[Answer]) -> None:
        request = pending.request
        for kind in (AnswerKind.ACCEPTED, AnswerKind.PERFORMED):
            lanes = all_lanes(len(request.addresses))
            answers.append(Answer(request, kind, self.backend.tick, lanes))
        del self._pending[id(pending)]
        if self._shared is not None:
            self._shared.note(request)
        self._scalar_stores.answered(request.port)

    def watch(self, others: Sequence[UnderWay]) -> None:
        """Raise MemoryStuck if the oldest request will never be answered. ``others``: the issue
        engine's own ones."""
        if not self._pending and not others:
            return
        if self.backend.tick < self._patient_until and not self.backend.idle and not others:
            return
        oldest = min(other.since for other in others) if others else self.backend.tick
        if self._pending:
            oldest = min(oldest, next(iter(self._pending.values())).issued)
        waited = self.backend.tick - oldest
        if not self.backend.idle and waited < PATIENCE:
            self._patient_until = oldest + PATIENCE
            return
        why = "nothing moves any more" if self.backend.idle else f"{waited:,} ticks have passed"
        lines = [*self.backend.waiting(), *(other.text(self.ports) for other in others)]
        listed = "".join(f"\n  {line}" for line in lines[:20])
        raise MemoryStuck(
            f"{self.system.protocol.name} does not answer {len(self._pending) + len(others)} "
            f"requests in tick {self.backend.tick}: {why}{listed}"
        )

    def _ring(self) -> None:
        rung, self._rung = self._rung, []
        for place, address, data in rung:
            assert place.on_store is not None, "only doorbells are noted"
            place.on_store(address, data)

    # ------------------------------------------------------------------ for the host

    def executed(self) -> Executed:
        """What the protocol's controllers have done, the host's own accesses included."""
        return self.backend.executed()

    def read(self, address: int, size: int) -> bytes:
        """Bytes as a coherent reader would see them. Raises Unmapped.

        Lines that were stored into since the last read are loaded through the control port, which
        takes ticks. ValueError: the memory is busy.
        """
        place = self.space.at(address, size, loads=True)
        with self._host_access(HostAccess(address, size, None)):
            return self._read(place, address, size)

    def _read(self, place: Allocation, address: int, size: int) -> bytes:
        stored = self._line_tracker.stored(place)
        first, last = self._lines(place, address, size)
        old = np.flatnonzero(stored[first:last]) + first
        if len(old):
            self._refresh(place, old)
            stored[old] = False
        return self.backend.peek(address, size)

    def write(self, address: int, data: bytes) -> None:
        """Write so that every later reader that acquires sees it. Raises Unmapped.

        Lines that a cache may have are stored into through the control port, which takes ticks.
        ValueError: the memory is busy.
        """
        place = self.space.at(address, len(data), loads=True)
        with self._host_access(HostAccess(address, len(data), data)):
            self._write(place, address, data)

    @contextmanager
    def _host_access(self, access: HostAccess) -> Iterator[None]:
        """Record a host access instead of the requests that it makes."""
        recording, self.recording = self.recording, None
        if recording is not None:
            recording.note(self.now, access)
        try:
            yield
        finally:
            self.recording = recording

    def _write(self, place: Allocation, address: int, data: bytes) -> None:
        cached = self._line_tracker.cached(place)
        first, last = self._lines(place, address, len(data))
        if not cached[first:last].any():
            self.backend.poke(address, data)
            return
        end = address + len(data)
        writable, place.writable = place.writable, True  # closed to programs, not to the host
        try:
            for line in range(first, last):
                start = max(address, place.start + line * self.line_size)
                stop = min(end, place.start + (line + 1) * self.line_size)
                some = data[start - address : stop - address]
                if cached[line]:
                    self._store(start, some)
                else:
                    self.backend.poke(start, some)
        finally:
            place.writable = writable
        self._settle()

    def _lines(self, place: Allocation, address: int, size: int) -> tuple[int, int]:
        """The lines of the allocation from the first one to behind the last one."""
        offset = address - place.start
        return offset // self.line_size, -(-(offset + size) // self.line_size)

    def _refresh(self, place: Allocation, lines: npt.NDArray[np.int64]) -> None:
        """Bring memory itself up to date with what a coherent reader finds."""
        self._settle()
        width = min(self.line_size, 16)
        a_line = self.line_size // width
        steps = np.arange(a_line, dtype=np.uint64) * np.uint64(width)
        starts = place.base + lines.astype(np.uint64) * np.uint64(self.line_size)
        addresses = (starts[:, None] + steps).reshape(-1)
        for first in range(0, len(addresses), LANES):
            some = np.ascontiguousarray(addresses[first : first + LANES])
            self.push(MemoryRequest(self.ports.control, AccessKind.LOAD, first, some, width))
        found = {answer.request.tag: answer.data for answer in self._settle()}
        data = np.concatenate([found[first] for first in sorted(found)]).reshape(-1)
        behind = np.flatnonzero(np.diff(lines) != 1) + 1  # where consecutive lines end
        for some in np.split(np.arange(len(lines)), behind):
            part = data[some[0] * self.line_size : (some[-1] + 1) * self.line_size]
            self.backend.poke(int(starts[some[0]]), part.tobytes())

    def _store(self, address: int, data: bytes) -> None:
        array = np.frombuffer(data, np.uint8)[:, None]
        addresses = np.uint64(address) + np.arange(len(data), dtype=np.uint64)
        for first in range(0, len(data), LANES):
            some = slice(first, first + LANES)
            stored = MemoryRequest(
                self.ports.control, AccessKind.STORE, 0, addresses[some], 1, array[some]
            )
            self.push(stored)

    def _settle(self) -> list[Answer]:
        """Run until only traffic that no request waits for is under way."""
        others = any(f.request.port != self.ports.control for f in self._pending.values())
        if others or (self.steering is not None and self.steering.under_way):
            raise ValueError("the host reads and writes when no request is under way")
        answers = []
        while self.busy:
            answers += self.run(None)
        return answers
