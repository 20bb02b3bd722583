"""Calls: functions, methods, operations on ports, and the functions that enumerations imply.

Invariant: a call node names its final target; backends choose no overload.
"""

from __future__ import annotations

from dataclasses import replace

from slicc import ir, prelude
from slicc.diagnostics.older_dialect import note_dialect
from slicc.dialect import renamed as older
from slicc.ir import type_rules
from slicc.prelude.signature import Flag
from slicc.resolve.atomic_log import LOG_CALLS, called
from slicc.resolve.bodies import expressions as ex
from slicc.resolve.bodies.context import Body, BodyKind, note_change, unknown
from slicc.resolve.bodies.lvalues import check_changeable
from slicc.resolve.bodies.overloads import choose, report_no_match
from slicc.resolve.bodies.suggestions import suggest_function, suggest_method
from slicc.resolve.library.extensions import IN_PORT
from slicc.resolve.library.externals import declare_external
from slicc.resolve.library.older_calls import older_method, older_port_call
from slicc.resolve.library.stubs import declare_stub_functions, declare_stub_methods
from slicc.resolve.scope.scopes import MachineScope
from slicc.resolve.scope.symbols import (
    CallTarget,
    Overload,
    ParameterSymbol,
    PortSymbol,
    TypeKind,
    TypeSymbol,
    VariableKind,
    VariableSymbol,
)
from slicc.resolve.scope.uses import NameKind
from slicc.source import Span
from slicc.syntax import nodes as syntax

_NOW = ParameterSymbol(ir.TICK, dropped=True)

_PORT_OPERATIONS: dict[str, tuple[ir.PortOperation, tuple[ParameterSymbol, ...], ir.Type]] = {
    "isReady": (ir.PortOperation.IS_READY, (_NOW,), ir.BOOL),
    "dequeue": (ir.PortOperation.DEQUEUE, (_NOW,), ir.TICK),
    "recycle": (ir.PortOperation.RECYCLE, (_NOW, ParameterSymbol(ir.TICK)), ir.VOID),
    "isEmpty": (ir.PortOperation.IS_EMPTY, (), ir.BOOL),
    "isStallMapEmpty": (ir.PortOperation.IS_STALL_MAP_EMPTY, (), ir.BOOL),
    "getStallMapSize": (ir.PortOperation.STALL_MAP_SIZE, (), ir.INT),
    "hasStalledMsg": (ir.PortOperation.HAS_STALLED, (ParameterSymbol(ir.ADDR),), ir.BOOL),
    "getSize": (ir.PortOperation.GET_SIZE, (_NOW,), ir.INT),
}


def call(body: Body, node: syntax.Call) -> ir.Expr:
    """``f(a, b)`` in an expression."""
    name = node.function.text
    if name in prelude.STATEMENT_FUNCTIONS and not body.scope.functions.get(name):
        body.sink.error(
            "misplaced-expression",
            f"`{name}` is a statement and has no value",
            node.function.span,
            "used as a value",
        )
        return unknown(node.span)
    arguments = tuple([ex.expression(body, argument) for argument in node.arguments])
    overloads = body.scope.find_functions(name)
    if not overloads and name in older.FUNCTIONS:
        today = older.FUNCTIONS[name]
        note_dialect(body.sink, f"`{name}`", node.function.span, f"`{today}`")
        name, overloads = today, body.scope.find_functions(today)
    chosen = choose(body.scope, overloads, arguments)
    if (chosen is None or chosen.target is CallTarget.MISSING) and body.machine is not None:
        stubs = declare_stub_functions(body.machine, name, node.function.span)
        chosen = choose(body.scope, stubs, arguments) or chosen
        overloads = [*stubs, *overloads]
        chosen = _external(body, chosen)
    if chosen is None and name in older.NO_EFFECT:
        note_dialect(body.sink, f"`{name}`", node.function.span, "nothing: it feeds statistics")
        return ir.Local("?", ir.VOID, span=node.span)
    if not overloads:
        implicit = _enumeration_function(body, node, arguments)
        return implicit if implicit is not None else _unknown_function(body, node)
    if chosen is None:
        report_no_match(body.sink, f"`{name}`", node.span, overloads, arguments)
        result = overloads[0].result
        return ir.Local("?", result if len(overloads) == 1 else ir.UNKNOWN, span=node.span)
    body.scope.note(node.function.span, chosen.span, NameKind.FUNCTION, chosen.result)
    kept = _pass_arguments(body, chosen, arguments)
    match chosen.target:
        case CallTarget.FUNCTION:
            assert chosen.function is not None
            if body.kind is BodyKind.METHOD:
                _needs_controller(body, name, node.function.span)
            return ir.CallFunction(
                chosen.function, kept, chosen.result, chosen.by_reference, span=node.span
            )
        case CallTarget.CAST:
            return ir.Cast(kept[0], chosen.result, span=node.span)
        case CallTarget.BUILTIN:
            assert chosen.signature is not None
            if chosen.home is ir.BuiltinHome.CONTROLLER and body.kind is BodyKind.METHOD:
                _needs_controller(body, name, node.function.span)
            return ir.CallBuiltin(
                chosen.signature.python, chosen.home, kept, chosen.result, span=node.span
            )
        case _:
            _needs_controller(body, name, node.function.span)
            return ir.Local("?", chosen.result, span=node.span)


