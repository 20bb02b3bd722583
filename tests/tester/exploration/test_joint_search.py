"""Several threads find what one finds."""

from __future__ import annotations

from typing import Any

import pytest

from tester.exploration.exploration import Conclusion, Exploration, OutOfTime, explore
from tester.exploration.invariants.language import parse_invariant
from tester.exploration.joint_search import JointSearch
from tester.exploration.native_search import Rules
from tester.exploration.native_words import SearchEnd
from tester.exploration.small_system import Bounds
from tests.tester.exploration.systems import protocol


def searched(jobs: int, rules: Rules, bounds: Bounds) -> Exploration:
    return explore(protocol("MSI"), bounds, rules, jobs=jobs)


@pytest.mark.parametrize("jobs", [2, 3])
def test_the_same_states_steps_and_cells(jobs: int) -> None:
    one = searched(1, Rules(), Bounds())
    several = searched(jobs, Rules(), Bounds())
    assert several.end is SearchEnd.COMPLETE
    names = ("states", "steps", "made", "depth", "code_bytes", "under_way", "frontier", "waiting")
    for name in names:
        assert getattr(several.statistics, name) == getattr(one.statistics, name), name
    assert several.cells == one.cells


def test_what_is_found_is_what_one_finds() -> None:
    text = "count(L1Cache in S) < 2"
    rules = Rules(invariants=(parse_invariant(protocol("MSI"), text),))
    one = searched(1, rules, Bounds(locations=1))
    two = searched(2, rules, Bounds(locations=1))
    assert two.conclusion is Conclusion.FOUND
    assert (two.finding, two.statistics) == (one.finding, one.statistics)


def test_a_limit_and_bounds_are_those_of_one() -> None:
    bounds = Bounds(lines=2, locations=1)
    one, two = (searched(jobs, Rules(most_states=2_000), bounds) for jobs in (1, 2))
    assert two.conclusion is Conclusion.LIMIT and two.complete_bound == one.complete_bound
    assert two.statistics.states >= 2_000


def test_what_several_find_in_time_is_searched_again_by_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    over: list[bool] = []
    close = JointSearch.__exit__

    def closed(joint: JointSearch, *error: Any) -> None:
        over.append(True)
        close(joint, *error)

    monkeypatch.setattr(JointSearch, "__exit__", closed)
    clock = "tester.exploration.exploration.monotonic"
    monkeypatch.setattr(clock, lambda: 9.0 if over else 0.0)
    text = "count(L1Cache in S) < 2"
    rules = Rules(invariants=(parse_invariant(protocol("MSI"), text),))
    bounds = Bounds(locations=1)
    found = explore(protocol("MSI"), bounds, rules, jobs=2, until=5.0)
    assert found.finding is not None and over
    none = explore(protocol("MSI"), bounds, Rules(), until=5.0)  # its time is over at once
    assert none.conclusion is Conclusion.LIMIT and isinstance(none.interruption, OutOfTime)
