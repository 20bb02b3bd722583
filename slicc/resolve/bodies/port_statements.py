"""Statements about ports: peeking, sending, waiting, and reserving slots.

Invariant: only ``enqueue`` builds messages, and a message changes only before it is sent.
"""

from __future__ import annotations

from slicc import ir
from slicc.diagnostics.model import Label
from slicc.ir import type_rules
from slicc.resolve.bodies import statements as st
from slicc.resolve.bodies.context import Body, BodyKind, MessageUnderConstruction, unknown
from slicc.resolve.bodies.expressions import expression, variable_value
from slicc.resolve.bodies.suggestions import suggest_variable
from slicc.resolve.scope.pairs import check_keys
from slicc.resolve.scope.symbols import PortSymbol, TypeKind, TypeSymbol, VariableKind, did_you_mean
from slicc.syntax import nodes as syntax

Statements = list[ir.Stmt]


def _port(body: Body, name: syntax.Name, kind: VariableKind) -> PortSymbol | None:
    """The in-port or out-port of that name; anything else is reported."""
    variable = body.locals.find(name.text)
    word = "in-port" if kind is VariableKind.IN_PORT else "out-port"
    if variable is None:
        machine = body.machine
        if not body.scope.misses.first("port", name.text, name.span):
            return None
        ports = {} if machine is None else machine.ports
        body.sink.error(
            "unknown-port",
            f"no {word} named `{name.text}`",
            name.span,
            "not declared in this machine",
            help=lambda: did_you_mean(name.text, ports),
        )
        return None
    if variable.kind is not kind or variable.port is None:
        what = "an out-port" if variable.kind is VariableKind.OUT_PORT else "not a port"
        if variable.kind is VariableKind.IN_PORT:
            what = "an in-port"
        body.sink.error(
            "not-a-port",
            f"an {word} is needed here",
            name.span,
            f"`{name.text}` is {what}",
            secondary=[Label(variable.span, "declared here")],
        )
        return None
    variable.port.used = True
    body.scope.note_variable(name.span, variable)
    return variable.port


def _message(body: Body, name: syntax.TypeName) -> tuple[ir.Type, TypeSymbol | None]:
    type_ = body.scope.resolve_type(name)
    symbol = body.scope.symbol_of(type_)
    if symbol is not None and symbol.kind is not TypeKind.MESSAGE:
        if body.scope.misses.first("message", name.text, name.span):
            body.sink.error(
                "not-a-message",
                f"`{name.text}` is no message",
                name.span,
                "not a message",
                help='messages are structures with `interface="Message"`',
            )
        return ir.UNKNOWN, None
    return type_, symbol


def _check_carried(
    body: Body, port: PortSymbol | None, type_: ir.Type, name: syntax.TypeName
) -> None:
    """Warn when a peeked or sent message is not of the port's declared type.

    Only a warning: another type is legal unless such a message arrives, which is a verdict.
    """
    if port is None or type_rules.same(port.message, type_):
        return
    body.sink.warning(
        "type-mismatch-argument",
        f"the port `{port.name}` carries `{type_rules.describe(port.message)}`",
        name.span,
        f"is `{type_rules.describe(type_)}`",
        secondary=[Label(port.node.message.span, "declared here")],
    )


def _reference(type_: ir.Type) -> ir.TypeRef:
    return type_.ref if isinstance(type_, ir.StructType) else ir.TypeRef(None, "?")


def _address(body: Body, name: syntax.Name) -> ir.Expr:
    variable = body.locals.find(name.text)
    if variable is None or variable.port is not None:
        body.sink.error(
            "unknown-variable",
            f"no variable named `{name.text}`",
            name.span,
            "not declared here",
            help=lambda: suggest_variable(body, name.text),
        )
        return unknown(name.span)
    body.scope.note_variable(name.span, variable)
    if not type_rules.same(variable.type, ir.ADDR):
        body.sink.error(
            "type-mismatch-argument",
            "an address is needed here",
            name.span,
            f"is `{type_rules.describe(variable.type)}`",
        )
    return variable_value(variable, name.span)


