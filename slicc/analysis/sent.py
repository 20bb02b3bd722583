"""Cells that no message can cause in a system that has only some of a protocol's machines.

A directory that serves several kinds of caches has transitions for all of them; in a system with
one kind the others' requests are never sent. What is sent is followed to a fixed point: an event
that can happen in a state that can be reached runs its transition's actions, which send messages,
whose fields decide which events their receivers' in-ports trigger. Invariant: what may be sent is
never too little (a field without a known value may have any, receivers are those that read the
network), so a cell called unsent is never hit.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import field

from slicc import ir
from slicc.analysis.facts import MachineFacts
from slicc.ir.walk import expressions_in, inner_blocks, statements_in
from slicc.text.lazy_dataclass import dataclass

_Values = frozenset[str]
_Fields = Mapping[str, _Values]
"""What the fields of a message of enumerated types may be."""
_Place = tuple[str, str]
"""Where a message waits: a virtual network, or a buffer of a machine."""
_REQUESTS = frozenset({"RubyRequest", "SequencerMsg", "MemoryMsg"})
"""Messages that come from outside of the controllers."""


def unsent(
    protocol: ir.Protocol, present: Collection[str]
) -> dict[str, frozenset[tuple[str, str]]]:
    """By machine that is ``present``, the states and events of transitions that nothing there
    causes."""
    machines = [machine for machine in protocol.machines if machine.name in present]
    return _Sent(protocol, machines).run()


@dataclass(slots=True)
class _Messages:
    """What may wait in one place, by type of message."""

    fields: dict[ir.TypeRef, dict[str, set[str]]] = field(default_factory=dict)


class _Sent:
    """What is known so far of messages, events and states, which only grows: rounds over all
    machines until one adds nothing."""

    def __init__(self, protocol: ir.Protocol, machines: list[ir.Machine]) -> None:
        self._facts = {machine.name: MachineFacts(protocol, machine) for machine in machines}
        enums = [*protocol.enums, *(e for m in protocol.machines for e in m.enums)]
        self._members = {e.ref: frozenset(m.name for m in e.members) for e in enums}
        structs = [*protocol.structs, *(s for m in protocol.machines for s in m.structs)]
        self._structs = {struct.ref: struct for struct in structs}
        self._present = frozenset(machine.machine_type or machine.name for machine in machines)
        self._places: dict[_Place, _Messages] = {}
        self._caused: dict[str, set[str]] = {name: set() for name in self._facts}
        self._states = {name: _first_states(facts) for name, facts in self._facts.items()}
        self._grown = True

    def run(self) -> dict[str, frozenset[tuple[str, str]]]:
        while self._grown:
            self._grown = False
            for facts in self._facts.values():
                self._round(facts)
        return {
            name: frozenset(
                (cell.state, cell.event)
                for cell in facts.machine.cells
                if not self._happens(facts.machine, cell)
            )
            for name, facts in self._facts.items()
        }

    def _happens(self, machine: ir.Machine, cell: ir.Cell) -> bool:
        return cell.state in self._states[machine.name] and cell.event in self._caused[machine.name]

    def _round(self, facts: MachineFacts) -> None:
        machine = facts.machine
        for port in machine.in_ports:
            self._sends(facts, port.body)
            self._grow(self._caused[machine.name], self._triggered(facts, port))
        actions = {action.ref: action for action in machine.actions}
        live = {cell.transition for cell in machine.cells if self._happens(machine, cell)}
        for number in sorted(live):
            transition = machine.transitions[number]
            self._grow(self._states[machine.name], _following(machine, transition))
            for ref in transition.actions:
                if ref in actions:
                    self._sends(facts, actions[ref].body)

    def _grow(self, known: set[str], found: Iterable[str]) -> None:
        new = set(found) - known
        self._grown |= bool(new)
        known |= new

    # ------------------------------------------------------------------ what is sent

    def _sends(self, facts: MachineFacts, body: tuple[ir.Stmt, ...]) -> None:
        for each in facts.reached(body):
            for statement in statements_in(each):
                if isinstance(statement, ir.Enqueue):
                    self._send(facts, statement, each)

    def _send(self, facts: MachineFacts, enqueue: ir.Enqueue, around: tuple[ir.Stmt, ...]) -> None:
        ports = {port.ref: port for port in facts.machine.out_ports}
        if enqueue.port not in ports:
            return
        place = _place(facts, ports[enqueue.port].buffer)
        known = self._places.setdefault(place, _Messages()).fields
        if enqueue.message not in known:
            known[enqueue.message] = {}
            self._grown = True
        peeked = self._peeked(facts, around)
        for name, values in self._assigned(enqueue, peeked).items():
            self._grow(known[enqueue.message].setdefault(name, set()), values)

    def _peeked(
        self, facts: MachineFacts, body: tuple[ir.Stmt, ...]
    ) -> Callable[[str, str], _Values | None]:
        """What fields of the messages that a body looks at may be, by local and field."""
        peeks = [each for each in statements_in(body) if isinstance(each, ir.Peek)]

        def values(local: str, name: str) -> _Values | None:
            found: set[str] = set()
            for peek in peeks:
                if peek.local != local:
                    continue
                port = facts.ports.get(peek.port)
                fields = None if port is None else self._waiting(facts, port.buffer, peek.message)
                if fields is None or name not in fields:
                    return None
                found |= fields[name]
            return frozenset(found) if found else None

        return values

    def _assigned(
        self, enqueue: ir.Enqueue, peeked: Callable[[str, str], _Values | None]
    ) -> dict[str, _Values]:
        """The values that an enqueued message's fields get; any of their type where it is not a
        matter of constants."""
        struct = self._structs.get(enqueue.message)
        found: dict[str, _Values] = {}
        for each in () if struct is None else struct.fields:
            if not isinstance(each.type, ir.EnumType) or each.type.ref not in self._members:
                continue
            values: set[str] = set()
            certain = False
            for statement in statements_in(enqueue.body):
                target = statement.target if isinstance(statement, ir.Assign) else None
                if isinstance(target, ir.FieldAccess) and target.name == each.name:
                    assert isinstance(statement, ir.Assign)
                    values |= self._values(statement.value, each.type, peeked)
                    certain |= statement in enqueue.body
            if not certain:
                values |= self._values(each.default, each.type, peeked)
            found[each.name] = frozenset(values)
        return found

    def _values(
        self, value: ir.Expr, type: ir.EnumType, peeked: Callable[[str, str], _Values | None]
    ) -> _Values:
        if isinstance(value, ir.EnumConst):
            return frozenset({value.member})
        if isinstance(value, ir.FieldAccess) and isinstance(value.receiver, ir.Local):
            known = peeked(value.receiver.name, value.name)
            if known is not None:
                return known
        return self._members[type.ref]

    # ------------------------------------------------------------------ what is triggered

    def _waiting(self, facts: MachineFacts, buffer: str, message: ir.TypeRef) -> _Fields | None:
        """What a buffer's messages may be; None: there are none."""
        struct = self._structs.get(message)
        any_ = {
            each.name: self._members[each.type.ref]
            for each in (() if struct is None else struct.fields)
            if isinstance(each.type, ir.EnumType) and each.type.ref in self._members
        }
        if message.name in _REQUESTS or not self._is_followed(facts, buffer):
            return any_
        known = self._places.get(_place(facts, buffer))
        if known is None or message not in known.fields:
            return None
        return any_ | {n: frozenset(v) for n, v in known.fields[message].items()}

    def _is_followed(self, facts: MachineFacts, buffer: str) -> bool:
        """Whether only controllers of this protocol put messages into a buffer, as far as its own
        text says: those of a network, and those that the machine itself fills."""
        if facts.links.get(buffer) is not None:
            return True
        return any(port.buffer == buffer for port in facts.machine.out_ports)

    def _triggered(self, facts: MachineFacts, port: ir.InPort) -> Iterator[str]:
        if not isinstance(port.message, ir.StructType):
            yield from self._events(facts, port.body, {})
            return
        fields = self._waiting(facts, port.buffer, port.message.ref)
        if fields is not None:
            yield from self._events(facts, port.body, fields)

    def _events(
        self, facts: MachineFacts, body: tuple[ir.Stmt, ...], fields: _Fields
    ) -> Iterator[str]:
        """Events that a body may trigger for a message with such fields."""
        for statement in body:
            if isinstance(statement, ir.If):
                then, orelse = self._decide(statement.condition, fields)
                if then is not None:
                    yield from self._events(facts, statement.then, then)
                if orelse is not None:
                    yield from self._events(facts, statement.orelse, orelse)
                if then is None and _ends(statement.orelse):
                    return
                if orelse is None and _ends(statement.then):
                    return
                continue
            if isinstance(statement, ir.Trigger):
                yield from _constants(facts, statement.event)
            for inner in inner_blocks(statement):
                yield from self._events(facts, inner, fields)

    def _decide(self, condition: ir.Expr, fields: _Fields) -> tuple[_Fields | None, _Fields | None]:
        """What is known where a condition holds, and where it does not; None: it never does."""
        match condition:
            case ir.Unary(ir.UnaryOperator.NOT, operand):
                holds, fails = self._decide(operand, fields)
                return fails, holds
            case ir.Binary(ir.BinaryOperator.AND, left, right):
                holds, fails = self._decide(left, fields)
                if holds is None:
                    return None, fields
                both, late = self._decide(right, holds)
                return both, fields if fails is not None and late is not None else fails or late
            case ir.Binary(ir.BinaryOperator.OR, left, right):
                holds, fails = self._decide(left, fields)
                if fails is None:
                    return fields, None
                late, neither = self._decide(right, fails)
                return fields if holds is not None and late is not None else holds or late, neither
            case ir.Binary(
                ir.BinaryOperator.EQUAL | ir.BinaryOperator.NOT_EQUAL as operator,
                left,
                ir.EnumConst(member),
            ):
                holds, fails = self._compare(left, member, fields)
                return (holds, fails) if operator is ir.BinaryOperator.EQUAL else (fails, holds)
            case ir.BoolConst(value):
                return (fields, None) if value else (None, fields)
        return fields, fields

    def _compare(
        self, left: ir.Expr, member: str, fields: _Fields
    ) -> tuple[_Fields | None, _Fields | None]:
        if isinstance(left, ir.CallBuiltin) and left.name == "machineIDToMachineType":
            here = member in self._present
            return fields if here else None, fields
        if not isinstance(left, ir.FieldAccess) or left.name not in fields:
            return fields, fields
        if not isinstance(left.receiver, ir.Local):
            return fields, fields
        values = fields[left.name]
        same, others = values & {member}, values - {member}
        return (
            {**fields, left.name: same} if same else None,
            {**fields, left.name: others} if others else None,
        )


