"""Stalled messages that are never woken, and messages read after their dequeue.

gem5 keeps, for each line, one slot for each rank, and names in it the buffer with stalled messages.
Invariant: only warnings, and only where the machine's own text shows the mistake.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from slicc import ir
from slicc.diagnostics.model import DiagnosticSink, Label
from slicc.ir.walk import expressions_in, statements_in
from slicc.resolve.declarations.transitions import STALL_ACTION


def check_waiting(machine: ir.Machine, sink: DiagnosticSink) -> None:
    """Bodies and wake-ups without effect, shared ranks, and messages used after their dequeue."""
    _stall_body(machine, sink)
    if any(_stalls(action) for action in machine.actions):
        _wake_ups(machine, sink)
        _ranks(machine, sink)
    _dequeues(machine, sink)


def _stall_body(machine: ir.Machine, sink: DiagnosticSink) -> None:
    """``z_stall`` stalls by its name alone, as in gem5: statements in it look as if they ran."""
    used = {ref for transition in machine.transitions for ref in transition.actions}
    for action in machine.actions:
        if action.ref.name == STALL_ACTION and action.body and action.ref in used:
            sink.warning(
                "stall-with-body",
                "the statements of `z_stall` never run: its name alone stalls the port",
                action.span,
                "the message stays at the head" if _stalls(action) else "without effect",
                help="give the action another name if its statements are to run",
            )


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
                    f"in gem5 `wakeUpBuffers` wakes no message in machine `{machine.name}`, "
                    "and forgets those that wait",
                    node.span,
                    "all in-ports have the same rank",
                    help="use `wakeUpAllBuffers(address)`, or give the in-ports ranks",
                )


def _ranks(machine: ir.Machine, sink: DiagnosticSink) -> None:
    ranked = [port for port in machine.in_ports if port.rank > 0]
    if len({port.rank for port in machine.in_ports}) > 1:
        effect = "`wakeUpBuffers` at one of them wakes nothing that waits at the other"
    else:
        effect = "in gem5, no wake-up finds what waits there once something waits here"
    first: dict[int, ir.InPort] = {}
    for port in ranked:
        other = first.setdefault(port.rank, port)
        if other is not port:
            sink.warning(
                "duplicate-rank",
                f"the in-ports `{other.ref.name}` and `{port.ref.name}` share rank {port.rank}",
                port.span,
                effect,
                secondary=[Label(other.span, "the other one")],
            )


def _dequeues(machine: ir.Machine, sink: DiagnosticSink) -> None:
    popped, recycled = (
        {action.ref: _operated(action.body, operation) for action in machine.actions}
        for operation in (ir.PortOperation.DEQUEUE, ir.PortOperation.RECYCLE)
    )
    peeked = {action.ref: _peeked(action.body) for action in machine.actions}
    reported: set[tuple[ir.ActionRef, ir.ActionRef]] = set()
    for transition in machine.transitions:
        for misuse in _misuses(transition, peeked, popped, recycled):
            pair = misuse.earlier, misuse.later
            if pair not in reported:
                reported.add(pair)
                sink.warning(
                    "unsafe-dequeue",
                    misuse.what,
                    transition.span,
                    misuse.label,
                    help=misuse.advice,
                )


class _Misuse(NamedTuple):
    """Two actions of one transition that spoil the head of a port for each other."""

    earlier: ir.ActionRef
    later: ir.ActionRef
    what: str
    label: str
    advice: str


_Ports = Mapping[ir.ActionRef, list[ir.PortRef]]


def _misuses(
    transition: ir.Transition, peeked: _Ports, popped: _Ports, recycled: _Ports
) -> Iterator[_Misuse]:
    dequeued: dict[ir.PortRef, ir.ActionRef] = {}
    put_back: dict[ir.PortRef, ir.ActionRef] = {}
    for action in transition.actions:
        for port in filter(dequeued.__contains__, peeked[action]):
            earlier = dequeued[port]
            yield _Misuse(
                earlier,
                action,
                f"`{action.name}` looks at the message of `{port.name}` after `{earlier.name}` has "
                "taken it away",
                "in this transition",
                f"run `{action.name}` before `{earlier.name}`",
            )
        for port in filter(put_back.__contains__, popped[action]):
            earlier = put_back[port]
            yield _Misuse(
                earlier,
                action,
                f"`{action.name}` dequeues `{port.name}` after `{earlier.name}` has recycled its "
                "message",
                "in this transition, which loses another message",
                f"leave out `{action.name}` or `{earlier.name}`",
            )
        dequeued |= dict.fromkeys(popped[action], action)
        put_back |= dict.fromkeys(recycled[action], action)


def _operated(body: tuple[ir.Stmt, ...], operation: ir.PortOperation) -> list[ir.PortRef]:
    """Ports whose head the action takes away so on every path."""
    return [
        statement.expression.port
        for statement in body
        if isinstance(statement, ir.Evaluate)
        and isinstance(statement.expression, ir.PortCall)
        and statement.expression.operation is operation
    ]


def _peeked(body: tuple[ir.Stmt, ...]) -> list[ir.PortRef]:
    """Ports whose head the action reads before it could have changed."""
    return list(dict.fromkeys(s.port for s in statements_in(body) if isinstance(s, ir.Peek)))
