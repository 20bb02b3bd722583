"""A bus: what is sent on it gets one order, in which all receivers see it.

Agents synchronise outside of the memory system, and snooping protocols acknowledge nothing. So a
copy that is to be invalidated must not outlive, anywhere, the tick in which its new owner sees its
own request: all receivers get a message in the same tick. Random delays decide whose turn is next.

Invariant: the bus carries at most one message a tick, and that one is in the buffers of all its
receivers before the first consumer of the tick runs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime.errors import ErrorKind, ProtocolError
from runtime.network.network import Network, NetworkPort
from runtime.sim.message_buffer import HeldSender, MessageBuffer
from runtime.types.values import NetDest

if TYPE_CHECKING:
    from collections.abc import Collection

    from runtime.network.network import Topology
    from runtime.sim.delay_policy import DelayPolicy, Delays
    from runtime.sim.engine import Engine
    from runtime.types.message import Message
    from runtime.types.values import MachineID


class Bus(HeldSender):
    """``waiting``: messages that are due, the oldest first, with their senders' buffers.

    A message for which a receiver has no room holds back the later ones of its virtual network,
    and not those of others: data pass requests that wait for data.
    """

    __slots__ = ("_engine", "_free", "_next", "waiting")

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._free = 0
        """The first tick in which the bus is not taken."""
        self._next = -1
        """The tick of the last arbitration that was asked for."""
        self.waiting: list[tuple[BusPort, Message]] = []

    def request(self, port: BusPort, message: Message) -> None:
        """The message is due."""
        self.waiting.append((port, message))
        self._arbitrate()

    def hand_over(self) -> None:
        self._arbitrate()

    def _arbitrate(self, _: object = None) -> None:
        """Let the oldest message that can go have the bus, if it is not taken in this tick."""
        now = self._engine.now
        if now >= self._free:
            place = self._first_ready()
            if place is None:
                return
            self._free = now + 1
            port, message = self.waiting.pop(place)
            port.transfer(message)
        assert self._free <= now + 1, "the bus is taken for one tick"
        if self.waiting and self._next != self._free:
            self._next = self._free
            self._engine.post(self._arbitrate, None, self._free)

    def _first_ready(self) -> int | None:
        held: set[int] = set()
        for place, (port, message) in enumerate(self.waiting):
            if port.virtual_network in held:
                continue
            full = port.without_room(message)
            if full is None:
                return place
            held.add(port.virtual_network)
            if self not in full.waiting:
                full.waiting.append(self)
        return None


class BusPort(NetworkPort):
    """A controller's buffer towards the bus.

    With a ``capacity`` a message takes a slot until it has the bus. If the buffer is ``ordered``,
    its messages are due in the order of sending.
    """

    __slots__ = ("_receivers", "bus", "delays", "last_due")

    def __init__(
        self,
        network: Network,
        bus: Bus,
        owner: MachineID,
        name: str,
        virtual_network: int,
        capacity: int = 0,
        ordered: bool = False,
    ) -> None:
        super().__init__(network, owner, name, virtual_network, capacity, ordered)
        self.bus = bus
        self.delays: Delays | None = None
        if network.delays is not None:
            self.delays = network.delays.channel(self.channel_names()[0])
        self.last_due = 0
        self._receivers: dict[int, list[MessageBuffer]] = {}

    def _send(self, message: Message, latency: int, bypass: bool) -> None:
        if not self._has_destination(message):
            return
        self._buffers_of(message)  # a verdict if one does not listen
        self.expect(1)
        engine = self.engine
        message.identity = message.sequence = engine.sequence
        engine.sequence += 1
        message.created = engine.now
        if latency < 0:
            raise ProtocolError(ErrorKind.NEGATIVE_LATENCY, f"latency {latency} into {self.name}")
        due = engine.now + latency + self.latency
        if self.delays is not None:
            due += self.delays.next(message)
        if self.ordered:
            if due >= self.last_due:
                self.last_due = due
            elif not bypass:
                due = self.last_due
        message.arrival = due
        if engine.tap is not None:
            engine.tap(self.name, message, due)
        engine.post(self._due, message, due)

    def _due(self, message: Message) -> None:
        self.bus.request(self, message)

    def _buffers_of(self, message: Message) -> list[MessageBuffer]:
        destination: NetDest = message.Destination  # type: ignore[attr-defined]
        found = self._receivers.get(destination.bits)
        if found is None:
            found = [self.network.receiver(self, node) for node in destination.nodes()]
            self._receivers[destination.bits] = found
        return found

    def without_room(self, message: Message) -> MessageBuffer | None:
        """The first receiver's buffer that cannot take the message now."""
        for buffer in self._buffers_of(message):
            if not buffer.areNSlotsAvailable(1):
                return buffer
        return None

    def transfer(self, message: Message) -> None:
        """Put the message into all its receivers' buffers, in the current tick."""
        engine = self.engine
        now = engine.now
        buffers = self._buffers_of(message)
        destination: NetDest = message.Destination  # type: ignore[attr-defined]
        self.handed_over(message)
        for node, buffer in zip(destination.nodes(), buffers, strict=True):
            received = message
            if len(buffers) > 1:
                received = message.copy()
                received.Destination = NetDest(1 << node)  # type: ignore[attr-defined]
            assert buffer.areNSlotsAvailable(1), "the message has waited for room"
            received.arrival = now
            buffer.expect(1)
            engine.post(buffer.put, received, now, buffer.bit)

    def set_delays(self, node: int, delays: Delays) -> None:
        """Give the port other delays: on a bus they are the same for all nodes."""
        self.delays = delays

    def channel_names(self) -> list[str]:
        """The name of the one channel, to the bus."""
        return [f"{self.name}->bus"]

    def held_messages(self) -> list[Message]:
        """What waits for the bus."""
        return [message for port, message in self.bus.waiting if port is self]


class BusNetwork(Network):
    """A network with a bus: what is sent on the virtual networks ``on_bus`` goes over it."""

    def __init__(
        self,
        engine: Engine,
        topology: Topology,
        latency: int = 1,
        delays: DelayPolicy | None = None,
        *,
        on_bus: Collection[int],
    ) -> None:
        super().__init__(engine, topology, latency, delays)
        self.bus = Bus(engine)
        self.on_bus = on_bus

    def port(
        self,
        owner: MachineID,
        name: str,
        virtual_network: int,
        capacity: int = 0,
        ordered: bool = False,
    ) -> NetworkPort:
        if virtual_network not in self.on_bus:
            return super().port(owner, name, virtual_network, capacity, ordered)
        port = BusPort(self, self.bus, owner, name, virtual_network, capacity, ordered)
        self.ports.append(port)
        return port
