"""Messages whose delivery can change nothing, so that exploration need not wait for it.

An event is idle if every state of its machine that can be handles it by removing the message and
nothing else: an acknowledgement of memory that no transaction waits for. It may also count, in an
object of the machine that others only count in as well, and assert something of the count: then it
counts when the message is sent, and nothing is asserted. If an in-port triggers an idle
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
    """Messages of a port that are spent where ``condition`` holds, which names them ``local``.
    ``counts``: what is added to objects of the machine, of type int."""

    port: ir.InPort
    message: ir.TypeRef
    local: str
    condition: ir.Expr
    event: str
    counts: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class SpentView:
    """What the template prints: a predicate on messages in one buffer of one machine. ``event``:
    with its machine, for reports; ``counts``: objects, and what is added to each."""

    machine: int
    machine_name: str
    buffer: str
    message: str
    message_type: str
    condition: str
    event: str
    counts: tuple[tuple[str, int], ...]


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
                event=f"{machine.name}.{found.event}",
                counts=tuple(
                    (write.scope.machine.names.objects[name], more) for name, more in found.counts
                ),
            )


def spent_messages(machine: ir.Machine) -> Iterator[SpentMessages]:
    """One for each idle event of an in-port."""
    for port in machine.in_ports:
        match port.body:
            case (ir.If(condition=ir.PortCall(), then=(*before, ir.Peek() as peek), orelse=()),):
                plain = peek.block_on is None and peek.wake_up is None
                if port.guarded and plain and all(_only_prints(machine, each) for each in before):
                    yield from _of_port(machine, port, peek)


def _only_prints(machine: ir.Machine, statement: ir.Stmt) -> bool:
    match statement:
        case ir.Evaluate(expression=ir.CallFunction(function=ref, arguments=())):
            bodies = [each.body for each in machine.functions if each.ref == ref]
            return bool(bodies) and all(isinstance(each, ir.Trace) for each in bodies[0])
        case _:
            return isinstance(statement, ir.Trace)


def _of_port(machine: ir.Machine, port: ir.InPort, peek: ir.Peek) -> Iterator[SpentMessages]:
    for event, path in _triggers(machine, peek.local, peek.body, ()):
        counts = _idle_counts(machine, port, event) if path else None
        if counts is not None:
            reached = _joined(ir.BinaryOperator.AND, path)
            yield SpentMessages(port, peek.message, peek.local, reached, event, counts)


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


def _idle_counts(
    machine: ir.Machine, port: ir.InPort, event: str
) -> tuple[tuple[str, int], ...] | None:
    """What every state adds to objects of the machine when it removes the message; None where one
    does anything else."""
    rows = {cell.state: cell.transition for cell in machine.cells if cell.event == event}
    if not rows or any(each not in rows for each in _states(machine)):
        return None
    actions = {action.ref: action for action in machine.actions}
    found: set[tuple[tuple[str, int], ...] | None] = set()
    own: set[ir.ActionRef] = set()
    for row in {machine.transitions[number] for number in rows.values()}:
        if row.stalls or row.next.kind is not ir.NextKind.STAY or row.needs or row.request_types:
            return None
        own.update(row.actions)
        found.add(_counted(port, [each for ref in row.actions for each in actions[ref].body]))
    counts = found.pop() if len(found) == 1 else None
    if counts is None:
        return None
    for row in machine.transitions:
        if row.events != (event,):
            own.difference_update(row.actions)
    elsewhere = tuple(each for each in machine.actions if each.ref not in own)
    outside = (machine.functions, machine.in_ports, machine.objects, elsewhere)
    return counts if all(_only_counts(outside, name) for name, _ in counts) else None


def _states(machine: ir.Machine) -> Iterator[str]:
    """Those in which a line can be: nothing comes to a state that is named nowhere."""
    named = {machine.states.default}
    named.update(row.next.state for row in machine.transitions if row.next.state)
    bodies = (machine.functions, machine.in_ports, machine.actions)
    for node in body_analysis.walk((*bodies, machine.structs, machine.objects)):
        match node:
            case ir.EnumConst(type=ir.EnumType(ref=ref), member=member) if (
                ref == machine.states.ref
            ):
                named.add(member)
            case ir.Cast(type=ir.EnumType(ref=ref)) if ref == machine.states.ref:
                named.update(each.name for each in machine.states.members)
            case _:
                pass
    return (each.name for each in machine.states.members if each.name in named)


def _counted(port: ir.InPort, body: Sequence[ir.Stmt]) -> tuple[tuple[str, int], ...] | None:
    """What is added to objects; None if the message is not removed, or more is done."""
    removed = 0
    added: dict[str, int] = {}
    for statement in body:
        match statement:
            case ir.Assert() if _only_compares(statement.condition):
                pass
            case ir.Assign() if (more := _addition(statement)) is not None:
                added[more[0]] = added.get(more[0], 0) + more[1]
            case _ if _removes(port, statement):
                removed += 1
            case _:
                return None
    return tuple(sorted(added.items())) if removed == 1 else None


def _only_compares(condition: ir.Expr) -> bool:
    kinds = (ir.Binary, ir.MachineObject, ir.IntConst)
    return all(isinstance(node, kinds) for node in body_analysis.walk(condition))


def _addition(statement: ir.Assign) -> tuple[str, int] | None:
    """Of `n := n + 1;` or `n := n - 1;`, with any number, `n` and what is added."""
    match statement:
        case ir.Assign(
            target=ir.MachineObject(name=name, type=ir.ScalarType(kind=ir.ScalarKind.INT)),
            value=ir.Binary(
                operator=ir.BinaryOperator.ADD | ir.BinaryOperator.SUBTRACT as operator,
                left=ir.MachineObject(name=same),
                right=ir.IntConst(value=value),
            ),
        ) if name == same:
            return name, value if operator is ir.BinaryOperator.ADD else -value
        case _:
            return None


def _only_counts(root: object, name: str) -> bool:
    """Whether nothing but additions, and what is printed, names the object."""
    match root:
        case ir.Trace():
            return True
        case ir.Assign() if (more := _addition(root)) is not None and more[0] == name:
            return True
        case ir.MachineObject(name=other):
            return other != name
        case tuple():
            return all(_only_counts(each, name) for each in root)
        case ir.Node():
            parts = body_analysis.parts(type(root))
            return all(_only_counts(getattr(root, each), name) for each in parts)
        case _:
            return True


def _removes(port: ir.InPort, statement: ir.Stmt) -> bool:
    match statement:
        case ir.Evaluate(expression=ir.CallBuiltin(name="dequeueMemRespQueue")):
            return port.buffer == _MEMORY
        case ir.Evaluate(expression=ir.PortCall(port=ref, operation=ir.PortOperation.DEQUEUE)):
            return ref == port.ref
        case _:
            return False
