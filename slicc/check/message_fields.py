"""Fields that a message must have set when it enters the network.

Invariant: only warnings, and only where the text that builds the message never names the field;
whether every path sets it is checked at run time.
"""

from __future__ import annotations

from slicc import ir
from slicc.check.enum_uses import bodies_of
from slicc.diagnostics.model import DiagnosticSink, Label
from slicc.ir.walk import expressions_in, statements_in

_SIZE = "MessageSize"


def check_messages(
    machine: ir.Machine, structs: tuple[ir.Struct, ...], sink: DiagnosticSink
) -> None:
    """Warn about messages for the network that are sent without a size."""
    fields = {
        struct.ref: field
        for struct in (*structs, *machine.structs)
        for field in struct.fields
        if field.name == _SIZE
    }
    to_network = {
        parameter.name
        for parameter in machine.parameters
        if parameter.network is not None
        and parameter.network.direction is ir.NetworkDirection.TO
        and parameter.network.virtual_network is not None
    }
    ports = {port.ref for port in machine.out_ports if port.buffer in to_network}
    for body in bodies_of(machine):
        for statement in statements_in(body):
            if not isinstance(statement, ir.Enqueue) or statement.port not in ports:
                continue
            field = fields.get(statement.message)
            if field is not None and _has_no_default(field) and not _is_set(statement):
                sink.warning(
                    "message-without-size",
                    f"`{statement.message.name}` is sent through `{statement.port.name}` "
                    f"without a `{_SIZE}`",
                    statement.span,
                    "never set here",
                    secondary=[Label(field.span, "it has no default")],
                    help=f"set `{statement.local}.{_SIZE}`, or give the field a default",
                )


def _has_no_default(field: ir.Field) -> bool:
    return isinstance(field.default, ir.EnumConst) and field.default.member == "NUM"


def _is_set(enqueue: ir.Enqueue) -> bool:
    """Whether the body names the field, or uses the message as a whole."""
    whole = 0
    for node in expressions_in(enqueue.body):
        if isinstance(node, ir.Local) and node.name == enqueue.local:
            whole += 1
        elif isinstance(node, ir.FieldAccess) and _is_message(node.receiver, enqueue):
            if node.name == _SIZE:
                return True
            whole -= 1
    return whole > 0


def _is_message(node: ir.Expr, enqueue: ir.Enqueue) -> bool:
    return isinstance(node, ir.Local) and node.name == enqueue.local
