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

from gpu.compute_unit.memory_ops.access import Access, Part, VectorAccess
from gpu.compute_unit.pipeline.timing_parameters import Timing
from gpu.compute_unit.program.decoded_program import Bound
from gpu.compute_unit.program.statistics import Statistics
from gpu.compute_unit.wave.lane_values import from_bytes, to_bytes
from gpu.compute_unit.wave.lds import MisalignedLocal
from gpu.compute_unit.wave.wavefront import Wavefront
from gpu.memory.address_space import Unmapped
from gpu.memory.interface import Answer, AnswerKind, Memory, Request, RequestKind

W = TypeVar("W", bound=Wavefront)
W_contra = TypeVar("W_contra", bound=Wavefront, contravariant=True)


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

    def returned(self, bound: Bound, access: Access) -> None:
        """A memory instruction has its answers and its registers."""

    def lower(self, wave: W_contra, vm: int, lgkm: int) -> None:
        """The wave's counters go down by so much; it may wait for that."""

    def blame(self, wave: W_contra, bound: Bound, mistake: Exception) -> None:
        """A wave did something wrong."""


class Flight(Generic[W]):
    """One vector memory instruction on its way. ``access`` is None for an invalidation."""

    __slots__ = ("access", "bound", "done", "flat", "left", "pipeline", "wave")

    def __init__(
        self,
        pipeline: VectorPipeline[W],
        wave: W,
        bound: Bound,
        access: VectorAccess | None,
    ) -> None:
        self.pipeline = pipeline
        self.wave = wave
        self.bound = bound
        self.access = access
        self.flat = access is not None and bound.instruction.form == "FLAT"
        self.left = 1
        self.done = False

    def answer(self, part: Part, answer: Answer) -> None:
        """Some lanes of one part have been answered."""
        if answer.kind is AnswerKind.ACCEPTED:
            return
        rows = len(answer.lanes)
        if answer.data is not None:
            if rows == len(part.addresses):
                part.result = from_bytes(answer.data)
            else:
                if part.gathered is None:
                    part.gathered = np.empty((len(part.addresses), part.size), np.uint8)
                part.gathered[answer.lanes] = answer.data
        self.settle(rows)

    def synchronized(self, answer: Answer) -> None:
        """The caches have dropped what they held."""
        self.settle(1)

    def settle(self, count: int) -> None:
        """So many answers fewer are missing."""
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
        self.pipeline.owner.returned(self.bound, access)


class VectorPipeline(Generic[W]):
    """One compute unit's way to its first-level vector cache. ``queue``: when to send what."""

    def __init__(self, owner: Owner[W], port: int) -> None:
        self.owner = owner
        self._port = port
        self.queue: deque[tuple[int, Flight[W]]] = deque()
        self._free_at = 0
        self._line_bits = owner.memory.line_size.bit_length() - 1

    @property
    def full(self) -> bool:
        """Whether an instruction must wait before it can be issued."""
        return len(self.queue) >= self.owner.timing.memory_queue

    def begin(self, wave: W, bound: Bound, access: VectorAccess | None) -> Flight[W]:
        """An executed instruction, behind those of its wave before it; None: an invalidation."""
        flight = Flight(self, wave, bound, access)
        wave.outstanding.append(flight)
        return flight

    def issue(self, wave: W, bound: Bound, access: VectorAccess, now: int) -> None:
        """An executed instruction enters the pipeline; the counters go up."""
        timing = self.owner.timing
        flight = self.begin(wave, bound, access)
        wave.vm += 1
        if flight.flat:
            wave.lgkm += 1
        lines = self.lines(access)
        self.owner.statistics.lines[lines] += 1
        start = max(now + timing.address_cycles, self._free_at)
        self._free_at = start + max(1, -(-lines // timing.lines_per_cycle))
        self.queue.append((start, flight))

    def invalidate(self, wave: W, bound: Bound, now: int) -> None:
        """``buffer_wbinvl1``: behind what was issued before it."""
        flight = self.begin(wave, bound, None)
        wave.vm += 1
        start = max(now + self.owner.timing.address_cycles, self._free_at)
        self._free_at = start + 1
        self.queue.append((start, flight))

    def send(self, now: int) -> None:
        """Hand memory what is due."""
        while self.queue and self.queue[0][0] <= now:
            self.hand_over(self.queue.popleft()[1])

    def hand_over(self, flight: Flight[W]) -> None:
        """Hand memory what an instruction asks for, if its wave is still there."""
        if flight.wave.ended:
            return
        if flight.access is None:
            request = Request(self._port, RequestKind.ACQUIRE, 0, listener=flight.synchronized)
            self.owner.memory.push(request)
        else:
            self._send(flight, flight.access)

    def _send(self, flight: Flight[W], access: VectorAccess) -> None:
        flight.left = 1 + sum(len(part.addresses) for part in access.parts if not part.local)
        for part in access.parts:
            try:
                if part.local:
                    access.perform_local(part)
                else:
                    self.owner.memory.push(self._request(flight, access, part))
            except (Unmapped, MisalignedLocal) as mistake:
                self.owner.blame(flight.wave, flight.bound, access.blame(part, mistake))
                return
        if flight.left == 1:  # only LDS: it takes as long as any LDS access
            later = self.owner.timing.lds_cycles
            self.owner.later(self.owner.memory.now + later, partial(flight.settle, 1))
        else:
            flight.settle(1)

    def _request(self, flight: Flight[W], access: VectorAccess, part: Part) -> Request:
        kind = access.movement.kind
        request = Request(self._port, kind, 0, part.addresses, part.size)
        request.glc = access.glc and kind is not RequestKind.ATOMIC
        request.slc = access.slc
        request.listener = partial(flight.answer, part)
        if kind is not RequestKind.LOAD:
            request.data = to_bytes(access.values_of(part), part.size)
            if kind is RequestKind.ATOMIC:
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
            flight = line.popleft()
            flight.retire()
            vm += 1
            lgkm += isinstance(flight, Flight) and flight.flat
        self.owner.lower(wave, vm, lgkm)

    def lines(self, access: VectorAccess) -> int:
        """How many cache lines the access touches."""
        lines: set[int] = set()
        shift = np.uint64(self._line_bits)
        for part in access.parts:
            if part.local:
                continue
            lines.update((part.addresses >> shift).tolist())
            if part.size > 1 and int(np.bitwise_or.reduce(part.addresses)) & (part.size - 1):
                last = part.addresses + np.uint64(part.size - 1)
                lines.update((last >> shift).tolist())
        return len(lines)
