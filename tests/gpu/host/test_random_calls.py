"""Long sweeps end at their first failure."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule

from tests.gpu.host.random_calls import run


class FailsOften(RuleBasedStateMachine):
    """Of what it draws alone, as hypothesis repeats a failure before it reports it."""

    begun = 0
    begun_when_it_failed: int | None = None

    def __init__(self) -> None:
        super().__init__()
        FailsOften.begun += 1

    @rule(values=st.lists(st.integers(0, 9), min_size=3, max_size=3))
    def call(self, values: list[int]) -> None:
        if sum(values) > 13 and FailsOften.begun_when_it_failed is None:
            FailsOften.begun_when_it_failed = FailsOften.begun
        assert sum(values) <= 13


def test_a_failure_is_not_searched_for_a_shorter_one() -> None:
    with pytest.raises(AssertionError):
        run(FailsOften, 1000, 5)
    assert FailsOften.begun_when_it_failed is not None
    assert FailsOften.begun - FailsOften.begun_when_it_failed < 10