def _needs_controller(body: Body, name: str, span: Span) -> None:
    """A method of a structure has no controller: one that asks for it ends the run."""
    if body.asked is None:
        body.asked = (name, span)


def _unknown_function(body: Body, node: syntax.Call) -> ir.Expr:
    name = node.function.text
    if not body.scope.misses.first("function", name, node.function.span):
        return unknown(node.span)
    is_action = body.machine is not None and name in body.machine.actions
    body.sink.error(
        "unknown-function",
        f"no function named `{name}`",
        node.function.span,
        "an action" if is_action else "not declared",
        help=lambda: suggest_function(body, name),
    )
    return unknown(node.span)


def _external(body: Body, chosen: Overload | None, owner: str = "") -> Overload | None:
    """A function that is only declared, as one of this machine: calling it ends the run."""
    missing = chosen is not None and chosen.target is CallTarget.MISSING
    if chosen is None or not missing or body.machine is None or body.kind is BodyKind.METHOD:
        return chosen
    return declare_external(body.machine, chosen, owner)


def _enumeration_function(
    body: Body, node: syntax.Call, arguments: tuple[ir.Expr, ...]
) -> ir.Expr | None:
    """``E_to_string(e)`` and ``M_State_to_permission(s)``."""
    name = node.function.text
    machine = body.machine
    result: ir.Expr | None = None
    wanted: ir.Type = ir.UNKNOWN
    if machine is not None and name == f"{machine.name}_State_to_permission":
        if machine.states is not None:
            wanted = machine.states.type
        if len(arguments) == 1:
            result = ir.StateToPermission(
                machine.name, arguments[0], type_rules.ACCESS_PERMISSION, span=node.span
            )
    elif name.endswith("_to_string"):
        enum_name = name.removesuffix("_to_string")
        if machine is not None:
            enum_name = enum_name.removeprefix(f"{machine.name}_")
        symbol = body.scope.find_type(enum_name)
        if symbol is None or symbol.kind is not TypeKind.ENUM:
            return None
        wanted = symbol.type
        if len(arguments) == 1:
            result = ir.EnumToString(arguments[0], span=node.span)
    else:
        return None
    if result is None or not type_rules.same(arguments[0].type, wanted):
        only = Overload(name, (ParameterSymbol(wanted),), ir.STRING, CallTarget.BUILTIN)
        report_no_match(body.sink, f"`{name}`", node.span, [only], arguments)
        return unknown(node.span)
    return result


def _pass_arguments(
    body: Body, chosen: Overload, arguments: tuple[ir.Expr, ...]
) -> tuple[ir.Expr, ...]:
    """The arguments passed to the callee; ones it writes must be changeable."""
    plain = True
    for parameter, argument in zip(chosen.parameters, arguments):
        if parameter.by_reference or parameter.mutated:
            check_changeable(body, argument, f"`{chosen.name}` writes into its argument")
            note_change(body, argument)
        if parameter.dropped:
            plain = False
    if plain:
        return arguments
    return tuple(
        [a for p, a in zip(chosen.parameters, arguments) if not p.dropped],
    )


# ------------------------------------------------------------------ methods


def method_call(body: Body, node: syntax.MethodCall) -> ir.Expr:
    """``x.m(a, b)``."""
    receiver = node.receiver
    holder: VariableSymbol | None = None
    if isinstance(receiver, syntax.Variable):
        holder = variable = body.locals.find(receiver.name.text)
        if variable is not None and variable.port is not None:
            body.scope.note_variable(receiver.name.span, variable)
            if variable.kind is VariableKind.IN_PORT:
                return _port_call(body, node, variable.port)
            return _no_method(body, node, "an out-port", variable.port, ())
    value = ex.expression(body, receiver)
    return call_method(
        body, value, node.method.text, node.method.span, node.arguments, node.span, holder
    )


