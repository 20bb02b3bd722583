"""Who causes an event: the messages that trigger it, and the actions that send these.

Invariant: read off the text alone. A sender is left out only if the text says that it sends other
messages, on another network, or to other machines.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from slicc import ir
from slicc.analysis.facts import MachineFacts
from slicc.analysis.networks import receivers
from slicc.ir.walk import direct_expressions, expressions_in, inner_blocks, statements_in

PROCESSOR = "the processor"
MEMORY = "the memory"


@dataclass(frozen=True, slots=True)
class Cause:
    """A port that triggers the event, and the types of messages for which it does (or any)."""

    port: ir.InPort
    types: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Sender:
    """An action of a machine, or ``machine`` alone for what is outside of the protocol."""

    machine: str
    action: str = ""
    types: tuple[str, ...] = ()


def causes(facts: MachineFacts, event: str) -> Iterator[Cause]:
    """The ports that may trigger an event, in the order of polling."""
    triggering = {source.port for source in facts.sources.get(event, ())}
    for port in facts.machine.in_ports:
        if port.ref in triggering:
            found: dict[str, None] = {}
            for body in facts.reached(port.body):
                for types in _guards(body, event, facts.machine.events.ref, ()):
                    found |= dict.fromkeys(types)
            yield Cause(port, tuple(found))


def _guards(
    body: tuple[ir.Stmt, ...], event: str, events: ir.TypeRef, types: tuple[str, ...]
) -> Iterator[tuple[str, ...]]:
    """For every mention of the event, what the conditions around it compare with."""
    for statement in body:
        here = (ir.Evaluate(each, span=each.span) for each in direct_expressions(statement))
        for node in expressions_in(tuple(here)):
            if isinstance(node, ir.EnumConst) and (node.member, node.type.ref) == (event, events):
                yield types
        if isinstance(statement, ir.If):
            then = tuple(_compared(statement.condition)) or types
            yield from _guards(statement.then, event, events, then)
            yield from _guards(statement.orelse, event, events, types)
        else:
            for inner in inner_blocks(statement):
                yield from _guards(inner, event, events, types)


def _compared(condition: ir.Expr) -> Iterator[str]:
    """Types of messages that the condition asks for, in ``in_msg.Type == T`` and the like."""
    match condition:
        case ir.Binary(ir.BinaryOperator.AND | ir.BinaryOperator.OR, left, right):
            yield from _compared(left)
            yield from _compared(right)
        case ir.Binary(
            ir.BinaryOperator.EQUAL, ir.FieldAccess() | ir.Local(), ir.EnumConst(member, type_)
        ) if type_.ref.name not in ("MachineType", "State", "Event"):
            yield member


def senders(facts: MachineFacts, cause: Cause) -> Iterator[Sender]:
    """Who fills the buffer of a cause's port."""
    machine, port = facts.machine, cause.port
    if port.ref in facts.processor_ports:
        yield Sender(PROCESSOR)
    elif port.ref in facts.memory_ports:
        yield Sender(MEMORY)
    link = facts.links.get(port.buffer)
    for other in facts.protocol.machines if link is not None else (machine,):
        links = {each.name: each.network for each in other.parameters}
        filling = {
            out.ref
            for out in other.out_ports
            if (out.buffer == port.buffer and other is machine)
            or (link is not None and _meet(links.get(out.buffer), link))
        }
        for action in other.actions:
            yield from _sends(other, action, filling, machine, cause)


def _meet(sending: ir.NetworkLink | None, reading: ir.NetworkLink) -> bool:
    return (
        sending is not None
        and sending.direction is ir.NetworkDirection.TO
        and reading.direction is ir.NetworkDirection.FROM
        and sending.virtual_network == reading.virtual_network
    )


def _sends(
    sender: ir.Machine,
    action: ir.Action,
    filling: set[ir.PortRef],
    receiver: ir.Machine,
    cause: Cause,
) -> Iterator[Sender]:
    for statement in statements_in(action.body):
        if not isinstance(statement, ir.Enqueue) or statement.port not in filling:
            continue
        message = cause.port.message
        if isinstance(message, ir.StructType) and message.ref != statement.message:
            continue
        named = set(receivers(statement))
        if named and (receiver.machine_type or receiver.name) not in named:
            continue
        types = _assigned(statement)
        wanted = tuple(each for each in types if not cause.types or each in cause.types)
        if wanted or not types:
            yield Sender(sender.name, action.ref.name, wanted)


def _assigned(enqueue: ir.Enqueue) -> tuple[str, ...]:
    """The types that the text gives to a message; empty if it computes them."""
    found = {
        statement.value.member: None
        for statement in statements_in(enqueue.body)
        if isinstance(statement, ir.Assign)
        and isinstance(statement.target, ir.FieldAccess)
        and statement.target.name == "Type"
        and isinstance(statement.value, ir.EnumConst)
    }
    return tuple(found)
