"""The runtime core in C++ beside the Python runtime, both following one script.

Invariant: the script (``Recorder`` here, ``machine_wakeup`` in ``core_driver.cpp``) decides by
hashes of what it sees, so that any difference in order or time changes everything that follows.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import mkdtemp
from typing import Any

import numpy as np

from runtime.errors import ErrorKind, ProtocolError
from runtime.native.plan_words import MAGIC, NONE, VERSION
from runtime.network.bus import BusNetwork
from runtime.network.network import NetworkPort, Topology
from runtime.prng import Prng, hash64, hash_name, mix64
from runtime.sim.delay_policy import DRAWN_POLICIES, POLICY_NAMES, DelayPolicy
from runtime.sim.engine import Consumer, Engine
from runtime.sim.message_buffer import MessageBuffer
from runtime.types.messages import MachineType, Message
from runtime.types.values import NetDest
from tests.compiling import WARNINGS, compile_unit

HERE = Path(__file__).parent
MASK64 = NONE
RECORDS = 6
SLOTS = (3, 5)


@cache
def library(source: str | Path, *options: str) -> ctypes.CDLL:
    """A C++ file, of this directory if not said otherwise, compiled and loaded; every function
    gives a 64-bit number."""
    target = Path(mkdtemp()) / "core.so"
    compile_unit(
        HERE / source, HERE, flags=(*WARNINGS, "-DSLICC_INVARIANTS", *options), output=target
    )
    return ctypes.CDLL(str(target))


def call(lib: ctypes.CDLL, name: str, *arguments: object) -> int:
    """Call with integers and arrays."""
    function = getattr(lib, name)
    function.restype = ctypes.c_uint64
    words = [
        a.ctypes.data_as(ctypes.c_void_p)
        if isinstance(a, np.ndarray)
        else ctypes.c_uint64(int(a) & MASK64)  # type: ignore[call-overload]
        for a in arguments
    ]
    return int(function(*words))


def result_of(python: Callable[[], Any]) -> tuple[Any, int]:
    """What Python gives, and its verdict as the C++ core numbers it: none is 0, a kind of error 1
    more than its place."""
    try:
        return python(), 0
    except ProtocolError as error:
        return None, 1 + list(ErrorKind).index(error.kind)


@dataclass(frozen=True)
class Shape:
    """A system of controllers with ports and network buffers, and an internal buffer each."""

    controllers: int
    networks: int
    capacities: tuple[int, ...]
    ordered: tuple[bool, ...]
    port_capacities: tuple[int, ...]
    port_ordered: tuple[bool, ...]
    policy: str
    latency: int
    run_key: int
    on_bus: tuple[int, ...] = ()
    """Which networks are."""

    @property
    def buffers(self) -> int:
        return self.controllers * (self.networks + 1)

    @property
    def ports(self) -> int:
        return self.controllers * self.networks

    @staticmethod
    def draw(seed: int) -> Shape:
        prng = Prng(seed)
        controllers = 1 + prng.below(6)
        networks = 1 + prng.below(2)
        limited = prng.below(3)

        def sizes(count: int) -> tuple[int, ...]:
            return tuple(
                2 + prng.below(4) if limited and prng.below(3) < limited else 0
                for _ in range(count)
            )

        def flags(count: int) -> tuple[bool, ...]:
            return tuple(prng.below(2) == 1 for _ in range(count))

        buffers, ports = controllers * (networks + 1), controllers * networks
        return Shape(
            controllers,
            networks,
            sizes(buffers),
            flags(buffers),
            sizes(ports),
            flags(ports),
            DRAWN_POLICIES[prng.below(len(DRAWN_POLICIES))],
            1 + prng.below(4),
            prng.bits64(),
            tuple(network for network in range(networks) if prng.below(2)),
        )

    def buffer_name(self, index: int) -> str:
        return f"buffer{index}"

    def receiver(self, controller: int, network: int) -> int:
        """The buffer that receives there; the internal one comes behind those of networks."""
        return controller * (self.networks + 1) + network

    def owner(self, buffer: int) -> int:
        return buffer // (self.networks + 1)

    def internal(self, buffer: int) -> bool:
        return buffer % (self.networks + 1) == self.networks


def plan_words(
    shape: Shape, capacities: Sequence[int], caches: Sequence[Sequence[int]] = ()
) -> np.ndarray:
    """The plan that ``runtime/native/cpp/system/plan.hpp`` reads."""
    delayed = shape.policy != "nominal"

    def delay(name: str) -> int:
        return hash_name(name) if delayed else 0

    words = [MAGIC, VERSION, shape.run_key, 6, POLICY_NAMES.index(shape.policy), 40, 10_000]
    words += [1 << 62, 1 << 62, 0]  # no limits to messages and work
    words.append(0)  # no script
    words.append(MachineType.NUM)
    for kind in range(MachineType.NUM):
        count = shape.controllers if kind == MachineType.Cache else 0
        bit = 6 if count else NONE
        words += [count, shape.controllers if kind > MachineType.Cache else 0, bit]
    words += [shape.controllers, shape.controllers, 0, shape.controllers]
    words += [shape.buffers, shape.ports, len(caches), *capacities]
    for index in range(shape.buffers):
        name = delay(shape.buffer_name(index)) if shape.internal(index) else 0
        words += [shape.capacities[index], shape.ordered[index], shape.owner(index), name, 0]
    for port in range(shape.ports):
        controller, network = divmod(port, shape.networks)
        words += [shape.port_capacities[port], shape.port_ordered[port], shape.latency]
        on_bus = network in shape.on_bus
        words += [controller, network + 1 if on_bus else 0]
        words += [delay(f"port{port}->bus") if on_bus else 0, shape.controllers]
        for node in range(shape.controllers):
            buffer = shape.receiver(node, network)
            channel = "" if on_bus else f"port{port}->{shape.buffer_name(buffer)}"
            words += [node, buffer, delay(channel) if channel else 0]
    for one in caches:
        words += one
    for controller in range(shape.controllers):
        words += [0, controller, MachineType.Cache, 0, 32, 10_000, 1, 16, 1, 0]
        words += [0, NONE, NONE, NONE, 0]
        words += [0, 0, 0, 3, RECORDS, *SLOTS]
    return np.array([word & MASK64 for word in words], dtype=np.uint64)


class Ping(Message):
    addr: int = 0
    Destination: NetDest = NetDest()
    value: int = 0
    hops: int = 0


class Twin:
    """The Python side."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.engine = Engine()
        self.log: list[tuple[int, int, int, int, int]] = []
        self.next_value = 0
        topology = Topology({MachineType.Cache: shape.controllers})
        policy = DelayPolicy(shape.policy, shape.run_key)
        self.network = BusNetwork(self.engine, topology, shape.latency, policy, on_bus=shape.on_bus)
        self.recorders = [Recorder(self) for _ in range(shape.controllers)]
        self.buffers: list[MessageBuffer] = []
        for index in range(shape.buffers):
            name = shape.buffer_name(index)
            delays = policy.channel(name) if shape.internal(index) else None
            buffer = MessageBuffer(
                name,
                shape.capacities[index],
                shape.ordered[index],
                engine=self.engine,
                delays=delays,
            )
            buffer.set_consumer(self.recorders[shape.owner(index)])
            self.buffers.append(buffer)
            if not shape.internal(index):
                node = topology.nodes[shape.owner(index)]
                self.network.attach(node, buffer, index % (shape.networks + 1))
        self.ports: list[NetworkPort] = []
        for port in range(shape.ports):
            controller, network = divmod(port, shape.networks)
            self.ports.append(
                self.network.port(
                    topology.nodes[controller],
                    f"port{port}",
                    network,
                    shape.port_capacities[port],
                    shape.port_ordered[port],
                )
            )

    def put(self, buffer: int, addr: int, value: int, hops: int, latency: int) -> None:
        self.buffers[buffer].enqueue(ping(addr, value, hops), latency)