def index(body: Body, node: syntax.Index) -> ir.Expr:
    """``x[e]``, which is ``x.lookup(e)``."""
    if isinstance(node.receiver, syntax.LocalDeclaration):
        body.sink.error(
            "unsupported-construct",
            "SLICC has no arrays",
            node.span,
            help="declare each element by itself",
        )
        return unknown(node.span)
    value = ex.expression(body, node.receiver)
    span = node.receiver.span
    return call_method(body, value, "lookup", span, node.arguments, node.span)


def call_method(
    body: Body,
    receiver: ir.Expr,
    name: str,
    name_span: Span,
    argument_nodes: tuple[syntax.Expression, ...],
    span: Span,
    holder: VariableSymbol | None = None,
) -> ir.Expr:
    """``holder``: the variable that the receiver is, if it is one."""
    arguments = tuple([ex.expression(body, argument) for argument in argument_nodes])
    if isinstance(receiver.type, ir.UnknownType):
        return unknown(span)
    symbol = body.scope.symbol_of(receiver.type)
    overloads = [] if symbol is None else symbol.find_methods(name)
    chosen = choose(body.scope, overloads, arguments)
    if chosen is None or chosen.target is CallTarget.MISSING:
        older_call = None if symbol is None else older_method(body, symbol, name, arguments, span)
        if older_call is not None:
            assert symbol is not None
            what, newer = f"`{symbol.name}.{name}`", (symbol.name, name) in older.NEWER
            if not isinstance(older_call, tuple):
                now = "what it means to a system like ours"
                note_dialect(body.sink, what, name_span, now, newer=newer)
                return older_call
            name, arguments = older_call
            now = f"`{name}` of v24.0" if newer else f"`{name}` of today"
            note_dialect(body.sink, what, name_span, now, newer=newer)
            overloads = symbol.find_methods(name)
            chosen = choose(body.scope, overloads, arguments)
    if (chosen is None or chosen.target is CallTarget.MISSING) and symbol is not None:
        stubs = (
            []
            if body.machine is None
            else _stub_methods(body.machine, symbol, name, receiver.type, holder)
        )
        if stubs:
            overloads = [*stubs, *overloads]
            chosen = choose(body.scope, stubs, arguments) or chosen
        chosen = _external(body, chosen, symbol.name)
    if not overloads:
        _report_unknown_method(body, receiver.type, symbol, name, name_span)
        return unknown(span)
    if chosen is None:
        what = f"`{type_rules.describe(receiver.type)}.{name}`"
        shown = [_with_element(overload, receiver.type) for overload in overloads]
        report_no_match(body.sink, what, span, shown, arguments)
        return ir.Local("?", shown[0].result, span=span)
    if body.scope.uses is not None and name_span.text == name:  # not the brackets of an index
        result = _with_element(chosen, receiver.type).result
        body.scope.note(name_span, chosen.span, NameKind.METHOD, result)
    if chosen.target is CallTarget.MISSING:
        _needs_controller(body, name, name_span)
    return _call_of(body, receiver, chosen, arguments, span)


def _report_unknown_method(
    body: Body, receiver: ir.Type, symbol: TypeSymbol | None, name: str, name_span: Span
) -> None:
    """A type has no method of that name; reported once for each type and name."""
    described = type_rules.describe(receiver)
    if not body.scope.misses.first(f"{described}()", name, name_span):
        return
    removed = None if symbol is None else older.REMOVED.get((symbol.name, name))
    if removed is not None:
        body.sink.error(
            "unsupported-dialect",
            f"older dialect: `{described}.{name}` is part of {removed}",
            name_span,
            "nothing here does that",
            help="a prelude file (`--prelude FILE`) can say what the call does instead",
        )
        return
    indexed = name_span.text != name
    body.sink.error(
        "unknown-method",
        f"`{described}` has no elements" if indexed else f"`{described}` has no method `{name}`",
        name_span,
        "no table, no list" if indexed else "no such method",
        help=lambda: None if symbol is None else _method_help(symbol, name),
    )


def _method_help(symbol: TypeSymbol, name: str) -> str | None:
    if symbol.name == "MessageBuffer" and name in _PORT_OPERATIONS:
        return f"an in-port has it: write `port.{name}(…)` with the in-port of this buffer"
    return suggest_method(name, symbol.method_names())