def peek(body: Body, node: syntax.Peek, into: Statements) -> None:
    """``peek(port, T) { … }``."""
    check_keys(node.pairs, body.sink)
    port = _port(body, node.port, VariableKind.IN_PORT)
    type_, symbol = _message(body, node.type)
    _check_carried(body, port, type_, node.type)
    block_on = _address_field(body, node.pairs.find("block_on"), symbol)
    wake_up = _address_field(body, node.pairs.find("wake_up"), symbol)
    if block_on is not None and body.kind is not BodyKind.IN_PORT:
        _misplaced(body, node, "only a peek in an in-port can block")
    body.locals.push()
    local = body.locals.declare("in_msg", VariableKind.IN_MESSAGE, type_, node.span)
    assert local is not None
    inner = st.block(body, node.body)
    body.locals.pop()
    if port is None:
        return
    into.append(
        ir.Peek(
            port.ref,
            _reference(type_),
            local.ir_name,
            inner,
            block_on,
            wake_up,
            span=node.span,
        )
    )


def _address_field(body: Body, pair: syntax.Pair | None, symbol: TypeSymbol | None) -> str | None:
    if pair is None or symbol is None:
        return None
    found = symbol.find_field(pair.value)
    if found is None:
        body.sink.error(
            "unknown-field",
            f"`{symbol.name}` has no field `{pair.value}`",
            pair.value_span,
            "no such field",
            help=lambda: did_you_mean(pair.value, symbol.field_names()),
        )
    elif not type_rules.same(found.type, ir.ADDR):
        body.sink.error(
            "invalid-pair-value",
            f"`{pair.value}` is not an address, so nothing can block on it",
            pair.value_span,
            f"is `{type_rules.describe(found.type)}`",
        )
    return pair.value


# ------------------------------------------------------------------ sending


def enqueue(body: Body, node: syntax.Enqueue, into: Statements) -> None:
    """``enqueue(port, T, latency, bypass) { … }``: body first, then the latency."""
    _send(body, node, node.latency, node.bypass, into)


def defer_enqueueing(body: Body, node: syntax.DeferEnqueueing, into: Statements) -> None:
    """An enqueue that waits for a call which SLICC has no statement for: refused."""
    body.sink.error(
        "unsupported-feature",
        "`defer_enqueueing` is not supported",
        node.span,
        "no statement of SLICC would ever send this message",
        help="use `enqueue` where the message is to be sent",
    )
    _send(body, node, None, None, into)


def _send(
    body: Body,
    node: syntax.Enqueue | syntax.DeferEnqueueing,
    latency_node: syntax.Expression | None,
    bypass_node: syntax.Expression | None,
    into: Statements,
) -> None:
    port = _port(body, node.port, VariableKind.OUT_PORT)
    type_, symbol = _message(body, node.type)
    _check_carried(body, port, type_, node.type)
    if port is not None and symbol is not None:
        _check_network(body, port, symbol, node.type)
    body.locals.push()
    local = body.locals.declare("out_msg", VariableKind.OUT_MESSAGE, type_, node.span)
    assert local is not None
    mutable = () if symbol is None else symbol.fields.values()
    message = MessageUnderConstruction(
        local.ir_name, frozenset(f.name for f in mutable if type_rules.is_mutable_value(f.type))
    )
    body.messages.append(message)
    inner = st.block(body, node.body)
    body.messages.pop()
    body.locals.pop()
    latency: ir.Expr = ir.IntConst(1, ir.CYCLES, span=node.span)
    if latency_node is not None:
        latency = expression(body, latency_node)
        if not type_rules.is_integer(latency.type) and latency.type != ir.UNKNOWN:
            body.sink.error(
                "type-mismatch-argument",
                "a latency is a number of cycles",
                latency_node.span,
                f"is `{type_rules.describe(latency.type)}`",
            )
    bypass = None
    if bypass_node is not None:
        bypass = st.condition(body, bypass_node)
    if port is None:
        return
    fresh = tuple(
        name for name in ([] if symbol is None else symbol.fields) if name in message.fresh
    )
    into.append(
        ir.Enqueue(
            port.ref,
            _reference(type_),
            local.ir_name,
            latency,
            bypass,
            inner,
            fresh,
            span=node.span,
        )
    )


