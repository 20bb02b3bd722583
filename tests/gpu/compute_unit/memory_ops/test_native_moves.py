"""Loads and stores by native code leave what those in Python leave, and fail as they do."""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numpy as np
import pytest

from gpu.compute_unit.memory_ops.access import Operation
from gpu.compute_unit.memory_ops.native_moves import bind_move, lane_move_of
from gpu.compute_unit.wave.lane_values import LaneError
from gpu.compute_unit.wave.wavefront import Wavefront
from gpu.generation import Generation
from gpu.isa.native.lane_functions import lane_library
from gpu.isa.wave_registers import ALL, Wave
from gpu.memory.address_space import Unmapped
from gpu.memory.flat_memory import FlatMemory
from tests.gpu.compute_unit.encoding import operation, perform, set_pair, wavefront
from tests.gpu.compute_unit.lane_moves import bound, moves

pytestmark = pytest.mark.skipif(lane_library() is None, reason="no C++ compiler")

BYTES = 1 << 12
LDS = 1 << 14


class Both:
    """Equal waves and memories, one for each way."""

    def __init__(self, generation: Generation, done: Operation) -> None:
        content = np.random.default_rng(1).integers(0, 256, BYTES, np.uint8)
        self.done = done
        self.memories = FlatMemory(), FlatMemory()
        self.starts = [memory.space.allocate(BYTES - 2).start for memory in self.memories]
        self.waves = [wavefront(LDS, memory, 0, generation) for memory in self.memories]
        for memory, start, wave in zip(self.memories, self.starts, self.waves, strict=True):
            memory.write(start, content[: BYTES - 2].tobytes())
            wave.group.lds.bytes[:] = np.tile(content, LDS // BYTES)
            wave.vgprs[8:20] = np.random.default_rng(2).integers(0, 1 << 32, (12, 64), np.uint32)
        self.slow = 0

        def slowly(wave: Wave) -> None:
            self.slow += 1
            perform(done, cast(Wavefront, wave), self.memories[1])

        move = lane_move_of(done)
        assert move is not None
        self.native = bind_move(move, slowly, self.memories[1])

    def address(self, offsets: np.ndarray) -> None:
        """The lanes' addresses, in LDS and from the start of the allocation."""
        for wave, start in zip(self.waves, self.starts, strict=True):
            wave.vgprs[1] = offsets
            set_pair(wave, 2, offsets.astype(np.uint64) + np.uint64(start))

    def run(self, exec: int = ALL) -> None:
        """Once each; then everything is equal, the error too."""
        for wave in self.waves:
            wave.set_exec(exec)
        ways: list[Callable[[], object]] = [
            lambda: perform(self.done, self.waves[0], self.memories[0]),
            lambda: self.native(self.waves[1]),
        ]
        errors = []
        for way in ways:
            try:
                way()
                errors.append("")
            except (LaneError, Unmapped) as error:
                errors.append(str(error))
        assert errors[0] == errors[1]
        one, other = self.waves
        assert (one.vgprs == other.vgprs).all()
        assert (one.group.lds.bytes == other.group.lds.bytes).all()
        assert one.group.lds.out_of_range == other.group.lds.out_of_range
        size = BYTES - 2
        contents = [m.read(s, size) for m, s in zip(self.memories, self.starts, strict=True)]
        assert contents[0] == contents[1]


@pytest.mark.parametrize(("generation", "form", "name"), moves("DS", "FLAT", "GLOBAL"))
def test_moves(generation: Generation, form: str, name: str) -> None:
    done = bound(generation, form, name)
    assert done is not None
    both = Both(generation, done)
    random = np.random.default_rng(3)
    aligned = random.integers(0, 15, 64, np.uint32) * 16
    both.address(aligned)
    for exec in (ALL, 0, 1 << 63, int(random.integers(0, 1 << 63))):
        both.run(exec)
    assert not both.slow
    both.address(aligned + 1)
    both.run()
    both.address(random.integers(0, 2 * LDS, 64, np.uint32))  # some are outside
    both.run()
    both.address(np.full(64, 1 << 31, np.uint32))
    both.run()
    assert both.slow


@pytest.mark.parametrize("generation", Generation)
def test_m0_bounds_lds_before_gfx9(generation: Generation) -> None:
    both = Both(generation, operation("DS", "ds_read_b32", generation, addr=1, vdst=8))
    both.address(np.arange(64, dtype=np.uint32) * 4)
    for wave in both.waves:
        wave.sgprs[124] = 100
    both.run()
    assert both.slow == (generation is Generation.GFX8)


def test_a_scalar_base() -> None:
    fields = {"saddr": 4, "addr": 1, "vdst": 8}
    done = operation("GLOBAL", "global_load_dword", Generation.GFX9, **fields)
    both = Both(Generation.GFX9, done)
    both.address(np.arange(64, dtype=np.uint32) * 4)
    for wave, start in zip(both.waves, both.starts, strict=True):
        wave.sgprs[4:6] = [start & 0xFFFF_FFFF, start >> 32]
    both.run()
    assert not both.slow


def test_another_allocation_is_found_and_one_that_is_gone_is_not() -> None:
    both = Both(Generation.GFX8, operation("FLAT", "flat_load_dword", addr=2, vdst=8))
    offsets = np.arange(64, dtype=np.uint32) * 4
    both.address(offsets)
    both.run()
    others = [memory.space.allocate(BYTES).start for memory in both.memories]
    for wave, start in zip(both.waves, others, strict=True):
        set_pair(wave, 2, offsets.astype(np.uint64) + np.uint64(start))
    both.run()
    assert not both.slow
    for memory, start in zip(both.memories, others, strict=True):
        memory.space.free(start)
    both.run()
    assert both.slow == 1


def test_doorbells_and_what_may_not_be_written_are_for_python() -> None:
    both = Both(Generation.GFX8, operation("FLAT", "flat_store_dword", addr=2, data=8))
    heard: list[int] = []
    for memory, wave in zip(both.memories, both.waves, strict=True):
        door = memory.space.map_doorbells(BYTES, lambda address, data: heard.append(address))
        set_pair(wave, 2, np.arange(64, dtype=np.uint64) * np.uint64(4) + np.uint64(door.start))
    both.run()
    assert len(heard) == 128
    for memory, wave in zip(both.memories, both.waves, strict=True):
        place = memory.space.allocate(BYTES, writable=False)
        set_pair(wave, 2, np.arange(64, dtype=np.uint64) * np.uint64(4) + np.uint64(place.start))
    both.run()
    assert both.slow == 2
