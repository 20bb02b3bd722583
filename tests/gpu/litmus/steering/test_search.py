"""Every way through the abstract machine."""

from __future__ import annotations

import pytest

from gpu.litmus.library import names, shipped
from gpu.litmus.steering.search import explore, placements
from gpu.memory_model.model import judge
from tests.sampling import sampled


@pytest.mark.parametrize("processor", ["gfx803", pytest.param("gfx900", marks=pytest.mark.slow)])
@pytest.mark.parametrize("name", sampled(names(), 4))
def test_no_order_of_steps_ends_as_it_must_not(name: str, processor: str) -> None:
    test = shipped(name)
    found = explore(test, processor)
    assert found.complete
    assert found.outcomes <= set(judge(test.program, test.rules).outcomes)


def test_a_search_ends_with_what_is_wanted() -> None:
    test = shipped("MP+relaxed+agent")
    found = explore(test, "gfx803", wanted=lambda outcome: outcome == (1, 0))
    assert found.way is not None and found.way.outcome == (1, 0) and not found.complete
    state = found.way.machine.start(found.way.warm)
    for move in found.way.moves:
        state = dict(found.way.machine.moves(state, whole=False))[move]
    assert found.way.machine.outcome(state) == (1, 0)


def test_a_search_that_is_too_long_is_not_complete() -> None:
    found = explore(shipped("MP+relaxed+agent"), "gfx803", most=20)
    assert found.way is None and not found.complete and found.states > 20


def test_groups_are_on_units_of_their_own_and_together() -> None:
    found = list(placements(shipped("MP+relaxed+agent")))
    assert found == [{0: 0, 1: 1}, {0: 0, 1: 0}]
