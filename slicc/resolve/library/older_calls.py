"""Translates calls of older libraries into today's.

Invariant: used only when a call fits no function or method of today.
"""

from __future__ import annotations

import re
from functools import cache

from slicc import ir
from slicc.diagnostics.older_dialect import note_dialect
from slicc.dialect import renamed as older
from slicc.ir import type_rules
from slicc.resolve.bodies.context import Body, BodyKind
from slicc.resolve.scope.scopes import is_interface_of
from slicc.resolve.scope.symbols import PortSymbol, TypeSymbol
from slicc.source import Span
from slicc.syntax import nodes as syntax

_SHAPE = re.compile(r"(\w+)\(([^)]*)\) -> (\w+)((?: \w+)*)")


def older_method(
    body: Body, symbol: TypeSymbol, name: str, arguments: tuple[ir.Expr, ...], span: Span
) -> ir.Expr | tuple[str, tuple[ir.Expr, ...]] | None:
    """Today's method and arguments for the call, or an expression that replaces it."""
    owner: TypeSymbol | None = symbol
    if symbol.name not in older.METHODS and symbol.interface is None:
        return None
    while owner is not None:
        for shape in _shapes(owner.name):
            method, parameters, today, wanted = shape
            if method == name and _fits(body, parameters, arguments):
                if today == "nothing":
                    return ir.Local("?", ir.VOID, span=span)
                if today == "controller":
                    home = ir.BuiltinHome.CONTROLLER
                    return ir.CallBuiltin(wanted[0], home, (), ir.INT, span=span)
                made = _arguments(body, wanted, arguments, span)
                return None if made is None else (today, made)
        owner = owner.interface
    return None


@cache
def _shapes(owner: str) -> list[tuple[str, tuple[str, ...], str, tuple[str, ...]]]:
    found = []
    for line in older.METHODS.get(owner, ()):
        match = _SHAPE.fullmatch(line)
        assert match is not None, line
        parameters = tuple(text.strip() for text in match[2].split(",") if text.strip())
        found.append((match[1], parameters, match[3], tuple(match[4].split())))
    return found


def _fits(body: Body, parameters: tuple[str, ...], arguments: tuple[ir.Expr, ...]) -> bool:
    if len(parameters) != len(arguments):
        return False
    for text, argument in zip(parameters, arguments):
        wanted = body.scope.type_text(text)
        if not type_rules.same(wanted, argument.type) and not is_interface_of(
            wanted, argument.type, body.scope
        ):
            return False
    return True


def _arguments(
    body: Body, wanted: tuple[str, ...], given: tuple[ir.Expr, ...], span: Span
) -> tuple[ir.Expr, ...] | None:
    """None if the call needs the line of a transition where there is none."""
    made: list[ir.Expr] = []
    steps = list(wanted)
    while steps:
        step = steps.pop(0)
        if step.isdecimal():
            made.append(given[int(step)])
        elif step in ("true", "false"):
            made.append(ir.BoolConst(step == "true", span=span))
        elif step == "now":
            made.append(_edge((), span))
        elif step == "after":
            made.append(_edge((_cycles(given[int(steps.pop(0))]),), span))
        else:
            assert step == "address", step
            if body.kind is not BodyKind.ACTION:
                return None
            line = ir.TransactionField("address")
            made.append(ir.TransactionValue(line, ir.ADDR, span=span))
    return tuple(made)


def _edge(arguments: tuple[ir.Expr, ...], span: Span) -> ir.Expr:
    return ir.CallBuiltin("clockEdge", ir.BuiltinHome.CONTROLLER, arguments, ir.TICK, span=span)


def _cycles(value: ir.Expr) -> ir.Expr:
    if value.type == ir.CYCLES:
        return value
    return ir.Cast(value, ir.CYCLES, span=value.span)


# ------------------------------------------------------------------ in-ports and counters

_PORT_OPERATIONS: dict[str, tuple[ir.PortOperation, ir.Type]] = {
    "isReady": (ir.PortOperation.IS_READY, ir.BOOL),
    "dequeue": (ir.PortOperation.DEQUEUE, ir.CYCLES),
    "dequeue_getDelayCycles": (ir.PortOperation.DEQUEUE, ir.CYCLES),
    "recycle": (ir.PortOperation.RECYCLE, ir.VOID),
    "getSize": (ir.PortOperation.GET_SIZE, ir.INT),
}
"""Operations that had no time argument in older versions; delays were counted in cycles."""


def older_port_call(body: Body, node: syntax.MethodCall, port: PortSymbol) -> ir.Expr | None:
    """``port.dequeue()`` and the like."""
    name = node.method.text
    known = _PORT_OPERATIONS.get(name)
    if known is None:
        return None
    operation, result = known
    arguments: tuple[ir.Expr, ...] = ()
    if operation is ir.PortOperation.RECYCLE:
        latency = ir.ControllerField("recycle_latency")
        value = ir.ControllerValue(latency, ir.CYCLES, span=node.span)
        arguments = (ir.Cast(value, ir.TICK, span=node.span),)
    note_dialect(body.sink, f"`{name}()` of a port", node.method.span, "done at the clock's edge")
    port.used = True
    return ir.PortCall(port.ref, operation, arguments, result, span=node.span)


def older_counter(body: Body, node: syntax.Unary) -> syntax.MethodCall | None:
    """``++cache.demand_misses`` as the call that counts today."""
    operand = node.operand
    while isinstance(operand, syntax.Parenthesized):
        operand = operand.inner
    if not isinstance(operand, syntax.FieldAccess):
        return None
    today = older.COUNTERS.get(operand.field.text)
    if today is None or is_foreign(body, operand.receiver, today):
        return None
    method = syntax.Name(today, span=operand.field.span)
    return syntax.MethodCall(operand.receiver, method, (), span=node.span)


def is_foreign(body: Body, receiver: syntax.Expression, method: str) -> bool:
    """Whether an object is known to be of a class without that method."""
    if not isinstance(receiver, syntax.Variable):
        return False
    variable = body.locals.find(receiver.name.text)
    symbol = None if variable is None else body.scope.symbol_of(variable.type)
    return symbol is not None and not symbol.find_methods(method)


def is_foreign_counter(body: Body, node: syntax.Unary) -> bool:
    """``++sequencer.loads``: a statistic of a simulator's own class, without effect here."""
    operand = node.operand
    if not isinstance(operand, syntax.FieldAccess) or not isinstance(
        operand.receiver, syntax.Variable
    ):
        return False
    variable = body.locals.find(operand.receiver.name.text)
    if variable is None or not isinstance(variable.type, ir.ClassType) or variable.type.value:
        return False
    symbol = body.scope.symbol_of(variable.type)
    name = operand.field.text
    if symbol is None or symbol.find_field(name) is not None:
        return False
    what = f"`++` of `{symbol.name}.{name}`"
    note_dialect(body.sink, what, operand.field.span, "a statistic that nothing here keeps")
    return True
