"""Who sent which message to whom, and which transition took it: rows of a history.

Invariant: looking changes nothing. What is put into a buffer is put there first and noted after.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from runtime.sim.message_buffer import MessageBuffer
from runtime.types.message import Message
from tester.diagnosis.message_text import details_of, kind_of
from tester.diagnosis.system_inspection import controller_name

_SHOWN_RECEIVERS = 4
_MEMORY = "memory"

Put = Callable[[Message], object]


@dataclass(eq=False)
class Send:
    """One enqueue: who said what to whom, on which virtual network (None: within the machine)."""

    tick: int
    sender: str
    message: Message
    receivers: list[str]
    virtual_network: int | None = None
    sender_id: str = ""
    """The sender as fields of messages name it."""

    def __str__(self) -> str:
        shown = ", ".join(self.receivers[:_SHOWN_RECEIVERS])
        if len(self.receivers) > _SHOWN_RECEIVERS:
            shown += f" and {len(self.receivers) - _SHOWN_RECEIVERS} more"
        network = "" if self.virtual_network is None else f", vnet {self.virtual_network}"
        text = f"sends {kind_of(self.message)} to {shown}{network}"
        details = details_of(self.message, self.sender_id)
        return f"{text}: {details}" if details else text


class MessageRows:
    """Notes every message about the lines that ``concerns`` accepts, from now on.

    Each send is appended to ``sent``. Requests that a requester puts into a mandatory queue are no
    sends: the rows of its port show them.
    """

    def __init__(self, system: Any, concerns: Callable[[Message], bool], sent: list[Send]) -> None:
        self._concerns = concerns
        self._sent = sent
        self._ports = {port.name: port for port in system.network.ports}
        self._names = {each.machineID.node: controller_name(each) for each in system.controllers}
        self._buffers: dict[str, MessageBuffer] = system.buffers
        self._senders: dict[int, tuple[Message, str]] = {}
        """By ``id`` of the message, which is kept so that no other gets its ``id``."""
        self._on_bus: dict[int, str] = {}
        """The senders of messages of which a bus makes copies, by what the copies keep."""
        self._arrived: dict[int, list[tuple[MessageBuffer, Message]]] = {}
        """By ``id`` of the controller: what it was given and is not known to have taken."""
        system.engine.tap = self._enqueued
        for buffer in system.buffers.values():
            if buffer is not getattr(buffer.consumer, "memory_request", None):
                buffer.put = self._noting(buffer, buffer.put)

    def taken_by(self, controller: Any) -> list[str]:
        """``GETX from L1Cache 2``: what it has taken since this was last asked."""
        taken, left = [], []
        for buffer, message in self._arrived.get(id(controller), ()):
            stalled = (message in waiting for waiting in buffer.stalled.values())
            if message in buffer.messages or any(stalled):
                left.append((buffer, message))
            else:
                taken.append(self._words_of(message))
        self._arrived[id(controller)] = left
        return taken

    def _words_of(self, message: Message) -> str:
        _, sender = self._senders.pop(id(message), (message, self._on_bus.get(message.identity)))
        return kind_of(message) if sender is None else f"{kind_of(message)} from {sender}"

    def _enqueued(self, name: str, message: Message, arrival: int) -> None:
        if not self._concerns(message):
            return
        port = self._ports.get(name)
        send = self._within(name, message) if port is None else self._between(port, message)
        if send is None:
            return
        if len(send.receivers) > 1:
            self._on_bus[message.identity] = send.sender
        elif send.receivers != [_MEMORY]:
            self._senders[id(message)] = message, send.sender
        last = self._sent[-1] if self._sent else None
        if port is not None and last is not None and last.message.identity == message.identity:
            last.receivers += send.receivers  # a further copy of a multicast
        else:
            self._sent.append(send)

    def _between(self, port: Any, message: Message) -> Send:
        """Between controllers; a copy of a multicast names one receiver, a message on a bus all."""
        sender = self._names[port.owner.node]
        receivers = [self._names[node] for node in vars(message)["Destination"].nodes()]
        network = port.virtual_network
        return Send(message.created, sender, message, receivers, network, repr(port.owner))

    def _within(self, name: str, message: Message) -> Send | None:
        """From a controller to itself, to its memory or from there."""
        buffer = self._buffers.get(name)
        owner = None if buffer is None else buffer.consumer
        if owner is None or buffer is getattr(owner, "mandatory_queue", None):
            return None
        mine = controller_name(owner)
        sender, receiver = mine, "itself"
        if buffer is getattr(owner, "memory_request", None):
            receiver = _MEMORY
        elif buffer is getattr(owner, "memory_response", None):
            sender, receiver = _MEMORY, mine
        return Send(message.created, sender, message, [receiver])

    def _noting(self, buffer: MessageBuffer, put: Put) -> Put:
        arrived = self._arrived.setdefault

        def noted(message: Message) -> None:
            put(message)
            if self._concerns(message):
                waiting = arrived(id(buffer.consumer), [])
                if not any(known is message for _, known in waiting):
                    waiting.append((buffer, message))

        return noted
