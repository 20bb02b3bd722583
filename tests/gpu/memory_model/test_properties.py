"""What holds of all programs: strength only takes outcomes away, and interleavings are allowed."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from gpu.memory_model.model import judge
from gpu.memory_model.ordering import Rules
from gpu.memory_model.program import (
    Fence,
    Guard,
    Load,
    Operation,
    Order,
    Place,
    Program,
    Rmw,
    Store,
    Thread,
)
from gpu.memory_model.scopes import Position, Scope
from runtime.types.atomic_op import AtomicKind
from tests.gpu.memory_model.shapes import interleavings

POSITIONS = [
    Position("gpu", 0, 0, 0),
    Position("gpu", 0, 0, 1),
    Position("gpu", 0, 1),
    Position("gpu", 1),
    Position("cpu", 0),
]
STRONGER = {
    Load: [Order.non_atomic, Order.relaxed, Order.acquire, Order.seq_cst],
    Store: [Order.non_atomic, Order.relaxed, Order.release, Order.seq_cst],
    Rmw: [Order.relaxed, Order.acquire, Order.acq_rel, Order.seq_cst],
    Fence: [Order.release, Order.acq_rel, Order.seq_cst],
}
"""Of each kind of operation, orders from weak to strong."""


@st.composite
def programs(
    draw: st.DrawFn, orders: list[Order] | None = None, scopes: list[Scope] | None = None
) -> Program:
    """Two or three threads of up to three operations on two places."""
    threads = []
    positions = draw(st.permutations(POSITIONS))
    for number in range(draw(st.integers(2, 3))):
        operations: list[Operation] = []
        registers: list[str] = []
        for index in range(draw(st.integers(1, 3 if number < 2 else 2))):
            kind = draw(st.sampled_from([Load, Load, Store, Store, Rmw, Fence]))
            allowed = [each for each in STRONGER[kind] if orders is None or each in orders]
            order = draw(st.sampled_from(allowed or STRONGER[kind][-1:]))
            scope = draw(st.sampled_from(scopes or list(Scope)[1:]))
            place = Place(draw(st.sampled_from("xy")))
            value = draw(st.sampled_from([1, 2, *registers]))
            register = f"r{index}"
            made: Operation
            if kind is Fence:
                made = Fence(order, scope)
            elif kind is Load:
                made = Load(place, register, order, scope)
            elif kind is Store:
                made = Store(place, value, order, scope)
            else:
                atomic = draw(st.sampled_from([AtomicKind.ADD, AtomicKind.CAS]))
                made = Rmw(place, atomic, value, 0, register, order, scope)
            if registers and draw(st.booleans()):
                made = replace(made, when=Guard(registers[0], 1))
            operations.append(made)
            if isinstance(made, Load | Rmw):
                registers.append(register)
        threads.append(Thread(f"P{number}", positions[number], tuple(operations)))
    return Program(tuple(threads), observed=(Place("x"),))


def replaced(program: Program, thread: int, index: int, operation: Operation) -> Program:
    threads = list(program.threads)
    operations = list(threads[thread].operations)
    operations[index] = operation
    threads[thread] = replace(threads[thread], operations=tuple(operations))
    return replace(program, threads=tuple(threads))


@settings(max_examples=35, deadline=None)
@given(programs(), st.sampled_from(Rules), st.data())
def test_strengthening_never_adds_an_outcome(
    program: Program, rules: Rules, data: st.DataObject
) -> None:
    thread = data.draw(st.integers(0, len(program.threads) - 1))
    index = data.draw(st.integers(0, len(program.threads[thread].operations) - 1))
    operation = program.threads[thread].operations[index]
    ladder = STRONGER[type(operation)]
    higher = data.draw(st.sampled_from(ladder[ladder.index(operation.order) :]))
    wider = data.draw(st.sampled_from([each for each in Scope if each >= operation.scope]))
    stronger = replaced(program, thread, index, replace(operation, order=higher, scope=wider))
    before, after = judge(program, rules), judge(stronger, rules)
    if after.undefined:
        assert before.undefined
    elif not before.undefined:
        assert set(after.outcomes) <= set(before.outcomes)


@settings(max_examples=25, deadline=None)
@given(programs(), st.sampled_from(Rules))
def test_interleavings_are_allowed(program: Program, rules: Rules) -> None:
    assert interleavings(program) <= set(judge(program, rules).outcomes)


@settings(max_examples=40, deadline=None)
@given(programs([Order.seq_cst], [Scope.system]), st.sampled_from(Rules))
def test_seq_cst_alone_is_sequential_consistency(program: Program, rules: Rules) -> None:
    assert set(judge(program, rules).outcomes) == interleavings(program)


@settings(max_examples=40, deadline=None)
@given(programs([Order.seq_cst, Order.non_atomic], [Scope.system]))
def test_race_free_programs_of_seq_cst_and_plain_accesses_are_sequentially_consistent(
    program: Program,
) -> None:
    verdict = judge(program)
    if not verdict.undefined:
        assert set(verdict.outcomes) == interleavings(program)


@settings(max_examples=20, deadline=None)
@given(programs())
def test_opencl_allows_what_hsa_allows(program: Program) -> None:
    hsa, opencl = judge(program, Rules.hsa), judge(program, Rules.opencl)
    assert hsa.undefined <= opencl.undefined
    if not opencl.undefined:
        assert set(hsa.outcomes) <= set(opencl.outcomes)
