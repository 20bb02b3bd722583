"""What is held for the issue engine is what Python would have carried out."""

from __future__ import annotations

import numpy as np
import pytest

from gpu.compute_unit.memory_ops.access import Operation, VectorAccess
from gpu.compute_unit.memory_ops.scalar_memory import ScalarAccess
from gpu.compute_unit.memory_ops.vector_memory import VectorOperation
from gpu.compute_unit.native.held import hold_of
from gpu.compute_unit.wave.wavefront import Wavefront
from gpu.generation import Generation
from gpu.isa.native.lane_functions import lane_library
from gpu.isa.wave_registers import ALL
from gpu.memory.flat_memory import FlatMemory
from tests.gpu.compute_unit.encoding import operation, set_pair, wavefront
from tests.gpu.compute_unit.lane_moves import bound, moves

pytestmark = pytest.mark.skipif(lane_library() is None, reason="no C++ compiler")

LDS = 1 << 14


def held(done: Operation, wave: Wavefront) -> VectorAccess | ScalarAccess | None:
    """As Python would carry it out after it was held; None if it is not."""
    hold = hold_of(done, 6)
    assert hold is not None
    room = hold.begin(wave)
    return None if room is None else room.access(wave)


@pytest.mark.parametrize(("generation", "form", "name"), moves("FLAT", "GLOBAL"))
def test_lanes_in_memory_are_held(generation: Generation, form: str, name: str) -> None:
    """Addresses and data are those that Python reads; the extent is what it would find out."""
    done = bound(generation, form, name)
    assert isinstance(done, VectorOperation)
    wave = wavefront(LDS, FlatMemory(), 0, generation)
    wave.vgprs[8:20] = np.random.default_rng(2).integers(0, 1 << 32, (12, 64), np.uint32)
    random = np.random.default_rng(3)
    for spread, exec in ((8, ALL), (1 << 12, ALL), (1 << 12, int(random.integers(1, 1 << 63)))):
        wave.set_exec(exec)
        set_pair(wave, 2, random.integers(1 << 33, (1 << 33) + spread, 64, np.uint64))
        expected, found = done.execute(wave), held(done, wave)
        assert isinstance(expected, VectorAccess) and isinstance(found, VectorAccess)
        one, other = expected.parts[0], found.parts[0]
        assert (one.addresses == other.addresses).all() and one.size == other.size
        assert np.array_equal(expected.lanes, found.lanes)
        if expected.values is not None:
            assert found.values is not None and found.values.dtype == expected.values.dtype
            assert np.array_equal(expected.values, found.values)
        starts = one.addresses.tolist()
        touched = [{start >> 6, start + one.size - 1 >> 6} for start in starts]
        lines = len(set().union(*touched))
        crosses = any(len(each) > 1 for each in touched)
        assert other.extent == (min(starts), max(starts), lines, crosses)


def test_lanes_in_an_aperture_are_not_held() -> None:
    """They go to LDS, in parts that Python makes."""
    done = operation("FLAT", "flat_load_dword", addr=2, vdst=8)
    wave = wavefront(LDS, FlatMemory(), 0, Generation.GFX8)
    set_pair(wave, 2, np.arange(64, dtype=np.uint64) * np.uint64(4) + np.uint64(1 << 33))
    shared = wave.group.start.shared_aperture
    assert shared
    wave.vgprs[3, 5] = shared
    assert held(done, wave) is None


def test_a_scalar_load_is_held() -> None:
    wave = wavefront(LDS, FlatMemory(), 0, Generation.GFX8)
    wave.sgprs[4:6] = 0x40, 1
    done = operation("SMEM", "s_load_dwordx4", sbase=2, sdata=8, imm=1, offset=8)
    found, expected = held(done, wave), done.execute(wave)
    assert isinstance(found, ScalarAccess) and isinstance(expected, ScalarAccess)
    assert (found.address, found.count) == (expected.address, expected.count) == (1 << 32 | 72, 4)


def test_a_scalar_load_out_of_bounds_is_not_held() -> None:
    wave = wavefront(LDS, FlatMemory(), 0, Generation.GFX8)
    wave.sgprs[4:8] = 0x40, 1, 4, 0  # a buffer of 4 bytes
    load = {"sbase": 2, "sdata": 8, "imm": 1}
    assert held(operation("SMEM", "s_buffer_load_dword", offset=0, **load), wave) is not None
    assert held(operation("SMEM", "s_buffer_load_dword", offset=4, **load), wave) is None


@pytest.mark.parametrize("name", ["s_store_dword", "s_memtime"])
def test_what_is_no_load_of_scalars_is_not_held(name: str) -> None:
    assert hold_of(operation("SMEM", name), 6) is None


def test_an_atomic_is_not_held() -> None:
    assert hold_of(operation("FLAT", "flat_atomic_add"), 6) is None
