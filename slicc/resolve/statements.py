"""Statements that any body may hold; what only some may hold is in ``port_statements``.

Invariant: a statement that was reported contributes nothing, and the ones after it are resolved
all the same.
"""

from __future__ import annotations

from typing import assert_never

from slicc import ir, syntax, types
from slicc.diagnostics.model import Label
from slicc.resolve import port_statements, special_calls
from slicc.resolve.body import Body, BodyKind, copying_for, copying_for_new, is_reported
from slicc.resolve.emplace import handle_emplace
from slicc.resolve.expressions import expression, increment, variable_value
from slicc.resolve.lvalues import check_changeable
from slicc.resolve.pair_text import default_value
from slicc.resolve.scopes import accepts
from slicc.source import Span
from slicc.symbols import VariableKind

Statements = list[ir.Stmt]


def block(body: Body, node: syntax.Block) -> tuple[ir.Stmt, ...]:
    """The statements of a block in a scope of their own."""
    body.locals.push()
    found: Statements = []
    for inner in node.statements:
        statement(body, inner, found)
    body.locals.pop()
    return tuple(found)


def statement(body: Body, node: syntax.Statement, into: Statements) -> None:
    """Resolve one statement and append what it means."""
    match node:
        case syntax.Assign():
            _assign(body, node, into)
        case syntax.ExpressionStatement():
            _expression_statement(body, node, into)
        case syntax.If():
            into.append(_if(body, node))
        case syntax.Peek():
            port_statements.peek(body, node, into)
        case syntax.Enqueue():
            port_statements.enqueue(body, node, into)
        case syntax.Return():
            _return(body, node, into)
        case syntax.StallAndWait():
            port_statements.stall_and_wait(body, node, into)
        case syntax.WakeupPort():
            port_statements.wakeup_port(body, node, into)
        case syntax.CheckAllocate():
            port_statements.check_allocate(body, node, into)
        case syntax.CheckOnCacheProbe():
            port_statements.check_on_cache_probe(body, node, into)
        case syntax.CheckNextCycle():
            into.append(ir.CheckNextCycle(span=node.span))
        case syntax.DeferEnqueueing():
            port_statements.defer_enqueueing(body, node, into)
        case syntax.CheckStopSlots():
            body.sink.error(
                "unsupported-feature",
                "`check_stop_slots` has no meaning in SLICC",
                node.span,
                "never worked in gem5 either",
            )
        case _:
            assert_never(node)


# ------------------------------------------------------------------ declarations, assignments


def _stripped(node: syntax.Expression) -> syntax.Expression:
    while isinstance(node, syntax.Parenthesized):
        node = node.inner
    return node


def _assign(body: Body, node: syntax.Assign, into: Statements) -> None:
    value = expression(body, node.value)
    target = _stripped(node.target)
    if isinstance(target, syntax.LocalDeclaration):
        _declare(body, target, value, node.span, into)
        return
    place = expression(body, target)
    if isinstance(place.type, ir.UnknownType):
        return
    if not types.same(place.type, value.type):
        converted = convert(body, value, place.type)
        if converted is None:
            body.sink.error(
                "type-mismatch-assignment",
                f"{types.with_article(value.type)} cannot be assigned to "
                f"{types.with_article(place.type)}",
                node.value.span,
                f"is `{types.describe(value.type)}`",
                secondary=[Label(target.span, f"is `{types.describe(place.type)}`")],
            )
            return
        value = converted
    if _is_store(place):
        _assign_place(body, place, value, node.span, into)
        return
    if not _is_place(place):
        body.sink.error(
            "not-assignable", "only variables and fields can be assigned", place.span, "a value"
        )
        return
    if not check_changeable(body, place, "`:=` changes its left side"):
        return
    if isinstance(place, ir.CallMethod):
        _assign_element(body, place, value, node.span, into)
        return
    _assign_place(body, place, value, node.span, into)


def _is_place(place: ir.Expr) -> bool:
    if isinstance(place, ir.CallFunction | ir.CallMethod):
        return place.by_reference
    return isinstance(place, ir.Local | ir.FieldAccess | ir.SelfField)


def _is_store(place: ir.Expr) -> bool:
    """Places that need no further look, or that :func:`_assign_place` judges itself."""
    if isinstance(place, ir.FieldAccess):
        return isinstance(place.receiver.type, ir.PointerType)
    return isinstance(place, ir.ControllerValue | ir.TransactionValue | ir.MachineObject)


def convert(body: Body, value: ir.Expr, wanted: ir.Type) -> ir.Expr | None:
    """``value`` as ``wanted`` where SLICC allows that without a cast, else None."""
    if types.same(value.type, wanted):
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
                types.with_article(place.type),
            )
        case _:
            into.append(ir.Assign(place, value, copying_for(body, place, value), span=span))


def _assign_element(
    body: Body, place: ir.CallMethod, value: ir.Expr, span: Span, into: Statements
) -> None:
    """``x.at(i) := v``: the runtime has a method that stores."""
    setter = f"set_{place.method}"
    if types.is_mutable_value(place.type):
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


