"""What rules ask of one machine: which port triggers an event, and what actions do to queues.

Invariant: what is said to be certain holds on every path of the text, all else on some path.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field
from functools import cached_property

from slicc import ir
from slicc.ir.walk import direct_expressions, expressions_in, inner_blocks, statements_in
from slicc.text.lazy_dataclass import dataclass

_WAKING = frozenset({"wakeUpBuffers", "wakeUpAllBuffers"})


@dataclass(slots=True)
class Effects:
    """What an action may do to the queues, and what it must."""

    pops: set[ir.PortRef] = field(default_factory=set)
    certain_pops: list[ir.PortRef] = field(default_factory=list)
    recycles: set[ir.PortRef] = field(default_factory=set)
    waits: set[ir.PortRef] = field(default_factory=set)
    peeks: set[ir.PortRef] = field(default_factory=set)
    wakes: bool = False
    pops_memory: bool = False


@dataclass(frozen=True, slots=True)
class Source:
    """A port that may trigger an event. ``own``: for the line of the message that it looks at."""

    port: ir.PortRef
    own: bool


def storage_of(machine: ir.Machine) -> tuple[ir.MachineParameter | ir.Object, ...]:
    """What a machine is connected to and what it owns."""
    return (*machine.parameters, *machine.objects)


class MachineFacts:
    """Facts about one machine of a protocol."""

    def __init__(self, protocol: ir.Protocol, machine: ir.Machine) -> None:
        self.protocol = protocol
        self.machine = machine
        self.functions = {function.ref: function for function in machine.functions}
        self.ports = {port.ref: port for port in machine.in_ports}
        self.links = {
            each.name: each.network for each in machine.parameters if each.network is not None
        }

    @cached_property
    def state_members(self) -> dict[str, ir.EnumMember]:
        """The declarations of states."""
        return {member.name: member for member in self.machine.states.members}

    @cached_property
    def effects(self) -> dict[ir.ActionRef, Effects]:
        """What each action does, calls included."""
        return {action.ref: self._effects(action.body) for action in self.machine.actions}

    @cached_property
    def queues(self) -> set[ir.PortRef]:
        """Ports whose messages actions take by ``dequeue``: no timers, none that pop themselves."""
        tables = {
            each.name
            for each in storage_of(self.machine)
            if isinstance(each.type, ir.ClassType) and each.type.name != "MessageBuffer"
        }
        popping = {
            ref
            for port in self.machine.in_ports
            for body in self.reached(port.body)
            for ref in _effects_of(body).pops
        }
        return {
            ref
            for ref, port in self.ports.items()
            if port.buffer not in tables and ref not in popping
        }

    @cached_property
    def memory_ports(self) -> set[ir.PortRef]:
        """Ports that ``dequeueMemRespQueue`` pops."""
        return {
            ref
            for ref, port in self.ports.items()
            if isinstance(port.message, ir.StructType) and port.message.ref.name == "MemoryMsg"
        }

    @cached_property
    def processor_ports(self) -> set[ir.PortRef]:
        """Ports that read what a processor asks."""
        return {
            ref
            for ref, port in self.ports.items()
            if isinstance(port.message, ir.StructType) and port.message.ref.name == "RubyRequest"
        }

    @cached_property
    def sources(self) -> dict[str, set[Source]]:
        """By event, the ports that may trigger it."""
        found: dict[str, set[Source]] = {}
        for port in self.machine.in_ports:
            for event, own in self._triggers(port):
                found.setdefault(event, set()).add(Source(port.ref, own))
        return found

    # ------------------------------------------------------------------ triggers

    def _triggers(self, port: ir.InPort) -> Iterator[tuple[str, bool]]:
        names = self._message_names(port.body)
        for body in self.reached(port.body):
            for statement in statements_in(body):
                if isinstance(statement, ir.Trigger):
                    own = _is_of_message(statement.address, names)
                    for event in self._events(statement.event, body):
                        yield event, own

    def _message_names(self, body: tuple[ir.Stmt, ...]) -> set[str]:
        """Variables that are the message's line: ``Addr a := in_msg.addr``."""
        names = {each.local for each in statements_in(body) if isinstance(each, ir.Peek)}
        assigned = {
            each.target.name
            for each in statements_in(body)
            if isinstance(each, ir.Assign) and isinstance(each.target, ir.Local)
        }
        for statement in statements_in(body):
            if isinstance(statement, ir.Declare) and _is_of_message(statement.initial, names):
                names.add(statement.name)
        return names - assigned

    def _events(self, expression: ir.Expr, body: tuple[ir.Stmt, ...]) -> set[str]:
        here: tuple[ir.Stmt, ...] = (ir.Return(expression, span=expression.span),)
        found = self._constants(here)
        if not found:
            found = self._constants(body)
        return found

    def _constants(self, body: tuple[ir.Stmt, ...]) -> set[str]:
        events = self.machine.events.ref
        return {
            node.member
            for each in self.reached(body)
            for node in expressions_in(each)
            if isinstance(node, ir.EnumConst) and node.type.ref == events
        }

    def reached(self, body: tuple[ir.Stmt, ...]) -> Iterator[tuple[ir.Stmt, ...]]:
        """The body, and those of the functions that it calls, directly or not."""
        seen: set[ir.FunctionRef] = set()
        pending = [body]
        while pending:
            current = pending.pop()
            yield current
            for node in expressions_in(current):
                if isinstance(node, ir.CallFunction) and node.function not in seen:
                    seen.add(node.function)
                    called = self.functions.get(node.function)
                    if called is not None:
                        pending.append(called.body)

    # ------------------------------------------------------------------ effects

    def _effects(self, body: tuple[ir.Stmt, ...]) -> Effects:
        found = _effects_of(*self.reached(body))
        found.certain_pops = list(_certain_pops(body))
        return found

    def of(self, transition: ir.Transition) -> Iterator[tuple[ir.ActionRef, Effects]]:
        """The effects of a transition's actions, in order."""
        for action in transition.actions:
            yield action, self.effects[action]

    def consumes(self, transition: ir.Transition, ports: Iterable[ir.PortRef]) -> bool:
        """Whether some action may pop, recycle or stall the message of one of the ports."""
        wanted = set(ports)
        for _, effects in self.of(transition):
            if (effects.pops | effects.recycles | effects.waits) & wanted:
                return True
            if effects.pops_memory and wanted & self.memory_ports:
                return True
        return transition.stalls


