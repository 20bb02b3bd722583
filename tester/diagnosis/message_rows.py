"""What messages say, who sent each and which transition took it: rows of a history.

Invariant: looking changes nothing. What is put into a buffer is put there first and noted after.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from runtime.sim.message_buffer import MessageBuffer
from runtime.types.message import LINE_FIELDS, Message
from runtime.types.values import DataBlock

_NOT_A_KIND = frozenset({"MessageSize", "AccessMode", "Prefetch"})
"""Enumerations that say how a message travels, not what it asks."""
_SHOWN_ELSEWHERE = frozenset({"Destination", "MessageSize", "pkt", *LINE_FIELDS})
_SHOWN_RECEIVERS = 4

Put = Callable[[Message], object]


def kind_of(message: Message) -> str:
    """``GETX``: what the message says; the name of its class where it says nothing."""
    for field, enumeration in message.ENUMERATIONS.items():
        if field not in _NOT_A_KIND:
            return enumeration.name_of(getattr(message, field))
    return type(message).__name__


def details_of(message: Message, sender: str = "") -> str:
    """``Acks=1 with data``: what its sender set, besides kind, line, receivers and itself."""
    shown = []
    data = False
    for name, text in message.fields():
        value = getattr(message, name)
        if isinstance(value, DataBlock):
            data = True
        elif name in _SHOWN_ELSEWHERE or text in (kind_of(message), sender.replace(" ", "-")):
            continue
        elif value != getattr(type(message), name):
            shown.append(f"{name}={text}")
    return " ".join([*shown, "with data"] if data else shown)


@dataclass(eq=False)
class Send:
    """One enqueue: who said what to whom, on which virtual network (-1: within the machine)."""

    tick: int
    sender: str
    message: Message
    virtual_network: int
    receivers: list[str]

    def __str__(self) -> str:
        shown = ", ".join(self.receivers[:_SHOWN_RECEIVERS])
        if len(self.receivers) > _SHOWN_RECEIVERS:
            shown += f" and {len(self.receivers) - _SHOWN_RECEIVERS} more"
        network = "" if self.virtual_network < 0 else f", vnet {self.virtual_network}"
        text = f"sends {kind_of(self.message)} to {shown}{network}"
        details = details_of(self.message, self.sender)
        return f"{text}: {details}" if details else text


class MessageRows:
    """Notes every message about the lines that ``concerns`` accepts, from now on.

    ``sent``: the sends since they were last taken. Requests that a requester puts into a mandatory
    queue are no sends: the rows of its port show them.
    """

    def __init__(self, system: Any, concerns: Callable[[Message], bool]) -> None:
        self.sent: list[Send] = []
        self._concerns = concerns
        self._ports = {
            port.name: (_words(port.owner), port.virtual_network) for port in system.network.ports
        }
        self._nodes = system.topology.nodes
        self._buffers: dict[str, MessageBuffer] = system.buffers
        self._senders: dict[int, tuple[Message, str]] = {}
        """By ``id`` of the message, which is kept so that no other gets its ``id``."""
        self._arrived: dict[int, list[tuple[MessageBuffer, Message]]] = {}
        """By ``id`` of the controller: what it was given and is not known to have taken."""
        system.engine.tap = self._enqueued
        for buffer in system.buffers.values():
            if buffer is not getattr(buffer.consumer, "memory_request", None):
                buffer.put = self._noting(buffer, buffer.put)

    def taken_by(self, controller: Any) -> list[str]:
        """``GETX from L1Cache 2``: what it has taken since this was last asked."""
        waiting = self._arrived.get(id(controller))
        if not waiting:
            return []
        left = self._arrived[id(controller)] = [
            (buffer, message)
            for buffer, message in waiting
            if message in buffer.messages
            or any(message in stalled for stalled in buffer.stalled.values())
        ]
        still = {id(message) for _, message in left}
        return [self._words_of(message) for _, message in waiting if id(message) not in still]

    def _words_of(self, message: Message) -> str:
        known = self._senders.pop(id(message), None)
        return kind_of(message) if known is None else f"{kind_of(message)} from {known[1]}"

    def _enqueued(self, name: str, message: Message, arrival: int) -> None:
        if not self._concerns(message):
            return
        port = self._ports.get(name)
        if port is None:
            buffer = self._buffers.get(name)
            owner = None if buffer is None else buffer.consumer
            if owner is None or buffer is getattr(owner, "mandatory_queue", None):
                return
            mine = _words(owner)
            sender, receiver = mine, "itself"
            if buffer is getattr(owner, "memory_request", None):
                receiver = "memory"
            elif buffer is getattr(owner, "memory_response", None):
                sender, receiver = "memory", mine
            network, receivers = -1, [receiver]
        else:
            sender, network = port
            bits = message.Destination.bits  # type: ignore[attr-defined]
            receivers = [_words(self._nodes[bits.bit_length() - 1])]
        self._senders[id(message)] = message, sender
        last = self.sent[-1] if self.sent else None
        if (
            last is not None
            and port
            and (last.sender, last.message.identity)
            == (
                sender,
                message.identity,
            )
        ):
            last.receivers += receivers
        else:
            self.sent.append(Send(message.created, sender, message, network, receivers))

    def _noting(self, buffer: MessageBuffer, put: Put) -> Put:
        receiver = id(buffer.consumer)

        def noted(message: Message) -> None:
            put(message)
            if self._concerns(message):
                waiting = self._arrived.setdefault(receiver, [])
                if not any(known is message for _, known in waiting):
                    waiting.append((buffer, message))

        return noted


def _words(whom: Any) -> str:
    """``L1Cache 2``, as reports call a controller and its machine id."""
    return f"{whom!r}".replace("-", " ")
