"""Messages whose delivery can change nothing, so that exploration need not wait for it.

An event is idle if every state of its machine handles it by removing the message and nothing
else: an acknowledgement of memory that no transaction waits for. If an in-port triggers an idle
event under conditions on nothing but the message, the message is spent as soon as it is sent: its
delivery commutes with every other step, whenever it happens. Such messages would otherwise pile up
without end. Invariant: whatever is not understood makes a message count as not spent.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from slicc import ir
from slicc.codegen import body_analysis
from slicc.codegen.cpp.emit.expressions import Expressions
from slicc.codegen.cpp.emit.scope import Scope
from slicc.text.lazy_dataclass import dataclass

_MEMORY = "responseFromMemory"
"""The buffer that `dequeueMemRespQueue` reads."""
_LOOKUPS = frozenset({"lookup", "isTagPresent"})
_OF_MESSAGE = frozenset({"machineIDToMachineType"})
"""Builtins whose result depends on their arguments only."""


@dataclass(frozen=True, slots=True)
class SpentMessages:
    """Messages of a port that are spent where ``condition`` holds, which names them ``local``."""

    port: ir.InPort
    message: ir.TypeRef
    local: str
    condition: ir.Expr
    events: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SpentView:
    """What the template prints: a predicate on messages in one buffer of one machine. ``events``:
    with their machines, for reports."""

    machine: int
    machine_name: str
    buffer: str
    message: str
    message_type: str
    condition: str
    events: tuple[str, ...]


def spent_views(protocol: ir.Protocol, scopes: Sequence[Scope]) -> Iterator[SpentView]:
    """``scopes``: what names mean in each machine."""
    for number, (machine, scope) in enumerate(zip(protocol.machines, scopes, strict=True)):
        names = scope.names
        for found in spent_messages(machine):
            write = Expressions(replace(scope, locals={found.local: "message"}, known=set()))
            library = not names.defines(found.message)
            yield SpentView(
                machine=number,
                machine_name=names.machines[machine.name],
                buffer=write.scope.machine.names.objects[found.port.buffer],
                message=found.message.name if library else names.type(found.message),
                message_type=found.message.name if library else names.number(found.message),
                condition=write(found.condition).text,
                events=tuple(f"{machine.name}.{event}" for event in found.events),
            )


def spent_messages(machine: ir.Machine) -> Iterator[SpentMessages]:
    """One for each in-port that has such messages."""
    for port in machine.in_ports:
        match port.body:
            case (ir.If(condition=ir.PortCall(), then=(ir.Peek() as peek,), orelse=()),):
                if port.guarded and peek.block_on is None and peek.wake_up is None:
                    found = _of_port(machine, port, peek)
                    if found is not None:
                        yield found


def _of_port(machine: ir.Machine, port: ir.InPort, peek: ir.Peek) -> SpentMessages | None:
    condition: ir.Expr | None = None
    events = []
    for event, path in _triggers(machine, peek.local, peek.body, ()):
        if path and _is_idle(machine, port, event):
            reached = _joined(ir.BinaryOperator.AND, path)
            condition = (
                reached
                if condition is None
                else _joined(ir.BinaryOperator.OR, (condition, reached))
            )
            events.append(event)
    if condition is None:
        return None
    return SpentMessages(port, peek.message, peek.local, condition, tuple(events))


def _joined(operator: ir.BinaryOperator, terms: tuple[ir.Expr, ...]) -> ir.Expr:
    first, *rest = terms
    for each in rest:
        first = ir.Binary(operator, first, each, ir.BOOL, span=each.span)
    return first


def _triggers(
    machine: ir.Machine, message: str, body: tuple[ir.Stmt, ...], path: tuple[ir.Expr, ...]
) -> Iterator[tuple[str, tuple[ir.Expr, ...]]]:
    """Events that the body triggers, and what has to hold of the message. What stands behind a
    statement of another kind is left out."""
    for statement in body:
        match statement:
            case ir.Declare(initial=initial) if _only_looks(machine, initial):
                continue
            case ir.Trigger(event=ir.EnumConst(member=event)):
                yield event, path
            case ir.If(condition=condition, then=then, orelse=orelse) if _of_message(
                message, condition
            ):
                yield from _triggers(machine, message, then, (*path, condition))
                negated = ir.Unary(ir.UnaryOperator.NOT, condition, ir.BOOL, span=condition.span)
                yield from _triggers(machine, message, orelse, (*path, negated))
            case _:
                pass
        return


def _of_message(message: str, condition: ir.Expr) -> bool:
    for node in body_analysis.walk(condition):
        match node:
            case ir.Local(name=name) if name == message:
                pass
            case ir.ControllerValue(field=ir.ControllerField.MACHINE_ID):
                pass
            case ir.CallBuiltin(name=name) if name in _OF_MESSAGE:
                pass
            case ir.FieldAccess() | ir.EnumConst() | ir.IntConst() | ir.BoolConst():
                pass
            case ir.Binary() | ir.Unary():
                pass
            case _:
                return False
    return True


def _only_looks(machine: ir.Machine, value: ir.Expr) -> bool:
    """Whether evaluating it changes nothing, as far as can be seen."""
    bodies = {function.ref: function.body for function in machine.functions}
    for node in body_analysis.walk(value):
        match node:
            case ir.CallFunction(function=ref):
                body = bodies.get(ref)
                if body is None or len(body) != 1 or not isinstance(body[0], ir.Return):
                    return False
                if not _only_looks(machine, body[0].value):
                    return False
            case ir.CallMethod(method=method) if method not in _LOOKUPS:
                return False
            case ir.PortCall() | ir.NewEntry() | ir.CallStructMethod():
                return False
            case _:
                pass
    return True


def _is_idle(machine: ir.Machine, port: ir.InPort, event: str) -> bool:
    """Whether every state removes the message, and does nothing else."""
    rows = {cell.state: cell.transition for cell in machine.cells if cell.event == event}
    if any(each.name not in rows for each in machine.states.members):
        return False
    actions = {action.ref: action for action in machine.actions}
    for row in {machine.transitions[number] for number in rows.values()}:
        if row.stalls or row.next.kind is not ir.NextKind.STAY or row.needs or row.request_types:
            return False
        bodies = [actions[ref].body for ref in row.actions]
        if len(bodies) != 1 or not _only_removes(port, bodies[0]):
            return False
    return True


def _only_removes(port: ir.InPort, body: tuple[ir.Stmt, ...]) -> bool:
    match body:
        case (ir.Evaluate(expression=ir.CallBuiltin(name="dequeueMemRespQueue")),):
            return port.buffer == _MEMORY
        case (ir.Evaluate(expression=ir.PortCall(port=ref, operation=ir.PortOperation.DEQUEUE)),):
            return ref == port.ref
        case _:
            return False
