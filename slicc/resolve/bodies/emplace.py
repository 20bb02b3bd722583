"""``queue.emplace(a, b)``: a new element made from its fields, then pushed.

Invariant: the runtime's queues only ever see whole elements; this is the one place that spells
the making out.
"""

from __future__ import annotations

from slicc import ir
from slicc.resolve.bodies.context import Body, copying_for_new
from slicc.resolve.bodies.expressions import expression
from slicc.resolve.bodies.overloads import choose, report_no_match
from slicc.resolve.scope.symbols import CallTarget, Overload, ParameterSymbol, VariableKind
from slicc.source import Span
from slicc.syntax import nodes as syntax


def handle_emplace(body: Body, node: syntax.MethodCall, span: Span, into: list[ir.Stmt]) -> bool:
    """Resolve the call if it makes an element of a structure type; else leave it alone."""
    if node.method.text != "emplace" or not isinstance(
        node.receiver, syntax.Variable | syntax.FieldAccess
    ):
        return False
    receiver = expression(body, node.receiver)
    type_ = receiver.type
    if not isinstance(type_, ir.ClassType) or not isinstance(type_.element, ir.StructType):
        return False
    symbol = body.scope.symbol_of(type_.element)
    assert symbol is not None
    fields = list(symbol.fields.values())
    arguments = tuple([expression(body, argument) for argument in node.arguments])
    shape = Overload(
        "emplace",
        tuple([ParameterSymbol(field.type) for field in fields]),
        ir.VOID,
        CallTarget.CLASS_METHOD,
    )
    if choose(body.scope, [shape], arguments) is None:
        what = f"`emplace` of a `{symbol.name}`"
        report_no_match(body.sink, what, span, [shape], arguments)
        return True
    body.locals.push()
    local = body.locals.declare("element", VariableKind.LOCAL, type_.element, span)
    body.locals.pop()
    assert local is not None
    element = ir.Local(local.ir_name, type_.element, span=span)
    made = ir.NewStruct(type_.element, span=span)
    into.append(ir.Declare(local.ir_name, type_.element, made, ir.Copying.REBIND, span=span))
    for field, argument in zip(fields, arguments):
        place = ir.FieldAccess(element, field.name, field.type, span=span)
        copying = copying_for_new(field.type, argument)
        into.append(ir.Assign(place, argument, copying, span=span))
    push = ir.CallMethod(receiver, type_.name, "push", (element,), ir.VOID, mutates=True, span=span)
    into.append(ir.Evaluate(push, span=span))
    return True
