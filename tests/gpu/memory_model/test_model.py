"""The shapes of the literature at each order and scope, against verdicts derived by hand."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu.memory_model.enumeration import batches
from gpu.memory_model.events import TooLarge, frames
from gpu.memory_model.model import judge
from gpu.memory_model.ordering import Rules
from gpu.memory_model.program import (
    Fence,
    Guard,
    Load,
    Order,
    Place,
    Program,
    Rmw,
    Space,
    Store,
    Thread,
)
from gpu.memory_model.scopes import Position, Scope
from runtime.types.atomic_op import AtomicKind
from tests.gpu.memory_model.shapes import (
    CORES,
    GROUPS,
    LANES,
    SHAPES,
    WAVES,
    Shape,
    interleavings,
)

X, Y = Place("x"), Place("y")
PLAIN, RELAXED, ACQUIRE, RELEASE, SC = (
    Order.non_atomic,
    Order.relaxed,
    Order.acquire,
    Order.release,
    Order.seq_cst,
)
ORDERS = {"relaxed": (RELAXED, RELAXED), "acquire-release": (RELEASE, ACQUIRE), "sc": (SC, SC)}

ALLOWED = {
    # shape: whether its weak outcome is allowed by relaxed, acquire and release, seq_cst
    "MP": (True, False, False),
    "SB": (True, True, False),
    "LB": (True, False, False),
    "CoRR": (False, False, False),
    "CoWW": (False, False, False),
    "CoRW": (False, False, False),
    "CoWR": (False, False, False),
    "IRIW": (True, True, False),
    "WRC": (True, False, False),
    "RWC": (True, True, False),
    "2+2W": (True, True, False),
    "S": (True, False, False),
    "R": (True, True, False),
    "ISA2": (True, False, False),
}

INCLUSIVE = [
    # where the threads are, and the narrowest scope that holds them all
    (LANES, Scope.wavefront),
    (WAVES, Scope.work_group),
    (GROUPS, Scope.agent),
    (CORES, Scope.agent),
    ((*CORES[:1], *GROUPS[:1], CORES[1], GROUPS[1]), Scope.system),
]


@pytest.mark.parametrize("name", SHAPES)
def test_verdicts_at_each_order_and_scope(name: str) -> None:
    shape = SHAPES[name]
    several = "|" in shape.text
    for (orders, allowed), (positions, needed) in (
        (pair, place) for pair in zip(ORDERS.values(), ALLOWED[name]) for place in INCLUSIVE
    ):
        for scope in Scope:
            verdict = judge(shape.program(*orders, scope, positions))
            assert verdict.undefined == (several and scope < needed), (orders, positions[0], scope)
            if not verdict.undefined:
                assert verdict.allows(shape.weak) == allowed, (orders, positions[0], scope)
                assert interleavings(verdict.program) <= set(verdict.outcomes)


def test_the_weak_outcome_is_the_one_that_interleavings_lack() -> None:
    for name, shape in SHAPES.items():
        assert shape.weak not in interleavings(shape.program(SC, SC)), name


def test_seq_cst_is_sequential_consistency() -> None:
    for shape in SHAPES.values():
        program = shape.program(SC, SC)
        assert set(judge(program).outcomes) == interleavings(program)


def test_coherence_prunes_iriw_and_isa2() -> None:
    def candidates(name: str) -> int:
        program = SHAPES[name].program(RELAXED, RELAXED)
        return sum(len(each.picks) for frame in frames(program) for each in batches(frame))

    assert (candidates("IRIW"), candidates("ISA2")) == (16, 8)


# ---------------------------------------------------------------- non-atomic data, races


def message_passing(flag: Order, polled: Order, scope: Scope, guarded: bool = True) -> Program:
    when = Guard("r0", 1) if guarded else None
    return Program(
        (
            Thread("P0", GROUPS[0], (Store(X, 1), Store(Y, 1, flag, scope))),
            Thread("P1", GROUPS[1], (Load(Y, "r0", polled, scope), Load(X, "r1", when=when))),
        )
    )


def test_non_atomic_data_is_passed_by_release_and_acquire() -> None:
    verdict = judge(message_passing(RELEASE, ACQUIRE, Scope.agent))
    assert not verdict.undefined
    assert set(verdict.outcomes) == {(0, 0), (1, 1)}


@pytest.mark.parametrize(
    ("flag", "polled", "scope", "guarded"),
    [
        (RELAXED, ACQUIRE, Scope.agent, True),
        (RELEASE, RELAXED, Scope.agent, True),
        (RELEASE, ACQUIRE, Scope.work_group, True),
        (RELEASE, ACQUIRE, Scope.agent, False),
    ],
)
def test_anything_less_is_a_race(flag: Order, polled: Order, scope: Scope, guarded: bool) -> None:
    verdict = judge(message_passing(flag, polled, scope, guarded))
    assert any("x" in str(race) for race in verdict.races)
    assert verdict.allows((1, 0)) and verdict.allows((7, 7)), "everything is allowed"


def test_scopes_that_do_not_include_each_other_race() -> None:
    one = Shape("W x 1 | R x r0", "", ())
    wide = one.program(RELAXED, RELAXED, Scope.agent)
    assert not judge(wide).undefined
    load = wide.threads[1].operations[0]
    narrow = replace(load, scope=Scope.work_group)
    assert judge(
        replace(wide, threads=(wide.threads[0], replace(wide.threads[1], operations=(narrow,))))
    ).undefined


# ---------------------------------------------------------------- synchronisation across scopes


def test_happens_before_is_transitive_across_scopes() -> None:
    """Work-group scope to a neighbour, agent scope from there: HSA's model composes them."""
    wave0, wave1, beyond = Position("gpu", 0, 0), Position("gpu", 0, 1), Position("gpu", 1)
    group, agent = Scope.work_group, Scope.agent
    program = Program(
        (
            Thread("P0", wave0, (Store(X, 1), Store(Y, 1, RELEASE, group))),
            Thread(
                "P1",
                wave1,
                (
                    Load(Y, "r0", ACQUIRE, group),
                    Store(Place("z"), 1, RELEASE, agent, Guard("r0", 1)),
                ),
            ),
            Thread(
                "P2",
                beyond,
                (Load(Place("z"), "r1", ACQUIRE, agent), Load(X, "r2", when=Guard("r1", 1))),
            ),
        )
    )
    verdict = judge(program)
    assert not verdict.undefined and not verdict.allows((1, 1, 0))


