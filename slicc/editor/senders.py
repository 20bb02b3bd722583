"""Who causes an event: the messages that trigger it, and the actions that send these.

Invariant: read off the text alone. A sender is left out only if the text says that it sends other
messages, on another network, or to other machines.
"""

from __future__ import annotations

from collections.abc import Iterator

from slicc import ir
from slicc.analysis.facts import MachineFacts
from slicc.analysis.sends import Send, sends_of
from slicc.ir.walk import direct_expressions, expressions_in, inner_blocks
from slicc.text.lazy_dataclass import dataclass

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


class Senders:
    """Who sends what in one protocol."""

    def __init__(self, protocol: ir.Protocol) -> None:
        self._facts = {each.name: MachineFacts(protocol, each) for each in protocol.machines}
        self._sends = {name: sends_of(facts) for name, facts in self._facts.items()}
        self._sources = {name: facts.sources for name, facts in self._facts.items()}

    def causes(self, machine: str, event: str) -> Iterator[Cause]:
        """The ports that may trigger an event, in the order of polling."""
        facts = self._facts[machine]
        triggering = {source.port for source in self._sources[machine].get(event, ())}
        for port in facts.machine.in_ports:
            if port.ref in triggering:
                found: dict[str, None] = {}
                for body in facts.reached(port.body):
                    for types in _guards(body, event, facts.machine.events.ref, ()):
                        found |= dict.fromkeys(types)
                yield Cause(port, tuple(found))

    def senders(self, machine: str, cause: Cause) -> Iterator[Sender]:
        """Who fills the buffer of a cause's port."""
        facts = self._facts[machine]
        if cause.port.ref in facts.processor_ports:
            yield Sender(PROCESSOR)
        elif cause.port.ref in facts.memory_ports:
            yield Sender(MEMORY)
        link = facts.links.get(cause.port.buffer)
        for name in self._sends if link is not None else (machine,):
            for action, sends in self._sends[name].items():
                for send in sends:
                    if _arrives(facts, cause, send, link):
                        types = _types(cause, send)
                        if types is not None:
                            yield Sender(name, action.name, types)


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


def _arrives(facts: MachineFacts, cause: Cause, send: Send, link: ir.NetworkLink | None) -> bool:
    """Whether the port may read what is sent."""
    message = cause.port.message
    if isinstance(message, ir.StructType) and message.ref != send.enqueue.message:
        return False
    if link is None:
        return send.buffer == cause.port.buffer
    here = facts.machine.machine_type or facts.machine.name
    return send.network == link.virtual_network and (not send.machines or here in send.machines)


def _types(cause: Cause, send: Send) -> tuple[str, ...] | None:
    """The types that are sent and wanted; empty if the text computes them, None if none is."""
    if not all(kind.isidentifier() for kind in send.kinds) or not send.kinds:
        return ()
    return tuple(each for each in send.kinds if not cause.types or each in cause.types) or None