def _first_states(facts: MachineFacts) -> set[str]:
    """The states that a line may have before any transition: the default, and what functions name,
    of which `getState` is one."""
    machine = facts.machine
    named = {
        node.member
        for function in machine.functions
        for node in expressions_in(function.body)
        if isinstance(node, ir.EnumConst) and node.type.ref == machine.states.ref
    }
    return named | {machine.states.default}


def _following(machine: ir.Machine, transition: ir.Transition) -> Iterator[str]:
    if transition.next.kind is ir.NextKind.COMPUTED:
        yield from (member.name for member in machine.states.members)
    elif transition.next.state is not None:
        yield transition.next.state


def _place(facts: MachineFacts, buffer: str) -> _Place:
    link = facts.links.get(buffer)
    if link is None:
        return facts.machine.name, buffer
    return "", str(link.virtual_network)


def _ends(body: tuple[ir.Stmt, ...]) -> bool:
    return bool(body) and isinstance(body[-1], ir.Return)


def _constants(facts: MachineFacts, event: ir.Expr) -> Iterator[str]:
    """The events that an expression may be; those of the functions that it calls, too."""
    events = facts.machine.events.ref
    here: tuple[ir.Stmt, ...] = (ir.Return(event, span=event.span),)
    found = {
        node.member
        for body in facts.reached(here)
        for node in expressions_in(body)
        if isinstance(node, ir.EnumConst) and node.type.ref == events
    }
    if found:
        yield from found
    else:
        yield from (member.name for member in facts.machine.events.members)
