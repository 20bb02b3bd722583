"""A scenario as a program of the memory model, or the mistake in it, shown at its place.

Invariant: what is returned is a valid program with at least one condition, whose terms all have
values in its outcomes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from gpu.litmus.situation import CORES, LINE
from gpu.memory_model.ordering import Rules
from gpu.memory_model.program import (
    BOTH_SPACES,
    Fence,
    Guard,
    Load,
    Operation,
    Order,
    Outcome,
    Place,
    Program,
    ProgramError,
    Rmw,
    Space,
    Store,
    Thread,
)
from gpu.memory_model.scopes import Position, Scope
from slicc.scenario_text import conditions, syntax
from slicc.scenario_text.errors import ScenarioError
from slicc.scenario_text.name_checks import OPERATIONS
from slicc.source import Span
from slicc.text.lazy_dataclass import dataclass

_SCOPES: Final = {str(scope): scope for scope in Scope}
_RULES: Final = {
    None: Rules.hsa,
    conditions.Model.hsa: Rules.hsa,
    conditions.Model.opencl: Rules.opencl,
}
MOST_GROUPS: Final = 4


@dataclass(frozen=True, slots=True)
class Test:
    """A program, what is said of its outcomes, and the units on which it wants its groups."""

    scenario: syntax.Scenario
    program: Program
    rules: Rules
    units: Mapping[int, int]
    terms: tuple[conditions.Term, ...]

    def outcome(self, values: Outcome) -> dict[conditions.Term, int]:
        """Values by term, as conditions compare them."""
        return dict(zip(self.terms, values, strict=True))

    def refused_by(self, values: Outcome) -> conditions.Condition | None:
        """The first condition that this outcome violates."""
        outcome = self.outcome(values)
        return next((c for c in self.scenario.conditions if c.refused_by(outcome)), None)


def read_test(scenario: syntax.Scenario) -> Test:
    """Raises ScenarioError."""
    if scenario.model not in _RULES:
        where = scenario.place_of("model")
        raise ScenarioError("place", "kernels are judged by `model hsa` or `opencl`", where)
    if not scenario.conditions:
        what = "a test of kernels needs a condition: exists, forbidden or forall"
        raise ScenarioError("condition", what, scenario.span)
    for heading in ("protocol", "keys", "delays", "limit", "without"):
        if heading in dict(scenario.headings):
            what = f"`{heading}` is a heading of tests of protocols"
            raise ScenarioError("program", what, scenario.place_of(heading))
    places = [*scenario.locations, *scenario.settings]
    if places:
        what = "the places and systems of a test of kernels are drawn"
        raise ScenarioError("program", what, places[0].span)
    observed = _observed(scenario)
    threads = tuple(_thread(scenario, number) for number in range(len(scenario.columns)))
    if all(each.position.agent == "cpu" for each in threads):
        what = "a test of kernels has a thread on the GPU: processors alone are for gpu-tester"
        raise ScenarioError("place", what, scenario.columns[0].span)
    try:
        program = Program(threads, observed=tuple(observed))
    except ProgramError as error:
        raise ScenarioError("program", str(error), scenario.span) from None
    registers = tuple(
        conditions.Register(each.name, name) for each in threads for name in each.registers
    )
    terms: tuple[conditions.Term, ...] = (
        *registers,
        *(conditions.Place(p.name, p.offset) for p in observed),
    )
    return Test(scenario, program, _RULES[scenario.model], _units(scenario), terms)


def _units(scenario: syntax.Scenario) -> dict[int, int]:
    found: dict[int, int] = {}
    for column in scenario.columns:
        position = column.position
        if position is None or position.unit is None:
            continue
        if found.setdefault(position.group, position.unit) != position.unit:
            what = f"group {position.group} is on two compute units"
            raise ScenarioError("place", what, position.span)
    return found


def _thread(scenario: syntax.Scenario, number: int) -> Thread:
    column = scenario.columns[number]
    if column.agent is not None:
        what = "a thread of a kernel has a place: `P0 @ group 0`"
        raise ScenarioError("place", what, column.span)
    operations = tuple(
        _operation(scenario, step.operation) for step in scenario.steps() if step.column == number
    )
    return Thread(column.name, _position(column, number), operations)


def _position(column: syntax.Column, number: int) -> Position:
    """Without a place, a group of its own."""
    position = column.position
    if position is None:
        return Position("gpu", number)
    if position.cpu is not None:
        if position.cpu >= CORES:
            what = f"tests run on cores 0 to {CORES - 1}, not {position.cpu}"
            raise ScenarioError("place", what, position.span)
        return Position("cpu", position.cpu)
    if position.unit is not None and position.unit >= MOST_GROUPS:
        what = f"tests run on units 0 to {MOST_GROUPS - 1}, not {position.unit}"
        raise ScenarioError("place", what, position.span)
    return Position("gpu", position.group, position.wave, position.lane)


def _operation(scenario: syntax.Scenario, operation: syntax.Operation) -> Operation:
    if isinstance(operation, syntax.Fence):
        spaces = frozenset({Space(operation.space)}) if operation.space else BOTH_SPACES
        return Fence(*_ordered(operation.order), spaces, _guard(operation.when))
    if not isinstance(operation, syntax.Load | syntax.Store | syntax.Atomic):
        what = "this is for tests of protocols; kernels have orders and fences with scopes"
        raise ScenarioError("program", what, operation.span)
    return _access(scenario, operation)


def _access(
    scenario: syntax.Scenario, access: syntax.Load | syntax.Store | syntax.Atomic
) -> Operation:
    if access.lane or access.joins or access.scopes:
        what = "lanes and bits of instructions are for tests of protocols"
        raise ScenarioError("program", what, access.span)
    place = _place(scenario, access.place, access.bytes)
    when = _guard(access.when)
    atomic = isinstance(access, syntax.Atomic)
    order, scope = _ordered(access.order, Order.relaxed if atomic else Order.non_atomic)
    try:
        match access:
            case syntax.Load(result=result):
                name = None if result is None else result.register
                made: Operation = Load(place, name, order, scope, when)
            case syntax.Store(value=value, register=register):
                made = Store(place, value if register is None else register, order, scope, when)
            case syntax.Atomic(operand=operand, register=register, compare=compare):
                name = None if access.result is None else access.result.register
                data = operand if register is None else register
                kind = OPERATIONS[access.operation]
                made = Rmw(place, kind, data, compare or 0, name, order, scope, when)
        _check_alone(made)
    except ProgramError as error:
        raise ScenarioError("program", str(error), access.span) from None
    return made


def _check_alone(operation: Operation) -> None:
    """What is wrong with an operation by itself is shown in its line."""
    known = {"when": getattr(operation, "when", None)}
    value = getattr(operation, "value", getattr(operation, "operand", None))
    names = [value] if isinstance(value, str) else []
    names += [known["when"].register] if known["when"] is not None else []
    place = Place("names", size=4)
    before = tuple(Load(place, name) for name in dict.fromkeys(names))
    Program((Thread("this thread", Position(), (*before, operation)),))


def _place(scenario: syntax.Scenario, place: conditions.Place, size: int) -> Place:
    if place.offset + size > LINE:
        what = f"{size} bytes at {place} are beyond the {LINE} bytes of a name"
        raise ScenarioError("place", what, place.span)
    space = Space.local if place.name in scenario.local else Space.global_
    return Place(place.name, place.offset, size, space)


def _guard(guard: syntax.Guard | None) -> Guard | None:
    return None if guard is None else Guard(guard.register, guard.value)


def _ordered(order: syntax.Order | None, default: Order = Order.non_atomic) -> tuple[Order, Scope]:
    if order is None:
        return default, Scope.system
    if order.scope is None:
        what = f"`{order.word}` needs a scope: {', '.join(_SCOPES)}"
        raise ScenarioError("place", what, order.span)
    return Order(order.word), _SCOPES[order.scope]


def _observed(scenario: syntax.Scenario) -> list[Place]:
    """The places that conditions mention."""
    sizes = {
        step.operation.place: step.operation.bytes
        for step in scenario.steps()
        if isinstance(step.operation, syntax.Access)
    }
    found: dict[Place, Span] = {}
    for condition in scenario.conditions:
        for term in conditions.terms_of(condition.formula):
            if isinstance(term, conditions.Place):
                if term not in sizes:
                    what = f"no operation accesses {term}"
                    raise ScenarioError("name", what, term.span)
                if term.name in scenario.local:
                    what = f"{term} is local memory, which ends with its work-group"
                    raise ScenarioError("condition", what, term.span)
                found.setdefault(_place(scenario, term, sizes[term]), term.span)
    return list(found)
