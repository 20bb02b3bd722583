"""Why an outcome is allowed or not, in words."""

from __future__ import annotations

from gpu.memory_model.explanation import explain, forbidden_by
from gpu.memory_model.model import judge
from gpu.memory_model.program import Load, Order, Place, Program, Store, Thread
from tests.gpu.memory_model.shapes import GROUPS, SHAPES, Shape, interleavings

RELAXED, ACQUIRE, RELEASE, SC = Order.relaxed, Order.acquire, Order.release, Order.seq_cst


def test_a_forbidden_outcome_comes_with_its_cycle() -> None:
    program = SHAPES["MP"].program(RELEASE, ACQUIRE)
    assert explain(program, (1, 0)).splitlines()[2:] == [
        "  P0: store x = 1 (release, agent)",
        "    -> program order",
        "  P0: store y = 1 (release, agent)",
        "    -> synchronises with",
        "  P1: load y -> r0 (acquire, agent)",
        "    -> program order",
        "  P1: load x -> r1 (acquire, agent)",
        "    -> reads a value from before",
        "  P0: store x = 1 (release, agent)",
    ]
    assert "breaks: coherence [OpenCL 3.0 API" in explain(program, (1, 0))


def test_cycles_close_and_name_the_axiom() -> None:
    expected = {
        "SB": "order of seq_cst operations",
        "CoWW": "coherence",
        "IRIW": "order of seq_cst",
    }
    for name, axiom in expected.items():
        cycle = forbidden_by(SHAPES[name].program(SC, SC), SHAPES[name].weak)
        assert cycle is not None and cycle.axiom.name.startswith(axiom)
        ends = [step.target for step in cycle.steps]
        assert [step.source for step in cycle.steps] == [ends[-1], *ends[:-1]]


def test_every_forbidden_outcome_of_the_shapes_is_explained() -> None:
    for shape in SHAPES.values():
        for orders in ((RELEASE, ACQUIRE), (SC, SC)):
            program = shape.program(*orders)
            if shape.weak not in judge(program).outcomes:
                assert forbidden_by(program, shape.weak) is not None


def test_a_torn_update_breaks_atomicity() -> None:
    program = Shape("U x 1 r0 | U x 1 r1", "x", ()).program(RELAXED, RELAXED)
    cycle = forbidden_by(program, (0, 0, 1))
    assert cycle is not None and cycle.axiom.name == "atomicity of read-modify-writes"


def test_an_allowed_outcome_comes_with_an_execution() -> None:
    program = SHAPES["SB"].program(RELAXED, RELAXED)
    assert explain(program, (0, 0)).splitlines() == [
        "allowed: P0:r0=0, P1:r1=0",
        "  P1: load x -> r1 (relaxed, agent) reads from initial values",
        "  P0: load y -> r0 (relaxed, agent) reads from initial values",
    ]


def test_what_nothing_computes_and_what_a_race_makes_undefined() -> None:
    program = SHAPES["SB"].program(SC, SC)
    assert explain(program, (7, 7)).endswith("no execution computes these values")
    x = Place("x")
    racy = Program(
        (Thread("P0", GROUPS[0], (Store(x, 1),)), Thread("P1", GROUPS[1], (Load(x, "r0"),)))
    )
    assert interleavings(racy) == {(0,), (1,)}
    assert "undefined, by a data race of P0: store x = 1 and P1: load x -> r0" in explain(
        racy, (7,)
    )