def _declare(
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
        body.sink.error("void-value", "this call has no value", value.span, "returns nothing")
        initial = value
    else:
        converted = convert(body, value, type_)
        if converted is None:
            body.sink.error(
                "type-mismatch-initial",
                f"{types.with_article(value.type)} cannot initialise `{node.name.text}`",
                value.span,
                f"is `{types.describe(value.type)}`",
                secondary=[Label(node.type.span, f"declared as `{types.describe(type_)}`")],
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
        body.sink.error(
            "duplicate-variable",
            f"`{node.name.text}` is declared twice in this block",
            node.name.span,
            "declared again",
            secondary=[Label(first.span, "first declared here")],
        )
        return
    into.append(
        ir.Declare(found.ir_name, type_, initial, copying_for_new(type_, initial), span=span)
    )


# ------------------------------------------------------------------ expressions as statements


def _expression_statement(body: Body, node: syntax.ExpressionStatement, into: Statements) -> None:
    inner = _stripped(node.expression)
    if isinstance(inner, syntax.LocalDeclaration):
        _declare(body, inner, None, node.span, into)
        return
    if isinstance(inner, syntax.Call) and special_calls.handle(body, inner, node.span, into):
        return
    if isinstance(inner, syntax.Unary) and inner.operator == "++":
        into.append(ir.Evaluate(increment(body, inner), span=node.span))
        return
    if isinstance(inner, syntax.MethodCall) and handle_emplace(body, inner, node.span, into):
        return
    found = expression(body, inner)
    if is_reported(found):
        return
    if not isinstance(
        found,
        ir.CallFunction | ir.CallMethod | ir.CallStructMethod | ir.CallBuiltin | ir.PortCall,
    ):
        body.sink.warning(
            "ignored-result", "this statement has no effect", node.span, "value not used"
        )
        return
    into.append(ir.Evaluate(found, span=node.span))


# ------------------------------------------------------------------ if and return


def condition(body: Body, node: syntax.Expression) -> ir.Expr:
    """An expression that must be a bool."""
    found = expression(body, node)
    if not types.same(found.type, ir.BOOL):
        body.sink.error(
            "type-mismatch-condition",
            "a condition is a `bool`",
            node.span,
            f"is `{types.describe(found.type)}`",
        )
    return found


def _if(body: Body, node: syntax.If) -> ir.If:
    test = condition(body, node.condition)
    before = [(m.owned.copy(), m) for m in body.messages]
    then = block(body, node.then)
    after_then = [m.owned for m in body.messages]
    for owned, message in before:
        message.owned = owned
    match node.orelse:
        case None:
            orelse: tuple[ir.Stmt, ...] = ()
        case syntax.If() as nested:
            orelse = (_if(body, nested),)
        case other:
            orelse = block(body, other)
    for message, owned in zip(body.messages, after_then):
        message.owned = (message.owned & owned) | message.fresh
    return ir.If(test, then, orelse, span=node.span)


def _return(body: Body, node: syntax.Return, into: Statements) -> None:
    if body.kind in (BodyKind.ACTION, BodyKind.IN_PORT):
        body.sink.error(
            "return-outside-function",
            f"{body.title} cannot return",
            node.span,
            "only functions return",
        )
        return
    wanted = body.result
    if isinstance(_stripped(node.value), syntax.OutOfDate):
        if types.is_pointer(wanted):
            into.append(ir.Return(ir.Null(wanted, span=node.span), span=node.span))
        elif not isinstance(wanted, ir.UnknownType):
            body.sink.error(
                "type-mismatch-return",
                f"`OOD` is a null, and {body.title} returns `{types.describe(wanted)}`",
                node.value.span,
                "is a null",
            )
            into.append(ir.Return(ir.Null(wanted, span=node.span), span=node.span))
        return
    value = expression(body, node.value)
    converted = convert(body, value, wanted)
    if converted is None or isinstance(wanted, ir.VoidType):
        body.sink.error(
            "type-mismatch-return",
            f"{body.title} returns `{types.describe(wanted)}`",
            node.value.span,
            f"is `{types.describe(value.type)}`",
        )
        into.append(ir.Return(value, span=node.span))
        return
    if body.by_reference:
        check_changeable(body, converted, f"{body.title} returns a reference")
    into.append(ir.Return(converted, span=node.span))


def falls_through(statements: tuple[ir.Stmt, ...]) -> bool:
    """Whether control can run off the end."""
    for found in reversed(statements):
        match found:
            case ir.Return() | ir.Panic() | ir.Assert(ir.BoolConst(False)):
                return False
            case ir.If(_, then, orelse):
                if not falls_through(then) and not falls_through(orelse):
                    return False
            case ir.Peek(body=body):
                if not falls_through(body):
                    return False
            case _:
                pass
    return True


__all__ = ["block", "condition", "convert", "falls_through", "statement", "variable_value"]
