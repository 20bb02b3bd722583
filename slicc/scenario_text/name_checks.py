"""What names of a scenario must be: each defined once, and before it is used.

Invariant: a scenario that passes has no cell without a column, no register that two operations of a
thread define, no condition about what nothing observes, and no wait for what does not stand above.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from runtime.types.atomic_op import AtomicKind
from slicc.scenario_text import syntax
from slicc.scenario_text.conditions import Register, terms_of
from slicc.scenario_text.errors import ScenarioError
from slicc.source import Span
from slicc.text.suggest import suggest

OPERATIONS: Final = {
    name.lower(): value
    for name, value in vars(AtomicKind).items()
    if isinstance(value, int) and name.isupper() and name != "NUM"
}
"""Atomic operations by their names in a text."""


def check_names(scenario: syntax.Scenario) -> None:
    """Raises ScenarioError."""
    _check_columns(scenario)
    _check_locations(scenario)
    threads = [column.name for column in scenario.columns]
    for step in scenario.steps():
        _check_step(step, scenario, threads)
    registers = _registers(scenario)
    for condition in scenario.conditions:
        for term in terms_of(condition.formula):
            if isinstance(term, Register) and term not in registers:
                _undefined(term, threads, registers)


def register_of(scenario: syntax.Scenario, step: syntax.Step) -> Register | None:
    """The register that an operation defines."""
    operation = step.operation
    if isinstance(operation, syntax.Load | syntax.Atomic):
        result = operation.result
        if result is not None and result.register is not None:
            thread = scenario.columns[step.column].name
            return Register(thread, result.register, span=result.span)
    return None


def _twice(what: str, span: Span, first: Span) -> ScenarioError:
    return ScenarioError("name", what, span, secondary=[(first, "first defined here")])


def _check_columns(scenario: syntax.Scenario) -> None:
    seen: dict[str, syntax.Column] = {}
    agents: dict[str, syntax.Column] = {}
    for column in scenario.columns:
        if column.name in seen:
            what = f"two threads have the name {column.name}"
            raise _twice(what, column.span, seen[column.name].span)
        seen[column.name] = column
        if column.agent is not None:
            if column.agent in agents:
                what = f"two threads are run by {column.agent}"
                raise _twice(what, column.span, agents[column.agent].span)
            agents[column.agent] = column


def _check_locations(scenario: syntax.Scenario) -> None:
    seen: dict[str, syntax.Location] = {}
    for location in scenario.locations:
        if location.name in seen:
            what = f"{location.name} has two places"
            raise _twice(what, location.span, seen[location.name].span)
        if location.base is not None and location.base not in seen:
            what = f"{location.base} has no place above"
            raise ScenarioError("name", what, location.span, help=_meant(location.base, seen))
        seen[location.name] = location


def _registers(scenario: syntax.Scenario) -> set[Register]:
    seen: dict[Register, Register] = {}
    for step in scenario.steps():
        register = register_of(scenario, step)
        if register is not None:
            if register in seen:
                what = f"two operations of {register.thread} return to {register.name}"
                raise _twice(what, register.span, seen[register].span)
            seen[register] = register
    return set(seen)


def _check_step(step: syntax.Step, scenario: syntax.Scenario, threads: list[str]) -> None:
    if step.column >= len(threads):
        what = f"a row of {step.column + 1} cells, and {len(threads)} threads"
        raise ScenarioError("name", what, step.span)
    operation = step.operation
    if isinstance(operation, syntax.After) and operation.thread not in threads:
        what = f"there is no thread {operation.thread}"
        raise ScenarioError("name", what, operation.span, help=_meant(operation.thread, threads))
    if isinstance(operation, syntax.Atomic):
        if operation.operation not in OPERATIONS:
            what = f"there is no atomic operation {operation.operation}"
            help_ = _meant(operation.operation, OPERATIONS)
            raise ScenarioError("name", what, operation.span, help=help_)
        if (operation.compare is not None) != (operation.operation == "cas"):
            what = "`if VALUE` belongs to cas, and to nothing else"
            raise ScenarioError("name", what, operation.span)
    if scenario.racy and isinstance(operation, syntax.Load | syntax.Atomic):
        result = operation.result
        if result is not None and result.register is None:
            raise ScenarioError(
                "condition",
                "a value is stated where conditions judge",
                result.span,
                "name a register here",
                secondary=[(scenario.conditions[0].span, "and state the value here")],
            )


def _undefined(term: Register, threads: list[str], registers: Iterable[Register]) -> None:
    if term.thread not in threads:
        what, help_ = f"there is no thread {term.thread}", _meant(term.thread, threads)
    else:
        own = sorted(r.name for r in registers if r.thread == term.thread)
        what = f"no operation of {term.thread} returns to {term.name}"
        help_ = _meant(term.name, own) or (f"there is {', '.join(own)}" if own else None)
    raise ScenarioError("name", what, term.span, help=help_)


def _meant(name: str, names: Iterable[str]) -> str | None:
    near = suggest(name, names)
    return f"did you mean `{near}`?" if near else None
