"""Things that are declared and then never used.

Invariant: only warnings; protocols keep unused declarations around for good reasons.
"""

from __future__ import annotations

from slicc import ir
from slicc.check.mentions import bodies_of, mentioned_members
from slicc.diagnostics.model import DiagnosticSink
from slicc.resolve.transitions import STALL_ACTION
from slicc.resolve.walk import statements_in


def check_usage(machine: ir.Machine, sink: DiagnosticSink) -> None:
    """Actions, events and ports that nothing uses."""
    _actions(machine, sink)
    _events(machine, sink)
    _ports(machine, sink)


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
    triggered = mentioned_members(machine, machine.events)
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
