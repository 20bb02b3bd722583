"""Stalled messages: those never woken, those overwritten, and messages read after their dequeue.

Stalled messages are kept per line in one slot per rank. Invariant: only warnings, and only where
the machine's own text shows the mistake.
"""

from __future__ import annotations

from slicc import ir
from slicc.diagnostics.model import DiagnosticSink, Label
from slicc.ir.walk import expressions_in, statements_in


def check_waiting(machine: ir.Machine, sink: DiagnosticSink) -> None:
    """Wake-ups without effect, shared ranks, and messages used after they were dequeued."""
    if any(_stalls(action) for action in machine.actions):
        _wake_ups(machine, sink)
        _ranks(machine, sink)
    _dequeues(machine, sink)


def _stalls(action: ir.Action) -> bool:
    return any(isinstance(s, ir.StallAndWait) for s in statements_in(action.body))


def _wake_ups(machine: ir.Machine, sink: DiagnosticSink) -> None:
    """``wakeUpBuffers`` wakes ranks below the current one: none where all ranks are equal."""
    if len({port.rank for port in machine.in_ports}) > 1:
        return
    for action in machine.actions:
        for node in expressions_in(action.body):
            if isinstance(node, ir.CallBuiltin) and node.name == "wakeUpBuffers":
                sink.warning(
                    "dropped-wakeup",
                    f"`wakeUpBuffers` wakes no message in machine `{machine.name}`, "
                    "and drops those that wait",
                    node.span,
                    "all in-ports have the same rank",
                    help="use `wakeUpAllBuffers(address)`, or give the in-ports ranks",
                )


def _ranks(machine: ir.Machine, sink: DiagnosticSink) -> None:
    ranked = [port for port in machine.in_ports if port.rank > 0]
    first: dict[int, ir.InPort] = {}
    for port in ranked:
        other = first.setdefault(port.rank, port)
        if other is not port:
            sink.warning(
                "duplicate-rank",
                f"the in-ports `{other.ref.name}` and `{port.ref.name}` share rank {port.rank}",
                port.span,
                "what waits here overwrites what waits there",
                secondary=[Label(other.span, "the other one")],
            )


def _dequeues(machine: ir.Machine, sink: DiagnosticSink) -> None:
    popped = {
        action.ref: _operated(action.body, ir.PortOperation.DEQUEUE) for action in machine.actions
    }
    recycled = {
        action.ref: _operated(action.body, ir.PortOperation.RECYCLE) for action in machine.actions
    }
    peeked = {action.ref: _peeked(action.body) for action in machine.actions}
    reported: set[tuple[ir.ActionRef, ir.ActionRef]] = set()
    for transition in machine.transitions:
        dequeued: dict[ir.PortRef, ir.ActionRef] = {}
        put_back: dict[ir.PortRef, ir.ActionRef] = {}
        for action in transition.actions:
            for port in peeked[action]:
                culprit = dequeued.get(port)
                if culprit is None or (culprit, action) in reported:
                    continue
                reported.add((culprit, action))
                sink.warning(
                    "unsafe-dequeue",
                    f"`{action.name}` looks at the message of `{port.name}` after "
                    f"`{culprit.name}` has taken it away",
                    transition.span,
                    "in this transition",
                    help=f"run `{action.name}` before `{culprit.name}`",
                )
            for port in popped[action]:
                dequeued[port] = action
                culprit = put_back.get(port)
                if culprit is None or (culprit, action) in reported:
                    continue
                reported.add((culprit, action))
                sink.warning(
                    "unsafe-dequeue",
                    f"`{action.name}` dequeues `{port.name}` after `{culprit.name}` has recycled "
                    "its message",
                    transition.span,
                    "in this transition, which loses another message",
                    help=f"leave out `{action.name}` or `{culprit.name}`",
                )
            for port in recycled[action]:
                put_back[port] = action


def _operated(body: tuple[ir.Stmt, ...], operation: ir.PortOperation) -> set[ir.PortRef]:
    """Ports whose head the action takes away so on every path."""
    return {
        statement.expression.port
        for statement in body
        if isinstance(statement, ir.Evaluate)
        and isinstance(statement.expression, ir.PortCall)
        and statement.expression.operation is operation
    }


def _peeked(body: tuple[ir.Stmt, ...]) -> list[ir.PortRef]:
    """Ports whose head the action reads before it could have changed."""
    return list(dict.fromkeys(s.port for s in statements_in(body) if isinstance(s, ir.Peek)))
