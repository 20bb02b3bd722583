"""Who sent which message to whom, and which transition took it or set it aside.

Invariant: looking changes nothing. What is put into a buffer is put there first and noted after.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from runtime.sim.message_buffer import MessageBuffer
from runtime.types.message import Message, kind_of
from tester.diagnosis.events.line_events import Hop, Sent
from tester.diagnosis.events.message_text import details_of
from tester.diagnosis.events.record_fields import message_fields
from tester.diagnosis.events.system_inspection import attributes, controller_name, head_message
from tester.execution.events import Request

MEMORY = "memory"

Put = Callable[[Message], object]


class Received(NamedTuple):
    """A message that a controller was given: from a controller, or for a request at a port."""

    message: Message
    sent: Sent | None
    request: Request | None = None

    def __str__(self) -> str:
        return kind_of(self.message) if self.sent is None else str(self.sent)


class Consumption(NamedTuple):
    """What a transition did with the messages of its controller."""

    taken: list[Received]
    waiting: Received | None
    """The one that it set aside."""


class _Arrival(NamedTuple):
    buffer: MessageBuffer
    received: Received
    set_aside: bool


class MessageTap:
    """Notes every message about the lines that ``concerns`` accepts, from now on; ``whole``: with
    all of its fields.

    Each send is appended to ``sent``; ``data_of`` gives the bytes in question of a message, and
    whether they matter. Requests that a requester puts into a mandatory queue are no sends: the
    events at its port show them.
    """

    def __init__(
        self,
        system: Any,
        concerns: Callable[[Message], bool],
        line_of: Callable[[Message], int],
        data_of: Callable[[Message], tuple[str, bool]],
        sent: list[Sent],
        whole: bool = False,
    ) -> None:
        self._concerns = concerns
        self._line_of = line_of
        self._data_of = data_of
        self._sent = sent
        self._whole = whole
        self._receivers = system.network.receivers
        self._topology = system.topology
        self._ports = {port.name: port for port in system.network.ports}
        self._names = {each.machineID.node: controller_name(each) for each in system.controllers}
        self._buffers: dict[str, MessageBuffer] = system.buffers
        self._links = _links(system)
        self._senders: dict[int, Received] = {}
        """By ``id`` of the message, which is kept so that no other gets its ``id``."""
        self._on_bus: dict[int, Sent] = {}
        """Messages of which a bus makes copies, by what the copies keep."""
        self._last_identity = -1
        self._arrived: dict[int, list[_Arrival]] = {}
        """By ``id`` of the controller: what it was given and is not known to have taken."""
        self._requesters = {id(each.queue): each for each in system.requesters}
        system.engine.tap = self._enqueued
        for buffer in system.buffers.values():
            if buffer is not getattr(buffer.consumer, "memory_request", None):
                buffer.put = self._noting(buffer, buffer.put)

    def consumed_by(self, controller: Any) -> Consumption:
        """What it has taken, and what it has set aside, since this was last asked."""
        taken: list[Received] = []
        waiting = None
        left = []
        for buffer, received, known in self._arrived.get(id(controller), ()):
            message = received.message
            ready = message in buffer.messages
            if ready:
                left.append(_Arrival(buffer, received, False))
            elif _is_held(buffer, message):
                waiting = waiting if known else received
                left.append(_Arrival(buffer, received, True))
            else:
                taken.append(received)
                self._senders.pop(id(message), None)
        self._arrived[id(controller)] = left
        return Consumption(taken, waiting)

    def failed_on(self, controller: Any) -> list[Received]:
        """What a controller was working on when it failed: what it has just taken, else the message
        at the head of the in-port that it polled."""
        taken = self.consumed_by(controller).taken
        head = head_message(controller)
        if taken or head is None:
            return taken
        return [self._senders.get(id(head), Received(head, None))]

    def _enqueued(self, name: str, message: Message, arrival: int) -> None:
        if not self._concerns(message):
            return
        port = self._ports.get(name)
        send = self._within(name, message) if port is None else self._between(port, message)
        if send is None:
            return
        send.hops = self._hop(name, send, arrival) if port is None else self._copies(port, message)
        receivers = send.receivers
        last = self._sent[-1] if self._sent else None
        if port is not None and last is not None and message.identity == self._last_identity:
            last.receivers += send.receivers  # a further copy of a multicast
            last.hops += send.hops
            send = last
        else:
            self._sent.append(send)
        self._last_identity = message.identity if port is not None else -1
        if len(receivers) > 1:
            self._on_bus[message.identity] = send
        elif receivers != [MEMORY]:
            self._senders[id(message)] = Received(message, send)

    def _between(self, port: Any, message: Message) -> Sent:
        """Between controllers; a copy of a multicast names one receiver, a message on a bus all."""
        receivers = [self._names[node] for node in vars(message)["Destination"].nodes()]
        known = repr(port.owner)
        sender = self._names[port.owner.node]
        return self._send(message, sender, receivers, port.virtual_network, known)

    def _within(self, name: str, message: Message) -> Sent | None:
        """From a controller to itself, to its memory or from there, or through a link."""
        buffer = self._buffers.get(name)
        owner = None if buffer is None else buffer.consumer
        if owner is None or buffer is getattr(owner, "mandatory_queue", None):
            return None
        mine = controller_name(owner)
        if buffer is getattr(owner, "memory_request", None):
            return self._send(message, mine, [MEMORY])
        if buffer is getattr(owner, "memory_response", None):
            return self._send(message, MEMORY, [mine])
        sender = self._links.get(name)
        if sender is not None:
            return self._send(message, sender, [mine])
        return self._send(message, mine, ["itself"])

    def _send(
        self,
        message: Message,
        sender: str,
        receivers: list[str],
        network: int | None = None,
        known: str = "",
    ) -> Sent:
        data, touched = self._data_of(message)
        fields = message_fields(message, self._topology) if self._whole else ()
        return Sent(
            tick=message.created,
            who=sender,
            line=self._line_of(message),
            kind=kind_of(message),
            details=details_of(message, known),
            receivers=receivers,
            fields=fields,
            network=network,
            data=data,
            touched=touched,
        )

    @staticmethod
    def _hop(name: str, send: Sent, arrival: int) -> list[Hop]:
        """The hop of what no network carries; memory takes a message when it arrives."""
        receiver = send.receivers[0]
        if receiver == MEMORY:
            return [Hop(receiver, name, arrival)]
        return [Hop(send.who if receiver == "itself" else receiver, name, -1)]

    def _copies(self, port: Any, message: Message) -> list[Hop]:
        """The hops of a copy: one of a multicast, one for each receiver of a message on a bus."""
        network, nodes = port.virtual_network, vars(message)["Destination"].nodes()
        buffers = [self._receivers[node, network].name for node in nodes]
        return [Hop(self._names[node], each, -1) for node, each in zip(nodes, buffers)]

    def _noting(self, buffer: MessageBuffer, put: Put) -> Put:
        arrived = self._arrived.setdefault

        def noted(message: Message) -> None:
            put(message)
            if self._concerns(message):
                waiting = arrived(id(buffer.consumer), [])
                if not any(each.received.message is message for each in waiting):
                    received = self._received(buffer, message)
                    waiting.append(_Arrival(buffer, received, False))
                    _arrives(received.sent, buffer.name, buffer.engine.now)

        return noted

    def _received(self, buffer: MessageBuffer, message: Message) -> Received:
        requester = self._requesters.get(id(buffer))
        if requester is None:
            on_bus = Received(message, self._on_bus.get(message.identity))
            return self._senders.get(id(message), on_bus)
        return Received(message, None, _request_behind(requester, message))


def _links(system: Any) -> dict[str, str]:
    """The controller that sends into each buffer that leads straight to another one."""
    return {
        value.name: controller_name(each)
        for each in system.controllers
        for value in attributes(each)
        if isinstance(value, MessageBuffer) and value.consumer not in (None, each)
    }


def _request_behind(requester: Any, message: Message) -> Request | None:
    """The request that a requester's message belongs to, by line and number; None: unknown."""
    number = getattr(message, "instSeqNum", 0)
    line = message.line_address()
    mine = [
        part.access
        for part in requester.outstanding()
        if part.line == line and part.access.sequence <= number
    ]
    found = max(mine, key=lambda access: access.sequence, default=None)
    return getattr(found, "request", None)


def _arrives(sent: Sent | None, buffer: str, tick: int) -> None:
    for hop in () if sent is None else sent.hops:
        if hop.buffer == buffer and hop.arrival < 0:
            hop.arrival = tick


def _is_held(buffer: MessageBuffer, message: Message) -> bool:
    """Whether a message that is not ready will be: it is stalled, or arrives once more."""
    if any(message in stalled for stalled in buffer.stalled.values()):
        return True
    return any(message is each for each in buffer.engine.in_flight(buffer))
