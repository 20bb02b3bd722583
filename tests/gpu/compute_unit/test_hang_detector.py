"""Kernels that wait: for ever, which is reported, or for each other, which is not."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gpu.compute_unit.functional_unit import FunctionalUnit
from gpu.compute_unit.hang_detector import HangDetector, Livelock
from gpu.compute_unit.timed_unit import TimedUnit
from gpu.memory.flat_memory import FlatMemory
from tests.gpu.compute_unit.harness import Bench, run_units, split
from tests.gpu.compute_unit.launching import Launch, put, run_launch
from tests.gpu.kernels.stored import stored

Unit = FunctionalUnit | TimedUnit


def _units(timed: bool, memory: FlatMemory, count: int, hang_detector: HangDetector) -> list[Unit]:
    if timed:
        return [TimedUnit(index, memory, hang_detector=hang_detector) for index in range(count)]
    return [FunctionalUnit(index, memory, hang_detector=hang_detector) for index in range(count)]


@pytest.mark.parametrize("timed", [False, True])
def test_a_lane_that_waits_for_another_of_its_wave(timed: bool) -> None:
    memory = FlatMemory()
    lock, count = put(memory, np.zeros(1, np.int32)), put(memory, np.zeros(1, np.int32))
    launch = Launch(memory, stored("lock"), "lanelock", [lock, count], (64,), (64,))
    run_launch(memory, launch, _units(timed, memory, 1, HangDetector(patience=500)))
    (fault,) = launch.listener.faults
    assert isinstance(fault, Livelock)
    text = str(fault)
    assert "no memory changes any more" in text
    assert f"lanes 1-63: address {lock:#x}, which holds 0x1" in text
    assert "changed last by lane 0 of wave 0 of group (0, 0, 0) of lanelock" in text
    assert "flat_atomic_cmpswap" in text


WAITING: list[tuple[str, Callable[[FlatMemory], list[object]], int]] = [
    ("spinlock", lambda m: [put(m, np.zeros(1, np.int32)), put(m, np.zeros(1, np.int32)), 3], 64),
    ("ticketlock", lambda m: [put(m, np.zeros(2, np.int32)), put(m, np.zeros(1, np.int32))], 64),
    (
        "gridbarrier",
        lambda m: [put(m, np.zeros(1, np.int32)), *(put(m, np.zeros(64, np.int32)),) * 2, 3],
        64,
    ),
]


@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize("name, arguments, group", WAITING, ids=[name for name, *_ in WAITING])
def test_waves_that_wait_for_each_other_get_on(
    name: str, arguments: Callable[[FlatMemory], list[object]], group: int, timed: bool
) -> None:
    """States are compared from the first instruction on: patience is one."""
    memory = FlatMemory(cus=2)
    launch = Launch(memory, stored("lock"), name, arguments(memory), (6 * group,), (group,))
    run_launch(memory, launch, _units(timed, memory, 2, HangDetector(patience=1)))
    assert not launch.listener.faults
    assert len(launch.listener.ended) == 6


def test_a_wave_that_counts_while_it_waits_meets_the_limit() -> None:
    bench = Bench("count_for_ever")
    group = bench.group(split(bench.buffer(4)))
    unit = FunctionalUnit(
        0, bench.memory, hang_detector=HangDetector(patience=100, still_limit=5000)
    )
    unit.start(group)
    run_units(unit)
    (fault,) = bench.listener.faults
    assert "no wave has ended and no memory has changed for" in str(fault)


def test_work_without_stores_is_no_livelock() -> None:
    """The registers change, so nothing repeats, long after the detector began to compare states."""
    bench = Bench("count_down")
    result = bench.buffer(4)
    unit = FunctionalUnit(0, bench.memory, hang_detector=HangDetector(patience=100))
    unit.start(bench.group([*split(result), 20_000]))
    run_units(unit)
    assert not bench.listener.faults
    assert bench.array(result, 1)[0] == 20_000


def test_the_limit_that_was_given() -> None:
    bench = Bench("count_down")
    unit = FunctionalUnit(0, bench.memory, hang_detector=HangDetector(limit=10_000))
    unit.start(bench.group([*split(bench.buffer(4)), 20_000]))
    run_units(unit)
    (fault,) = bench.listener.faults
    assert "10,000 wave instructions have run, the limit that was given" in str(fault)


def test_the_limit_is_met_by_waves_that_end_in_their_first_turn() -> None:
    """Each is over before the count is checked: the next one fails."""
    bench = Bench("count_down")
    unit = FunctionalUnit(0, bench.memory, hang_detector=HangDetector(limit=20))
    for _ in range(3):
        unit.start(bench.group([*split(bench.buffer(4)), 5]))
    run_units(unit)
    assert len(bench.listener.ended) == 1
    assert "20 wave instructions have run, the limit" in str(bench.listener.faults[0])


def test_a_wave_that_waits_for_lds_that_is_never_written() -> None:
    bench = Bench("local_spin")
    unit = FunctionalUnit(0, bench.memory, hang_detector=HangDetector(patience=100))
    unit.start(bench.group(lds=256))
    run_units(unit)
    (fault,) = bench.listener.faults
    assert "LDS offset 0x10, which holds 0x0" in str(fault)
