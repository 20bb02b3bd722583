"""Legs that cannot show a mistake are left out, and only those."""

from __future__ import annotations

import pytest

from slicc.mutation.mutant import Operator
from tester.execution.events import Verdict
from tester.mutation.engines import LegEnd
from tester.mutation.relevance import cells_of
from tester.mutation.study import OriginalFails, Study
from tester.program.replay_file import Leg
from tests.tester.mutation.small_study import campaign, mutated, native, study

NUMBERS = range(1, len(mutated().mutants) + 1)


def test_what_is_left_out_would_have_passed() -> None:
    legs = [campaign().plan(number).leg for number in range(2)]
    made = study()
    left_out = 0
    for number in NUMBERS:
        cells = cells_of(mutated().ir, mutated().mutants[number - 1])
        for place, leg in enumerate(legs):
            original = made.case(place).end
            if cells is not None and cells.isdisjoint(original.cells):
                left_out += 1
                end = native().run(number, leg)
                assert (end.verdict, end.trace) == (None, original.trace)
    assert left_out


def test_an_attempt_ends_with_the_first_leg_that_fails() -> None:
    made = study()
    attempts = {number: made.attempt(number, range(3)) for number in NUMBERS}
    killed = {number: found for number, found in attempts.items() if found.verdict is not None}
    assert killed and len(killed) < len(attempts)
    for number, found in killed.items():
        again = native().run(number, made.case(found.leg).leg)
        assert (again.verdict, again.place, again.episodes) == (
            found.verdict,
            found.place,
            found.episodes,
        )
    split = {number: made.attempt(number, range(found.leg, 3)) for number, found in killed.items()}
    assert {n: (a.leg, a.verdict) for n, a in split.items()} == {
        n: (a.leg, a.verdict) for n, a in killed.items()
    }


def test_a_removed_row_concerns_its_own_cells() -> None:
    mutant = next(m for m in mutated().mutants if m.operator is Operator.NEXT_STATE)
    cells = cells_of(mutated().ir, mutant)
    assert cells and {machine for machine, _ in cells} == {mutant.machine}


class _Broken:
    def run(self, number: int, leg: Leg) -> LegEnd:
        return LegEnd(Verdict.HANG, "L1Cache.I.Load", 3, 0, frozenset())


def test_a_protocol_that_fails_itself_is_reported() -> None:
    with pytest.raises(OriginalFails, match=r"fails leg 1: hang in L1Cache\.I\.Load"):
        Study(mutated(), campaign(), _Broken()).case(1)
