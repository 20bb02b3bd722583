"""Ports of a machine: their buffers and their bodies.

Invariant: in-ports keep the order of their declarations, which is the order of polling; a rank
never moves one.
"""

from __future__ import annotations

from slicc import ir
from slicc.diagnostics.model import SHOWN_PER_FILE, Label
from slicc.ir import type_rules
from slicc.resolve.scope.pairs import check_keys, integer
from slicc.resolve.scope.scopes import MachineScope
from slicc.resolve.scope.symbols import (
    CallTarget,
    PortSymbol,
    TypeKind,
    VariableKind,
    VariableSymbol,
    did_you_mean,
)
from slicc.syntax import nodes as syntax
from slicc.text.suggest import suggest


def declare_ports(scope: MachineScope, nodes: list[syntax.InPort | syntax.OutPort]) -> None:
    """Enter the names of all ports and find their buffers."""
    for node in nodes:
        check_keys(node.pairs, scope.sink)
        name = node.name.text
        first = scope.variables.get(name)
        if first is not None:
            scope.sink.declared_twice(
                "duplicate-port",
                f"machine `{scope.name}` declares `{name}` twice",
                node.name.span,
                first.span,
            )
            continue
        message = _message_type(scope, node)
        kind = VariableKind.IN_PORT if isinstance(node, syntax.InPort) else VariableKind.OUT_PORT
        port = PortSymbol(name, node, ir.PortRef(scope.name, name), message, _buffer(scope, node))
        _check_message(scope, node, message)
        scope.ports[name] = port
        scope.variables[name] = VariableSymbol(
            name, kind, ir.UNKNOWN, node.name.span, ir_name=name, port=port
        )


def _message_type(scope: MachineScope, node: syntax.InPort | syntax.OutPort) -> ir.Type:
    """The message type of a port; gem5 ignores it: ``peek`` and ``enqueue`` name their own."""
    name = node.message.text
    if scope.find_type(name) is None and len(scope.ports) < SHOWN_PER_FILE:
        close = suggest(name, scope.type_names())
        symbol = None if close is None else scope.find_type(close)
        if symbol is not None and symbol.kind is TypeKind.MESSAGE:
            scope.sink.warning(
                "unknown-type",
                f"no type named `{name}`",
                node.message.span,
                f"taken for `{close}`",
            )
            return symbol.type
    return scope.resolve_type(node.message)


def _check_message(
    scope: MachineScope, node: syntax.InPort | syntax.OutPort, message: ir.Type
) -> None:
    symbol = scope.symbol_of(message)
    if symbol is None or symbol.kind is TypeKind.MESSAGE:
        return
    if isinstance(node, syntax.InPort) and message == ir.ADDR:
        return
    if not scope.misses.first("message", node.message.text, node.message.span):
        return
    scope.sink.error(
        "not-a-message",
        f"`{node.message.text}` is no message, so `{node.name.text}` cannot carry it",
        node.message.span,
        "not a message",
        help='messages are structures with `interface="Message"`',
    )


def _buffer(scope: MachineScope, node: syntax.InPort | syntax.OutPort) -> VariableSymbol | None:
    """The buffer of a port, checked for kind and direction."""
    name = node.buffer.text
    buffer = scope.variables.get(name)
    if buffer is None:
        scope.sink.error(
            "unknown-buffer",
            f"machine `{scope.name}` has no buffer named `{name}`",
            node.buffer.span,
            "not declared in this machine",
            help=lambda: did_you_mean(name, scope.variables),
        )
        return None
    scope.note_variable(node.buffer.span, buffer)
    if isinstance(buffer.type, ir.UnknownType):
        return buffer
    symbol = scope.symbol_of(buffer.type)
    is_in = isinstance(node, syntax.InPort)
    usable = symbol is not None and (symbol.inport if is_in else symbol.outport)
    if not usable:
        scope.sink.error(
            "not-a-buffer",
            f"`{name}` cannot stand behind an {'in' if is_in else 'out'}-port",
            node.buffer.span,
            f"is `{type_rules.describe(buffer.type)}`",
            secondary=[Label(buffer.span, "declared here")],
        )
        return None
    direction = None if buffer.node is None else buffer.node.pairs.get("network")
    if is_in and direction == "To":
        scope.sink.error(
            "wrong-direction",
            f"`{node.name.text}` reads a buffer that leads to the network",
            node.buffer.span,
            '`network="To"`',
            secondary=[Label(buffer.span, "declared here")],
        )
    elif not is_in and direction == "From":
        scope.sink.warning(
            "wrong-direction",
            f"`{node.name.text}` writes into a buffer that the network fills",
            node.buffer.span,
            "its messages come back to this machine at once",
            secondary=[Label(buffer.span, "declared here")],
        )
    return buffer


def port_rank(scope: MachineScope, node: syntax.InPort, count: int) -> int:
    """The wait slot of an in-port; 0 when none is given."""
    pair = node.pairs.find("rank")
    if pair is None:
        return 0
    rank = integer(pair)
    if rank is None:
        scope.sink.error(
            "invalid-pair-value",
            f"the rank of `{node.name.text}` is not a number",
            pair.value_span,
            f"is `{pair.value}`",
        )
        return 0
    if rank >= count:
        scope.sink.warning(
            "rank-out-of-range",
            f"the rank of `{node.name.text}` is beyond the {count} in-ports of the machine",
            pair.value_span,
            "gem5 has no place for what stalls here",
            help=f"ranks go from 0 to {count - 1}",
        )
    return rank


def stall_handler(scope: MachineScope, node: syntax.InPort, key: str) -> ir.FunctionRef | None:
    """The function named by ``rsc_stall_handler=``: no parameters, result bool."""
    pair = node.pairs.find(key)
    if pair is None:
        return None
    overloads = [f.overload for f in scope.functions.get(pair.value, ())]
    for overload in overloads:
        if overload.target is CallTarget.FUNCTION and not overload.parameters:
            if not type_rules.same(overload.result, ir.BOOL):
                break
            return overload.function
    if overloads:
        scope.sink.error(
            "wrong-function-signature",
            f"a stall handler is `bool {pair.value}()`",
            pair.value_span,
            "has another shape",
            secondary=[Label(overloads[0].span, "declared here")],
        )
    else:
        scope.sink.error(
            "unknown-function",
            f"machine `{scope.name}` has no function named `{pair.value}`",
            pair.value_span,
            "not declared",
            help=lambda: did_you_mean(pair.value, scope.functions),
        )
    return None


def is_guarded(port: ir.PortRef, body: tuple[ir.Stmt, ...]) -> bool:
    """Whether the whole body is ``if (port.isReady(clockEdge())) { … }``."""
    if len(body) != 1 or not isinstance(body[0], ir.If) or body[0].orelse:
        return False
    condition = body[0].condition
    return (
        isinstance(condition, ir.PortCall)
        and condition.port == port
        and condition.operation is ir.PortOperation.IS_READY
    )
