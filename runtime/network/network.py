"""Who is in the system, and how messages get from one controller to another.

The network is a table of channels (sender's buffer -> receiver's buffer). Invariant: nothing
but the channel, the line and the count of earlier messages decides when a message arrives, and
a channel both of whose buffers are ordered delivers in the order of sending.
"""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

from runtime.errors import ErrorKind, ProtocolError
from runtime.sim.message_buffer import HeldSender, MessageBuffer, Occupancy
from runtime.sim.send_path import SendPath, fast_send_path
from runtime.types.messages import INVALID_MACHINE, MachineType
from runtime.types.values import MachineID, NetDest

if TYPE_CHECKING:
    from runtime.sim.delay_policy import DelayPolicy, Delays
    from runtime.sim.engine import Engine
    from runtime.types.message import Message


class Topology:
    """Node numbering: machine types in the order of ``MachineType``, then instance numbers.

    ``counts`` maps a machine type to its number of controllers. Also knows which controller of
    a type an address belongs to: :meth:`interleave`. ``ids``: those made so far, by type and
    number; a caller that finds none asks :meth:`machine_id`.
    """

    def __init__(self, counts: dict[int, int], line_bits: int = 6) -> None:
        self.line_bits = line_bits
        self.line_size = 1 << line_bits
        self.counts = dict(sorted(counts.items()))
        self.nodes: list[MachineID] = []
        self._first: dict[int, int] = {}
        self.ids: dict[tuple[int, int], MachineID] = {(MachineType.NUM, 0): INVALID_MACHINE}
        for machine_type, count in self.counts.items():
            self._first[machine_type] = len(self.nodes)
            for num in range(count):
                machine = MachineID(machine_type, num, len(self.nodes))
                self.ids[machine_type, num] = machine
                self.nodes.append(machine)
        self._interleaving: dict[int, int] = {}
        """How many controllers share the lines, by type; others own all memory each."""

    def machine_id(self, machine_type: int, num: int) -> MachineID:
        """The one id of that controller; an id without node if the system has none such."""
        machine = self.ids.get((machine_type, num))
        if machine is None:
            machine = self.ids[machine_type, num] = MachineID(machine_type, num)
        return machine

    def count(self, machine_type: int) -> int:
        return self.counts.get(machine_type, 0)

    def first_node(self, machine_type: int) -> int:
        """The node number of instance 0, or where it would be."""
        first = self._first.get(machine_type)
        if first is None:
            first = sum(count for kind, count in self.counts.items() if kind < machine_type)
        return first

    def mask_of(self, machine_type: int) -> int:
        """The bits of all controllers of a type."""
        return ((1 << self.count(machine_type)) - 1) << self.first_node(machine_type)

    def interleave(self, machine_type: int) -> None:
        """Spread lines over the controllers of a type: number = line number mod count.

        A type that is not interleaved owns all memory in each of its controllers.
        """
        self._interleaving[machine_type] = self.count(machine_type)

    def interleaved(self, machine_type: int) -> bool:
        """Whether each of its controllers owns only some addresses."""
        return machine_type in self._interleaving

    def map_address(self, machine_type: int, address: int) -> MachineID:
        """The controller of that type which owns the address; the first if all own it."""
        count = self._interleaving.get(machine_type)
        if not count:
            return self.machine_id(machine_type, 0)
        return self.ids[machine_type, (address >> self.line_bits) % count]

    def owns(self, machine: MachineID, address: int) -> bool:
        """Whether the address lies in the ranges of that controller."""
        count = self._interleaving.get(machine.type)
        return count is None or (address >> self.line_bits) % count == machine.num


