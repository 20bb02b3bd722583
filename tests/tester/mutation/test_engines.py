"""A mutant is the same on both engines, and number 0 is the original."""

from __future__ import annotations

import pytest

from runtime.system.builder import build_system
from tester.execution.handover import handover_rules_of
from tester.execution.leg import LegRun
from tests.tester.mutation.small_study import campaign, mutated, native, python


@pytest.mark.parametrize(
    "place", [0, *(pytest.param(place, marks=pytest.mark.slow) for place in range(1, 6))]
)
def test_both_engines_end_every_mutant_alike(place: int) -> None:
    leg = campaign().plan(place).leg
    killed = 0
    for number in range(len(mutated().mutants) + 1):
        ends = [engine.run(number, leg) for engine in (native(), python())]
        where = "original" if number == 0 else mutated().mutants[number - 1].name
        assert ends[0] == ends[1], where
        killed += ends[0].verdict is not None
    assert killed > len(mutated().mutants) // 3


def test_number_0_is_the_original() -> None:
    leg = campaign().plan(0).leg
    system = build_system(mutated().loaded.info, leg.description, leg.run_key)
    run = LegRun(leg.program, system, leg.deadlock_limit, handover_rules_of(leg))
    assert run.run().finding is None
    end = native().run(0, leg)
    assert (end.verdict, end.episodes) == (None, run.outcome.episodes)
    assert {cell for _, cell in end.cells} and end.cells == python().run(0, leg).cells
