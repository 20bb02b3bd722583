"""Calls that are statements: ``trigger``, ``error``, ``assert``, traces, ``set_tbe`` and the like.

Invariant: each becomes a node of its own, so no backend compares names.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from slicc import ir
from slicc.ir import type_rules
from slicc.resolve.bodies import statements as st
from slicc.resolve.bodies.context import Body, BodyKind, copying_for_new
from slicc.resolve.bodies.expressions import expression, unescape
from slicc.resolve.bodies.overloads import choose, report_no_match
from slicc.resolve.bodies.suggestions import suggest_conversion
from slicc.resolve.scope.scopes import MachineScope
from slicc.resolve.scope.symbols import CallTarget, Overload, ParameterSymbol, VariableKind
from slicc.source import Span
from slicc.syntax import nodes as syntax

Statements = list[ir.Stmt]
_FORMAT = re.compile(r"%[-+ #0]*\d*(?:\.\d+)?(?:hh|h|ll|l|z)?([a-zA-Z%])")


def handle(body: Body, node: syntax.Call, span: Span, into: Statements) -> bool:
    """Resolve the call if it is one of these; False if it is an ordinary function."""
    name = node.function.text
    handler = _HANDLERS.get(name)
    if handler is None or body.scope.functions.get(name):
        return False
    handler(body, node, span, into)
    return True


def handle_emplace(body: Body, node: syntax.MethodCall, span: Span, into: list[ir.Stmt]) -> bool:
    """Resolve ``queue.emplace(a, b)`` of structures: an element made from its fields, then pushed.

    False if it is another call. The runtime's queues only ever see whole elements.
    """
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


def _count(body: Body, node: syntax.Call, wanted: int, shape: str) -> bool:
    if len(node.arguments) == wanted:
        return True
    body.sink.error(
        "wrong-argument-count",
        f"`{node.function.text}` takes {wanted} argument{'' if wanted == 1 else 's'}, "
        f"not {len(node.arguments)}",
        node.span,
        f"{len(node.arguments)} given",
        help=f"write `{shape}`",
    )
    for argument in node.arguments:
        expression(body, argument)
    return False


def _too_few(body: Body, node: syntax.Call, least: int, shape: str) -> None:
    body.sink.error(
        "wrong-argument-count",
        f"`{node.function.text}` takes at least {least} argument{'' if least == 1 else 's'}, "
        f"not {len(node.arguments)}",
        node.span,
        f"{len(node.arguments)} given",
        help=f"write `{shape}`",
    )


def _text(body: Body, node: syntax.Expression, what: str) -> str | None:
    if isinstance(node, syntax.StringLiteral):
        return unescape(node.value)
    body.sink.error(
        "type-mismatch-argument", f"{what} is a string literal", node.span, "not a string"
    )
    return None


# ------------------------------------------------------------------ verdicts and traces


def _error(body: Body, node: syntax.Call, span: Span, into: Statements) -> None:
    if _count(body, node, 1, 'error("what is wrong")'):
        text = _text(body, node.arguments[0], "the text of `error`")
        into.append(ir.Panic(text or "", span=span))


def _assert(body: Body, node: syntax.Call, span: Span, into: Statements) -> None:
    if _count(body, node, 1, "assert(condition)"):
        into.append(ir.Assert(st.condition(body, node.arguments[0]), span=span))


def _has_controller(body: Body, node: syntax.Call) -> bool:
    """Traces and comments are written by controllers; methods of structures have none."""
    if body.kind is not BodyKind.METHOD:
        return True
    body.sink.error(
        "misplaced-statement",
        f"`{node.function.text}` needs a controller, and a structure has none",
        node.span,
        "stands in a method of a structure",
    )
    return False


def _trace(body: Body, node: syntax.Call, span: Span, into: Statements) -> None:
    if not _has_controller(body, node):
        return
    arguments = list(node.arguments)
    flag: str | None = None
    if node.function.text == "DPRINTF":
        if len(arguments) < 2:
            _too_few(body, node, 2, 'DPRINTF(RubySlicc, "text %s\\n", value)')
            return
        first = arguments.pop(0)
        if not isinstance(first, syntax.Variable):
            body.sink.error(
                "type-mismatch-argument", "a debug flag is a bare name", first.span, "not a name"
            )
            return
        flag = first.name.text
    elif not arguments:
        _too_few(body, node, 1, 'DPRINTFN("text %s\\n", value)')
        return
    text = _text(body, arguments[0], "the format of a trace")
    values = tuple([_traced(body, argument) for argument in arguments[1:]])
    if text is None:
        return
    expected = sum(match[1] != "%" for match in _FORMAT.finditer(text))
    if expected != len(values):
        body.sink.warning(
            "invalid-format",
            f"the format has {expected} place{'' if expected == 1 else 's'} for values, "
            f"but {len(values)} {'is' if len(values) == 1 else 'are'} given",
            arguments[0].span,
            f"{expected} places",
        )
    into.append(ir.Trace(flag, text, values, span=span))


def _traced(body: Body, node: syntax.Expression) -> ir.Expr:
    """A value to print; a port prints as its buffer."""
    if isinstance(node, syntax.Variable):
        variable = body.locals.find(node.name.text)
        if variable is not None and variable.port is not None:
            buffer = variable.port.buffer
            if buffer is not None:
                return ir.MachineObject(buffer.name, buffer.type, span=node.span)
    return expression(body, node)


def _comment(body: Body, node: syntax.Call, span: Span, into: Statements) -> None:
    if _has_controller(body, node) and _count(body, node, 1, "APPEND_TRANSITION_COMMENT(value)"):
        into.append(ir.TransitionComment(expression(body, node.arguments[0]), span=span))


# ------------------------------------------------------------------ the current transaction


def _transaction(
    body: Body,
    node: syntax.Call,
    span: Span,
    into: Statements,
    *,
    field: ir.TransactionField,
    sets: bool,
) -> None:
    """``set_tbe`` and ``set_cache_entry``, and with ``sets`` off what takes them back."""
    machine = _machine_in(BodyKind.ACTION, "an action", body, node)
    usage = f"{node.function.text}({'value' if sets else ''})"
    if machine is None or not _count(body, node, int(sets), usage):
        return
    is_tbe = field is ir.TransactionField.TBE
    implicit = machine.tbe if is_tbe else machine.entry
    if implicit is None:
        _no_implicit(body, node, "TBE" if is_tbe else "entry")
    elif sets:
        _set(body, node, field, implicit.type, span, into)
    else:
        into.append(ir.SetTransaction(field, None, span=span))


def _set(
    body: Body,
    node: syntax.Call,
    field: ir.TransactionField,
    wanted: ir.Type,
    span: Span,
    into: Statements,
) -> None:
    argument = node.arguments[0]
    value = expression(body, argument)
    converted = st.convert(body, value, wanted)
    if converted is None:
        body.sink.error(
            "type-mismatch-argument",
            f"argument 1 of `{node.function.text}` is of type `{type_rules.describe(wanted)}`",
            argument.span,
            f"is `{type_rules.describe(value.type)}`",
            help=suggest_conversion(value, wanted),
        )
        return
    into.append(ir.SetTransaction(field, converted, span=span))


def _machine_in(kind: BodyKind, place: str, body: Body, node: syntax.Call) -> MachineScope | None:
    """The machine of a body of that kind; of another one None, and the call is reported."""
    if body.kind is kind:
        return body.machine
    body.sink.error(
        "misplaced-statement",
        f"`{node.function.text}` belongs in {place}",
        node.span,
        f"stands in {body.title}",
    )
    return None


def _no_implicit(body: Body, node: syntax.Call, what: str) -> None:
    body.sink.error(
        "misplaced-statement",
        f"this machine has no {what} type, so `{node.function.text}` has nothing to set",
        node.span,
        f"no {what} type",
    )


# ------------------------------------------------------------------ triggers


def _stall_port(body: Body, node: syntax.Call, span: Span, into: Statements) -> None:
    machine = _machine_in(BodyKind.IN_PORT, "an in-port", body, node)
    if machine is not None and _count(body, node, 0, "stallPort()"):
        into.append(ir.StallPort(span=span))


def _trigger(body: Body, node: syntax.Call, span: Span, into: Statements) -> None:
    machine = _machine_in(BodyKind.IN_PORT, "an in-port", body, node)
    if machine is None:
        return
    event = machine.events.type if machine.events is not None else ir.UNKNOWN
    shape: list[tuple[str, ir.Type]] = [("event", event), ("address", ir.ADDR)]
    if machine.entry is not None:
        shape.append(("entry", machine.entry.type))
    if machine.tbe is not None:
        shape.append(("tbe", machine.tbe.type))
    written = f"trigger({', '.join(name for name, _ in shape)})"
    if not _count(body, node, len(shape), written):
        return
    values: list[ir.Expr] = []
    for argument, (name, wanted) in zip(node.arguments, shape):
        value = expression(body, argument)
        converted = st.convert(body, value, wanted)
        if converted is None:
            body.sink.error(
                "type-mismatch-argument",
                f"the {name} of `trigger` is of type `{type_rules.describe(wanted)}`",
                argument.span,
                f"is `{type_rules.describe(value.type)}`",
                help=f"write `{written}`",
            )
        values.append(converted or value)
    rest = values[2:]
    entry = rest.pop(0) if machine.entry is not None else None
    tbe = rest.pop(0) if machine.tbe is not None else None
    into.append(ir.Trigger(values[0], values[1], entry, tbe, span=span))


_HANDLERS: dict[str, Callable[[Body, syntax.Call, Span, Statements], None]] = {
    "error": _error,
    "assert": _assert,
    "DPRINTF": _trace,
    "DPRINTFN": _trace,
    "APPEND_TRANSITION_COMMENT": _comment,
    "set_tbe": partial(_transaction, field=ir.TransactionField.TBE, sets=True),
    "unset_tbe": partial(_transaction, field=ir.TransactionField.TBE, sets=False),
    "set_cache_entry": partial(_transaction, field=ir.TransactionField.ENTRY, sets=True),
    "unset_cache_entry": partial(_transaction, field=ir.TransactionField.ENTRY, sets=False),
    "trigger": _trigger,
    "stallPort": _stall_port,
}
