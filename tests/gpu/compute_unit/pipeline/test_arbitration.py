"""Orders of issue, on waves that have nothing but an age and a priority."""

from __future__ import annotations

from itertools import product
from types import SimpleNamespace
from typing import Any

import pytest

from gpu.compute_unit.pipeline.arbitration import POLICIES, oldest_first, round_robin


def waves(*priorities: int) -> Any:
    """Oldest first."""
    return [SimpleNamespace(age=age, priority=each) for age, each in enumerate(priorities)]


def ages(ready: Any) -> list[int]:
    return [wave.age for wave in ready]


def test_the_oldest_wave_is_first_whichever_was_last() -> None:
    for last in range(-1, 4):
        assert ages(oldest_first(waves(0, 0, 0), last)) == [0, 1, 2]


def test_the_wave_behind_the_last_one_is_first() -> None:
    orders = [ages(round_robin(waves(0, 0, 0), last)) for last in (-1, 0, 1, 2)]
    assert orders == [[0, 1, 2], [1, 2, 0], [2, 0, 1], [0, 1, 2]]


def test_priority_comes_before_age_and_turn() -> None:
    assert ages(oldest_first(waves(0, 3, 1, 3), -1)) == [1, 3, 2, 0]
    assert ages(round_robin(waves(0, 3, 1, 3), 1)) == [3, 1, 2, 0]


@pytest.mark.parametrize("name", POLICIES)
def test_a_policy_only_orders(name: str) -> None:
    for priorities in product(range(3), repeat=3):
        for last in range(-1, 4):
            ordered = POLICIES[name](waves(*priorities), last)
            assert sorted(ages(ordered)) == [0, 1, 2]
            given = [wave.priority for wave in ordered]
            assert given == sorted(given, reverse=True)
