"""The shipped tests: what each says of its outcomes is what the memory model says."""

from __future__ import annotations

import pytest

from gpu.litmus.library import names, shipped
from gpu.litmus.series import run_series
from gpu.memory_model.model import judge
from slicc.scenario_text.conditions import Quantifier, holds


def test_there_are_many() -> None:
    shapes = {name.partition("+")[0] for name in names()}
    assert len(names()) >= 60
    assert shapes >= {"MP", "SB", "LB", "S", "R", "2", "IRIW", "WRC", "RWC", "ISA2"}
    assert shapes >= {"CoRR", "CoWW", "CoRW", "CoWR"}


@pytest.mark.parametrize("name", names())
def test_the_model_agrees_with_the_conditions(name: str) -> None:
    test = shipped(name)
    allowed = judge(test.program, test.rules)
    assert not allowed.undefined
    for condition in test.scenario.conditions:
        ends = [holds(condition.formula, test.outcome(each)) for each in allowed.outcomes]
        agrees = {
            Quantifier.exists: any(ends),
            Quantifier.forbidden: not any(ends),
            Quantifier.forall: all(ends),
        }
        assert agrees[condition.quantifier]


@pytest.mark.litmus
@pytest.mark.parametrize("name", names())
def test_no_run_ends_as_it_must_not(name: str) -> None:
    result = run_series(shipped(name), 3200, instances=32)
    assert not result.failed
