"""What waves read of where they run and what they hold."""

from __future__ import annotations

import numpy as np
import pytest

from gpu.compute_unit.functional_unit import FunctionalUnit
from gpu.compute_unit.timed_unit import TimedUnit
from gpu.dispatch.launch import ComputeUnit
from tests.gpu.compute_unit.harness import Bench, run_timed, run_units, split


def run(bench: Bench, *units: ComputeUnit) -> None:
    if isinstance(units[0], TimedUnit):
        run_timed(bench.memory, *units)
    else:
        run_units(*units)


@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize("cu", [0, 3, 21])
def test_waves_know_where_they_are(cu: int, timed: bool) -> None:
    bench = Bench("who_am_i")
    unit = TimedUnit(0, bench.memory) if timed else FunctionalUnit(0, bench.memory)
    unit.index = cu
    results = [bench.buffer(16 * 8) for _ in range(2)]
    for number, result in enumerate(results):
        group = bench.group(split(result), items=512, lds=1500, vgprs=24, number=number)
        unit.start(group)
    run(bench, unit)
    found = np.concatenate([bench.array(each, 32).reshape(8, 4) for each in results])
    places = found[:, 0]
    assert len(set(places.tolist())) == 16
    assert set((places & 15).tolist()) == {0, 1, 2, 3}, "four waves on each SIMD"
    assert sorted((places >> 4 & 3).tolist()) == sorted([0, 1, 2, 3] * 4)
    assert set((places >> 8 & 0x7F).tolist()) == {cu}
    assert (places >> 16 & 15).tolist() == [0] * 8 + [1] * 8
    assert set(found[:, 1].tolist()) == {(24 // 4 - 1) << 8 | (32 // 8 - 1) << 24}
    assert set(found[:, 2].tolist()) == {3 << 12}, "1500 bytes are three granules"


def test_slots_are_used_again() -> None:
    bench = Bench("who_am_i")
    unit = FunctionalUnit(0, bench.memory)
    seen = set()
    for _ in range(30):
        result = bench.buffer(16)
        unit.start(bench.group(split(result)))
        run_units(unit)
        seen.add(int(bench.array(result, 1)[0]) & 15)
    assert seen == {0}