def _effects_of(*bodies: tuple[ir.Stmt, ...]) -> Effects:
    found = Effects()
    for body in bodies:
        for statement in statements_in(body):
            _statement(found, statement)
        for node in expressions_in(body):
            _expression(found, node)
    return found


def _is_of_message(address: ir.Expr, names: set[str]) -> bool:
    match address:
        case ir.FieldAccess(ir.Local(name)) | ir.Local(name):
            return name in names
        case ir.CallBuiltin("makeLineAddress", arguments=(inner,)):
            return _is_of_message(inner, names)
        case _:
            return False


def _statement(found: Effects, statement: ir.Stmt) -> None:
    match statement:
        case ir.StallAndWait(port):
            found.waits.add(port)
        case ir.WakeupPort():
            found.wakes = True
        case ir.Peek(port, wake_up=wake_up):
            found.peeks.add(port)
            found.wakes |= wake_up is not None


def _expression(found: Effects, node: ir.Expr) -> None:
    match node:
        case ir.PortCall(port, ir.PortOperation.DEQUEUE):
            found.pops.add(port)
        case ir.PortCall(port, ir.PortOperation.RECYCLE):
            found.recycles.add(port)
        case ir.CallBuiltin(name) if name in _WAKING:
            found.wakes = True
        case ir.CallBuiltin("dequeueMemRespQueue"):
            found.pops_memory = True


def _certain_pops(body: tuple[ir.Stmt, ...]) -> Iterator[ir.PortRef]:
    """Ports that every run of the body pops."""
    for statement in body:
        for expression in direct_expressions(statement):
            match expression:
                case ir.PortCall(port, ir.PortOperation.DEQUEUE):
                    yield port
        if not isinstance(statement, ir.If):
            for inner in inner_blocks(statement):
                yield from _certain_pops(inner)
