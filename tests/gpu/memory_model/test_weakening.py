"""Which guarantees of a program matter."""

from __future__ import annotations

import pytest

from gpu.memory_model.model import judge
from gpu.memory_model.program import Fence, Load, Order, Place, Program, Rmw, Store, Thread
from gpu.memory_model.scopes import Position, Scope
from gpu.memory_model.weakening import Loss, losses, weaken, weakenings, without
from runtime.types.atomic_op import AtomicKind
from tests.gpu.memory_model.shapes import GROUPS, SHAPES, WAVES

RELAXED, ACQUIRE, RELEASE, SC = Order.relaxed, Order.acquire, Order.release, Order.seq_cst
X = Place("x")


def test_message_passing_needs_one_release_and_one_acquire() -> None:
    program = SHAPES["MP"].program(RELEASE, ACQUIRE)
    needed = {(each.thread, each.index, each.loss) for each in weakenings(program) if each.gained}
    assert needed == {
        (0, 1, Loss.release),
        (0, 1, Loss.release_beyond),
        (1, 0, Loss.acquire),
        (1, 0, Loss.acquire_beyond),
        (1, 0, Loss.scope),
    }
    racing = {(each.thread, each.index) for each in weakenings(program) if each.races}
    assert racing == {(1, 0), (1, 1)}, "loads of too narrow a scope"


def test_what_is_gained_is_the_weak_outcome() -> None:
    for name, writes, reads, thread, index, loss in [
        ("MP", RELEASE, ACQUIRE, 1, 0, Loss.acquire),
        ("ISA2", RELEASE, ACQUIRE, 1, 1, Loss.release),
        ("SB", SC, SC, 0, 1, Loss.sequence),
        ("IRIW", SC, SC, 2, 1, Loss.sequence),
    ]:
        program = SHAPES[name].program(writes, reads)
        found = weaken(program, thread, index, loss)
        assert found.matters and SHAPES[name].weak in found.gained, name


def test_within_a_group_the_cache_need_not_be_invalidated() -> None:
    program = SHAPES["MP"].program(RELEASE, ACQUIRE, Scope.agent, WAVES)
    assert not weaken(program, 1, 0, Loss.acquire_beyond).matters
    assert not weaken(program, 0, 1, Loss.release_beyond).matters
    assert weaken(program, 1, 0, Loss.acquire).matters
    across = SHAPES["MP"].program(RELEASE, ACQUIRE, Scope.agent, GROUPS)
    assert weaken(across, 1, 0, Loss.acquire_beyond).matters


def test_each_operation_has_the_guarantees_of_its_order() -> None:
    acquires, releases = [Loss.acquire, Loss.acquire_beyond], [Loss.release, Loss.release_beyond]
    group = Scope.work_group
    assert losses(Load(X, order=SC)) == [*acquires, Loss.sequence, Loss.scope]
    assert losses(Load(X, order=ACQUIRE, scope=group)) == [Loss.acquire]
    assert losses(Load(X)) == losses(Store(X, 1, RELAXED)) == []
    assert losses(Store(X, 1, SC)) == [*releases, Loss.sequence]
    assert losses(Rmw(X, AtomicKind.ADD, 1, order=Order.acq_rel)) == [*acquires, *releases]
    assert losses(Fence(RELEASE, group)) == [Loss.release]


def test_a_fence_without_its_order_is_no_fence() -> None:
    fence = Fence(ACQUIRE, Scope.agent)
    program = Program((Thread("P0", Position(), (fence, Load(X, "r0"))),))
    assert without(program, 0, 0, Loss.acquire).threads[0].operations == (Load(X, "r0"),)
    with pytest.raises(ValueError, match="operation 2 of thread 1 has no acquire to lose"):
        without(program, 0, 1, Loss.acquire)


def test_losing_never_takes_an_outcome_away() -> None:
    for shape in SHAPES.values():
        program = shape.program(SC, SC)
        before = set(judge(program).outcomes)
        for thread, each in enumerate(program.threads):
            for index, operation in enumerate(each.operations):
                for loss in losses(operation):
                    assert before <= set(judge(without(program, thread, index, loss)).outcomes)


def test_an_undefined_program_has_nothing_to_lose() -> None:
    program = SHAPES["MP"].program(RELEASE, ACQUIRE, Scope.work_group)
    assert judge(program).undefined
    assert not any(each.matters for each in weakenings(program))
