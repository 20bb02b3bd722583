"""What is drawn for a run."""

from __future__ import annotations

from gpu.litmus.library import names, shipped
from gpu.litmus.situation import (
    LINE,
    Situation,
    global_names,
    global_names_of,
    most_instances,
    situation,
)
from gpu.memory_model.program import Program


def _drawn(program: Program, number: int, instances: int) -> Situation:
    return situation(program, 3, number, {}, instances)


def test_no_two_instances_share_a_line() -> None:
    for name in names()[::6]:
        program = shipped(name).program
        count = most_instances(program)
        for number in range(12):
            drawn = _drawn(program, number, count)
            alone = [drawn.of(instance) for instance in range(count)]
            lines = [at // LINE for each in alone for at in each.offsets.values()]
            assert len(set(lines)) == len(lines) == count * len(global_names(program))


def test_instances_are_warm_each_for_itself() -> None:
    program = shipped("MP+relaxed+agent").program
    (thread,) = (each for each in program.threads if each.name == "P1")
    kinds = set()
    for number in range(30):
        drawn = _drawn(program, number, 64)
        warm = [tuple(drawn.of(instance).warm["P1"]) for instance in range(64)]
        assert all(set(each) <= set(global_names_of(thread)) for each in warm)
        for name, has in drawn.warm["P1"].items():
            assert [name in each for each in warm] == [bool(has >> n & 1) for n in range(64)]
        kinds.add(min(3, len(set(warm))))
    assert kinds >= {1, 3}


def test_the_same_numbers_draw_the_same() -> None:
    program = shipped("IRIW+relaxed+wavefront").program
    assert most_instances(program) < 64
    assert _drawn(program, 5, 16) == _drawn(program, 5, 16) != _drawn(program, 6, 16)