def _check_network(body: Body, port: PortSymbol, symbol: TypeSymbol, name: syntax.TypeName) -> None:
    """A message that enters the network needs fields for its destination and its size."""
    buffer = port.buffer
    if buffer is None or buffer.node is None:
        return
    pairs = buffer.node.pairs
    if pairs.get("network") != "To" or "virtual_network" not in pairs:
        return
    wanted = {"Destination": "NetDest", "MessageSize": "MessageSizeType"}
    for field, type_name in wanted.items():
        found = symbol.find_field(field)
        if found is not None and type_rules.same(found.type, body.scope.type_text(type_name)):
            continue
        if not body.scope.misses.first(f"{symbol.name} of the network", field, name.span):
            continue
        body.sink.error(
            "message-lacks-field",
            f"`{symbol.name}` has no field `{type_name} {field}`, which the network needs",
            name.span,
            f"sent through `{port.name}`",
            secondary=[Label(symbol.span, "declared here"), Label(buffer.span, "network buffer")],
        )


# ------------------------------------------------------------------ waiting, waking, reserving


def stall_and_wait(body: Body, node: syntax.StallAndWait, into: Statements) -> None:
    _at_port(body, node, ir.StallAndWait, into)


def wakeup_port(body: Body, node: syntax.WakeupPort, into: Statements) -> None:
    if body.kind is BodyKind.IN_PORT:
        _misplaced(body, node, "`wakeup_port` belongs in an action or function")
    _at_port(body, node, ir.WakeupPort, into)


def check_on_cache_probe(body: Body, node: syntax.CheckOnCacheProbe, into: Statements) -> None:
    if body.kind is not BodyKind.IN_PORT:
        _misplaced(body, node, "`check_on_cache_probe` belongs in an in-port")
    _at_port(body, node, ir.CheckOnCacheProbe, into)


def _at_port(
    body: Body,
    node: syntax.StallAndWait | syntax.WakeupPort | syntax.CheckOnCacheProbe,
    kind: type[ir.StallAndWait | ir.WakeupPort | ir.CheckOnCacheProbe],
    into: Statements,
) -> None:
    """A statement about an in-port and an address."""
    port = _port(body, node.port, VariableKind.IN_PORT)
    address = _address(body, node.address)
    if port is not None:
        into.append(kind(port.ref, address, span=node.span))


def _misplaced(body: Body, node: syntax.Node, headline: str, help: str | None = None) -> None:
    where = f"stands in {body.title}"
    body.sink.error("misplaced-statement", headline, node.span, where, help=help)


def check_allocate(body: Body, node: syntax.CheckAllocate, into: Statements) -> None:
    """Reserve one slot of a table or buffer for the transition."""
    if body.kind is BodyKind.IN_PORT:
        _misplaced(
            body,
            node,
            "`check_allocate` belongs in an action or function",
            "the slots that a transition's actions check are looked at by `trigger`",
        )
    name = node.target.text
    variable = body.locals.find(name)
    if variable is None:
        body.sink.error(
            "unknown-variable",
            f"no variable named `{name}`",
            node.target.span,
            "not declared here",
            help=lambda: did_you_mean(name, body.locals.names()),
        )
        return
    body.scope.note_variable(node.target.span, variable)
    symbol = body.scope.symbol_of(variable.type)
    if isinstance(variable.type, ir.UnknownType) and variable.port is None:
        return
    if symbol is not None and symbol.missing_at_runtime:
        return  # a null object, as a warning says: it has no slots
    if symbol is None or not symbol.find_methods("areNSlotsAvailable"):
        body.sink.error(
            "not-a-buffer",
            f"`{name}` has no slots to check for",
            node.target.span,
            "neither a buffer nor a table",
            secondary=[Label(variable.span, "declared here")],
        )
        return
    into.append(ir.CheckAllocate(name, span=node.span))
