"""Counts that are one too large or too small, found by trying what they were meant to be.

A wrong count is seen far from where it is made: as a machine that waits, or as an event that comes
too early. Every place that counts or compares a count is taken as one more and as one less; the
mistake is where nothing goes wrong any more. Invariant: a correction after which a condition on the
count no longer leads to an event hides what goes wrong and is none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

from slicc import ir
from slicc.analysis.product.bodies import Correction
from slicc.analysis.product.exploration import SYSTEMS, Exploration, Findings, Met
from slicc.analysis.product.local import Memory
from slicc.analysis.product.machine import Model
from slicc.check.enum_uses import bodies_of
from slicc.ir.type_rules import COMPARISONS
from slicc.ir.walk import expressions_in, statements_in
from slicc.text.lazy_dataclass import dataclass

_PRICE: Final = 20_000
"""Messages looked at after which no further correction is tried."""


def miscounts(
    models: Sequence[Model], shared: tuple[ir.Struct, ...], found: Findings, steps: int
) -> Iterator[Correction]:
    """Corrections with which walks meet nothing that is wrong, those of assignments first.

    ``found``: what they met without. ``steps``: how far they go in each system.
    """
    memories, price = [Memory() for _ in SYSTEMS], 0
    for place in _places(models, found):
        events = place.decides & _events(found, place.model)
        for by in (1, -1):
            if price >= _PRICE:
                return
            correction, tried = Correction(place.count, by), Findings()
            other = Model(place.model.machine, shared, correction)
            changed = [other if each is place.model else each for each in models]
            if _is_sound(changed, memories, steps, tried) and events <= _events(tried, other):
                yield correction
            price += tried.steps


def _is_sound(
    models: Sequence[Model], memories: Sequence[Memory], steps: int, found: Findings
) -> bool:
    try:
        for driven, memory in zip(SYSTEMS, memories):
            Exploration(models, driven, memory, strict=True).run(steps, found)
    except Met:
        return False
    return True


def _events(found: Findings, model: Model) -> set[str]:
    """The events that machines of a type met."""
    return {event for machine_type, _, event in found.met if machine_type == model.type}


# ------------------------------------------------------------------ places


@dataclass(frozen=True, slots=True)
class _Place:
    """A count of a machine, and the events between which a condition on it decides."""

    model: Model
    count: ir.Expr
    decides: set[str]


def _places(models: Sequence[Model], found: Findings) -> list[_Place]:
    """Assignments before comparisons, and the machine that is blamed before the others."""
    blamed = found.happenings[0].machine
    ordered = sorted(models, key=lambda model: model.machine.name != blamed)
    machines = [(model, _at_fault(model, found)) for model in ordered]
    assigned = [each for model, machine in machines for each in _assigned(model, machine)]
    return assigned + [each for model, machine in machines for each in _compared(model, machine)]


def _at_fault(model: Model, found: Findings) -> ir.Machine:
    """The machine with the actions that are on every way to something wrong."""
    machine = model.machine
    refs = {action.ref for action in machine.actions}
    for happening in found.happenings:
        rows = {move.transition for move in happening.way if move.machine[0] == model.type}
        refs &= {ref for row in rows for ref in machine.transitions[row].actions}
    return replace(machine, actions=tuple(each for each in machine.actions if each.ref in refs))


def _assigned(model: Model, machine: ir.Machine) -> Iterator[_Place]:
    """Numbers that become fields."""
    for body in bodies_of(machine):
        for statement in statements_in(body):
            match statement:
                case ir.Assign(ir.FieldAccess(name=name, type=ir.INT), value):
                    names = {name, *_fields(value)}
                    yield _Place(model, value, _decided(model.machine, names))


def _compared(model: Model, machine: ir.Machine) -> Iterator[_Place]:
    """Numbers with which numbers are compared, but for assertions: these change nothing."""
    for body in bodies_of(machine):
        for statement in statements_in(body):
            if isinstance(statement, ir.Assert):
                continue
            for node in expressions_in((statement,), nested=False):
                match node:
                    case ir.Binary(operator, left, ir.IntConst() as limit) if (
                        operator in COMPARISONS and left.type == ir.INT
                    ):
                        decides = _events_in(model.machine, statement)
                        yield _Place(model, limit, decides | _decided(model.machine, _fields(left)))


def _fields(expression: ir.Expr) -> set[str]:
    """The fields that a number is made of."""
    whole = (ir.Evaluate(expression, span=expression.span),)
    return {
        node.name
        for node in expressions_in(whole)
        if isinstance(node, ir.FieldAccess) and node.type == ir.INT
    }


def _decided(machine: ir.Machine, fields: set[str]) -> set[str]:
    """The events between which conditions on the fields decide."""
    return {
        event
        for body in bodies_of(machine)
        for statement in statements_in(body)
        if isinstance(statement, ir.If) and not fields.isdisjoint(_fields(statement.condition))
        for event in _events_in(machine, statement)
    }


def _events_in(machine: ir.Machine, statement: ir.Stmt) -> set[str]:
    """The events that a statement names."""
    return {
        node.member
        for node in expressions_in((statement,))
        if isinstance(node, ir.EnumConst) and node.type.ref == machine.events.ref
    }
