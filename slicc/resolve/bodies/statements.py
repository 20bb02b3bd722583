"""Statements that any body may hold; those that only some may hold are in ``port_statements``.

Invariant: a statement that was reported contributes nothing, and the ones after it are still
resolved.
"""

from __future__ import annotations

from typing import assert_never

from slicc import ir
from slicc.ir import type_rules
from slicc.resolve.bodies import builtin_statements, port_statements
from slicc.resolve.bodies.assignments import Statements, assign, convert, declare, stripped
from slicc.resolve.bodies.context import Body, BodyKind, is_reported
from slicc.resolve.bodies.expressions import expression, variable_value
from slicc.resolve.bodies.lvalues import check_changeable
from slicc.resolve.bodies.operators import increment
from slicc.resolve.bodies.suggestions import suggest_truth
from slicc.resolve.library.older_calls import is_foreign_counter, older_counter
from slicc.syntax import nodes as syntax


def block(body: Body, node: syntax.Block) -> tuple[ir.Stmt, ...]:
    """The statements of a block in a scope of their own."""
    body.locals.push()
    found: Statements = []
    for inner in node.statements:
        statement(body, inner, found)
    body.locals.pop()
    return tuple(found)


def statement(body: Body, node: syntax.Statement, into: Statements) -> None:
    """Resolve one statement and append the result."""
    match node:
        case syntax.Assign():
            assign(body, node, into)
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


# ------------------------------------------------------------------ expressions as statements


def _expression_statement(body: Body, node: syntax.ExpressionStatement, into: Statements) -> None:
    inner = stripped(node.expression)
    if isinstance(inner, syntax.LocalDeclaration):
        declare(body, inner, None, node.span, into)
        return
    if isinstance(inner, syntax.Call) and builtin_statements.handle(body, inner, node.span, into):
        return
    if isinstance(inner, syntax.Unary) and inner.operator == "++":
        counted = older_counter(body, inner)
        if counted is None and is_foreign_counter(body, inner):
            return
        if counted is None:
            into.append(ir.Evaluate(increment(body, inner), span=node.span))
            return
        inner = counted
    if isinstance(inner, syntax.MethodCall) and builtin_statements.handle_emplace(
        body, inner, node.span, into
    ):
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
    if not type_rules.same(found.type, ir.BOOL):
        body.sink.error(
            "type-mismatch-condition",
            "a condition is a `bool`",
            node.span,
            f"is `{type_rules.describe(found.type)}`",
            help=suggest_truth(found.type),
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
    if isinstance(stripped(node.value), syntax.OutOfDate):
        if type_rules.is_pointer(wanted):
            into.append(ir.Return(ir.Null(wanted, span=node.span), span=node.span))
        elif not isinstance(wanted, ir.UnknownType):
            body.sink.error(
                "type-mismatch-return",
                f"`OOD` is a null, and {body.title} returns `{type_rules.describe(wanted)}`",
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
            f"{body.title} returns `{type_rules.describe(wanted)}`",
            node.value.span,
            f"is `{type_rules.describe(value.type)}`",
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
