"""Kernels of litmus tests on the caches of GPU_VIPER."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from gpu.code_object.targets import DEFAULT_PROCESSOR, RUNNABLE
from gpu.litmus.kernel import Layout, NotExecuted, build
from gpu.litmus.sequences import WAIT, Sequence
from gpu.litmus.single_run import Machine, run_instances
from gpu.litmus.situation import most_instances, situation
from gpu.memory.coherent.factory import EngineChoice
from gpu.memory_model.program import Load, Order, Outcome, Place, Program, Rmw, Space, Store, Thread
from gpu.memory_model.scopes import Position, Scope
from runtime.types.atomic_op import AtomicKind
from tests.gpu.litmus.programs import ELSEWHERE, X, message_passing, run_once

RELAXED = message_passing(Order.relaxed, Order.relaxed, Scope.agent)
SAFE = message_passing(Order.release, Order.acquire, Scope.agent)
STALE = (1, 0)


def _outcomes(
    program: Program, runs: range, processor: str = DEFAULT_PROCESSOR
) -> Counter[Outcome]:
    machine = Machine(processor=processor)
    return Counter(run_once(program, situation(program, 1, n, {}), machine) for n in runs)


@pytest.mark.parametrize("processor", RUNNABLE)
def test_relaxed_message_passing_is_weak_and_synchronised_is_not(processor: str) -> None:
    weak = _outcomes(RELAXED, range(12), processor)
    assert weak[STALE] and weak[1, 1] and weak[0, 0]
    assert STALE not in _outcomes(SAFE, range(12), processor)


def test_the_flag_of_a_work_group_does_not_reach_another() -> None:
    narrow = message_passing(Order.release, Order.acquire, Scope.work_group)
    assert _outcomes(narrow, range(12))[STALE]


def test_waves_of_a_group_share_their_cache() -> None:
    near = message_passing(
        Order.release, Order.acquire, Scope.work_group, Position("gpu", 0, wave=1)
    )
    assert STALE not in _outcomes(near, range(12))


@pytest.mark.parametrize("number", [3, 26])
def test_the_engines_agree(number: int) -> None:
    """Run 26 was once stale: with random delays, the load behind an acquire overtook the
    invalidation in the queue of the first-level cache."""
    drawn = situation(SAFE, 1, number, {})
    outcomes = {
        run_once(SAFE, drawn, Machine(engine=engine))
        for engine in (EngineChoice.python, EngineChoice.auto)
    }
    assert len(outcomes) == 1 and STALE not in outcomes


def test_sequences_may_be_changed() -> None:
    """Without the invalidation, a warm line stays."""

    def without_invalidation(thread: int, operation: int, sequence: Sequence) -> Sequence:
        return tuple(step for step in sequence if not step.name.startswith("buffer"))

    found = {
        run_once(SAFE, situation(SAFE, 1, n, {}), Machine(), sequences=without_invalidation)
        for n in range(24)
    }
    assert STALE in found


def _beside_a_core(reader: Position) -> Program:
    """Message passing between a core and a kernel; ``reader``: where its second thread is."""
    program = message_passing(Order.release, Order.acquire, Scope.system, reader)
    writer = Position("gpu") if reader.agent == "cpu" else Position("cpu", 0)
    first = replace(program.threads[0], position=writer)
    return replace(program, threads=(first, program.threads[1]))


FROM_A_CORE, TO_A_CORE = _beside_a_core(ELSEWHERE), _beside_a_core(Position("cpu", 1))


@pytest.mark.parametrize("program", [FROM_A_CORE, TO_A_CORE])
def test_a_core_and_a_kernel_pass_messages(program: Program) -> None:
    found = _outcomes(program, range(12))
    assert found[1, 1] and found[0, 0] and STALE not in found


@pytest.mark.parametrize("number", [0, 6])
def test_the_engines_agree_beside_a_core(number: int) -> None:
    drawn = situation(FROM_A_CORE, 1, number, {})
    assert set(drawn.cores) == {0} and "cpu 0 on core" in str(drawn)
    outcomes = {
        run_once(FROM_A_CORE, drawn, Machine(engine=engine))
        for engine in (EngineChoice.python, EngineChoice.auto)
    }
    assert outcomes == {(0, 0) if number == 0 else (1, 1)}


def test_a_core_sees_a_flag_before_the_data_of_a_kernel_that_does_not_wait() -> None:
    def without_waits(thread: int, operation: int, sequence: Sequence) -> Sequence:
        return tuple(step for step in sequence if step.name != WAIT)

    drawn = situation(TO_A_CORE, 1, 68, {})
    assert run_once(TO_A_CORE, drawn, Machine()) == (0, 0)
    assert run_once(TO_A_CORE, drawn, Machine(), sequences=without_waits) == STALE


@pytest.mark.parametrize("processor", RUNNABLE)
def test_instances_of_a_launch_end_each_for_itself(processor: str) -> None:
    """Lanes whose guard does not hold skip what it guards, beside others that do not."""
    machine = Machine(processor=processor)
    drawn = situation(RELAXED, 1, 8, {}, 64)
    ends = run_instances(RELAXED, drawn, machine)
    assert len(ends) == 64 and set(ends) == {(0, 0), STALE, (1, 1)}
    safe = [run_instances(SAFE, situation(SAFE, 1, n, {}, 64), machine) for n in range(6)]
    assert STALE not in {end for ends in safe for end in ends}


def test_a_lost_invalidation_shows_in_some_instance() -> None:
    def without_invalidation(thread: int, operation: int, sequence: Sequence) -> Sequence:
        return tuple(step for step in sequence if not step.name.startswith("buffer"))

    drawn = situation(SAFE, 1, 8, {}, 64)
    ends = run_instances(SAFE, drawn, Machine(), sequences=without_invalidation)
    assert STALE in ends and (0, 0) in ends


ADDED = Rmw(X, AtomicKind.ADD, 1, register="r0", scope=Scope.agent)
LOCAL = Rmw(Place("local", 4, 4, Space.local), AtomicKind.ADD, 5, register="r0")


@pytest.mark.parametrize(
    ("other", "count"),
    [
        (Position("gpu", 1), 64),
        (Position("gpu", 0, wave=1), 64),
        (Position("gpu", 0, lane=9), 32),
        (Position("cpu", 0), 64),
    ],
)
def test_instances_have_memory_of_their_own(other: Position, count: int) -> None:
    threads = Thread("P0", Position("gpu", 0), (ADDED,)), Thread("P1", other, (ADDED,))
    program = Program(threads, {X: 7}, observed=(X,))
    assert most_instances(program) == count
    ends = run_instances(program, situation(program, 1, 1, {}, count), Machine())
    assert len(ends) == count and set(ends) <= {(7, 8, 9), (8, 7, 9)}


def test_instances_have_local_memory_of_their_own() -> None:
    threads = tuple(
        Thread(f"P{n}", Position("gpu", 0, wave, lane), (LOCAL, Load(LOCAL.place, "r1")))
        for n, (wave, lane) in enumerate([(0, 0), (0, 1), (1, 0), (1, 1)])
    )
    program = Program(threads)
    ends = run_instances(program, situation(program, 1, 4, {}, 32), Machine())
    assert len(ends) == 32
    assert all({*end[::2]} == {0, 5, 10, 15} and max(end) == 20 for end in ends)


@pytest.mark.parametrize("instances", [1, 64])
def test_names_of_local_memory_have_room_for_their_places(instances: int) -> None:
    far, other = (Place(name, at, 4, Space.local) for name, at in (("g", 28), ("h", 12)))
    operations = (Store(far, 3), Load(other, "r0"), Load(far, "r1"), Store(other, 4))
    program = Program((Thread("P0", Position("gpu", 0), operations),))
    ends = run_instances(program, situation(program, 1, 2, {}, instances), Machine())
    assert ends == [(0, 3)] * instances
    many = tuple(Store(Place(f"n{n}", 60, 4, Space.local), 1) for n in range(20))
    assert most_instances(Program((Thread("P0", Position("gpu", 0), many),))) == 32


@pytest.mark.parametrize("program", [RELAXED, FROM_A_CORE])
def test_the_engines_agree_on_every_instance(program: Program) -> None:
    drawn = situation(program, 1, 8, {}, 8)
    python, native = (
        run_instances(program, drawn, Machine(engine=engine))
        for engine in (EngineChoice.python, EngineChoice.auto)
    )
    assert python == native and len(python) == 8


@pytest.mark.parametrize("processor", ["gfx90a", "gfx942"])
def test_processors_that_are_not_executed_are_refused_by_name(processor: str) -> None:
    drawn = situation(SAFE, 1, 0, {})
    with pytest.raises(NotExecuted, match=f"no code for {processor}"):
        build(SAFE, drawn, Layout(0, 0, 0), processor=processor)
