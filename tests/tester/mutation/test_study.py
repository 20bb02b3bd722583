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

MANY = 1 << 40
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
    attempts = {number: made.attempt(number, range(3), MANY) for number in NUMBERS}
    killed = {number: found for number, found in attempts.items() if found.verdict is not None}
    assert killed and len(killed) < len(attempts)
    for number, found in killed.items():
        before = sum(made.case(leg).end.episodes for leg in range(found.legs - 1))
        again = native().run(number, made.case(found.legs - 1).leg)
        assert (again.verdict, again.place) == (found.verdict, found.place)
        assert before + again.episodes == found.episodes
        assert made.attempt(number, range(found.legs - 1), MANY).verdict is None


def test_a_budget_ends_an_attempt_between_legs() -> None:
    made = study()
    survivor = next(n for n in NUMBERS if made.attempt(n, range(3), MANY).verdict is None)
    first = made.case(0).end.episodes
    for most, legs in ((1, 1), (first, 1), (first + 1, 2), (MANY, 3)):
        assert made.attempt(survivor, range(3), most).legs == legs


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
