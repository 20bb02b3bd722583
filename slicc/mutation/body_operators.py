"""Mistakes in bodies: of actions, of in-ports, and of the functions that both call.

Invariant: a changed statement stands where the original stood; the text of the edit means it.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final

from slicc import ir
from slicc.ir.type_rules import COMPARISONS
from slicc.ir.walk import expressions_in
from slicc.mutation.fresh_fields import with_fresh_fields
from slicc.mutation.mutant import Edit, Mistake, Operator, without_line
from slicc.mutation.reachability import reachable_declarations
from slicc.mutation.rewriting import Body, Site, sites, with_body, with_part
from slicc.text.lazy_dataclass import dataclass

_COUNTS: Final = re.compile(r"ack|count|pending|outstanding|probe|waiting", re.IGNORECASE)
_DIRTY: Final = re.compile(r"dirty", re.IGNORECASE)
SIZES: Final = "MessageSizeType"
_OTHER_TYPES: Final = 2
"""Wrong types of a message that are tried; likewise of machines."""
_OPPOSITE: Final = {
    ir.BinaryOperator.EQUAL: ir.BinaryOperator.NOT_EQUAL,
    ir.BinaryOperator.NOT_EQUAL: ir.BinaryOperator.EQUAL,
}


@dataclass(frozen=True, slots=True)
class Change:
    """A mistake within a body. ``statements``: what stands there instead."""

    operator: Operator
    detail: str
    description: str
    edit: Edit
    statements: Body


Enums = dict[ir.TypeRef, ir.Enum_]
Rule = Callable[["Rules", Site], Iterator[Change]]


def body_mistakes(protocol: ir.Protocol, machine: ir.Machine) -> Iterator[Mistake]:
    """Every mistake in the bodies of a machine that a run can reach."""
    rules = Rules(protocol, machine)
    for declared in reachable_declarations(machine):
        for change, body in _changes(rules, declared.body):
            yield _mistake(declared.ref.name, change, with_body(machine, declared, body))


def _mistake(where: str, change: Change, machine: ir.Machine) -> Mistake:
    description = f"{where}: {change.description}"
    return Mistake(
        change.operator,
        where,
        change.detail,
        change.edit.span,
        description,
        change.edit,
        machine,
    )


def _changes(rules: Rules, body: Body) -> Iterator[tuple[Change, Body]]:
    for site in sites(body):
        for change in operator_changes(rules, site):
            yield change, with_fresh_fields(site.put(change.statements), rules.structs)


def operator_changes(rules: Rules, site: Site) -> Iterator[Change]:
    """What the operators make of a statement."""
    for rule in _RULES:
        yield from rule(rules, site)


class Rules:
    """What the operators ask about a protocol."""

    def __init__(self, protocol: ir.Protocol, machine: ir.Machine) -> None:
        self.machine = machine
        every = (*protocol.enums, *machine.enums)
        self._enums: Enums = {each.ref: each for each in every}
        self.machines = [each.machine_type or each.name for each in protocol.machines]
        self.structs = {each.ref: each for each in (*protocol.structs, *machine.structs)}

    def other_members(self, const: ir.EnumConst) -> list[str]:
        """Members of an enumeration besides one, those behind it first."""
        enum = self._enums.get(const.type.ref)
        members = [] if enum is None else [member.name for member in enum.members]
        if const.member not in members:
            return []
        place = members.index(const.member)
        return [*members[place + 1 :], *members[:place]]


# ------------------------------------------------------------------ statements that are left out


def _left_out(site: Site, operator: Operator, what: str) -> Change:
    span = site.statement.span
    edit = without_line(span.file, span.start, span.end)
    text = " ".join(span.text.rstrip(";").split())
    # The edit may take the whole line; the place is the statement's.
    return Change(operator, "dropped", f"{what}: `{text}` is missing", edit, ())


def _wakeups(_: Rules, site: Site) -> Iterator[Change]:
    match site.statement:
        case ir.WakeupPort():
            yield _left_out(site, Operator.WAKEUP_DROPPED, "no wake-up")
        case ir.Evaluate(ir.CallBuiltin(name=name)) if name.lower().startswith("wakeup"):
            yield _left_out(site, Operator.WAKEUP_DROPPED, "no wake-up")
        case _:
            pass


def _masks(_: Rules, site: Site) -> Iterator[Change]:
    match site.statement:
        case ir.Assign(target=ir.FieldAccess(type=ir.ClassType(name="WriteMask"))):
            yield _left_out(site, Operator.MASK_LOST, "the mask is lost")
        case ir.Evaluate(ir.CallMethod(class_name="WriteMask", mutates=True)):
            yield _left_out(site, Operator.MASK_LOST, "the mask is lost")
        case _:
            pass


# ------------------------------------------------------------------ bits and counts


def _dirty_bits(_: Rules, site: Site) -> Iterator[Change]:
    match site.statement:
        case ir.Assign(target=ir.FieldAccess(name=name, type=ir.BOOL), value=value) if (
            _DIRTY.search(name)
        ):
            wrong = isinstance(value, ir.BoolConst) and not value.value
            text = "true" if wrong else "false"
            other = ir.BoolConst(wrong, span=value.span)
            statement = with_part(site.statement, value, other)
            yield Change(
                Operator.DIRTY_BIT,
                text,
                f"{name} is {text} instead of {value.span.text}",
                Edit(value.span, text),
                (statement,),
            )
        case _:
            pass


def _ack_counts(_: Rules, site: Site) -> Iterator[Change]:
    statement = site.statement
    match statement:
        case ir.Assign(target=ir.FieldAccess(name=name, type=ir.INT), value=value) if (
            _COUNTS.search(name)
        ):
            for operator in (ir.BinaryOperator.ADD, ir.BinaryOperator.SUBTRACT):
                one = ir.IntConst(1, ir.INT, span=value.span)
                other = ir.Binary(operator, value, one, ir.INT, span=value.span)
                text = f"{value.span.text} {operator.value} 1"
                yield Change(
                    Operator.ACK_COUNT,
                    operator.value,
                    f"{name} is {text}",
                    Edit(value.span, text),
                    (with_part(statement, value, other),),
                )
        case ir.If(condition=condition):
            for node in expressions_in((statement,), nested=False):
                if isinstance(node, ir.Binary) and node.operator in COMPARISONS:
                    yield from _other_limits(statement, node, condition)
        case _:
            pass


def _other_limits(statement: ir.If, node: ir.Binary, condition: ir.Expr) -> Iterator[Change]:
    if not _COUNTS.search(node.left.span.text):
        return
    match node.right:
        case ir.IntConst(value=value, type=type_) as limit:
            other = ir.IntConst(value + 1, type_, span=limit.span)
            changed = with_part(condition, limit, other)
            yield Change(
                Operator.ACK_COUNT,
                f"{value + 1}",
                f"compares {node.left.span.text} with {value + 1} instead of {value}",
                Edit(limit.span, f"{value + 1}"),
                (replace(statement, condition=changed),),
            )
        case _:
            pass


# ------------------------------------------------------------------ messages


def _destinations(rules: Rules, site: Site) -> Iterator[Change]:
    if site.inside is None:
        return
    match site.statement:
        case ir.Evaluate(
            ir.CallMethod(receiver=receiver, class_name="NetDest", mutates=True) as call
        ) if _is_destination(receiver, site.inside):
            if call.method == "add" and len(call.arguments) == 1:
                yield from _other_machines(rules, site, call.arguments[0])
            else:
                yield _left_out(site, Operator.WRONG_DESTINATION, "another destination")
        case ir.Assign(target=target) if _is_destination(target, site.inside):
            yield _left_out(site, Operator.WRONG_DESTINATION, "no destination")
        case ir.Assign(
            target=ir.FieldAccess(receiver=ir.Local(name=local), type=type_), value=value
        ) if local == site.inside.local and _is_machine(type_):
            yield from _itself(site, value)
        case _:
            pass


def _is_destination(node: ir.Expr, message: ir.Enqueue) -> bool:
    match node:
        case ir.FieldAccess(ir.Local(name=local), type=ir.ClassType(name="NetDest")):
            return local == message.local
        case _:
            return False


def _is_machine(type_: ir.Type) -> bool:
    return isinstance(type_, ir.ClassType) and type_.name == "MachineID"


def _other_machines(rules: Rules, site: Site, argument: ir.Expr) -> Iterator[Change]:
    kinds = [
        node
        for node in expressions_in((ir.Evaluate(argument, span=argument.span),))
        if isinstance(node, ir.EnumConst) and node.type.ref.name == "MachineType"
    ]
    if len(kinds) != 1:
        yield from _itself(site, argument)
        return
    kind = kinds[0]
    others = [name for name in rules.machines if name != kind.member]
    for name in others[:_OTHER_TYPES]:
        other = replace(kind, member=name)
        yield Change(
            Operator.WRONG_DESTINATION,
            name,
            f"sends to {name} instead of {kind.member}",
            Edit(kind.span, f"MachineType:{name}"),
            (with_part(site.statement, kind, other),),
        )


def _itself(site: Site, value: ir.Expr) -> Iterator[Change]:
    """Changes that name this machine where another one is meant."""
    match value:
        case ir.ControllerValue(field=ir.ControllerField.MACHINE_ID):
            return
        case _ if _is_machine(value.type):
            own = ir.ControllerValue(ir.ControllerField.MACHINE_ID, value.type, span=value.span)
            yield Change(
                Operator.WRONG_DESTINATION,
                "machineID",
                f"names this machine instead of {value.span.text}",
                Edit(value.span, "machineID"),
                (with_part(site.statement, value, own),),
            )


def _types(rules: Rules, site: Site) -> Iterator[Change]:
    if site.inside is None:
        return
    match site.statement:
        case ir.Assign(
            target=ir.FieldAccess(receiver=ir.Local(name=local), name=field),
            value=ir.EnumConst() as value,
        ) if local == site.inside.local and value.type.ref.name != SIZES:
            for member in rules.other_members(value)[:_OTHER_TYPES]:
                other = replace(value, member=member)
                owner = value.type.ref.name
                yield Change(
                    Operator.WRONG_TYPE,
                    member,
                    f"{field} is {member} instead of {value.member}",
                    Edit(value.span, f"{owner}:{member}"),
                    (with_part(site.statement, value, other),),
                )
        case _:
            pass


# ------------------------------------------------------------------ who has the line


def _sharers(_: Rules, site: Site) -> Iterator[Change]:
    match site.statement:
        case ir.Evaluate(
            ir.CallMethod(receiver=receiver, class_name="NetDest", mutates=True) as call
        ) if not _in_message(receiver, site):
            yield _left_out(site, Operator.SHARERS, "who has the line")
            if call.method in ("add", "remove") and len(call.arguments) == 1:
                yield from _reversed(site, call)
        case ir.Assign(target=ir.FieldAccess(type=type_) as target) if (
            _is_machine(type_) or (isinstance(type_, ir.ClassType) and type_.name == "NetDest")
        ) and not _in_message(target, site):
            yield _left_out(site, Operator.SHARERS, "who has the line")
        case _:
            pass


def _in_message(node: ir.Expr, site: Site) -> bool:
    while isinstance(node, ir.FieldAccess):
        node = node.receiver
    inside = site.inside
    return inside is not None and isinstance(node, ir.Local) and node.name == inside.local


def _reversed(site: Site, call: ir.CallMethod) -> Iterator[Change]:
    """A sharer added instead of removed, or the reverse."""
    other = "remove" if call.method == "add" else "add"
    receiver = call.receiver.span
    rest = re.match(r"\s*\.\s*(\w+)", receiver.file.text[receiver.end :])
    if rest is None or rest[1] != call.method:
        return
    start = receiver.end + rest.start(1)
    name = replace(receiver, start=start, end=start + len(rest[1]))
    yield Change(
        Operator.SHARERS,
        other,
        f"{receiver.text}.{other} instead of {call.method}",
        Edit(name, other),
        (with_part(site.statement, call, replace(call, method=other)),),
    )


# ------------------------------------------------------------------ conditions


def _conditions(_: Rules, site: Site) -> Iterator[Change]:
    statement = site.statement
    if not isinstance(statement, ir.If):
        return
    condition = statement.condition
    text = condition.span.text
    match condition:
        case ir.PortCall(operation=ir.PortOperation.IS_READY):
            return  # nothing could be looked at
        case ir.Binary(operator=operator, left=left, right=right) if operator in _OPPOSITE:
            opposite = _OPPOSITE[operator]
            other: ir.Expr = replace(condition, operator=opposite)
            new = f"{left.span.text} {opposite.value} {right.span.text}"
        case ir.NullTest(valid=valid) if text.startswith(("is_valid", "is_invalid")):
            other = replace(condition, valid=not valid)
            new = f"{'is_invalid' if valid else 'is_valid'}{text[text.index('(') :]}"
        case ir.Unary(operator=ir.UnaryOperator.NOT, operand=operand):
            other, new = operand, operand.span.text
        case _:
            other = ir.Unary(ir.UnaryOperator.NOT, condition, ir.BOOL, span=condition.span)
            new = f"!({text})"
    changed = replace(statement, condition=other)
    yield Change(
        Operator.CONDITION_NEGATED,
        "",
        f"`{' '.join(text.split())}` is negated",
        Edit(condition.span, new),
        (changed,),
    )


_RULES: Final[tuple[Rule, ...]] = (
    _wakeups,
    _destinations,
    _types,
    _dirty_bits,
    _masks,
    _sharers,
    _ack_counts,
    _conditions,
)
