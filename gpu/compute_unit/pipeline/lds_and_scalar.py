"""The local and the scalar memory pipelines: the instructions that count in ``lgkm`` alone.

LDS serves one instruction after the other and brings results back in that order; scalar answers
return in any order. Invariant: ``lgkm`` of a wave is one for each of its instructions here
between issue and return.
"""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Final, Generic

import numpy as np

from gpu.compute_unit.memory_ops.access import MemoryAccess
from gpu.compute_unit.memory_ops.ds_instructions import LocalAccess
from gpu.compute_unit.memory_ops.scalar_memory import ScalarAccess, ScalarKind
from gpu.compute_unit.pipeline.timing_parameters import Timing
from gpu.compute_unit.pipeline.vector_memory import Owner, W, WatchAnswer
from gpu.compute_unit.program.decoded_program import DecodedInstruction
from gpu.compute_unit.wave.lane_values import LaneError
from gpu.compute_unit.wave.lds import pattern_cycles
from gpu.memory.address_space import Unmapped
from gpu.memory.interface import Answer, MemoryRequest
from gpu.wave_size import LANES
from runtime.requesters.port import AccessKind, AnswerKind


def bank_time(access: LocalAccess, timing: Timing) -> tuple[int, int]:
    """Cycles that the banks need for an access, and how many of them are conflicts."""
    cycles = 0
    for place in access.places:
        cycles += place.cycles(access.size, timing.conflict_lanes)
    return cycles, _conflicts(
        cycles, len(access.lanes), len(access.places), access.size, timing.conflict_lanes
    )


@lru_cache(maxsize=4096)
def time_of_move(dwords: bytes, lanes: int, places: int, size: int, half: int) -> tuple[int, int]:
    """As `bank_time`, for a move of ``size`` bytes for each lane at each place, ``half`` of the
    lanes together. ``dwords``: those of LDS that the lanes of each place begin in, int64, in 8 *
    `LANES` bytes a place, counted from the first."""
    cycles = 0
    for place in range(places):
        start = 8 * LANES * place
        wanted = dwords[start : start + 8 * lanes]
        cycles += pattern_cycles(wanted, max(1, size >> 2), half)
    return cycles, _conflicts(cycles, lanes, places, size, half)


def _conflicts(cycles: int, lanes: int, places: int, size: int, half: int) -> int:
    least = -(-lanes // half) * places * max(1, size // 4)
    return max(0, cycles - least)


class LocalPipeline(Generic[W]):
    """LDS of one compute unit: 32 banks, one instruction at a time."""

    def __init__(self, owner: Owner[W]) -> None:
        self._owner = owner
        self._free_at = 0

    def issue(self, wave: W, decoded: DecodedInstruction, access: MemoryAccess, now: int) -> None:
        """Perform the access in its turn; registers are written when it returns."""
        statistics = self._owner.statistics
        cycles = 1
        if isinstance(access, LocalAccess):
            cycles, conflicts = bank_time(access, self._owner.timing)
            statistics.bank_cycles += cycles
            statistics.bank_conflicts += conflicts
            try:
                access.perform()
            except LaneError as error:
                self._owner.fail_wave(wave, decoded, error)
                return
        wave.lgkm += 1
        start = max(now, self._free_at)
        self._free_at = start + cycles
        back = start + cycles + self._owner.timing.lds_cycles
        self._owner.later(back, partial(give_back, self._owner, wave, decoded, access))


_KINDS: Final = {
    ScalarKind.LOAD: AccessKind.LOAD,
    ScalarKind.STORE: AccessKind.STORE,
    ScalarKind.INVALIDATE: AccessKind.ACQUIRE,
    ScalarKind.WRITE_BACK: AccessKind.RELEASE,
}


class ScalarPipeline(Generic[W]):
    """One compute unit's way to the scalar side of its SQC."""

    def __init__(self, owner: Owner[W], port: int, watch: WatchAnswer | None = None) -> None:
        self._owner = owner
        self._port = port
        self._watch = watch

    def issue(self, wave: W, decoded: DecodedInstruction, access: ScalarAccess, now: int) -> None:
        """The request goes out a few cycles later."""
        wave.lgkm += 1
        tick = now + self._owner.timing.scalar_memory_cycles
        self._owner.later(tick, partial(self.send, wave, decoded, access))

    def send(self, wave: W, decoded: DecodedInstruction, access: ScalarAccess) -> None:
        """Send an instruction's requests, if its wave is still resident."""
        if wave.ended:
            return
        memory = self._owner.memory
        if access.kind is ScalarKind.CLOCK:
            real = decoded.instruction.name == "s_memrealtime"
            access.set_clock(memory.now // (self._owner.timing.clock_divider if real else 1))
            give_back(self._owner, wave, decoded, access)
            return
        kind = _KINDS[access.kind]
        request = MemoryRequest(self._port, kind, 0)
        request.listener = partial(self._answer, wave, decoded, access)
        request.vmid = wave.group.start.vmid
        if request.vmid:
            request.failed = partial(self._failed, wave, decoded)
        if kind in (AccessKind.LOAD, AccessKind.STORE):
            if not access.count:
                give_back(self._owner, wave, decoded, access)
                return
            request.addresses = np.array([access.address], np.uint64)
            request.size = 4 * access.count
            request.glc = access.glc
            if kind == AccessKind.STORE:
                words = np.array([access.dwords[: access.count]], np.uint32)
                request.data = words.view(np.uint8)
        try:
            memory.push(request)
        except Unmapped as error:
            self._failed(wave, decoded, error)

    def _failed(self, wave: W, decoded: DecodedInstruction, error: Unmapped) -> None:
        if wave.ended:
            return
        self._owner.fail_wave(wave, decoded, error)
        if not wave.ended:  # it is in its trap handler
            self._owner.lower(wave, 0, 1)

    def _answer(
        self, wave: W, decoded: DecodedInstruction, access: ScalarAccess, answer: Answer
    ) -> None:
        if answer.kind is AnswerKind.PERFORMED:
            return  # a scalar store returns when the cache has it; s_dcache_wb waits for more
        if answer.data is not None:
            if self._watch is not None:  # the parts of a scalar load are of one line, or two
                self._watch(access, not answer.misses, bool(answer.misses))
            access.dwords = np.ascontiguousarray(answer.data).view(np.uint32)[0].tolist()
        give_back(self._owner, wave, decoded, access)


def give_back(owner: Owner[W], wave: W, decoded: DecodedInstruction, access: MemoryAccess) -> None:
    """Registers are written and the counter goes down."""
    if wave.ended:
        return
    access.complete()
    owner.returned(decoded, access)
    owner.lower(wave, 0, 1)
