"""Bodies of actions, ports, functions and structure methods, each in a scope of its own.

Invariant: bodies are independent of each other; the order in which they are resolved has no effect.
"""

from __future__ import annotations

from collections.abc import Iterator

from slicc import ir
from slicc.ir import type_rules
from slicc.resolve.bodies.context import Body, BodyKind
from slicc.resolve.bodies.statements import block, falls_through
from slicc.resolve.declarations.pair_expressions import default_value
from slicc.resolve.declarations.prototypes import report_repeated_parameter
from slicc.resolve.scope.pairs import description
from slicc.resolve.scope.scopes import BodyScope, GlobalScope, MachineScope
from slicc.resolve.scope.symbols import FunctionSymbol, VariableKind, VariableSymbol
from slicc.source import NOWHERE, Span
from slicc.syntax import nodes as syntax

_THIS = "this_object"
"""The parameter behind ``this``."""


def action_body(scope: MachineScope, node: syntax.Action) -> tuple[ir.Stmt, ...]:
    """An action sees ``address`` and, where the machine has them, ``tbe`` and ``cache_entry``."""
    body = Body(scope, BodyKind.ACTION, f"action `{node.name.text}`", BodyScope(scope))
    implicit: list[tuple[str, ir.Type]] = [("address", ir.ADDR)]
    if scope.tbe is not None:
        implicit.append(("tbe", scope.tbe.type))
    if scope.entry is not None:
        implicit.append(("cache_entry", scope.entry.type))
    for name, type_ in implicit:
        body.locals.add(
            VariableSymbol(name, VariableKind.TRANSACTION, type_, NOWHERE, ir_name=name)
        )
    return block(body, node.body)


def port_body(scope: MachineScope, node: syntax.InPort) -> tuple[ir.Stmt, ...]:
    body = Body(scope, BodyKind.IN_PORT, f"in-port `{node.name.text}`", BodyScope(scope))
    return block(body, node.body)


def function_body(scope: GlobalScope, symbol: FunctionSymbol) -> ir.Function:
    """A machine function, or a structure's method (which sees the fields by bare name)."""
    node = symbol.node
    called = symbol.overload
    assert node.body is not None
    kind = BodyKind.FUNCTION if symbol.owner is None else BodyKind.METHOD
    body = Body(
        scope,
        kind,
        f"function `{called.name}`",
        BodyScope(scope),
        called.result,
        called.by_reference,
    )
    for variable in (*_fields_of(symbol), *symbol.visible):
        body.locals.add(variable)
    if called.by_reference and not type_rules.is_mutable_value(called.result):
        scope.sink.error(
            "unsupported-feature",
            f"{type_rules.with_article(called.result)} cannot be returned by reference",
            node.name.span,
            "only structures and data classes can",
        )
    parameters = _parameters(body, symbol)
    statements = block(body, node.body)
    if body.asked is not None:
        statements = (_controller_asked(body, called.name, *body.asked),)
    if not isinstance(called.result, ir.VoidType) and falls_through(statements):
        statements = (*statements, _return_missed(body, symbol))
    return ir.Function(
        symbol.ref,
        called.name,
        parameters,
        called.result,
        statements,
        called.by_reference,
        description(node.pairs),
        span=node.name.span,
    )


def _fields_of(symbol: FunctionSymbol) -> Iterator[VariableSymbol]:
    """The fields of the structure whose method a function is, if it is one."""
    if symbol.owner is None:
        return
    for name in symbol.owner.field_names():
        field = symbol.owner.find_field(name)
        assert field is not None
        yield VariableSymbol(name, VariableKind.FIELD, field.type, field.span, ir_name=name)


def _controller_asked(body: Body, method: str, name: str, span: Span) -> ir.Stmt:
    """What a method does that calls a function of the controller; warns of it."""
    body.sink.warning(
        "controller-in-structure",
        f"the method `{method}` asks the controller, and a structure has none",
        span,
        f"`{name}` cannot be called here",
        notes=["calling the method ends the run"],
    )
    return ir.Panic(f"`{method}` calls `{name}`, which a structure cannot", span=span)


def _return_missed(body: Body, symbol: FunctionSymbol) -> ir.Stmt:
    """What a function with a result does where it ends without one; reports that."""
    result, span = symbol.overload.result, symbol.node.name.span
    report = body.sink.error if symbol.overload.by_reference else body.sink.warning
    report(
        "missing-return",
        f"{body.title} may end without a value",
        span,
        f"returns `{type_rules.describe(result)}`",
        help="end every path with `return` or `error(…)`",
    )
    return ir.Return(default_value(body.scope, result, span), span=span)


def _parameters(body: Body, symbol: FunctionSymbol) -> tuple[ir.FunctionParameter, ...]:
    found = []
    body.locals.push()
    receiver = symbol.overload.receiver
    if receiver is not None:
        this = VariableSymbol(
            "this", VariableKind.PARAMETER, receiver, symbol.node.name.span, ir_name=_THIS
        )
        body.locals.add(this)
        found.append(ir.FunctionParameter(_THIS, receiver, span=symbol.node.name.span))
    for node, parameter in zip(symbol.node.parameters, symbol.overload.parameters):
        by_reference = node.mode == "reference"
        type_ = parameter.type
        assert node.name is not None, "the grammar asks for names where there is a body"
        if by_reference and not _can_be_reference(type_):
            body.sink.error(
                "unsupported-feature",
                f"{type_rules.with_article(type_)} cannot be passed by reference",
                node.span,
                "only structures and data classes can",
            )
        kind = VariableKind.REFERENCE if by_reference else VariableKind.PARAMETER
        variable = body.locals.declare(node.name.text, kind, type_, node.name.span)
        if variable is None:
            report_repeated_parameter(body.sink, body.title, node.name)
            continue
        found.append(ir.FunctionParameter(variable.ir_name, type_, by_reference, span=node.span))
    return tuple(found)


def _can_be_reference(type_: ir.Type) -> bool:
    return (
        type_rules.is_mutable_value(type_)
        or type_rules.is_pointer(type_)
        or isinstance(type_, ir.UnknownType)
    )