class Channel(HeldSender):
    """From one sending buffer to one receiving buffer."""

    __slots__ = (
        "buffer",
        "delays",
        "held",
        "last_arrival",
        "limited",
        "ordered",
        "port",
    )

    def __init__(self, port: NetworkPort, buffer: MessageBuffer, delays: Delays | None) -> None:
        self.port = port
        self.buffer = buffer
        self.delays = delays
        self.ordered = port.ordered and buffer.ordered
        self.limited = bool(port.capacity or buffer.capacity)
        self.last_arrival = 0
        self.held: deque[Message] = deque()

    def send(self, message: Message, latency: int, bypass: bool) -> None:
        """The general case; :mod:`runtime.sim.send_path` has the frequent one."""
        port = self.port
        engine = port.engine
        now = engine.now
        sequence = engine.sequence
        engine.sequence = sequence + 1
        message.sequence = sequence
        message.created = now
        if latency < 0:
            raise ProtocolError(ErrorKind.NEGATIVE_LATENCY, f"latency {latency} into {port.name}")
        tick = now + latency + port.latency
        if self.delays is not None:
            tick += self.delays.next(message)
        if self.ordered and not (bypass and tick < self.last_arrival):
            tick = self.in_order(tick)
        message.arrival = tick
        if engine.tap is not None:
            engine.tap(port.name, message, tick)
        if self.limited:
            # The network takes it over its own latency before it arrives, if there is room.
            engine.post(self.take, message, tick - port.latency)
        else:
            engine.post(self.buffer.put, message, tick, self.buffer.bit)

    def in_order(self, tick: int) -> int:
        """The arrival of a message due at ``tick``: not before the last one's."""
        if tick < self.last_arrival:
            return self.last_arrival
        self.last_arrival = tick
        return tick

    def take(self, message: Message) -> None:
        """The message is due to leave its buffer: hand it over, or hold it back."""
        self.held.append(message)
        if self.buffer.waiting or not self.buffer.areNSlotsAvailable(1):
            self.buffer.waiting.append(self)
        else:
            self.hand_over()

    def hand_over(self) -> None:
        message = self.held.popleft()
        port = self.port
        engine = port.engine
        self.buffer.expect(1)
        port.handed_over(message)
        message.arrival = engine.now + port.latency
        engine.post(self.buffer.put, message, message.arrival, self.buffer.bit)


class NetworkPort(Occupancy):
    """A controller's buffer towards the network: routes what is enqueued, holds nothing ready.

    With a ``capacity`` a message takes a slot until the network takes it over, which is when
    its sender's latency is over and the receiver has room; a multicast takes one slot until
    its last copy has left.
    """

    __slots__ = (
        "_copies",
        "_paths",
        "_routes",
        "latency",
        "network",
        "ordered",
        "owner",
        "virtual_network",
    )

    def __init__(
        self,
        network: Network,
        owner: MachineID,
        name: str,
        virtual_network: int,
        capacity: int = 0,
        ordered: bool = False,
    ) -> None:
        Occupancy.__init__(self, name, capacity, network.engine)
        self.network = network
        self.owner = owner
        self.virtual_network = virtual_network
        self.ordered = ordered
        self.latency = network.latency
        self._routes: dict[int, Channel] = {}
        self._paths: dict[int, SendPath] = {}
        """By destination, like ``_routes``: those of the channels without limits."""
        self._copies: dict[int, int] = {}

    def enqueue(self, message: Message, latency: int = 1, bypass: bool = False) -> None:
        """Send to ``message.Destination``, arriving after ``latency``, the network's latency
        and the channel's delay.

        Several destinations get a copy each, in node order, whose ``Destination`` names only
        the receiver.
        """
        path = self._paths.get(message.Destination.bits)  # type: ignore[attr-defined]
        if path is None or latency < 0 or bypass or self.engine.tap is not None:
            self._send(message, latency, bypass)
        else:
            path(message, latency + self.latency)

    def _send(self, message: Message, latency: int, bypass: bool) -> None:
        """The general case, and the first message to a destination."""
        if not self._has_destination(message):
            return
        bits = message.Destination.bits  # type: ignore[attr-defined]
        if not bits & (bits - 1):
            channel = self.route(bits.bit_length() - 1)
            self.expect(1)
            message.identity = self.engine.sequence
            channel.send(message, latency, bypass)
            return
        nodes = NetDest(bits).nodes()
        channels = [self.route(node) for node in nodes]
        self.expect(1)
        message.identity = identity = self.engine.sequence
        if self.capacity:
            self._copies[identity] = len(nodes)
        for node, channel in zip(nodes, channels, strict=True):
            copy = message.copy()
            copy.Destination = NetDest(1 << node)  # type: ignore[attr-defined]
            channel.send(copy, latency, bypass)

    def _has_destination(self, message: Message) -> bool:
        """False for a set that turned out empty, as "all sharers but one" may: sent to no node."""
        if message.Destination.bits:  # type: ignore[attr-defined]
            return True
        if "Destination" not in message.__dict__:
            raise ProtocolError(
                ErrorKind.MESSAGE_WITHOUT_DESTINATION,
                f"{type(message).__name__} enqueued into {self.name} names no destination",
            )
        self.network.sent_to_nobody += 1
        return False

    def route(self, node: int) -> Channel:
        """The channel to a node; a verdict if nothing there listens on this virtual network."""
        bit = 1 << node
        channel = self._routes.get(bit)
        if channel is None:
            channel = self._routes[bit] = self.network.channel(self, node)
            path = fast_send_path(channel, self.engine, channel.buffer)
            if path is not None and not channel.limited:
                self._paths[bit] = path
        return channel

    def set_delays(self, node: int, delays: Delays) -> None:
        """Give the channel to a node other delays."""
        self.route(node).delays = delays
        self._paths.pop(1 << node, None)

    def handed_over(self, message: Message) -> None:
        """The network has taken a message: its slot is free once no copy is left."""
        if not self.capacity:
            return
        left = self._copies.pop(message.identity, 1) - 1
        assert left >= 0, f"{self.name}: a copy is handed over once"
        if left:
            self._copies[message.identity] = left
        else:
            self.release()

    def channel_names(self) -> list[str]:
        """The names of the channels to all nodes that listen."""
        return [f"{self.name}->{buffer.name}" for _, buffer in self.receivers()]

    def receivers(self) -> list[tuple[int, MessageBuffer]]:
        """The nodes that listen, in order, and where they do."""
        return [
            (node, buffer)
            for (node, network), buffer in sorted(self.network.receivers.items(), key=_place)
            if network == self.virtual_network and buffer.consumer is not None
        ]

    def held_messages(self) -> list[Message]:
        """What waits for room at a receiver, by receiver."""
        return [m for bit in sorted(self._routes) for m in self._routes[bit].held]


