"""Messages sent where their receiver does not look, and hits without permission.

Invariant: a receiver is known only if the text names its type; a requestor taken from a message
may be any machine.
"""

from __future__ import annotations

from collections.abc import Iterable

from slicc import ir
from slicc.analysis.facts import MachineFacts
from slicc.analysis.rule import Findings, Rule, finding
from slicc.analysis.sends import Send, sends_of
from slicc.diagnostics.model import Label
from slicc.ir.walk import expressions_in


def _unread(facts: MachineFacts) -> Findings:
    sends = [send for sends in sends_of(facts).values() for send in sends]
    for send in sends:
        if send.network is not None:
            for receiver in sorted(send.machines):
                yield from _receiver(facts, send, send.network, receiver, _usual(sends, receiver))


_Usual = dict[str, list[int]]
"""By what is asked, the networks on which a machine sends it to a receiver, one for each send."""


def _usual(sends: Iterable[Send], receiver: str) -> _Usual:
    found: _Usual = {}
    for send in sends:
        if receiver in send.machines and send.network is not None:
            for kind in send.kinds:
                found.setdefault(kind, []).append(send.network)
    return found


def _receiver(
    facts: MachineFacts, send: Send, network: int, receiver: str, usual: _Usual
) -> Findings:
    enqueue = send.enqueue
    machines = [
        each for each in facts.protocol.machines if (each.machine_type or each.name) == receiver
    ]
    for machine in machines:
        links = {each.name: each.network for each in machine.parameters if each.network}
        reading = [
            port
            for port in machine.in_ports
            if (link := links.get(port.buffer)) is not None and link.virtual_network == network
        ]
        if not reading:
            yield finding(
                "unread-message",
                f"`{enqueue.port.name}` sends to {receiver} on virtual network {network}, "
                "which it does not read",
                enqueue.span,
                "never received",
                secondary=[Label(machine.span, "the receiver")],
                help=_networks(machine, enqueue.message),
            )
        elif all(_other_message(port, enqueue.message) for port in reading):
            yield finding(
                "other-message-read",
                f"`{enqueue.port.name}` sends `{enqueue.message.name}` to {receiver}, which reads "
                f"another type of message from virtual network {network}",
                enqueue.span,
                "not what is expected there",
                secondary=[Label(reading[0].span, "reads it")],
            )
        else:
            yield from _misdirected(machine, send, network, reading, usual)


def _misdirected(
    machine: ir.Machine, send: Send, network: int, reading: list[ir.InPort], usual: _Usual
) -> Findings:
    """A kind of message that the receiver expects, or usually gets, from another network."""
    ports = [port for port in machine.in_ports if port not in reading]
    for kind in send.kinds:
        if any(kind in _named(port.body) for port in reading):
            continue
        elsewhere = [
            port
            for port in ports
            if not _other_message(port, send.enqueue.message) and kind in _named(port.body)
        ]
        others = [each for each in usual[kind] if each != network]
        if elsewhere or len(others) > 1 == usual[kind].count(network):
            numbers = ", ".join(map(str, sorted(set(others))))
            yield finding(
                "other-message-read",
                f"`{send.enqueue.port.name}` sends `{kind}` to {machine.name} on virtual network "
                f"{network}, where it is not expected",
                send.enqueue.span,
                "not what is expected there",
                secondary=[Label(each.span, "expects it") for each in elsewhere[:1]],
                notes=[f"{len(others)} others send it on {numbers}"] if others else [],
            )


def _named(body: tuple[ir.Stmt, ...]) -> set[str]:
    """Members of enumerations that a text names."""
    return {node.member for node in expressions_in(body) if isinstance(node, ir.EnumConst)}


def _other_message(port: ir.InPort, message: ir.TypeRef) -> bool:
    return isinstance(port.message, ir.StructType) and port.message.ref != message


def _networks(machine: ir.Machine, message: ir.TypeRef) -> str | None:
    links = {each.name: each.network for each in machine.parameters if each.network}
    numbers = sorted(
        link.virtual_network
        for port in machine.in_ports
        if (link := links.get(port.buffer)) is not None
        and link.virtual_network is not None
        and not _other_message(port, message)
    )
    if not numbers:
        return None
    return f"it reads `{message.name}` from {', '.join(map(str, numbers))}"


def _hits(facts: MachineFacts) -> Findings:
    """Processors answered in a state whose permission forbids it."""
    callbacks = {action.ref: _callbacks(action.body) for action in facts.machine.actions}
    for transition in facts.machine.transitions:
        sources = [s for event in transition.events for s in facts.sources.get(event, ())]
        if not sources or not all(s.port in facts.processor_ports for s in sources):
            continue
        if any(
            facts.effects[action].peeks - facts.processor_ports for action in transition.actions
        ):
            continue
        called = {name for action in transition.actions for name in callbacks[action]}
        for state in transition.states:
            if transition.next.kind is not ir.NextKind.STAY and transition.next.state != state:
                continue
            permission = facts.state_members[state].permission
            kind = _forbidden(called, permission)
            if kind and permission is not None:
                yield finding(
                    "hit-without-permission",
                    f"a {kind} hits in state `{state}`, which is {permission.value}",
                    transition.span,
                    "answers the processor and stays in the state",
                    secondary=[Label(facts.state_members[state].span, "declared here")],
                )


def _callbacks(body: tuple[ir.Stmt, ...]) -> set[str]:
    return {
        node.method.split("_")[0]
        for node in expressions_in(body)
        if isinstance(node, ir.CallMethod) and node.class_name == "Sequencer"
    }


def _forbidden(called: set[str], permission: ir.AccessPermission | None) -> str:
    absent = (ir.AccessPermission.INVALID, ir.AccessPermission.NOT_PRESENT)
    if "readCallback" in called and permission in absent:
        return "load"
    if "writeCallback" in called and permission in (*absent, ir.AccessPermission.READ_ONLY):
        return "store"
    return ""


RULES = (
    Rule(("unread-message", "other-message-read"), _unread),
    Rule(("hit-without-permission",), _hits),
)
