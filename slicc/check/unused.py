"""Things that are declared and then never used.

Invariant: only warnings; authors may keep unused declarations for good reasons.
"""

from __future__ import annotations

from slicc import ir
from slicc.check.enum_uses import bodies_of, used_members
from slicc.diagnostics.model import DiagnosticSink
from slicc.ir.walk import expressions_in, statements_in
from slicc.resolve.declarations.transitions import STALL_ACTION

_CALLED_FROM_OUTSIDE = frozenset(
    {
        "getState",
        "setState",
        "getAccessPermission",
        "setAccessPermission",
        "functionalRead",
        "functionalReadPriority",
        "functionalWrite",
        "checkResourceAvailable",
        "recordRequestType",
        "getNextState",
        "mandatoryQueueLatency",
        "enqueuePrefetch",
        "notifyCoalesced",
        "regProbePoints",
        "inCache",
        "hasBeenPrefetched",
        "inMissQueue",
        "coalesce",
    }
)
"""Functions that controllers, requesters and prefetchers call by name."""


def check_usage(machine: ir.Machine, sink: DiagnosticSink) -> None:
    """Actions, events and ports that nothing uses."""
    _actions(machine, sink)
    _events(machine, sink)
    _ports(machine, sink)
    _functions(machine, sink)
    _objects(machine, sink)


def _functions(machine: ir.Machine, sink: DiagnosticSink) -> None:
    used: set[ir.FunctionRef] = set()
    for body in bodies_of(machine):
        used.update(n.function for n in expressions_in(body) if isinstance(n, ir.CallFunction))
    for port in machine.in_ports:
        used.update(h for h in (port.resource_stall_handler, port.protocol_stall_handler) if h)
    for function in machine.functions:
        if function.ref not in used and function.written_name not in _CALLED_FROM_OUTSIDE:
            sink.warning(
                "unused-function",
                f"nothing in machine `{machine.name}` calls `{function.written_name}`",
                function.span,
                "never called",
            )


def _objects(machine: ir.Machine, sink: DiagnosticSink) -> None:
    used = {port.buffer for port in machine.in_ports} | {p.buffer for p in machine.out_ports}
    statements = [ir.Return(a, span=o.span) for o in machine.objects for a in o.arguments]
    statements += [
        ir.Return(o.initial, span=o.span) for o in machine.objects if o.initial is not None
    ]
    for body in (*bodies_of(machine), tuple(statements)):
        used.update(n.name for n in expressions_in(body) if isinstance(n, ir.MachineObject))
    for found in machine.objects:
        if found.name not in used:
            sink.warning(
                "unused-object",
                f"nothing in machine `{machine.name}` uses `{found.name}`",
                found.span,
                "never used",
            )


def _actions(machine: ir.Machine, sink: DiagnosticSink) -> None:
    used = {action for transition in machine.transitions for action in transition.actions}
    for action in machine.actions:
        if action.ref not in used and action.ref.name != STALL_ACTION:
            sink.warning(
                "unused-action",
                f"no transition of machine `{machine.name}` runs `{action.ref.name}`",
                action.span,
                "never run",
            )


def _events(machine: ir.Machine, sink: DiagnosticSink) -> None:
    handled = {event for transition in machine.transitions for event in transition.events}
    triggered = used_members(machine, machine.events)
    for event in machine.events.members:
        if event.name in triggered and event.name not in handled:
            sink.warning(
                "unhandled-event",
                f"machine `{machine.name}` has no transition for the event `{event.name}`",
                event.span,
                "triggering it is an error in every state",
            )
        elif event.name not in triggered:
            also = "" if event.name in handled else ", and no transition waits for it"
            sink.warning(
                "unused-event",
                f"machine `{machine.name}` never triggers the event `{event.name}`",
                event.span,
                f"never triggered{also}",
            )


def _ports(machine: ir.Machine, sink: DiagnosticSink) -> None:
    sending: set[ir.PortRef] = set()
    for body in bodies_of(machine):
        for statement in statements_in(body):
            if isinstance(statement, ir.Enqueue):
                sending.add(statement.port)
    for out_port in machine.out_ports:
        if out_port.ref not in sending:
            sink.warning(
                "unused-port",
                f"machine `{machine.name}` sends nothing through `{out_port.ref.name}`",
                out_port.span,
                "never used",
            )
    for in_port in machine.in_ports:
        if not in_port.body:
            sink.warning(
                "unused-port",
                f"machine `{machine.name}` never looks at `{in_port.ref.name}`",
                in_port.span,
                "its body is empty",
            )
