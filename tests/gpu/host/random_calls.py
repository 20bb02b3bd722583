"""Random sequences of calls of a runtime against a model, as hypothesis draws them."""

from __future__ import annotations

from typing import TypeVar

from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

T = TypeVar("T")


def pick(values: list[T], which: int) -> T:
    """Of the last ones, mostly."""
    return values[max(0, len(values) - 1 - which)]


def run(machine: type[RuleBasedStateMachine], examples: int, steps: int) -> None:
    """The same sequences each time, where they are few."""
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            database=None,
            derandomize=examples < 1000,
            suppress_health_check=list(HealthCheck),
        ),
    )
