"""SMEM instructions: addresses, bounds, where the dwords go."""

from __future__ import annotations

import numpy as np
import pytest

from gpu.compute_unit.memory_ops.scalar_memory import DWORDS, ScalarAccess
from gpu.memory.flat_memory import FlatMemory
from tests.gpu.compute_unit.encoding import operation, perform, wavefront

WORDS = np.arange(64, dtype=np.uint32) * 0x0101_0101


def _memory() -> tuple[FlatMemory, int]:
    memory = FlatMemory()
    address = memory.space.allocate(WORDS.nbytes).start
    memory.write(address, WORDS.tobytes())
    return memory, address


@pytest.mark.parametrize("width", DWORDS)
@pytest.mark.parametrize("by_register", [False, True])
def test_loads(width: str, by_register: bool) -> None:
    """The two lowest bits of the address are ignored."""
    memory, address = _memory()
    wave = wavefront()
    wave.sgprs[4:6] = [address & 0xFFFF_FFFF, address >> 32]
    wave.sgprs[7] = 26
    done = operation(
        "SMEM", f"s_load_{width}", sbase=2, sdata=16, imm=not by_register,
        offset=7 if by_register else 24,
    )  # fmt: skip
    perform(done, wave, memory)
    count = DWORDS[width]
    assert wave.sgprs[16 : 16 + count] == WORDS[6 : 6 + count].tolist()
    assert wave.sgprs[16 + count] == 0


def test_a_load_into_exec_makes_lanes_active() -> None:
    memory, address = _memory()
    wave = wavefront()
    wave.sgprs[4:6] = [address & 0xFFFF_FFFF, address >> 32]
    perform(operation("SMEM", "s_load_dwordx2", sbase=2, sdata=106, imm=1, offset=8), wave, memory)
    assert wave.sgprs[106:108] == WORDS[2:4].tolist()


@pytest.mark.parametrize("stride, records, inside", [(0, 20, 3), (4, 5, 3), (0, 8, 0)])
def test_buffer_loads_end_with_the_buffer(stride: int, records: int, inside: int) -> None:
    memory, address = _memory()
    wave = wavefront()
    wave.sgprs[4:8] = [address & 0xFFFF_FFFF, address >> 32 | stride << 16, records, 0]
    wave.sgprs[16:20] = [7] * 4
    done = operation("SMEM", "s_buffer_load_dwordx4", sbase=2, sdata=16, imm=1, offset=8)
    perform(done, wave, memory)
    assert wave.sgprs[16:20] == [*WORDS[2 : 2 + inside].tolist(), *[0] * (4 - inside)]


@pytest.mark.parametrize("name", ["s_store_dwordx2", "s_buffer_store_dwordx2"])
def test_stores(name: str) -> None:
    memory, address = _memory()
    wave = wavefront()
    wave.sgprs[4:8] = [address & 0xFFFF_FFFF, address >> 32, 12, 0]
    wave.sgprs[20:22] = [5, 6]
    perform(operation("SMEM", name, sbase=2, sdata=20, imm=1, offset=8), wave, memory)
    found = np.frombuffer(memory.read(address, 20), np.uint32).tolist()
    last = 6 if name.startswith("s_store") else int(WORDS[3])  # beyond the buffer: dropped
    assert found == [*WORDS[:2].tolist(), 5, last, int(WORDS[4])]


def test_clocks() -> None:
    wave = wavefront()
    access = operation("SMEM", "s_memtime", sdata=10).execute(wave)
    assert isinstance(access, ScalarAccess)
    access.set_clock(0x1_2345_6789)
    access.complete()
    assert wave.sgprs[10:12] == [0x2345_6789, 1]
