"""The vector memory pipeline: from an executed FLAT or MUBUF instruction to its return.

Instructions wait in one queue per compute unit and are sent in order; those of one wave also
return in order, whatever the order of the answers. Invariant: ``vm`` (and for FLAT ``lgkm``) of a
wave is one for each of its instructions between issue and return.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Generic, Protocol, TypeVar

import numpy as np

from gpu.compute_unit.memory_ops.access import AccessPart, MemoryAccess, VectorAccess
from gpu.compute_unit.pipeline.timing_parameters import Timing
from gpu.compute_unit.program.decoded_program import DecodedInstruction
from gpu.compute_unit.program.statistics import Statistics
from gpu.compute_unit.wave.lane_values import from_bytes, to_bytes
from gpu.compute_unit.wave.lds import MisalignedLocal
from gpu.compute_unit.wave.wavefront import Wavefront
from gpu.memory.address_space import Unmapped
from gpu.memory.interface import Answer, Memory, MemoryRequest
from runtime.requesters.port import AccessKind, AnswerKind

W = TypeVar("W", bound=Wavefront)
W_contra = TypeVar("W_contra", bound=Wavefront, contravariant=True)


WatchAnswer = Callable[[MemoryAccess, int, int], None]
"""Notified of an access that has loaded from memory: how often the first-level cache had what it
wanted, and how often not."""


class Owner(Protocol[W_contra]):
    """The compute unit, as its pipelines see it."""

    @property
    def timing(self) -> Timing: ...

    @property
    def statistics(self) -> Statistics: ...

    @property
    def memory(self) -> Memory: ...

    def later(self, tick: int, action: Callable[[], None]) -> None:
        """Do something at a later tick."""

    def returned(self, decoded: DecodedInstruction, access: MemoryAccess) -> None:
        """A memory instruction has its answers and its registers."""

    def lower(self, wave: W_contra, vm: int, lgkm: int) -> None:
        """The wave's counters go down by so much; it may wait for that."""

    def fail_wave(self, wave: W_contra, decoded: DecodedInstruction, error: Exception) -> None:
        """A wave has failed."""


class PendingInstruction(Generic[W]):
    """One vector memory instruction in flight. ``access`` is None for an invalidation.
    ``in_violation``: its wave has entered its trap handler since it was issued, because of a memory
    violation."""

    __slots__ = ("access", "decoded", "done", "flat", "in_violation", "left", "pipeline", "wave")

    def __init__(
        self,
        pipeline: VectorPipeline[W],
        wave: W,
        decoded: DecodedInstruction,
        access: VectorAccess | None,
    ) -> None:
        self.pipeline = pipeline
        self.wave = wave
        self.decoded = decoded
        self.access = access
        self.flat = access is not None and decoded.instruction.form == "FLAT"
        self.left = 1
        self.done = False
        self.in_violation = False

    def answer(self, part: AccessPart, answer: Answer) -> None:
        """Some lanes of one part have been answered."""
        if answer.kind is AnswerKind.ACCEPTED:
            return
        rows = len(answer.lanes)
        if answer.data is not None:
            watch = self.pipeline.watch
            if watch is not None and self.access is not None:
                watch(self.access, answer.hits, answer.misses)
            if rows == len(part.addresses):
                part.result = from_bytes(answer.data)
            else:
                if part.gathered is None:
                    part.gathered = np.empty((len(part.addresses), part.size), np.uint8)
                part.gathered[answer.lanes] = answer.data
        self.settle(rows)

    def synchronized(self, answer: Answer) -> None:
        """The caches have been invalidated."""
        self.settle(1)

    def settle(self, count: int) -> None:
        """Count answers that have arrived."""
        self.left -= count
        if self.left == 0:
            self.done = True
            self.pipeline.returned(self.wave)

    def retire(self) -> None:
        access = self.access
        if access is None:
            return
        for part in access.parts:
            if part.gathered is not None:
                part.result = from_bytes(part.gathered)
        access.complete()
        self.pipeline.owner.returned(self.decoded, access)


