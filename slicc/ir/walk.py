"""Visiting expressions of IR bodies.

Invariant: every child of every node is visited; a new node type makes mypy point here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, assert_never

from slicc import ir

_LEAVES: Final = frozenset({ir.EnumConst, ir.IntConst, ir.Local, ir.MachineObject})
"""Kinds without children, of which there are most: they need not be asked."""
_MOST_KEPT: Final = 4096
_kept: dict[int, tuple[tuple[ir.Stmt, ...], tuple[ir.Expr, ...]]] = {}
"""The expressions of bodies by their identity: each check and rule asks for those of all bodies."""


def children(node: ir.Expr) -> tuple[ir.Expr, ...]:
    """The direct sub-expressions, in order of evaluation."""
    match node:
        case ir.FieldAccess(receiver):
            return (receiver,)
        case ir.CallMethod(receiver, arguments=arguments):
            return (receiver, *arguments)
        case ir.CallStructMethod(receiver, arguments=arguments):
            return (receiver, *arguments)
        case ir.CallFunction(arguments=arguments) | ir.CallBuiltin(arguments=arguments):
            return arguments
        case ir.PortCall(arguments=arguments):
            return arguments
        case ir.Binary(_, left, right):
            return (left, right)
        case ir.Conditional(condition, then, orelse):
            return (condition, then, orelse)
        case (
            ir.Unary(operand=operand)
            | ir.EnumToString(operand)
            | ir.StateToPermission(operand=operand)
            | ir.NullTest(operand=operand)
            | ir.Cast(operand)
        ):
            return (operand,)
        case (
            ir.IntConst()
            | ir.BoolConst()
            | ir.StringConst()
            | ir.EnumConst()
            | ir.Null()
            | ir.Local()
            | ir.MachineObject()
            | ir.ControllerValue()
            | ir.TransactionValue()
            | ir.SelfField()
            | ir.NewEntry()
            | ir.NewStruct()
        ):
            return ()
        case _:
            assert_never(node)


def direct_expressions(statement: ir.Stmt) -> tuple[ir.Expr, ...]:
    """The expressions of a statement itself, not of statements inside it."""
    match statement:
        case ir.Declare(initial=value) | ir.Return(value) | ir.Evaluate(value):
            return (value,)
        case ir.Assign(target, value):
            return (target, value)
        case ir.If(condition) | ir.Assert(condition):
            return (condition,)
        case ir.Enqueue(latency=latency, bypass=bypass):
            return (latency,) if bypass is None else (latency, bypass)
        case ir.Trigger(event, address, entry, tbe):
            return tuple(e for e in (event, address, entry, tbe) if e is not None)
        case (
            ir.StallAndWait(address=address)
            | ir.WakeupPort(address=address)
            | ir.CheckOnCacheProbe(address=address)
        ):
            return (address,)
        case ir.SetTransaction(value=optional):
            return () if optional is None else (optional,)
        case ir.Trace(arguments=arguments):
            return arguments
        case ir.TransitionComment(value):
            return (value,)
        case ir.Peek() | ir.StallPort() | ir.CheckNextCycle() | ir.CheckAllocate() | ir.Panic():
            return ()
        case _:
            assert_never(statement)


def inner_blocks(statement: ir.Stmt) -> tuple[tuple[ir.Stmt, ...], ...]:
    """The blocks a statement holds, in order."""
    match statement:
        case ir.If(_, then, orelse):
            return (then, orelse)
        case ir.Peek(body=body) | ir.Enqueue(body=body):
            return (body,)
        case _:
            return ()


def statements_in(statements: tuple[ir.Stmt, ...]) -> Iterator[ir.Stmt]:
    """Every statement, outer ones before those inside."""
    waiting = [*reversed(statements)]
    while waiting:
        statement = waiting.pop()
        yield statement
        for block in reversed(inner_blocks(statement)):
            waiting += reversed(block)


def expressions_in(statements: tuple[ir.Stmt, ...], nested: bool = True) -> Iterator[ir.Expr]:
    """Every expression with its sub-expressions; ``nested=False``: not those of inner blocks."""
    if not nested:
        return _expressions(statements)
    kept = _kept.get(id(statements))
    if kept is None:
        if len(_kept) >= _MOST_KEPT:
            _kept.clear()
        kept = statements, (*_expressions(statements_in(statements)),)
        _kept[id(statements)] = kept
    return iter(kept[1])


def _expressions(statements: Iterable[ir.Stmt]) -> Iterator[ir.Expr]:
    """The expressions of statements, not of those inside them."""
    for statement in statements:
        waiting = [*reversed(direct_expressions(statement))]
        while waiting:
            node = waiting.pop()
            yield node
            if type(node) not in _LEAVES:
                waiting += reversed(children(node))
