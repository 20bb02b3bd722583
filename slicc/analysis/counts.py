"""Counts of what is missing that only ever move one way.

Invariant: only fields of TBEs and entries that are counted by the text itself are judged; a count
that some text assigns from a message is left alone.
"""

from __future__ import annotations

from collections.abc import Iterator

from slicc import ir
from slicc.analysis.facts import MachineFacts
from slicc.analysis.rule import Findings, Rule, finding
from slicc.check.enum_uses import bodies_of
from slicc.diagnostics.model import Label
from slicc.ir.walk import expressions_in, statements_in

_SUM = (ir.BinaryOperator.ADD, ir.BinaryOperator.SUBTRACT)
_COMPARED = (ir.BinaryOperator.EQUAL, ir.BinaryOperator.NOT_EQUAL)


def _one_way(facts: MachineFacts) -> Findings:
    fields = {
        (struct.ref, field.name): field
        for struct in facts.machine.structs
        if struct.kind in (ir.StructKind.TBE, ir.StructKind.ENTRY)
        for field in struct.fields
        if field.type == ir.INT
    }
    compared = _compared(facts.machine)
    for (ref, name), field in fields.items():
        if (ref, name) not in compared:
            continue
        changes = [each for each in _changes(facts.machine) if each[0] == (ref, name)]
        kinds = {kind for _, kind, _ in changes}
        if kinds == {"up"} or kinds == {"down"}:
            way = "grows" if kinds == {"up"} else "falls"
            yield finding(
                "one-way-count",
                f"`{name}` of `{ref.name}` is counted, but only ever {way}",
                changes[0][2].span,
                f"{way} here",
                secondary=[Label(field.span, "starts here")],
                notes=["it is compared for equality, as a count of what is missing"],
            )


def _target(expression: ir.Expr) -> tuple[ir.TypeRef, str] | None:
    match expression:
        case ir.FieldAccess(receiver, name) if isinstance(receiver.type, ir.PointerType):
            return receiver.type.ref, name
        case _:
            return None


def _changes(machine: ir.Machine) -> Iterator[tuple[tuple[ir.TypeRef, str], str, ir.Stmt]]:
    """Assignments to fields: ``up`` and ``down`` by a constant, ``set`` otherwise."""
    for body in bodies_of(machine):
        for statement in statements_in(body):
            if not isinstance(statement, ir.Assign):
                continue
            target = _target(statement.target)
            if target is not None:
                yield target, _kind(statement, target), statement


def _kind(statement: ir.Assign, target: tuple[ir.TypeRef, str]) -> str:
    match statement.value:
        case ir.Binary(operator, left, ir.IntConst(amount)) if operator in _SUM and amount > 0:
            if _target(left) == target:
                return "up" if operator is ir.BinaryOperator.ADD else "down"
    return "zero" if isinstance(statement.value, ir.IntConst) else "set"


def _compared(machine: ir.Machine) -> set[tuple[ir.TypeRef, str]]:
    found = set()
    for body in bodies_of(machine):
        for node in expressions_in(body):
            if isinstance(node, ir.Binary) and node.operator in _COMPARED:
                found |= {_target(side) for side in (node.left, node.right)}
    return {each for each in found if each is not None}


RULES = (Rule(("one-way-count",), _one_way),)
