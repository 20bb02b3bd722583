"""Variations are texts that say what they are, the same for a seed, and without new outcomes."""

from __future__ import annotations

import pytest

from runtime.sim.delay_policy import DRAWN_POLICIES
from slicc.scenario_text.conditions import Model
from slicc.scenario_text.printer import printed
from slicc.scenario_text.syntax import After, Load, Scenario, Store
from tester.litmus.judgement import judge_of
from tester.litmus.variations import variation
from tester.scenario_text.placement import Addresses, agents_of_threads, places_of
from tests.tester.scenarios import MP, SB, bound, scenario

LINES = (
    "P0 | P1\nstore x+60 = 1 | store x+64 = 2\nload y -> r0 | load x+60 -> r1\nexists x+64 = 2\n"
)


def variations(text: str, count: int = 40) -> list[Scenario]:
    made = bound(text, "MSI")
    return [variation(made.scenario, made.cast, 64, 3, number) for number in range(count)]


def test_the_first_is_what_is_written() -> None:
    first = variations(MP)[0]
    assert first.rows == scenario(MP).rows
    assert first.columns == scenario(MP).columns
    assert first.delays == ("nominal",)


def test_they_depend_on_seed_and_number_alone() -> None:
    assert variations(MP) == variations(MP)
    assert len({printed(each) for each in variations(MP)}) == 40


def test_they_vary_what_they_should() -> None:
    drawn = variations(MP)
    made = bound(MP, "MSI")
    assert {each.delays[0] for each in drawn} == set(DRAWN_POLICIES)
    agents = {tuple(agents_of_threads(each, made.cast)) for each in drawn}
    assert len(agents) > 6
    operations = [[step.operation for step in each.steps()] for each in drawn[1:]]
    assert any(any(isinstance(o, After) for o in each) for each in operations)
    assert any(any(isinstance(o, Store) and o.value == 0 for o in each) for each in operations)
    assert any(
        any(isinstance(o, Load) and o.place.name.startswith("own_") for o in each)
        for each in operations
    )


@pytest.mark.parametrize("text", [MP, SB, LINES])
def test_what_is_printed_of_them_is_the_same_run(text: str) -> None:
    made = bound(text, "MSI")
    for each in variations(text, 12)[1:]:
        again = scenario(printed(each))
        assert again == each
        key = each.keys[0]
        digests = {made.of(s).leg(key)[0].program.digest() for s in (each, again)}
        assert len(digests) == 1


@pytest.mark.parametrize("model", list(Model))
@pytest.mark.parametrize("text", [MP, SB, LINES])
def test_they_have_no_outcome_that_the_test_has_not(text: str, model: Model) -> None:
    made = bound(text, "MSI")
    judge = judge_of(made, model)
    assert judge.allowed is not None
    for each in variations(text, 12):
        theirs = judge_of(made.of(each), model)
        assert set(judge.terms) <= set(theirs.terms)
        assert {judge.values(outcome) for outcome in theirs.outcomes()} <= judge.allowed


def test_places_keep_their_distance_within_a_name_and_never_meet() -> None:
    for each in variations(LINES):
        addresses = Addresses(each, 64)
        of = {str(place): addresses.of(place) for place in places_of(each)}
        assert of["x+64"] - of["x+60"] == 4
        lines = {address // 64 for name, address in of.items() if not name.startswith("x")}
        assert not lines & {of["x+60"] // 64, of["x+64"] // 64}


def test_some_push_lines_out_of_the_set_that_they_share() -> None:
    crowded = [e for e in variations(MP) if any("crowd" in str(p) for p in places_of(e))]
    assert 5 < len(crowded) < 25
    for each in crowded:
        addresses = Addresses(each, 64)
        sets = {addresses.of(place) // 64 % 256 for place in places_of(each)}
        assert len(sets) == 1