def _call_of(
    body: Body,
    receiver: ir.Expr,
    chosen: Overload,
    arguments: tuple[ir.Expr, ...],
    span: Span,
) -> ir.Expr:
    """The call of a method that was found: of a function that stands for it, of a structure's
    method, or of one of the runtime's classes. One that is missing has no value."""
    kept = _pass_arguments(body, chosen, arguments)
    if chosen.target is CallTarget.FUNCTION:
        assert chosen.function is not None
        if chosen.receiver is not None:
            kept = (receiver, *kept)
        return ir.CallFunction(chosen.function, kept, chosen.result, chosen.by_reference, span=span)
    if chosen.target is CallTarget.STRUCT_METHOD:
        assert chosen.function is not None
        return ir.CallStructMethod(receiver, chosen.function, kept, chosen.result, span=span)
    if chosen.target is CallTarget.MISSING:
        return ir.Local("?", chosen.result, span=span)
    return _class_method(body, receiver, chosen, kept, span)


def _stub_methods(
    machine: MachineScope,
    symbol: TypeSymbol,
    name: str,
    receiver: ir.Type,
    holder: VariableSymbol | None,
) -> list[Overload]:
    """Methods that the user's prelude gives to a class or to what it inherits from."""
    owner: TypeSymbol | None = symbol
    while owner is not None:
        found = declare_stub_methods(machine, owner.name, name, receiver, holder)
        if found:
            return found
        owner = owner.interface
    return []


def _with_element(overload: Overload, receiver: ir.Type) -> Overload:
    """The overload as this receiver has it: a table returns its own elements."""
    if overload.element_result and isinstance(receiver, ir.ClassType) and receiver.element:
        return replace(overload, result=receiver.element)
    return overload


def _class_method(
    body: Body, receiver: ir.Expr, chosen: Overload, arguments: tuple[ir.Expr, ...], span: Span
) -> ir.Expr:
    signature = chosen.signature
    assert signature is not None
    mutates = Flag.MUTATES in signature.flags
    if mutates:
        check_changeable(body, receiver, f"`{chosen.name}` changes its receiver")
        note_change(body, receiver)
    result = _with_element(chosen, receiver.type).result
    if signature.python in LOG_CALLS:
        body.scope.atomic_calls.add(called(signature.python, len(arguments)))
    return ir.CallMethod(
        receiver,
        chosen.owner,
        signature.python,
        arguments,
        result,
        mutates,
        Flag.CONTROLLER in signature.flags,
        signature.by_reference,
        span=span,
    )


def _no_method(
    body: Body, node: syntax.MethodCall, what: str, port: PortSymbol, candidates: tuple[str, ...]
) -> ir.Expr:
    name, behind = node.method.text, port.buffer

    def help() -> str | None:
        """What is behind a port, a buffer or a table of alarms, has methods of its own."""
        symbol = None if behind is None else body.scope.symbol_of(behind.type)
        if behind is not None and symbol is not None and name in symbol.method_names():
            return f"did you mean `{behind.name}.{name}`?"
        return suggest_method(name, candidates)

    body.sink.error(
        "unknown-method",
        f"{what} has no method `{name}`",
        node.method.span,
        "no such method",
        help=help,
    )
    return unknown(node.span)


def _port_call(body: Body, node: syntax.MethodCall, port: PortSymbol) -> ir.Expr:
    name = node.method.text
    known = _PORT_OPERATIONS.get(name)
    if not node.arguments:
        earlier = older_port_call(body, node, port)
        if earlier is not None:
            return earlier
    if known is None and body.machine is not None:
        stubs = declare_stub_methods(body.machine, IN_PORT, name)
        given = tuple([ex.expression(body, argument) for argument in node.arguments])
        chosen = choose(body.scope, stubs, given)
        if chosen is not None and chosen.function is not None:
            kept = _pass_arguments(body, chosen, given)
            return ir.CallFunction(chosen.function, kept, chosen.result, span=node.span)
    if known is None:
        return _no_method(body, node, "an in-port", port, tuple(_PORT_OPERATIONS))
    operation, parameters, result = known
    port.used = True
    arguments = tuple([ex.expression(body, argument) for argument in node.arguments])
    shape = Overload(name, parameters, result, CallTarget.BUILTIN)
    if choose(body.scope, [shape], arguments) is None:
        report_no_match(body.sink, f"`{name}`", node.span, [shape], arguments)
        return ir.Local("?", result, span=node.span)
    kept = tuple([a for p, a in zip(parameters, arguments) if not p.dropped])
    return ir.PortCall(port.ref, operation, kept, result, span=node.span)
