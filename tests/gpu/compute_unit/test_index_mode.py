"""GPR-index mode: compilers index arrays in registers with it where there is no ``v_movrel``."""

from __future__ import annotations

import numpy as np
import pytest

from gpu.compute_unit.timed_unit import TimedUnit
from tests.gpu.compute_unit.harness import Bench, run_timed, split
from tests.gpu.compute_unit.machine_code import code
from tests.gpu.compute_unit.native.test_random_programs import both
from tests.gpu.compute_unit.native.units import Setup
from tests.gpu.compute_unit.slow_memory import SlowMemory
from tests.gpu.isa.encoding.words import words

ITEMS = 64


def _expected() -> list[list[int]]:
    """v4, v5, v6 and v10 of each item."""
    item = np.arange(ITEMS, dtype=np.uint32)
    array = [np.full(ITEMS, value, np.uint32) for value in (40, 50, 60, 64)]
    total = np.zeros(ITEMS, np.uint32)
    index = 0
    for _ in range(20):
        array[index] = item + array[2]
        array[index + 1] = array[index].copy()
        total += np.uint32(0x12348600 | index)
        both_of_them = array[index] + array[index + 1]
        total += both_of_them - array[index]
        index = 0 if index == 2 else index + 1
    return np.array([*array[:3], total]).T.tolist()


@pytest.mark.parametrize("timed", [False, True])
def test_an_array_in_registers(timed: bool) -> None:
    bench = Bench("index_mode", SlowMemory(lambda request: 9) if timed else None)
    result = bench.buffer(16 * ITEMS)
    group = bench.group([0, 0, *split(result)])
    if timed:
        unit = TimedUnit(0, bench.memory)
        unit.start(group)
        run_timed(bench.memory, unit)
    else:
        bench.run(group)
    assert not bench.listener.faults
    assert bench.array(result, 4 * ITEMS).reshape(ITEMS, 4).tolist() == _expected()


def test_the_same_ahead_of_the_clock() -> None:
    expected, found = both(Setup(code("index_mode"), groups=1, items=ITEMS), 0)
    assert not found.faults and found == expected
    results = np.frombuffer(found.contents, np.uint32)[1024:][: 4 * ITEMS]
    assert results.reshape(ITEMS, 4).tolist() == _expected()


@pytest.mark.parametrize("timed", [False, True])
def test_an_index_that_no_register_has(timed: bool) -> None:
    program = [
        words("s_set_gpr_idx_on", ssrc0=255, literal=31, ssrc1=1),
        words("v_mov_b32", vdst=1, src0=256 + 4),
        words("s_endpgm"),
    ]
    bench = Bench(b"".join(word.to_bytes(4, "little") for each in program for word in each))
    if timed:
        unit = TimedUnit(0, bench.memory)
        unit.start(bench.group())
        run_timed(bench.memory, unit)
    else:
        bench.run(bench.group())
    (fault,) = bench.listener.faults
    assert "`v_mov_b32_e32 v1, v4`: there is no vector register v35: it has 32" in str(fault)
