"""What the head of a port may have to wait for: other ports of its machine, or receivers' room.

A port whose head is stalled in a state (``z_stall``) waits until a message of another port leads
out of it. A port whose transitions send waits for room, if both ends of the channel are bounded.
Which states there are at the same time is not followed, so a wait may be one that no run has.
Invariant: a wait lists all ports that could end it, so that it lasts only if each of them waits;
a state that a timer, memory, a processor or the machine itself can end is not waited in.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence

from slicc import ir
from slicc.analysis.facts import MachineFacts
from slicc.analysis.sends import Send, sends_of
from slicc.source import Span
from slicc.text.lazy_dataclass import dataclass

Place = tuple[str, str]
"""An in-port: its machine, its name."""
Capacities = Mapping[tuple[str, str], int]
"""Messages that a buffer of a machine has room for; those that are not mentioned are unbounded."""


@dataclass(frozen=True, slots=True)
class Wait:
    """Why the head of a port may have to wait: until a port of ``ends`` takes a message.

    ``rooms``: the bounded buffers that must be full for it.
    """

    ends: tuple[Place, ...]
    what: str
    span: Span
    rooms: tuple[tuple[str, str], ...] = ()


Waits = dict[Place, list[Wait]]


def waits_of(machines: Sequence[MachineFacts]) -> Waits:
    """By port, in the order of the text, as if every buffer were bounded."""
    found: Waits = {}
    for facts in machines:
        for place, wait in (*_stalls(facts), *_rooms(facts, machines)):
            found.setdefault(place, []).append(wait)
    return found


def possible(waits: Waits, capacities: Capacities) -> Waits:
    """The waits that a system with such buffers has."""
    return {
        place: [wait for wait in each if all(room in capacities for room in wait.rooms)]
        for place, each in waits.items()
    }


def lasting(waits: Waits) -> Waits:
    """The waits that may last for ever: each end of them is a port that may wait for ever."""
    left = waits
    while True:
        kept = {
            place: [wait for wait in each if all(end in left for end in wait.ends)]
            for place, each in left.items()
        }
        kept = {place: each for place, each in kept.items() if each}
        if kept == left:
            return kept
        left = kept


def _stalls(facts: MachineFacts) -> Iterator[tuple[Place, Wait]]:
    transitions = facts.machine.transitions
    exits = _exits(facts)
    for transition in transitions:
        if not transition.stalls:
            continue
        for event in transition.events:
            for port in _ports(facts, [event]):
                for state in transition.states:
                    ends = _ends(facts, exits.get(state, ()))
                    if ends:
                        what = f"stalls `{event}` in `{state}`"
                        yield _place(facts, port), Wait(ends, what, transition.span)


def _exits(facts: MachineFacts) -> dict[str, list[str]]:
    """By state, the events that lead out of it."""
    found: dict[str, list[str]] = {}
    for cell in facts.machine.cells:
        transition = facts.machine.transitions[cell.transition]
        next = transition.next
        stays = next.kind is ir.NextKind.STAY or next.state == cell.state
        if not transition.stalls and not stays:
            found.setdefault(cell.state, []).append(cell.event)
    return found


def _ends(facts: MachineFacts, events: Iterable[str]) -> tuple[Place, ...]:
    """The ports that bring the events; none if something else than a message can, too."""
    ports = _ports(facts, events)
    if not all(_is_fed_by_machines(facts, port) for port in ports):
        return ()
    return tuple(_place(facts, port) for port in ports)


def _ports(facts: MachineFacts, events: Iterable[str]) -> list[ir.PortRef]:
    found = {source.port for event in events for source in facts.sources.get(event, ())}
    return sorted(found, key=lambda port: port.name)


def _is_fed_by_machines(facts: MachineFacts, port: ir.PortRef) -> bool:
    return port in facts.queues and facts.ports[port].buffer in facts.links


def _place(facts: MachineFacts, port: ir.PortRef) -> Place:
    return facts.machine.name, port.name


def _rooms(facts: MachineFacts, machines: Sequence[MachineFacts]) -> Iterator[tuple[Place, Wait]]:
    sends = sends_of(facts)
    for transition in facts.machine.transitions:
        for action in transition.actions:
            for send in sends[action]:
                own = (facts.machine.name, send.buffer)
                for there, port in _receiving(facts, send, machines):
                    rooms = (own, (there.machine.name, port.buffer))
                    what = f"sends {send.what} to {there.machine.name}"
                    wait = Wait((_place(there, port.ref),), what, send.enqueue.span, rooms)
                    for source in _ports(facts, transition.events):
                        yield _place(facts, source), wait


def _receiving(
    sender: MachineFacts, send: Send, machines: Sequence[MachineFacts]
) -> Iterator[tuple[MachineFacts, ir.InPort]]:
    """Ports that may get the message: of machines that the text names, else of any that read it."""
    for facts in machines:
        kind = facts.machine.machine_type or facts.machine.name
        named = kind in send.machines if send.machines else facts is not sender
        for port in facts.machine.in_ports if named and send.network is not None else ():
            link = facts.links.get(port.buffer)
            if link is None or link.virtual_network != send.network:
                continue
            if not isinstance(port.message, ir.StructType) or (
                port.message.ref == send.enqueue.message
            ):
                yield facts, port