class VectorPipeline(Generic[W]):
    """One compute unit's way to its first-level vector cache. ``queue``: when to send what."""

    def __init__(self, owner: Owner[W], port: int, watch: WatchAnswer | None = None) -> None:
        self.owner = owner
        self.watch = watch
        self._port = port
        self.queue: deque[tuple[int, PendingInstruction[W]]] = deque()
        self._free_at = 0
        self.line_bits = owner.memory.line_size.bit_length() - 1

    @property
    def full(self) -> bool:
        """Whether an instruction must wait before it can be issued."""
        return len(self.queue) >= self.owner.timing.memory_queue

    def begin(
        self, wave: W, decoded: DecodedInstruction, access: VectorAccess | None
    ) -> PendingInstruction[W]:
        """Append an executed instruction to those of its wave; None: an invalidation."""
        pending = PendingInstruction(self, wave, decoded, access)
        wave.outstanding.append(pending)
        return pending

    def issue(self, wave: W, decoded: DecodedInstruction, access: VectorAccess, now: int) -> None:
        """An executed instruction enters the pipeline; the counters go up."""
        timing = self.owner.timing
        pending = self.begin(wave, decoded, access)
        wave.vm += 1
        if pending.flat:
            wave.lgkm += 1
        lines = self.lines(access)
        self.owner.statistics.lines[lines] += 1
        start = max(now + timing.address_cycles, self._free_at)
        self._free_at = start + max(1, -(-lines // timing.lines_per_cycle))
        self.queue.append((start, pending))

    def invalidate(self, wave: W, decoded: DecodedInstruction, now: int) -> None:
        """``buffer_wbinvl1``: behind what was issued before it."""
        pending = self.begin(wave, decoded, None)
        wave.vm += 1
        start = max(now + self.owner.timing.address_cycles, self._free_at)
        self._free_at = start + 1
        self.queue.append((start, pending))

    def send(self, now: int) -> None:
        """Send the requests that are due."""
        while self.queue and self.queue[0][0] <= now:
            self.hand_over(self.queue.popleft()[1])

    def hand_over(self, pending: PendingInstruction[W]) -> None:
        """Send an instruction's requests, if its wave is still resident."""
        if pending.wave.ended:
            return
        if pending.access is None:
            request = MemoryRequest(
                self._port, AccessKind.ACQUIRE, 0, listener=pending.synchronized
            )
            request.vmid = pending.wave.group.start.vmid
            self.owner.memory.push(request)
        else:
            self._send(pending, pending.access)

    def _send(self, pending: PendingInstruction[W], access: VectorAccess) -> None:
        pending.left = 1 + sum(len(part.addresses) for part in access.parts if not part.local)
        for part in access.parts:
            try:
                if part.local:
                    access.perform_local(part)
                else:
                    self.owner.memory.push(self._request(pending, access, part))
            except (Unmapped, MisalignedLocal) as error:
                self._failed(pending, access, part, error)
                return
        if pending.left == 1:  # only LDS: it takes as long as any LDS access
            later = self.owner.timing.lds_cycles
            self.owner.later(self.owner.memory.now + later, partial(pending.settle, 1))
        else:
            pending.settle(1)

    def _failed(
        self,
        pending: PendingInstruction[W],
        access: VectorAccess,
        part: AccessPart,
        error: Unmapped | MisalignedLocal,
    ) -> None:
        wave = pending.wave
        if wave.ended or pending.access is None:
            return
        if not pending.in_violation:
            self.owner.fail_wave(wave, pending.decoded, access.lane_error(part, error))
            if wave.ended:
                return
            for other in wave.outstanding:
                if isinstance(other, PendingInstruction):
                    other.in_violation = True
        pending.access = None
        pending.done = True
        self.returned(wave)

    def _request(
        self, pending: PendingInstruction[W], access: VectorAccess, part: AccessPart
    ) -> MemoryRequest:
        kind = access.movement.kind
        request = MemoryRequest(self._port, kind, 0, part.addresses, part.size)
        request.glc = access.glc and kind != AccessKind.ATOMIC
        request.slc = access.slc
        request.extent = part.extent
        request.listener = partial(pending.answer, part)
        request.vmid = pending.wave.group.start.vmid
        if request.vmid:
            request.failed = partial(self._failed, pending, access, part)
        if kind != AccessKind.LOAD:
            request.data = to_bytes(access.values_of(part), part.size)
            if kind == AccessKind.ATOMIC:
                request.op = access.movement.op
                request.returns = access.returns
                if access.movement.compares:
                    request.compares = to_bytes(access.operands(part)[1], part.size)
        return request

    def returned(self, wave: W) -> None:
        """An instruction of the wave has all its answers: those at the head of the line retire."""
        if wave.ended:
            return
        line = wave.outstanding
        vm = lgkm = 0
        while line and line[0].done:
            pending = line.popleft()
            pending.retire()
            vm += 1
            lgkm += isinstance(pending, PendingInstruction) and pending.flat
        if vm:
            self.owner.lower(wave, vm, lgkm)

    def lines(self, access: VectorAccess) -> int:
        """How many cache lines the access touches."""
        if len(access.parts) == 1 and access.parts[0].extent is not None:
            return access.parts[0].extent.lines
        lines: set[int] = set()
        shift = np.uint64(self.line_bits)
        for part in access.parts:
            if part.local:
                continue
            lines.update((part.addresses >> shift).tolist())
            if part.size > 1 and int(np.bitwise_or.reduce(part.addresses)) & (part.size - 1):
                last = part.addresses + np.uint64(part.size - 1)
                lines.update((last >> shift).tolist())
        return len(lines)
