"""Calls of small functions replaced by what the functions do: IR in, IR out.

Invariant: the result means what the call means, evaluates every argument at most once or for
nothing, and fails where the call would have failed; what cannot be replaced so is left alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, TypeVar

from slicc import ir
from slicc.codegen.analysis import completes, parts, walk
from slicc.codegen.integers import is_mutable
from slicc.source import Span

N = TypeVar("N")
Functions = Mapping[str, ir.Function]
"""Functions of one machine by ``ref.name``."""


def rewritten(node: N, change: Callable[[Any], Any]) -> N:
    """The node (or tuple of nodes) with ``change`` applied to every node, innermost first."""
    if isinstance(node, tuple):
        made = tuple([rewritten(each, change) for each in node])
        same = all(old is new for old, new in zip(node, made, strict=True))
        return node if same else made  # type: ignore[return-value]
    if not isinstance(node, ir.Node):
        return node
    news: dict[str, Any] = {}
    for name in parts(type(node)):
        value = getattr(node, name)
        if isinstance(value, (tuple, ir.Node)):
            new = rewritten(value, change)
            if new is not value:
                news[name] = new
    return change(replace(node, **news) if news else node)  # type: ignore[no-any-return]


def is_atomic(node: ir.Expr) -> bool:
    """Whether evaluating it again gives the same, costs nearly nothing, and cannot fail.

    Fields of messages belong here: nobody changes a message that has arrived.
    """
    match node:
        case ir.FieldAccess(receiver=ir.Local(type=ir.StructType())):
            return not is_mutable(node.type)
        case _:
            return isinstance(
                node,
                ir.Local
                | ir.TransactionValue
                | ir.IntConst
                | ir.BoolConst
                | ir.EnumConst
                | ir.Null,
            )


# ------------------------------------------------------------------ calls that yield a value


def value_of(call: ir.Expr, functions: Functions) -> tuple[ir.Expr, Span] | None:
    """The expression that a call of a function of the machine stands for, if it is that simple,
    and the place of its ``return``.

    The body must do nothing but choose what to return, without a place where only one of the
    choices fails; the arguments must be atomic.
    """
    if not isinstance(call, ir.CallFunction) or call.by_reference or is_mutable(call.type):
        return None
    function = functions[call.function.name]
    if function.by_reference or not all(is_atomic(each) for each in call.arguments):
        return None
    chosen = _chosen(function.body)
    if chosen is None:
        return None
    value = bound(chosen, function, call.arguments)
    first = function.body[0]
    return (value, first.span) if isinstance(first, ir.Return) or cannot_fail(value) else None


def _chosen(body: tuple[ir.Stmt, ...]) -> ir.Expr | None:
    """A body of ``if`` and ``return`` as one expression."""
    match body:
        case (ir.Return(value=value), *_):
            return value
        case (ir.If() as choice, *rest):
            then = _chosen((*choice.then, *rest))
            orelse = _chosen((*choice.orelse, *rest))
            if then is None or orelse is None:
                return None
            return ir.Conditional(choice.condition, then, orelse, then.type, span=choice.span)
        case _:
            return None


def bound(node: N, function: ir.Function, arguments: tuple[ir.Expr, ...]) -> N:
    """A part of the function's body with the arguments in place of the parameters."""
    values = {
        parameter.name: argument
        for parameter, argument in zip(function.parameters, arguments, strict=True)
    }

    def change(each: ir.Node) -> ir.Node:
        if isinstance(each, ir.Local):
            return values.get(each.name, each)
        return _folded(each)

    return rewritten(node, change)


def _folded(node: ir.Node) -> ir.Node:
    """Decisions that the arguments have already made."""
    match node:
        case ir.NullTest(operand=ir.Null()):
            return ir.BoolConst(not node.valid, span=node.span)
        case ir.Conditional(condition=ir.BoolConst(value=value)):
            return node.then if value else node.orelse
        case _:
            return node


def cannot_fail(node: ir.Expr, valid: frozenset[str] = frozenset()) -> bool:
    """Whether evaluating the expression always yields a value.

    ``valid`` are the pointers, by name, that are known not to be null.
    """
    match node:
        case ir.Conditional(
            condition=ir.NullTest(operand=ir.Local(name=name)) as test, then=then, orelse=orelse
        ):
            known = valid | {name}
            return cannot_fail(then, known if test.valid else valid) and cannot_fail(
                orelse, valid if test.valid else known
            )
        case ir.FieldAccess(receiver=ir.Local(name=name, type=ir.PointerType())):
            return name in valid
        case _:
            return is_atomic(node)


# ------------------------------------------------------------------ calls for their effect


def effect_of(function: ir.Function, arguments: tuple[ir.Expr, ...]) -> tuple[ir.Stmt, ...] | None:
    """The statements that a call of a function without result stands for.

    None when the function returns early, has locals of its own, or changes its parameters.
    """
    if not all(is_atomic(each) for each in arguments) or not completes(function.body):
        return None
    names = {each.name for each in function.parameters}
    for node in walk(function.body):
        match node:
            case ir.Return() | ir.Declare() | ir.Peek() | ir.Enqueue() | ir.SetTransaction():
                return None
            case ir.Assign(target=ir.Local(name=name)) if name in names:
                return None
            case ir.Assign(copying=ir.Copying.OVERWRITE):
                return None
            case _:
                pass
    return bound(function.body, function, arguments)


def with_permissions(node: N, machine: ir.Machine) -> N:
    """``M_State_to_permission`` of a known state as the permission itself."""
    permissions = {
        each.name: each.permission or ir.AccessPermission.NOT_PRESENT
        for each in machine.states.members
    }
    owner = ir.EnumType(ir.TypeRef(None, "AccessPermission"))

    def change(each: ir.Node) -> ir.Node:
        match each:
            case ir.StateToPermission(machine=machine.name, operand=ir.EnumConst(member=state)):
                return ir.EnumConst(permissions[state].value, owner, span=each.span)
            case _:
                return each

    return rewritten(node, change)
