"""FLAT instructions: one address per lane, to global memory, LDS or scratch."""

from __future__ import annotations

import numpy as np
import pytest

from gpu.compute_unit.functional_unit import FunctionalUnit
from gpu.compute_unit.timed_unit import TimedUnit
from gpu.dispatch.launch import ComputeUnit
from tests.gpu.compute_unit.harness import Bench, run_timed, run_units, split

PRIVATE = 64


@pytest.mark.parametrize("timed", [False, True])
def test_lanes_of_one_instruction_go_to_three_memories(timed: bool) -> None:
    bench = Bench("flat_split")
    source, result = bench.buffer(64 * 8), bench.buffer(64 * 8)
    scratch = bench.buffer(64 * PRIVATE)
    group = bench.group(
        [*split(source), *split(result), 0],
        lds=1024,
        private_bytes=PRIVATE,
        private_base=scratch,
    )
    unit: ComputeUnit
    unit = TimedUnit(0, bench.memory) if timed else FunctionalUnit(0, bench.memory)
    unit.start(group)
    if timed:
        run_timed(bench.memory, unit)
    else:
        run_units(unit)
    assert not bench.listener.faults
    lanes = np.arange(64)
    stored = np.stack([lanes, lanes << 8], axis=1)
    assert (bench.array(result, 128).reshape(64, 2) == stored).all()
    in_memory = bench.array(source, 128).reshape(64, 2)
    elsewhere = (lanes >= 16) & (lanes < 48)
    assert (in_memory == np.where(elsewhere[:, None], 0, stored)).all()
    private = bench.array(scratch, 64 * PRIVATE // 4).reshape(-1, 64)
    for lane in range(32, 48):  # dword i of lane l lies at 256 i + 4 l
        first = 2 * (lane & 7)
        assert private[first : first + 2, lane].tolist() == stored[lane].tolist()
    assert np.count_nonzero(private) == np.count_nonzero(stored[32:48])
