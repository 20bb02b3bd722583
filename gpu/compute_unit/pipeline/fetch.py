"""Instruction fetch: aligned groups of bytes through the FETCH port into the waves' buffers.

One request a cycle; a wave asks for its next group while it still has instructions, and for a new
one after a taken branch. Invariant: a wave executes only bytes that were fetched for it: `lookup`
gives an instruction whose last byte is before ``wave.fetched``.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial

import numpy as np

from gpu.compute_unit.pipeline.timing_parameters import Timing
from gpu.compute_unit.pipeline.wave_state import PipelinedWave
from gpu.compute_unit.program.decoded_program import LONGEST, DecodedInstruction, bind_at
from gpu.isa.encoding.decoder import NotAnInstruction
from gpu.memory.address_space import Addresses, Unmapped
from gpu.memory.interface import (
    Answer,
    Memory,
    MemoryRequest,
)
from runtime.requesters.port import AccessKind

Arrived = Callable[[PipelinedWave], None]


class Fetch:
    """The fetch stage of one compute unit. ``queue``: waves that want a fetch, one a cycle.
    ``low``: so many bytes or fewer leave room for another group in a wave's buffer."""

    def __init__(self, memory: Memory, port: int, timing: Timing, arrived: Arrived) -> None:
        self._memory = memory
        self._port = port
        self._size = timing.fetch_bytes
        self.low = timing.buffer_bytes - timing.fetch_bytes
        self._arrived = arrived
        self.queue: deque[PipelinedWave] = deque()
        self._code: dict[int, bytes] = {}
        self._decoded: dict[int, DecodedInstruction] = {}
        """By address, plus 1 in GPR-index mode."""
        self._addresses: dict[int, Addresses] = {}

    def want(self, wave: PipelinedWave) -> None:
        """Request the wave's next group if its buffer has room and none is in flight."""
        if wave.fetching < 0 and not wave.queued and wave.fetched - wave.pc <= self.low:
            wave.queued = True
            self.queue.append(wave)

    def flush(self, wave: PipelinedWave) -> None:
        """The wave continues at another address: its buffer and any fetch in flight are
        discarded."""
        wave.fetched = wave.pc & -self._size
        wave.fetching = -1
        wave.unmapped = None
        self.want(wave)

    def lookup(self, wave: PipelinedWave) -> DecodedInstruction | None:
        """The instruction at ``pc``, None while it has not been fetched. Raises its decoding
        error."""
        decoded = self._decoded.get(wave.pc | wave.indexed) or self._decode(wave)
        if decoded is not None and decoded.end <= wave.fetched:
            return decoded
        if wave.unmapped is not None:
            raise wave.unmapped
        return None

    def forget(self) -> None:
        """Forget decoded instructions: memory may hold others now.

        The bytes stay: they are what resident waves have in their buffers.
        """
        self._decoded.clear()

    def cycle(self) -> bool:
        """Make one request, if any of those that want one still does."""
        while self.queue:
            wave = self.queue.popleft()
            wave.queued = False
            if wave.ended or wave.fetching >= 0:
                continue
            address = wave.fetching = wave.fetched
            addresses = self._addresses.get(address)
            if addresses is None:
                addresses = self._addresses[address] = np.array([address], np.uint64)
            request = MemoryRequest(self._port, AccessKind.LOAD, address, addresses, self._size)
            request.listener = partial(self._answer, wave)
            request.vmid = wave.group.start.vmid
            if request.vmid:
                request.failed = partial(self._failed, wave, address)
            try:
                self._memory.push(request)
            except Unmapped as error:
                self._failed(wave, address, error)
                continue
            return True
        return False

    def _failed(self, wave: PipelinedWave, address: int, error: Unmapped) -> None:
        if not wave.ended and wave.fetching == address:
            wave.unmapped = error
            wave.fetching = -1
            self._arrived(wave)

    def _answer(self, wave: PipelinedWave, answer: Answer) -> None:
        address = answer.request.tag
        if wave.ended or wave.fetching != address or answer.data is None:
            return
        code = answer.data.tobytes()
        if self._code.get(address) != code:
            self._code[address] = code
            for place in range(address - 4, address + self._size, 4):
                self._decoded.pop(place, None)
                self._decoded.pop(place | 1, None)
        wave.fetching = -1
        wave.fetched = address + self._size
        self.want(wave)
        self._arrived(wave)

    def _decode(self, wave: PipelinedWave) -> DecodedInstruction | None:
        available = min(LONGEST, wave.fetched - wave.pc)
        if available < LONGEST // 2:
            return None
        try:
            code = self._bytes(wave.pc, available)
            decoded = bind_at(wave.pc, code, wave.generation, wave.indexed)
        except NotAnInstruction:
            if available < LONGEST and wave.unmapped is None:
                return None  # its second word may be in flight
            raise
        self._decoded[wave.pc | wave.indexed] = decoded
        return decoded

    def _bytes(self, address: int, size: int) -> bytes:
        first = address & -self._size
        data = self._code[first]
        if address + size > first + self._size:
            data += self._code[first + self._size]
        return data[address - first : address - first + size]
