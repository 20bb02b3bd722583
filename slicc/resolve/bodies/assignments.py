"""Declarations of variables, and ``:=`` on every kind of place.

Invariant: a stored value has the type of its place; only this module decides which places may be
assigned.
"""

from __future__ import annotations

from slicc import ir
from slicc.diagnostics.model import Label
from slicc.diagnostics.older_dialect import note_dialect
from slicc.ir import type_rules
from slicc.resolve.bodies.context import Body, copying_for, copying_for_new
from slicc.resolve.bodies.expressions import expression
from slicc.resolve.bodies.lvalues import check_assignable
from slicc.resolve.bodies.suggestions import suggest_conversion
from slicc.resolve.declarations.pair_expressions import default_value
from slicc.resolve.scope.scopes import accepts
from slicc.resolve.scope.symbols import VariableKind
from slicc.source import Span
from slicc.syntax import nodes as syntax

Statements = list[ir.Stmt]


def stripped(node: syntax.Expression) -> syntax.Expression:
    while isinstance(node, syntax.Parenthesized):
        node = node.inner
    return node


def assign(body: Body, node: syntax.Assign, into: Statements) -> None:
    value = expression(body, node.value)
    target = stripped(node.target)
    if isinstance(target, syntax.LocalDeclaration):
        declare(body, target, value, node.span, into)
        return
    place = expression(body, target)
    if isinstance(place.type, ir.UnknownType):
        return
    if not type_rules.same(place.type, value.type):
        converted = convert(body, value, place.type)
        if converted is None:
            body.sink.error(
                "type-mismatch-assignment",
                f"{type_rules.with_article(value.type)} cannot be assigned to "
                f"{type_rules.with_article(place.type)}",
                node.value.span,
                f"is `{type_rules.describe(value.type)}`",
                secondary=[Label(target.span, f"is `{type_rules.describe(place.type)}`")],
                help=suggest_conversion(value, place.type),
            )
            return
        value = converted
    if _is_store(place):
        _assign_place(body, place, value, node.span, into)
        return
    if isinstance(target, syntax.FieldAccess) and _is_constant_field(body, target):
        note_dialect(
            body.sink, f"`{target.field.text}` is set", target.span, "nothing: it keeps its default"
        )
        return
    if not _is_place(place):
        body.sink.error(
            "not-assignable", "only variables and fields can be assigned", place.span, "a value"
        )
        return
    if not check_assignable(body, place, "`:=` changes its left side"):
        return
    if isinstance(place, ir.CallMethod):
        _assign_element(place, value, node.span, into)
        return
    _assign_place(body, place, value, node.span, into)


def _is_constant_field(body: Body, target: syntax.FieldAccess) -> bool:
    """Whether the runtime lacks the field of a library message, which has its default."""
    symbol = body.scope.symbol_of(expression(body, target.receiver).type)
    return symbol is not None and target.field.text in symbol.constant_fields


def _is_place(place: ir.Expr) -> bool:
    if isinstance(place, ir.CallFunction | ir.CallMethod):
        return place.by_reference
    return isinstance(place, ir.Local | ir.FieldAccess | ir.SelfField)


def _is_store(place: ir.Expr) -> bool:
    """Places that need no further check, or that :func:`_assign_place` checks itself."""
    if isinstance(place, ir.FieldAccess):
        return isinstance(place.receiver.type, ir.PointerType)
    return isinstance(place, ir.ControllerValue | ir.TransactionValue | ir.MachineObject)


def convert(body: Body, value: ir.Expr, wanted: ir.Type) -> ir.Expr | None:
    """``value`` as ``wanted`` where SLICC allows that without a cast, else None."""
    if type_rules.same(value.type, wanted):
        return value
    if not accepts(wanted, value.type, body.scope):
        return None
    return ir.Cast(value, wanted, span=value.span)


def _assign_place(body: Body, place: ir.Expr, value: ir.Expr, span: Span, into: Statements) -> None:
    match place:
        case ir.ControllerValue(field):
            body.sink.error(
                "not-assignable",
                f"`{field.value}` belongs to the controller and never changes",
                place.span,
                "read-only",
            )
        case ir.TransactionValue(field):
            if field is ir.TransactionField.ADDRESS:
                body.sink.error(
                    "not-assignable",
                    "the address of a transition never changes",
                    place.span,
                    "read-only",
                )
                return
            into.append(ir.SetTransaction(field, value, span=span))
        case ir.MachineObject() if isinstance(place.type, ir.ClassType) and (not place.type.value):
            body.sink.error(
                "not-assignable",
                f"`{place.name}` is built once and cannot be replaced",
                place.span,
                type_rules.with_article(place.type),
            )
        case _:
            into.append(ir.Assign(place, value, copying_for(body, place, value), span=span))


def _assign_element(place: ir.CallMethod, value: ir.Expr, span: Span, into: Statements) -> None:
    """``x.at(i) := v``: the runtime has a method that stores."""
    setter = f"set_{place.method}"
    if type_rules.is_mutable_value(place.type):
        into.append(ir.Assign(place, value, ir.Copying.OVERWRITE, span=span))
        return
    stored = ir.CallMethod(
        place.receiver,
        place.class_name,
        setter,
        (*place.arguments, value),
        ir.VOID,
        mutates=True,
        span=span,
    )
    into.append(ir.Evaluate(stored, span=span))


def declare(
    body: Body,
    node: syntax.LocalDeclaration,
    value: ir.Expr | None,
    span: Span,
    into: Statements,
) -> None:
    type_ = body.scope.resolve_type(node.type)
    if value is None:
        initial = default_value(body.scope, type_, node.span)
    elif isinstance(value.type, ir.VoidType):
        body.sink.error(
            "void-value",
            "this call has no value",
            value.span,
            "returns nothing",
            help=suggest_conversion(value, type_),
        )
        initial = value
    else:
        converted = convert(body, value, type_)
        if converted is None:
            body.sink.error(
                "type-mismatch-initial",
                f"{type_rules.with_article(value.type)} cannot initialise `{node.name.text}`",
                value.span,
                f"is `{type_rules.describe(value.type)}`",
                secondary=[Label(node.type.span, f"declared as `{type_rules.describe(type_)}`")],
                help=suggest_conversion(value, type_),
            )
        initial = converted or value
    found = body.locals.declare(
        node.name.text,
        VariableKind.LOCAL,
        type_,
        node.name.span,
        empty=isinstance(initial, ir.Null),
    )
    if found is None:
        first = body.locals.frames[-1][node.name.text]
        body.sink.declared_twice(
            "duplicate-variable",
            f"`{node.name.text}` is declared twice in this block",
            node.name.span,
            first.span,
        )
        return
    into.append(
        ir.Declare(found.ir_name, type_, initial, copying_for_new(type_, initial), span=span)
    )
