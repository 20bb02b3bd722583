"""The bus: one order for all receivers, one message a tick, and room for all of them."""

from __future__ import annotations

import pytest

from runtime.errors import ErrorKind, ProtocolError
from runtime.network.bus import BusNetwork, BusPort
from runtime.network.network import Topology
from runtime.sim.delay_policy import DRAWN_POLICIES, DelayPolicy
from runtime.sim.engine import Engine
from runtime.types.messages import MachineType
from runtime.types.values import NetDest
from tests.runtime.network.test_network import Letter, Mailbox

REQUESTS, DATA = 0, 1
NODES = 3


class Snoopers:
    """Caches that receive on two virtual networks of a bus, and count what they get."""

    def __init__(
        self,
        policy: str = "nominal",
        *,
        ordered: bool = False,
        capacity: int = 0,
        in_capacity: int = 0,
        latency: int = 2,
        run_key: int = 5,
    ) -> None:
        self.engine = Engine()
        topology = Topology({MachineType.L1Cache: NODES})
        delays = DelayPolicy(policy, run_key)
        on_bus = (REQUESTS, DATA)
        self.network = BusNetwork(self.engine, topology, latency, delays, on_bus=on_bus)
        self.boxes: dict[tuple[int, int], Mailbox] = {}
        self.ports: dict[tuple[int, int], BusPort] = {}
        for network in on_bus:
            for node, owner in enumerate(topology.nodes):
                box = Mailbox(self.engine, f"L1Cache{node}.in{network}", in_capacity, False)
                self.network.attach(owner, box.buffer, network)
                self.boxes[node, network] = box
                name = f"L1Cache{node}.out{network}"
                port = self.network.port(owner, name, network, capacity, ordered)
                assert isinstance(port, BusPort)
                self.ports[node, network] = port

    def send(
        self,
        label: int,
        to: int = (1 << NODES) - 1,
        sender: int = 0,
        network: int = REQUESTS,
        latency: int = 1,
        addr: int = 0,
        bypass: bool = False,
    ) -> None:
        letter = Letter()
        letter.addr, letter.label, letter.Destination = addr, label, NetDest(to)
        self.ports[sender, network].enqueue(letter, latency, bypass)

    def received(self, node: int, network: int = REQUESTS) -> list[tuple[int, int]]:
        return self.boxes[node, network].received


def test_all_receivers_get_a_message_in_one_tick_and_the_sender_too() -> None:
    bus = Snoopers()
    bus.send(7, sender=1)
    bus.engine.run()
    assert [bus.received(node) for node in range(NODES)] == [[(3, 7)]] * NODES


@pytest.mark.parametrize("policy", DRAWN_POLICIES)
def test_receivers_agree_on_one_order_and_no_tick_has_two_messages(policy: str) -> None:
    orders = set()
    for run_key in range(8):
        bus = Snoopers(policy, run_key=run_key)
        for label in range(40):
            bus.send(label, sender=label % NODES, addr=64 * (label % 5), latency=label % 4)
        bus.engine.run()
        seen = bus.received(0)
        assert seen == bus.received(1) == bus.received(2)
        assert sorted(label for _, label in seen) == list(range(40))
        ticks = [tick for tick, _ in seen]
        assert ticks == sorted(set(ticks))
        orders.add(tuple(label for _, label in seen))
    assert (len(orders) > 1) == (policy != "nominal")


def test_what_is_due_in_one_tick_goes_in_the_order_of_sending() -> None:
    bus = Snoopers()
    bus.send(1, latency=3)
    bus.send(2, sender=1, network=DATA)
    bus.send(3, sender=2)
    bus.engine.run()
    assert bus.received(0, DATA) == [(3, 2)]
    assert bus.received(0) == [(4, 3), (5, 1)]


def test_an_ordered_buffer_keeps_its_order_unless_a_message_bypasses() -> None:
    for ordered, expected in ((False, [3, 2, 1]), (True, [3, 1, 2])):
        bus = Snoopers(ordered=ordered)
        bus.send(1, latency=9)
        bus.send(2, latency=5)
        bus.send(3, latency=1, bypass=True)
        bus.engine.run()
        assert [label for _, label in bus.received(0)] == expected


def test_the_bus_waits_until_every_receiver_has_room() -> None:
    bus = Snoopers(in_capacity=1)
    full = bus.boxes[2, REQUESTS]
    bus.engine.wakeups[full.bit] = lambda: None
    bus.send(1)
    bus.send(2, to=0b111)
    bus.send(3, to=0b001)
    bus.send(4, network=DATA, latency=5)
    bus.engine.run()
    assert bus.received(0) == [(3, 1)], "2 has no room at the last receiver, 3 is behind 2"
    assert bus.received(0, DATA) == [(7, 4)], "another virtual network passes"
    held = [m.label for m in bus.network.held_messages() if isinstance(m, Letter)]
    assert held == [2, 3]
    assert not bus.boxes[0, REQUESTS].buffer.messages
    full.buffer.dequeue()
    bus.engine.run()
    assert bus.received(0) == [(3, 1), (9, 2), (10, 3)]


def test_a_slot_of_the_sender_is_free_when_the_bus_has_carried_its_message() -> None:
    bus = Snoopers(capacity=2)
    bus.send(1)
    bus.send(2)
    port = bus.ports[0, REQUESTS]
    assert port.taken == 2
    with pytest.raises(ProtocolError) as error:
        bus.send(3)
    assert error.value.kind is ErrorKind.SLOT_OVERFLOW
    bus.engine.run(3)
    assert port.taken == 2  # the verdict above took one
    bus.engine.run()
    assert port.taken == 1


def test_copies_are_apart_and_name_their_receiver() -> None:
    bus = Snoopers()
    for box in bus.boxes.values():
        bus.engine.wakeups[box.bit] = lambda: None
    bus.send(1)
    bus.engine.run()
    found = [bus.boxes[node, REQUESTS].buffer.peek(Letter) for node in range(NODES)]
    assert [letter.Destination.nodes() for letter in found] == [[0], [1], [2]]
    assert len({id(letter) for letter in found}) == NODES


def test_where_no_buffer_listens_nothing_is_sent() -> None:
    bus = Snoopers()
    with pytest.raises(ProtocolError) as error:
        bus.send(1, to=0b1001)
    assert error.value.kind is ErrorKind.UNDELIVERABLE
    bus.send(2, to=0)
    assert bus.network.sent_to_nobody == 1
    with pytest.raises(ProtocolError) as error:
        bus.send(3, latency=-1)
    assert error.value.kind is ErrorKind.NEGATIVE_LATENCY
