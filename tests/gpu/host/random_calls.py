"""Random sequences of calls of a runtime against a model, as hypothesis draws them."""

from __future__ import annotations

from typing import TypeVar

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

T = TypeVar("T")


def pick(values: list[T], which: int) -> T:
    """Of the last ones, mostly."""
    return values[max(0, len(values) - 1 - which)]


def run(machine: type[RuleBasedStateMachine], examples: int, steps: int) -> None:
    """The same sequences each time, where they are few. Where they are many, the first that fails
    is printed as it is, with what repeats it: to make it shorter takes as long as the search."""
    few = examples < 1000
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=steps,
            deadline=None,
            database=None,
            derandomize=few,
            phases=tuple(Phase) if few else (Phase.generate,),
            report_multiple_bugs=few,
            print_blob=not few,
            suppress_health_check=list(HealthCheck),
        ),
    )
