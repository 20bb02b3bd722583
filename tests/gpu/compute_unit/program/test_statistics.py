"""Counting: the same work is the same numbers, with time and without."""

from __future__ import annotations

from gpu.compute_unit.functional_unit import FunctionalUnit
from gpu.compute_unit.program.statistics import Statistics
from gpu.compute_unit.timed_unit import TimedUnit
from gpu.isa.instruction import Unit
from tests.gpu.compute_unit.harness import Bench, run_timed, run_units, split
from tests.gpu.compute_unit.slow_memory import SlowMemory


def _statistics(program: str, timed: bool) -> Statistics:
    bench = Bench(program, SlowMemory(lambda request: 10))
    unit = TimedUnit(0, bench.memory) if timed else FunctionalUnit(0, bench.memory)
    for packet in range(2):  # the second finds the code forgotten
        registers = [*split(bench.buffer(1024)), *split(bench.buffer(1024))]
        unit.start(bench.group(registers, items=4 * 64, lds=64, packet=packet))
        run_timed(bench.memory, unit) if timed else run_units(unit)
    assert not bench.listener.faults
    return unit.statistics


def test_both_units_count_alike() -> None:
    for program in ("handshake", "two_loads"):
        with_time, without = _statistics(program, True), _statistics(program, False)
        assert with_time.instructions == without.instructions
        assert with_time.memory == without.memory
        assert (with_time.waves, with_time.groups) == (without.waves, without.groups) == (8, 2)
        assert with_time.executed == 8 * {"handshake": 17, "two_loads": 13}[program]
        assert without.memory["flat_store_dword" + "x2" * (program == "two_loads")] == 8


def test_timing_counters_are_reported_only_with_time() -> None:
    with_time, without = _statistics("handshake", True), _statistics("handshake", False)
    assert with_time.as_dict().keys() > without.as_dict().keys()
    assert with_time.as_dict()["lines_per_vector_access"] == 1.0
    assert with_time.fetches >= 8 * 3
    assert with_time.stalls["s_waitcnt"] > 0 and with_time.stalls["barrier"] > 0
    assert with_time.bank_cycles == 16 and with_time.bank_conflicts == 0


def test_the_sum_of_two_units() -> None:
    one, two = _statistics("handshake", True), _statistics("two_loads", True)
    total = Statistics()
    total.add(one)
    total.add(two)
    assert total.executed == one.executed + two.executed
    assert total.instructions[Unit.LDS] == one.instructions[Unit.LDS] == 16
    assert total.fetches == one.fetches + two.fetches
    assert total.lines == one.lines + two.lines
    assert total.groups == 4
