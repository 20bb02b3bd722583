"""Routing, order and back-pressure of the network."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.errors import ErrorKind, ProtocolError
from runtime.network.network import Network, NetworkPort, Topology
from runtime.sim.delay_policy import DRAWN_POLICIES, POLICY_NAMES, DelayPolicy
from runtime.sim.engine import Consumer, Engine
from runtime.sim.message_buffer import MessageBuffer
from runtime.types.message import Message
from runtime.types.messages import MachineType
from runtime.types.values import NetDest


class Letter(Message):
    addr: int = 0
    label: int = 0
    Destination: NetDest = NetDest()


class Mailbox(Consumer):
    """Takes at most ``appetite`` letters per tick (all of them for 0)."""

    __slots__ = ("appetite", "buffer", "received")

    def __init__(self, engine: Engine, name: str, capacity: int, ordered: bool) -> None:
        super().__init__(engine)
        self.buffer = MessageBuffer(name, capacity, ordered, engine=engine)
        self.buffer.set_consumer(self)
        self.appetite = 0
        self.received: list[tuple[int, int]] = []

    def wakeup(self) -> None:
        eaten = 0
        while self.buffer.messages and (not self.appetite or eaten < self.appetite):
            letter = self.buffer.peek(Letter)
            self.received.append((self.engine.now, letter.label))
            self.buffer.dequeue()
            eaten += 1
        if self.buffer.messages:
            self.engine.schedule(self, self.engine.now + 1)

    def labels(self) -> list[int]:
        return [label for _, label in self.received]


class Post:
    """Two L1 caches send to three directories."""

    def __init__(
        self,
        policy: str = "nominal",
        *,
        from_ordered: bool = False,
        to_ordered: bool = False,
        capacity: int = 0,
        in_capacity: int = 0,
        latency: int = 2,
        run_key: int = 5,
    ) -> None:
        self.engine = Engine()
        self.topology = Topology({MachineType.Directory: 3, MachineType.L1Cache: 2})
        delays = DelayPolicy(policy, run_key)
        self.network = Network(self.engine, self.topology, latency, delays)
        self.boxes: list[Mailbox] = []
        self.ports: list[NetworkPort] = []
        for num in range(3):
            box = Mailbox(self.engine, f"Directory{num}.in", in_capacity, to_ordered)
            self.network.attach(self.topology.machine_id(MachineType.Directory, num), box.buffer, 1)
            self.boxes.append(box)
        for num in range(2):
            owner = self.topology.machine_id(MachineType.L1Cache, num)
            name = f"L1Cache{num}.out"
            self.ports.append(self.network.port(owner, name, 1, capacity, from_ordered))

    def send(
        self,
        label: int,
        *to: int,
        port: int = 0,
        addr: int = 0,
        latency: int = 1,
        bypass: bool = False,
    ) -> Letter:
        letter = Letter()
        letter.addr = addr
        letter.label = label
        letter.Destination = NetDest()
        for num in to:
            letter.Destination.add(self.topology.machine_id(MachineType.Directory, num))
        self.ports[port].enqueue(letter, latency, bypass)
        return letter


def test_nodes_are_numbered_by_machine_type_then_instance() -> None:
    topology = Post().topology
    assert [repr(node) for node in topology.nodes] == [
        "L1Cache-0",
        "L1Cache-1",
        "Directory-0",
        "Directory-1",
        "Directory-2",
    ]
    assert [node.node for node in topology.nodes] == [0, 1, 2, 3, 4]
    assert topology.mask_of(MachineType.Directory) == 0b11100
    assert topology.first_node(MachineType.L2Cache) == 2
    assert topology.count(MachineType.L2Cache) == 0


def test_addresses_belong_to_interleaved_directories() -> None:
    topology = Post().topology
    assert topology.map_address(MachineType.Directory, 0x1000).num == 0
    topology.interleave(MachineType.Directory)
    owners = [topology.map_address(MachineType.Directory, 64 * n + 5).num for n in range(5)]
    assert owners == [0, 1, 2, 0, 1]
    for num in range(3):
        machine = topology.machine_id(MachineType.Directory, num)
        assert topology.owns(machine, 64) == (num == 1)


def test_latency_is_that_of_the_sender_and_the_network() -> None:
    post = Post(latency=4)
    letter = post.send(7, 1, latency=3)
    post.engine.run()
    assert post.boxes[1].received == [(7, 7)]
    assert (letter.created, letter.arrival) == (0, 7)


def test_the_receiver_gets_the_object_that_was_sent() -> None:
    post = Post()
    letter = post.send(7, 1)
    assert list(post.engine.in_flight(post.boxes[1].buffer)) == [letter]


def test_a_multicast_is_copied_and_each_copy_names_its_receiver() -> None:
    post = Post()
    letter = post.send(3, 0, 2)
    copies = [next(post.engine.in_flight(post.boxes[num].buffer)) for num in (0, 2)]
    assert [copy.Destination.nodes() for copy in copies if isinstance(copy, Letter)] == [[2], [4]]
    assert letter.Destination.nodes() == [2, 4]
    assert copies[0].identity == copies[1].identity
    assert copies[0].sequence < copies[1].sequence
    post.engine.run()
    assert [box.labels() for box in post.boxes] == [[3], [], [3]]


def test_a_letter_without_address_is_a_verdict() -> None:
    with pytest.raises(ProtocolError, match=r"L1Cache0\.out") as caught:
        Post().ports[0].enqueue(Letter())
    assert caught.value.kind is ErrorKind.MESSAGE_WITHOUT_DESTINATION


def test_a_set_of_receivers_that_is_empty_is_sent_to_nobody() -> None:
    """Protocols invalidate "all sharers but the requester" without looking if there are any."""
    post = Post(capacity=1)
    post.send(0)
    post.engine.run()
    assert [box.received for box in post.boxes] == [[], [], []]
    assert (post.network.sent_to_nobody, post.ports[0].taken) == (1, 0)


@pytest.mark.parametrize("others", [(), (2,)])
def test_a_receiver_that_does_not_listen_is_a_verdict(others: tuple[int, ...]) -> None:
    post = Post()
    letter = Letter()
    letter.Destination = NetDest(post.topology.machine_id(MachineType.L1Cache, 1).bit)
    for num in others:
        letter.Destination.add(post.topology.machine_id(MachineType.Directory, num))
    with pytest.raises(ProtocolError, match="L1Cache-1, which does not receive") as caught:
        post.ports[0].enqueue(letter)
    assert caught.value.kind is ErrorKind.UNDELIVERABLE


def test_a_message_that_is_held_back_is_not_in_the_receiver_yet(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """What the network still has to do for a full buffer is not a message under way to it."""
    monkeypatch.setattr(Mailbox, "wakeup", lambda box: None)
    post = Post(in_capacity=1)
    for label in range(3):
        post.send(label, 0)
    buffer = post.boxes[0].buffer
    post.engine.run()
    assert (buffer.getSize(), len(buffer.waiting)) == (1, 2)
    buffer.dequeue()
    assert (buffer.getSize(), buffer.isEmpty()) == (0, True)
    post.engine.run()
    assert (buffer.getSize(), len(buffer.waiting)) == (1, 1)


def test_two_receivers_on_one_virtual_network_are_refused() -> None:
    post = Post()
    buffer = MessageBuffer("second", engine=post.engine)
    with pytest.raises(ValueError, match="virtual network 1"):
        post.network.attach(post.topology.machine_id(MachineType.Directory, 0), buffer, 1)


sendings = st.lists(
    st.tuples(st.integers(0, 1), st.integers(0, 2), st.integers(0, 4), st.integers(0, 9)),
    max_size=60,
)


@settings(max_examples=60)
@given(sendings, st.sampled_from(POLICY_NAMES), st.integers(0, 3), st.integers(0, 3))
def test_ordered_channels_are_fifo_whatever_the_delays(
    letters: list[tuple[int, int, int, int]], policy: str, capacity: int, in_capacity: int
) -> None:
    post = Post(
        policy,
        from_ordered=True,
        to_ordered=True,
        capacity=100 if capacity else 0,
        in_capacity=in_capacity,
    )
    sent: dict[tuple[int, int], list[int]] = {}
    for label, (port, to, line, latency) in enumerate(letters):
        post.send(label, to, port=port, addr=64 * line, latency=latency)
        sent.setdefault((port, to), []).append(label)
    post.engine.run()
    for (port, to), labels in sent.items():
        got = [label for label in post.boxes[to].labels() if letters[label][0] == port]
        assert got == labels
    assert sum(len(box.received) for box in post.boxes) == len(letters)


@pytest.mark.parametrize("policy", [name for name in DRAWN_POLICIES if name != "nominal"])
@pytest.mark.parametrize("ordered", [(False, False), (True, False), (False, True)])
def test_other_channels_do_reorder(policy: str, ordered: tuple[bool, bool]) -> None:
    post = Post(policy, from_ordered=ordered[0], to_ordered=ordered[1])
    for label in range(40):
        post.send(label, 0, addr=64 * (label % 7))
    post.engine.run()
    assert sorted(post.boxes[0].labels()) == list(range(40))
    assert post.boxes[0].labels() != list(range(40))


def test_a_bypassing_message_overtakes_and_does_not_delay() -> None:
    post = Post(from_ordered=True, to_ordered=True)
    post.send(0, 0, latency=9)
    post.send(1, 0, latency=1, bypass=True)
    post.send(2, 0, latency=1)
    post.engine.run()
    assert post.boxes[0].labels() == [1, 0, 2]


def test_delays_depend_on_the_line_and_its_earlier_messages_only() -> None:
    def arrivals(lines: list[int], of: int) -> list[int]:
        post = Post("heavy_tail")
        letters = [post.send(n, 0, addr=64 * line) for n, line in enumerate(lines)]
        return [m.arrival for m in letters if m.addr == 64 * of]

    mixed = [3, 1, 3, 2, 3, 1, 3, 3]
    assert arrivals(mixed, 3) == arrivals([3] * 5, 3)
    assert arrivals(mixed, 1) == arrivals([1, 1], 1)
    assert len(set(arrivals([3] * 30, 3))) > 3


def test_run_keys_and_channels_have_their_own_delays() -> None:
    def arrivals(run_key: int, to: int) -> list[int]:
        post = Post("uniform", run_key=run_key)
        return [post.send(n, to).arrival for n in range(20)]

    assert arrivals(1, 0) == arrivals(1, 0)
    assert arrivals(1, 0) != arrivals(2, 0)
    assert arrivals(1, 0) != arrivals(1, 1)


def test_a_full_receiver_holds_messages_back_in_order() -> None:
    post = Post(in_capacity=1, latency=2)
    for label in range(4):
        post.send(label, 0, port=label % 2)
    post.engine.run()
    # Due at 1; the slot is free from the tick after each pop; 2 cycles of network each.
    assert post.boxes[0].received == [(3, 0), (6, 1), (9, 2), (12, 3)]


def test_a_full_receiver_pushes_back_into_a_limited_sender() -> None:
    post = Post(capacity=2, in_capacity=1, latency=1)
    post.send(0, 0)
    post.send(1, 0)
    port = post.ports[0]
    assert not port.areNSlotsAvailable(1)
    with pytest.raises(ProtocolError, match="2 slots are taken") as caught:
        post.send(2, 0)
    assert caught.value.kind is ErrorKind.SLOT_OVERFLOW
    post = Post(capacity=2, in_capacity=1, latency=1)
    post.send(0, 0)
    post.send(1, 0)
    post.engine.run(until=1)
    assert [
        letter.label for letter in post.network.held_messages() if isinstance(letter, Letter)
    ] == [1]
    assert post.ports[0].taken == 1
    post.engine.run()
    assert post.boxes[0].labels() == [0, 1]
    assert post.ports[0].taken == 0


def test_another_receiver_is_not_held_back() -> None:
    post = Post(capacity=8, in_capacity=1)
    post.boxes[0].appetite = 1
    for label in range(3):
        post.send(label, 0)
    post.send(3, 1)
    post.engine.run()
    assert post.boxes[1].received == [(3, 3)]
    assert post.boxes[0].labels() == [0, 1, 2]


def test_a_multicast_holds_one_slot_until_its_last_copy_has_left() -> None:
    post = Post(capacity=1, in_capacity=1, latency=1)
    post.send(0, 0, port=1)
    post.send(1, 0, 1, port=0)
    assert post.ports[0].taken == 1
    post.engine.run(until=1)
    assert post.ports[0].taken == 1
    post.engine.run()
    assert post.ports[0].taken == 0
    assert post.boxes[0].labels() == [0, 1]
    assert post.boxes[1].labels() == [1]


def test_the_tap_sees_every_message() -> None:
    post = Post()
    seen: list[tuple[str, int, int]] = []
    post.engine.tap = lambda name, message, tick: seen.append((name, message.identity, tick))
    post.send(0, 1)
    post.send(1, 0, 2, port=1)
    post.engine.run()
    assert seen == [("L1Cache0.out", 0, 3), ("L1Cache1.out", 1, 3), ("L1Cache1.out", 1, 3)]


def test_a_network_takes_at_least_one_cycle() -> None:
    with pytest.raises(ValueError, match="less than one cycle"):
        Post(latency=0)
    with pytest.raises(ValueError, match="no delay policy 'wild'"):
        Post("wild")


def test_a_buffer_that_nobody_reads_is_a_verdict() -> None:
    post = Post()
    unread = MessageBuffer("Directory0.unread", engine=post.engine)
    post.network.attach(post.topology.machine_id(MachineType.Directory, 0), unread, 7)
    port = post.network.port(post.topology.nodes[0], "L1Cache0.other", 7)
    letter = Letter()
    letter.Destination = NetDest(post.topology.machine_id(MachineType.Directory, 0).bit)
    for outlet in (port, unread):
        with pytest.raises(ProtocolError) as caught:
            outlet.enqueue(letter)
        assert caught.value.kind is ErrorKind.UNDELIVERABLE