def test_a_release_sequence_is_continued_by_updates_and_broken_by_stores() -> None:
    def program(between: Rmw | Store) -> Program:
        return Program(
            (
                Thread("P0", GROUPS[0], (Store(X, 1, RELAXED), Store(Y, 1, RELEASE))),
                Thread("P1", GROUPS[1], (between,)),
                Thread("P2", GROUPS[2], (Load(Y, "r0", ACQUIRE), Load(X, "r1", RELAXED))),
            )
        )

    assert not judge(program(Rmw(Y, AtomicKind.ADD, 1))).allows((2, 0))
    assert judge(program(Store(Y, 2, RELAXED))).allows((2, 0))


def test_fences_synchronise_through_relaxed_accesses() -> None:
    def program(release: Fence, acquire: Fence) -> Program:
        return Program(
            (
                Thread("P0", GROUPS[0], (Store(X, 1, RELAXED), release, Store(Y, 1, RELAXED))),
                Thread("P1", GROUPS[1], (Load(Y, "r0", RELAXED), acquire, Load(X, "r1", RELAXED))),
            )
        )

    strong = program(Fence(RELEASE, Scope.agent), Fence(ACQUIRE, Scope.agent))
    assert not judge(strong).allows((1, 0))
    for weaker in (
        program(Fence(RELEASE, Scope.work_group), Fence(ACQUIRE, Scope.agent)),
        program(Fence(ACQUIRE, Scope.agent), Fence(ACQUIRE, Scope.agent)),
        program(Fence(RELEASE, Scope.agent), Fence(RELEASE, Scope.agent)),
    ):
        assert judge(weaker).allows((1, 0))


def test_seq_cst_fences_forbid_store_buffering_in_inclusive_scopes_only() -> None:
    shape = Shape("W x 1 ; F ; R y r0 | W y 1 ; F ; R x r1", "", (0, 0))
    for scope, allowed in ((Scope.work_group, True), (Scope.agent, False)):
        program = shape.program(SC, SC)
        threads = tuple(
            replace(
                thread,
                operations=tuple(
                    replace(each, scope=scope)
                    if isinstance(each, Fence)
                    else replace(each, order=RELAXED)
                    for each in thread.operations
                ),
            )
            for thread in program.threads
        )
        assert judge(replace(program, threads=threads)).allows((0, 0)) == allowed


# ---------------------------------------------------------------- address spaces

LOCAL = Place("y", space=Space.local)


def through_local(release: Order, *fences: Fence) -> Program:
    """Global data, a flag in local memory, waves of a group."""
    acquire = ACQUIRE if release is RELEASE else release
    return Program(
        (
            Thread("P0", WAVES[0], (Store(X, 1, RELAXED), *fences, Store(LOCAL, 1, release))),
            Thread("P1", WAVES[1], (Load(LOCAL, "r0", acquire), *fences, Load(X, "r1", RELAXED))),
        )
    )


def test_opencl_splits_happens_before_by_address_space_and_hsa_does_not() -> None:
    program = through_local(RELEASE)
    assert judge(program, Rules.opencl).allows((1, 0))
    assert not judge(program, Rules.hsa).allows((1, 0))


