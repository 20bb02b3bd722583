"""The timed unit: counters, barriers, clocks, priorities, what is sent and when."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from gpu.compute_unit.functional_unit import FunctionalUnit
from gpu.compute_unit.pipeline.arbitration import POLICIES
from gpu.compute_unit.pipeline.timing_parameters import Timing
from gpu.compute_unit.timed_unit import TimedUnit
from gpu.generation import Generation
from gpu.memory.interface import (
    MemoryRequest,
)
from gpu.trace import Trace
from runtime.requesters.port import AccessKind
from tests.gpu.compute_unit.harness import PRIVATE_APERTURE, Bench, run_timed, run_units, split
from tests.gpu.compute_unit.slow_memory import SlowMemory, by_kind


def _bench(program: str, delay: Callable[[MemoryRequest], int] = lambda request: 50) -> Bench:
    return Bench(program, SlowMemory(delay))


def _run(
    bench: Bench, sgprs: list[int], *, timing: Timing | None = None, **group: int
) -> TimedUnit:
    unit = TimedUnit(0, bench.memory, timing)
    unit.start(bench.group(sgprs, **group))
    run_timed(bench.memory, unit)
    assert not bench.listener.faults
    return unit


@pytest.mark.parametrize("program, found", [("stale", [7, 99]), ("overwritten", [99])])
def test_a_register_changes_when_its_load_returns(program: str, found: list[int]) -> None:
    """Reading before the wait finds the old value; writing before it is undone."""
    bench = _bench(program)
    source, result = bench.buffer(np.array([99], np.uint32)), bench.buffer(8)
    _run(bench, [*split(source), *split(result)])
    assert bench.array(result, len(found)).tolist() == found


def test_vector_loads_return_in_order_of_issue() -> None:
    """The second is answered long before the first; vmcnt(1) still waits for the first."""
    first = []

    def delay(request: MemoryRequest) -> int:
        if request.kind == AccessKind.LOAD and not first:
            first.append(request)
            return 200
        return 3

    bench = _bench("two_loads", delay)
    source, result = bench.buffer(np.arange(64, dtype=np.uint32) + 30), bench.buffer(8)
    _run(bench, [*split(source), *split(result)])
    assert bench.array(result, 2).tolist() == [30, 30]


def test_scalar_loads_return_in_any_order() -> None:
    """lgkmcnt(1) guarantees nothing about the first of two."""

    def delay(request: MemoryRequest) -> int:
        return 200 if not len(bench.memory.requests) - 1 else 3  # type: ignore[attr-defined]

    bench = _bench("scalar_order", delay)
    source, result = bench.buffer(np.arange(64, dtype=np.uint32) + 30), bench.buffer(8)
    _run(bench, [*split(source), *split(result)])
    assert bench.array(result, 2).tolist() == [7, 30]


@pytest.mark.parametrize("timed", [False, True])
def test_without_an_active_lane_counters_are_balanced_and_nothing_is_sent(timed: bool) -> None:
    bench = _bench("exec_zero")
    flag = bench.buffer(4)
    unit = TimedUnit(0, bench.memory) if timed else FunctionalUnit(0, bench.memory)
    unit.start(bench.group([*split(flag), 0, 0, 0, 0, 0, 0], lds=256))
    if timed:
        run_timed(bench.memory, unit)
        assert len(bench.memory.requests) == 1  # type: ignore[attr-defined]
    else:
        run_units(unit)
    assert not bench.listener.faults
    assert bench.array(flag, 1)[0] == 1


@pytest.mark.parametrize("timed", [False, True])
def test_a_barrier_does_not_wait_for_waves_that_have_ended(timed: bool) -> None:
    bench = _bench("early_end")
    counter = bench.buffer(4)
    unit = TimedUnit(0, bench.memory) if timed else FunctionalUnit(0, bench.memory)
    unit.start(bench.group(split(counter), items=4 * 64))
    if timed:
        run_timed(bench.memory, unit)
    else:
        run_units(unit)
    assert bench.array(counter, 1)[0] == 3
    assert len(bench.listener.ended) == 1


@pytest.mark.parametrize("timed", [False, True])
def test_waves_of_a_group_exchange_values_in_lds(timed: bool) -> None:
    bench = _bench("handshake")
    result = bench.buffer(64)
    unit = TimedUnit(0, bench.memory) if timed else FunctionalUnit(0, bench.memory)
    unit.start(bench.group(split(result), items=8 * 64, lds=64))
    if timed:
        run_timed(bench.memory, unit)
    else:
        run_units(unit)
    assert bench.array(result, 8).tolist() == [1, 0, 3, 2, 5, 4, 7, 6]


@pytest.mark.parametrize("stride, lines", [(0, 1), (4, 4), (8, 8), (16, 16), (64, 64), (62, 62)])
def test_lines_that_one_load_touches(stride: int, lines: int) -> None:
    bench = _bench("stride")
    source = bench.buffer(64 * 64 + 4)
    unit = _run(bench, [*split(source), stride])
    assert unit.statistics.lines == {lines: 1}


def test_a_store_counts_until_it_is_performed() -> None:
    """A wave ends only then."""
    ticks = []
    for delay in (10, 500):
        bench = _bench("exec_zero", by_kind(store=delay))
        _run(bench, [*split(bench.buffer(4)), 0, 0, 0, 0, 0, 0], lds=256)
        ticks.append(bench.memory.now)
    assert ticks[1] - ticks[0] == 490


@pytest.mark.parametrize(
    "program, generation, count",
    [("full_counters", Generation.GFX8, 15), ("more_counters", Generation.GFX9, 63)],
)
def test_issue_waits_while_a_counter_is_full(
    program: str, generation: Generation, count: int
) -> None:
    """One load more is under way only after the first has returned."""
    bench = _bench(program, by_kind(load=1000))
    unit = TimedUnit(0, bench.memory)
    unit.start(bench.group(split(bench.buffer(256)), generation=generation))
    most = 0
    while not unit.idle:
        now = bench.memory.now
        if unit.next_tick is not None and unit.next_tick <= now:
            unit.run(now)
        most = max([most, *(wave.vm for wave in unit._resident())])
        due = unit.next_tick
        for answer in bench.memory.run(None if due is None else max(due, now + 1)):
            assert answer.request.listener is not None
            answer.request.listener(answer)
    assert most == count
    assert not bench.listener.faults
    assert unit.statistics.stalls["a counter at its maximum"] > 0


@pytest.mark.parametrize("sleep_cycles", [64, 100])
def test_sleep(sleep_cycles: int) -> None:
    bench = _bench("sleeper")
    result = bench.buffer(4)
    _run(bench, split(result), timing=Timing(sleep_cycles=sleep_cycles))
    slept = int(bench.array(result, 1)[0])
    assert 4 * sleep_cycles < slept < 4 * sleep_cycles + 40


def test_waves_of_higher_priority_go_first() -> None:
    """Eight waves on four SIMDs: the younger of each pair is done first because it says so."""
    bench = _bench("important", by_kind(load=1))
    result = bench.buffer(64)
    _run(bench, split(result), items=8 * 64)
    times = bench.array(result, 8).astype(int)
    assert (times[4:] < times[:4]).all()


@pytest.mark.parametrize("timed", [False, True])
@pytest.mark.parametrize(
    "which, text",
    [
        (2, "`s_trap 2`: trap 2: the program gave up (llvm.trap), its queue is stopped"),
        (7, "`s_trap 7`: trap 7 is reserved; 1 to 3 have a meaning"),
        (1, "not implemented: image_load v1, v2, s[8:15] dmask:0x1"),
        (0, "not an instruction at"),
    ],
)
def test_what_stops_a_wave(which: int, text: str, timed: bool) -> None:
    bench = _bench("traps")
    unit = TimedUnit(0, bench.memory) if timed else FunctionalUnit(0, bench.memory)
    unit.start(bench.group([which]))
    run_timed(bench.memory, unit) if timed else run_units(unit)
    (fault,) = bench.listener.faults
    assert text in str(fault)
    assert str(fault).startswith("wave 0 of group (0, 0, 0) of test, at 0x")
    assert unit.fits(bench.group(items=2560, vgprs=24).demand)  # everything came back


@pytest.mark.parametrize("timed", [False, True])
def test_a_wild_address_names_lane_and_address(timed: bool) -> None:
    bench = _bench("wild")
    source = bench.buffer(4096)
    unit = TimedUnit(0, bench.memory) if timed else FunctionalUnit(0, bench.memory)
    unit.start(bench.group([*split(source), 0x100000, 0]))
    run_timed(bench.memory, unit) if timed else run_units(unit)
    (fault,) = bench.listener.faults
    assert f"`flat_load_dword v4, v[2:3]`: lane 5: address {source + 0x100000:#x}:" in str(fault)


@pytest.mark.parametrize("timed", [False, True])
def test_a_misaligned_atomic_names_lane_and_address(timed: bool) -> None:
    bench = _bench("wild")
    source = bench.buffer(4096)
    unit = TimedUnit(0, bench.memory) if timed else FunctionalUnit(0, bench.memory)
    unit.start(bench.group([*split(source), 2, 1]))
    run_timed(bench.memory, unit) if timed else run_units(unit)
    (fault,) = bench.listener.faults
    assert f"`flat_atomic_add v[2:3], v4`: lane 5: address {source + 2:#x}:" in str(fault)


@pytest.mark.parametrize("timed", [False, True])
def test_a_private_access_out_of_bounds_names_its_instruction(timed: bool) -> None:
    """It is found when the instruction executes, before anything is sent."""
    bench = _bench("wild")
    unit = TimedUnit(0, bench.memory) if timed else FunctionalUnit(0, bench.memory)
    registers = [0, PRIVATE_APERTURE, 62, 0]
    unit.start(bench.group(registers, private_bytes=64, private_base=bench.buffer(4096)))
    run_timed(bench.memory, unit) if timed else run_units(unit)
    (fault,) = bench.listener.faults
    assert "`flat_load_dword v4, v[2:3]`: lane 5: 4 bytes at private offset 0x3e" in str(fault)


@pytest.mark.parametrize("timed", [False, True])
def test_running_off_the_code(timed: bool) -> None:
    bench = Bench(bytes.fromhex("000080bf") * 1024, SlowMemory(lambda request: 1))  # s_nop
    unit = TimedUnit(0, bench.memory) if timed else FunctionalUnit(0, bench.memory)
    unit.start(bench.group())
    run_timed(bench.memory, unit) if timed else run_units(unit)
    (fault,) = bench.listener.faults
    assert f"at {bench.entry + 4096:#x}: address" in str(fault)


@pytest.mark.parametrize("timed", [False, True])
def test_messages(timed: bool) -> None:
    bench = _bench("message")
    unit = TimedUnit(0, bench.memory) if timed else FunctionalUnit(0, bench.memory)
    unit.start(bench.group())
    run_timed(bench.memory, unit) if timed else run_units(unit)
    assert bench.listener.interrupts == [0x2A]
    assert len(bench.listener.ended) == 1


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize("program", ["handshake", "early_end"])
def test_equal_runs_have_equal_traces(program: str, policy: str) -> None:
    def trace() -> list[str]:
        bench = _bench(program, lambda request: 20 + int(request.addresses[0]) % 13)
        lines: list[str] = []
        unit = TimedUnit(
            0, bench.memory, policy=POLICIES[policy], trace=Trace(["waves", "memory"], lines.append)
        )
        unit.start(bench.group(split(bench.buffer(64)), items=8 * 64, lds=64))
        run_timed(bench.memory, unit)
        return lines

    lines = trace()
    assert len(lines) > 50
    assert lines == trace()


def test_killed_waves_leave_everything_free() -> None:
    bench = _bench("full_counters")
    unit = TimedUnit(0, bench.memory)
    unit.start(bench.group(split(bench.buffer(256)), items=1024, lds=65536))
    for _ in range(3):
        unit.run(bench.memory.now)
        bench.memory.run(bench.memory.now + 1)
    unit.kill(0x1000, packet=1)
    assert not unit.idle
    unit.kill(0x1000)
    assert unit.idle
    assert unit.fits(bench.group(items=1024, lds=65536).demand)
    run_timed(bench.memory, unit)
    assert not bench.listener.ended


def test_timing_by_name() -> None:
    assert Timing.from_table({"vector_cycles": 8}).vector_cycles == 8
    with pytest.raises(ValueError, match="cycles = 8: no such parameter; there are vector_cycles,"):
        Timing.from_table({"cycles": 8})
    with pytest.raises(ValueError, match="vector_cycles = 0: not a whole number of at least 1"):
        Timing.from_table({"vector_cycles": 0})
    with pytest.raises(ValueError, match="buffer_bytes = 32: less than two fetches of 32 bytes"):
        Timing.from_table({"buffer_bytes": 32})


def ticks_of_additions(count: int, waves: int) -> int:
    """Of a group whose waves do so many vector operations each, with code that is always there."""
    bench = Bench(
        bytes.fromhex("81080832") * count + bytes.fromhex("000081bf"), SlowMemory(by_kind(load=1))
    )
    _run(bench, [0, 0], items=64 * waves, timing=Timing(fetch_bytes=64, buffer_bytes=512))
    return bench.memory.now


@pytest.mark.parametrize(("waves", "cycles"), [(1, 4), (4, 4), (8, 8), (12, 12), (16, 16)])
def test_a_vector_operation_holds_one_of_four_simds_for_four_cycles(
    waves: int, cycles: int
) -> None:
    assert ticks_of_additions(96, waves) - ticks_of_additions(32, waves) == 64 * cycles
