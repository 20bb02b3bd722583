"""Long sweeps end at their first failure."""

from __future__ import annotations

import pytest
from hypothesis.stateful import RuleBasedStateMachine, rule

from tests.gpu.host.random_calls import run


class FailsLate(RuleBasedStateMachine):
    begun = 0

    def __init__(self) -> None:
        super().__init__()
        FailsLate.begun += 1

    @rule()
    def call(self) -> None:
        assert self.begun < 100


def test_a_failure_is_not_searched_for_a_shorter_one() -> None:
    with pytest.raises(AssertionError):
        run(FailsLate, 1000, 5)
    assert 100 <= FailsLate.begun < 110