def test_in_opencl_seq_cst_and_fences_of_both_spaces_connect_them() -> None:
    assert not judge(through_local(SC), Rules.opencl).allows((1, 0))
    both = Fence(Order.acq_rel, Scope.work_group)
    assert not judge(through_local(RELAXED, both), Rules.opencl).allows((1, 0))
    for space in Space:
        one = replace(both, spaces=frozenset({space}))
        assert judge(through_local(RELAXED, one), Rules.opencl).allows((1, 0))


def test_local_memory_is_another_one_in_each_group() -> None:
    store, load = Store(LOCAL, 1, RELAXED), Load(LOCAL, "r0", RELAXED)
    for positions, outcomes in ((WAVES, {(0,), (1,)}), (GROUPS, {(0,)})):
        threads = (Thread("P0", positions[0], (store,)), Thread("P1", positions[1], (load,)))
        assert set(judge(Program(threads)).outcomes) == outcomes


# ---------------------------------------------------------------- values, sizes, bounds


def test_values_do_not_come_out_of_thin_air() -> None:
    shape = Shape("R x r0 ; W y r0 | R y r1 ; W x r1", "", ())
    assert set(judge(shape.program(RELAXED, RELAXED)).outcomes) == {(0, 0)}
    guarded = Program(
        tuple(
            Thread(
                f"P{n}",
                GROUPS[n],
                (Load(one, "r0", RELAXED), Store(other, 1, RELAXED, when=Guard("r0", 1))),
            )
            for n, (one, other) in enumerate([(X, Y), (Y, X)])
        )
    )
    assert set(judge(guarded).outcomes) == {(0, 0)}


def test_updates_are_atomic_and_each_returns_another_value() -> None:
    shape = Shape("|".join(["U x 1 r0"] * 4), "x", ())
    outcomes = judge(shape.program(RELAXED, RELAXED)).outcomes
    assert len(outcomes) == 24
    assert all(sorted(values) == [0, 1, 2, 3, 4] and values[-1] == 4 for values in outcomes)


def test_one_compare_and_swap_of_two_stores() -> None:
    swap = [Rmw(X, AtomicKind.CAS, n + 1, 0, "r0", RELAXED) for n in range(2)]
    threads = tuple(Thread(f"P{n}", GROUPS[n], (swap[n],)) for n in range(2))
    assert set(judge(Program(threads, observed=(X,))).outcomes) == {(0, 1, 1), (2, 0, 2)}


def test_bytes_of_a_word_that_are_written_apart() -> None:
    """Ordered by synchronisation, a word shows the bytes stored into it; unordered, it races."""
    half = Place("x", 2, 2)
    word = Place("x", 0, 4)

    def program(polled: Order) -> Program:
        return Program(
            (
                Thread("P0", GROUPS[0], (Store(half, 0xABCD), Store(Y, 1, RELEASE))),
                Thread(
                    "P1", GROUPS[1], (Load(Y, "r0", polled), Load(word, "r1", when=Guard("r0", 1)))
                ),
            ),
            {word: 0x11223344},
            (word, Place("x", 0, 2)),
        )

    verdict = judge(program(ACQUIRE))
    assert not verdict.undefined
    assert set(verdict.outcomes) == {
        (0, 0, 0xABCD3344, 0x3344),
        (1, 0xABCD3344, 0xABCD3344, 0x3344),
    }
    assert judge(program(RELAXED)).undefined


def test_atomic_words_are_not_torn_where_bytes_are_accessed_as_well() -> None:
    word = Place("x", 0, 4)
    program = Program(
        (
            Thread(
                "P0", GROUPS[0], (Load(Place("x", 1, 1), "r0"), Store(word, 0xFFFFFFFF, RELAXED))
            ),
            Thread("P1", GROUPS[1], (Load(word, "r1", RELAXED),)),
        )
    )
    verdict = judge(program)
    assert not verdict.undefined
    assert set(verdict.outcomes) == {(0, 0), (0, 0xFFFFFFFF)}


def test_too_large_programs_are_refused_before_they_run() -> None:
    many = Shape("|".join(["W x 1"] * 9 + ["R x r0 ; R x r1 ; R x r2"] * 3), "x", ())
    positions = [Position("gpu", n) for n in range(12)]
    with pytest.raises(TooLarge, match="candidate executions"):
        judge(many.program(RELAXED, RELAXED, positions=positions))
    guards = tuple(Load(Place("x"), f"r{n}", RELAXED) for n in range(13)) + tuple(
        Load(X, f"s{n}", RELAXED, when=Guard(f"r{n}", 1)) for n in range(13)
    )
    with pytest.raises(TooLarge, match="13 guards"):
        judge(Program((Thread("P0", GROUPS[0], guards),)))
