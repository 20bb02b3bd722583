"""Compiled kernels started without queues and packets, for tests of the compute unit alone."""

from __future__ import annotations

import itertools
import struct
from collections.abc import Sequence

import numpy as np

from gpu.code_object import RUNNABLE, CodeObject, DispatchFacts, Kernel, pack_arguments
from gpu.code_object.loader import load
from gpu.compute_unit.functional_unit import FunctionalUnit
from gpu.compute_unit.timed_unit import TimedUnit
from gpu.dispatch.launch import Demand, GroupStart, WaveStart
from gpu.memory.interface import Memory
from tests.gpu.compute_unit.harness import PRIVATE_APERTURE, SHARED_APERTURE, Listener

SCRATCH_SLOTS = 64
Size3 = tuple[int, int, int]


def _three(size: Sequence[int]) -> Size3:
    x, y, z = (*size, 1, 1)[:3]
    return x, y, z


class Launch:
    """All groups of one dispatch, in x-fastest order; registers as the ABI says."""

    def __init__(
        self,
        memory: Memory,
        code: CodeObject,
        name: str,
        arguments: Sequence[object],
        grid: Sequence[int],
        group: Sequence[int],
        listener: Listener | None = None,
    ) -> None:
        self.listener = listener or Listener()
        self.grid, self.group = _three(grid), _three(group)
        kernel = load(code, memory)[name]
        self.kernel: Kernel = kernel.kernel
        self.entry = kernel.entry
        facts = DispatchFacts(self.grid, self.group, len(grid))
        packed = pack_arguments(self.kernel, arguments, facts)
        descriptor = self.kernel.descriptor
        space = memory.space
        self.kernarg = space.allocate(max(16, len(packed.data)), name="arguments").start
        memory.write(self.kernarg, packed.data or bytes(16))
        self.lds = packed.group_size
        metadata = self.kernel.metadata.private_size
        self.private = max(descriptor.private_size, metadata, 0) + 3 & ~3
        if descriptor.dynamic_stack:
            self.private += 1024
        self.slice = max(1, self.private) * 64 + 1023 & ~1023
        self.pool = space.allocate(self.slice * SCRATCH_SLOTS, name="scratch").start
        packet = struct.pack(
            "<HHHHHHIIIIIQQQQ",
            *(2, len(grid), *self.group, 0, *self.grid, self.private, self.lds),
            *(kernel.object_address, self.kernarg, 0, 0),
        )
        self.packet = space.allocate(64, name="packet").start
        memory.write(self.packet, packet)
        self.queue = space.allocate(256, name="queue").start
        memory.write(self.queue + 64, struct.pack("<II", SHARED_APERTURE, PRIVATE_APERTURE))

    def groups(self) -> list[GroupStart]:
        """Ready to start."""
        counts = [-(-grid // group) for grid, group in zip(self.grid, self.group)]
        places = itertools.product(*(range(count) for count in reversed(counts)))
        return [self._group(number, place[::-1]) for number, place in enumerate(places)]

    def _group(self, number: int, place: tuple[int, ...]) -> GroupStart:
        descriptor = self.kernel.descriptor
        group = self.group
        total = group[0] * group[1] * group[2]
        waves = [self._wave(first, place, number) for first in range(0, total, 64)]
        sgprs = -(-descriptor.sgprs // 16) * 16
        demand = Demand(len(waves), descriptor.vgprs, sgprs, self.lds, self.private > 0)
        made = GroupStart(
            self.kernel.name, 0, self.queue, _three(place), demand, waves, self.listener
        )
        made.generation = RUNNABLE[self.kernel.target.processor]
        made.private_bytes = self.private
        made.shared_aperture, made.private_aperture = SHARED_APERTURE, PRIVATE_APERTURE
        made.hidden_private_base = self.pool
        return made

    def _wave(self, first: int, place: tuple[int, ...], number: int) -> WaveStart:
        descriptor = self.kernel.descriptor
        flat = np.arange(first, first + 64)
        x, y, z = self.group
        ids = np.array([flat % x, flat // x % y, flat // (x * y)], np.uint32)
        exists = flat < x * y * z
        for axis in range(3):
            exists &= ids[axis] + place[axis] * self.group[axis] < self.grid[axis]
        bits = sum(1 << lane for lane in np.flatnonzero(exists).tolist())
        waves = -(-x * y * z // 64)
        slot = (number * waves + first // 64) % SCRATCH_SLOTS
        offset = slot * self.slice
        values = {
            "private_segment_buffer": [
                *(self.pool & 0xFFFF_FFFF, self.pool >> 32 | 1 << 31),
                *(0xFFFF_FFFF, 0x00E8_0000 | 4 << 12 | 7 << 15),
            ],
            "dispatch_ptr": _pair(self.packet),
            "queue_ptr": _pair(self.queue),
            "kernarg_segment_ptr": _pair(self.kernarg),
            "dispatch_id": [0, 0],
            "flat_scratch_init": [0, self.private],
            "private_segment_size": [self.private],
        }
        sgprs = [word for each in descriptor.user_sgprs for word in values[each.name]]
        sgprs += [0] * (descriptor.user_sgpr_count - len(sgprs))
        sgprs += [place[axis] for axis in range(3) if descriptor.work_group_ids[axis]]
        if descriptor.work_group_info:
            sgprs.append((first == 0) << 31 | waves)
        if descriptor.scratch:
            sgprs.append(offset)
        return WaveStart(
            self.entry,
            sgprs,
            ids[: descriptor.work_item_ids],
            bits,
            descriptor.mode,
            first // 64,
            self.pool + offset,
        )


def _pair(address: int) -> list[int]:
    return [address & 0xFFFF_FFFF, address >> 32]


def put(memory: Memory, values: np.ndarray) -> int:
    """Address of new memory with these values."""
    place = memory.space.allocate(max(1, values.nbytes), name="buffer").start
    memory.write(place, values.tobytes())
    return place


@np.errstate(all="ignore")
def run_launch(
    memory: Memory,
    launch: Launch,
    units: Sequence[FunctionalUnit | TimedUnit],
    ticks: int = 10_000_000,
) -> int:
    """Give all groups of a launch to units, in turn, and run them to their end; the tick."""
    waiting = launch.groups()[::-1]
    turn = 0
    while memory.now < ticks:
        for _ in units:
            if waiting and units[turn].fits(waiting[-1].demand):
                units[turn].start(waiting.pop())
            turn = (turn + 1) % len(units)
        now = memory.now
        for unit in units:
            tick = unit.next_tick
            if tick is not None and tick <= now:
                unit.run(now)
        if launch.listener.faults:
            return now
        if not waiting and all(unit.idle for unit in units) and not memory.busy:
            return now
        due = [tick for unit in units if (tick := unit.next_tick) is not None]
        for answer in memory.run(max(min(due), now + 1) if due else None):
            if answer.request.listener is not None:
                answer.request.listener(answer)
    raise AssertionError(f"not at its end at tick {ticks}")