def ping(addr: int, value: int, hops: int) -> Ping:
    message = Ping()
    message.addr, message.value, message.hops = addr, value, hops
    return message


class Recorder(Consumer):
    """A controller that does to each message what a hash says."""

    def __init__(self, twin: Twin) -> None:
        Consumer.__init__(self, twin.engine)
        self.twin = twin

    def wakeup(self) -> None:
        twin = self.twin
        now = self.engine.now
        budget = 6
        for index, buffer in enumerate(twin.buffers):
            if buffer.consumer is not self:
                continue
            while budget and buffer.isReady():
                budget -= 1
                message = buffer.peek(Ping)
                h = hash64(message.value, now)
                action = h % 8
                twin.log.append((now, self.consumer_id, index, message.value, action))
                if action == 0:
                    buffer.recycle(1 + (h >> 8) % 5)
                elif action == 1:
                    buffer.stall(message.addr)
                elif action == 2:
                    buffer.delay_head(1 + (h >> 8) % 4)
                else:
                    if action == 7:
                        buffer.wake(message.addr)
                    if action == 6 and (h >> 8) % 4 == 0:
                        buffer.wake_all()
                    buffer.dequeue()
                    if message.hops:
                        self.forward(message.addr, message.hops, h)
                        if h >> 60 > 9:
                            self.forward(message.addr, message.hops, mix64(h))
        if not budget:
            self.engine.schedule(self, now + 1)

    def forward(self, addr: int, hops: int, h: int) -> None:
        """Pass a message on with something new in it: through a port, or into a buffer."""
        twin = self.twin
        message = ping((addr + (h >> 40) % 3 * 64) % 1024, twin.next_value, hops - 1)
        twin.next_value += 1
        latency = 1500 if (h >> 13) % 16 == 0 else (h >> 20) % 6
        bypass = (h >> 33) % 8 == 0
        if (h >> 29) % 3 == 0:
            buffer = twin.buffers[(h >> 48) % len(twin.buffers)]
            if buffer.areNSlotsAvailable(1):
                buffer.enqueue(message, latency, bypass)
            return
        networks = twin.shape.networks
        port = twin.ports[self.consumer_id * networks + (h >> 31) % networks]
        if not port.areNSlotsAvailable(1):
            return
        nodes = twin.shape.controllers
        one = 1 << (h >> 50) % nodes
        message.Destination = NetDest(one if (h >> 36) % 4 else h >> 50 & ((1 << nodes) - 1))
        port.enqueue(message, latency, bypass)