def _place(item: tuple[tuple[int, int], MessageBuffer]) -> tuple[int, int]:
    return item[0]


class Network:
    """All channels of a system.

    ``latency`` (cycles, at least 1) is the same for all; ``delays`` adds a random part per
    message. Built after the engine and before the controllers.
    """

    def __init__(
        self,
        engine: Engine,
        topology: Topology,
        latency: int = 1,
        delays: DelayPolicy | None = None,
    ) -> None:
        if latency < 1:
            raise ValueError(f"network latency {latency} is less than one cycle")
        self.engine = engine
        self.topology = topology
        self.latency = latency
        self.delays = delays
        self.sent_to_nobody = 0
        self.ports: list[NetworkPort] = []
        self.receivers: dict[tuple[int, int], MessageBuffer] = {}

    def port(
        self,
        owner: MachineID,
        name: str,
        virtual_network: int,
        capacity: int = 0,
        ordered: bool = False,
    ) -> NetworkPort:
        """A buffer from ``owner`` to the network. ``name`` is unique in the system."""
        port = NetworkPort(self, owner, name, virtual_network, capacity, ordered)
        self.ports.append(port)
        return port

    def attach(self, owner: MachineID, buffer: MessageBuffer, virtual_network: int) -> None:
        """Let ``buffer`` receive what is sent to ``owner`` on that virtual network."""
        key = (owner.node, virtual_network)
        if key in self.receivers:
            other = self.receivers[key].name
            raise ValueError(
                f"{buffer.name} and {other} both receive on virtual network {virtual_network}"
            )
        self.receivers[key] = buffer

    def receiver(self, port: NetworkPort, node: int) -> MessageBuffer:
        """Where a node receives what ``port`` sends; a verdict if nothing receives there."""
        buffer = self.receivers.get((node, port.virtual_network))
        if buffer is None or buffer.consumer is None:
            where = f"node {node}"
            if node < len(self.topology.nodes):
                where = repr(self.topology.nodes[node])
            raise ProtocolError(
                ErrorKind.UNDELIVERABLE,
                f"{port.name} sends to {where}, which does not receive on "
                f"virtual network {port.virtual_network}",
            )
        return buffer

    def channel(self, port: NetworkPort, node: int) -> Channel:
        """A new channel from ``port`` to a node."""
        buffer = self.receiver(port, node)
        delays = None
        if self.delays is not None:
            delays = self.delays.channel(f"{port.name}->{buffer.name}")
        return Channel(port, buffer, delays)

    def held_messages(self) -> list[Message]:
        """Messages held back by buffers of limited size, by port."""
        return [message for port in self.ports for message in port.held_messages()]
