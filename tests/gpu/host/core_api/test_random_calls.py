"""Random sequences of calls agree with a small model of contexts, signals, queues and memory.

The model has no device: it knows what D2 says of each call. After each call the device runs until
it is at rest, and everything is compared: statuses, values, states of queues, what callbacks were
called with. Arguments include what was destroyed or released, what another runtime has made, null,
and values out of range.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
)

from gpu import Device
from gpu.errors import HostError
from gpu.host.core_api.contexts import Context
from gpu.host.core_api.runtime import CoreRuntime
from gpu.host.core_api.status import Status
from gpu.host.device_queue import DeviceQueue
from gpu.host.processes.process import Process
from gpu.hsa.queue import LAST_INDEX
from gpu.hsa.queue_state import QueueState
from gpu.hsa.signal import ERROR_VALUE, Signal
from tests.gpu.host.random_calls import pick, run

INVALID = Status.ERROR_INVALID_ARGUMENT
SUCCESS = Status.SUCCESS
CLOSED = Status.ERROR_NOT_INITIALIZED

CHOICE = st.sampled_from([0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 4, 5, 6, 7])
RARELY = st.integers(0, 15).map(lambda number: number == 7)
VALUE = st.sampled_from([0, 1, 1, 2, 3, -1, 5, -(1 << 63), (1 << 63) - 1, 1 << 63])


@dataclass
class ModelSignal:
    value: int
    bound: list[Context]
    alive: bool = True


@dataclass
class ModelPacket:
    """A barrier packet. ``unmet``: signals that have not been seen at 0."""

    unmet: list[int]
    completion: int | None
    any_of: bool


@dataclass
class ModelQueue:
    context: Context
    size: int
    state: QueueState = QueueState.ACTIVE
    write_index: int = 0
    read_index: int = 0
    packets: list[ModelPacket] = field(default_factory=list)


def signed(value: int) -> int:
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


class Calls(RuleBasedStateMachine):
    def where(self) -> Device | Process:
        """Whose runtime it is."""
        return Device(cus=1)

    def __init__(self) -> None:
        super().__init__()
        self.device = self.where()
        self.runtime = CoreRuntime(self.device, timeout_ticks=300)
        self.system = self.device.alloc(np.zeros(64, np.uint8)).address
        self.contexts: list[Context | None] = [None, Context()]
        self.opening: Context | None = None
        self.held: list[Context] = []
        """Contexts with a reference, the opening's included until it is closed."""
        self.signals: dict[int, ModelSignal] = {}
        self.handles = [0, 64]
        self.objects: dict[int, Signal] = {}
        self.queues: dict[DeviceQueue, ModelQueue] = {}
        self.made: list[DeviceQueue] = []
        self.registered: dict[int, int] = {}
        self.local: dict[int, int] = {}
        self.places = [0, 4, self.system, self.system + 32]
        self.heard: list[tuple[Context, str, int, int | None]] = []
        self.expected: list[tuple[Context, str, int, int | None]] = []

    # ------------------------------------------------------------------ contexts

    def listen(self, context: Context) -> tuple[Callable[..., None], Callable[..., None]]:
        return (
            lambda info: self.heard.append((context, "note", info.status, None)),
            lambda info: self.heard.append((context, "error", info.type, info.packet_id)),
        )

    @property
    def is_open(self) -> bool:
        return bool(self.held)

    def valid(self, context: Context | None) -> bool:
        return context in self.held

    @initialize()
    def begin(self) -> None:
        self.open()
        self.create_signal(1, 0)
        self.create_signal(0, 0)
        self.create_queue(0, 4, 0)

    @rule()
    def open(self) -> None:
        was_open = self.is_open
        status, context = self.runtime.open()
        assert status is SUCCESS
        if was_open:
            assert context is self.opening
            # Its reference may have been given up; this callback is not one of its actions'.
            self.expected.append((context, "note", Status.INFO_ALREADY_INITIALIZED, None))
            return
        self.opening = context
        self.held.append(context)
        self.contexts.append(context)
        note, error = self.listen(context)
        assert self.runtime.notification_callback_register(note, None, context) is SUCCESS
        assert self.runtime.error_callback_register(error, None, context) is SUCCESS

    @rule(really=RARELY)
    def close(self, really: bool) -> None:
        if not really:
            return
        wanted = SUCCESS if self.opening in self.held else CLOSED
        assert self.runtime.close() is wanted
        if wanted is SUCCESS:
            assert self.opening is not None
            self.give_up(self.opening)

    @rule(which=CHOICE)
    def acquire(self, which: int) -> None:
        context = pick(self.contexts, which)
        status, made = self.runtime.context_acquire(context)
        if not self.is_open or (context is not None and not self.valid(context)):
            assert (status, made) == (CLOSED, None)
        elif context is None:
            assert (status, made) == (Status.ERROR_CONTEXT_NULL, None)
        else:
            assert status is SUCCESS and made is not None
            self.held.append(made)
            self.contexts.append(made)
            note, error = self.listen(made)
            self.runtime.notification_callback_register(note, None, made)
            self.runtime.error_callback_register(error, None, made)

    @rule(which=CHOICE)
    def release(self, which: int) -> None:
        context = pick(self.contexts, which)
        status = self.runtime.context_release(context)
        if not self.is_open or (context is not None and not self.valid(context)):
            assert status is CLOSED
        elif context is None:
            assert status is Status.ERROR_CONTEXT_NULL
        elif context is self.opening:
            assert status is INVALID
        else:
            assert status is SUCCESS
            self.give_up(context)

    def give_up(self, context: Context) -> None:
        self.held.remove(context)
        if self.held:
            return
        for queue in list(self.queues):
            self.stop(queue)
            self.forget(queue)
        for signal in self.signals.values():
            signal.alive = False
        self.registered.clear()
        self.local.clear()

    # ------------------------------------------------------------------ signals

    @rule(value=VALUE, which=CHOICE)
    def create_signal(self, value: int, which: int) -> None:
        context = pick(self.contexts, which)
        status, handle = self.runtime.signal_create(value, context)
        right = self.valid(context) and -(1 << 63) <= value < 1 << 63
        assert status is self.wanted(right)
        if right:
            assert handle is not None and context is not None
            self.signals[handle] = ModelSignal(value, [context])
            self.handles.append(handle)
            found = self.runtime.signal_of(handle)
            assert found is not None
            self.objects[handle] = found

    @rule(which=CHOICE)
    def destroy_signal(self, which: int) -> None:
        handle = pick(self.handles, which)
        alive = self.alive(handle)
        assert self.runtime.signal_destroy(handle) is self.wanted(alive)
        if alive:
            self.signals[handle].alive = False

    @rule(which=CHOICE, other=CHOICE, unbind=st.booleans())
    def bind(self, which: int, other: int, unbind: bool) -> None:
        handle, context = pick(self.handles, which), pick(self.contexts, other)
        right = self.alive(handle) and self.valid(context)
        wanted = self.wanted(right)
        if right:
            assert context is not None
            bound = self.signals[handle].bound
            if unbind and context not in bound:
                wanted = Status.ERROR_SIGNAL_NOT_BOUND
            elif unbind:
                bound.remove(context)
            elif context not in bound:
                bound.append(context)
        call = self.runtime.signal_unbind if unbind else self.runtime.signal_bind
        assert call(handle, context) is wanted

    @rule(
        which=CHOICE,
        name=st.sampled_from(["send", "add", "subtract", "and", "or", "xor", "exchange", "max"]),
        value=VALUE,
        order=st.sampled_from(["release", "relaxed", "acquire_release"]),
    )
    def change(self, which: int, name: str, value: int, order: str) -> None:
        handle = pick(self.handles, which)
        orders = ("acquire_release", "relaxed") if name == "max" else ("release", "relaxed")
        right = self.alive(handle) and -(1 << 63) <= value < 1 << 63 and order in orders
        result = getattr(self.runtime, f"signal_{name}")(handle, value, order)
        status, old = result if isinstance(result, tuple) else (result, None)
        assert status is self.wanted(right)
        if not right:
            return
        signal = self.signals[handle]
        if name in ("exchange", "max"):
            assert old == signal.value
        old = signal.value
        signal.value = {
            "add": signed(old + value),
            "subtract": signed(old - value),
            "and": old & value,
            "or": old | value,
            "xor": old ^ value,
            "max": max(old, value),
        }.get(name, value)
        self.rest()

    @rule(which=CHOICE, condition=st.integers(0, 6), compare=VALUE)
    def wait(self, which: int, condition: int, compare: int) -> None:
        handle = pick(self.handles, which)
        right = self.alive(handle) and condition < 6 and -(1 << 63) <= compare < 1 << 63
        status, value = self.runtime.signal_wait(handle, condition, compare)
        if not right:
            assert status is self.wanted(False)
            return
        signal = self.signals[handle]
        assert value == signal.value
        a, b = signal.value, compare
        holds = (a == b, a != b, a > b, a >= b, a < b, a <= b)[condition]
        if a < 0:
            assert status is Status.ERROR
            for context in signal.bound:
                self.expect(context, "error", Status.ERROR)
        elif holds:
            assert status is SUCCESS
        else:
            assert status is Status.INFO_SIGNAL_TIMEOUT
            for context in signal.bound:
                self.expect(context, "note", Status.INFO_SIGNAL_TIMEOUT)

    # ------------------------------------------------------------------ queues

    @rule(
        which=CHOICE,
        size=st.sampled_from([2, 4, 4, 3, 0, -4, 1 << 40]),
        kind=st.sampled_from([0, 0, 0, 1]),
    )
    def create_queue(self, which: int, size: int, kind: int) -> None:
        context = pick(self.contexts, which)
        component = self.device.topology.components[0]
        right = self.valid(context) and size in (2, 4) and not kind
        status, queue = self.runtime.queue_create(component, size, kind, context)
        assert status is self.wanted(right)
        if right:
            assert queue is not None and context is not None
            self.queues[queue] = ModelQueue(context, size)
            self.made.append(queue)

    @rule(which=CHOICE)
    def destroy_queue(self, which: int) -> None:
        queue = self.pick_queue(which)
        right = queue in self.queues and self.is_open
        if right:
            assert queue is not None
            self.stop(queue)
            self.forget(queue)
        assert self.runtime.queue_destroy(queue) is self.wanted(right)
        self.rest()

    @rule(which=CHOICE)
    def inactivate(self, which: int) -> None:
        queue = self.pick_queue(which)
        right = queue in self.queues and self.is_open
        if right:
            assert queue is not None
            self.stop(queue)
        assert self.runtime.queue_force_inactivate(queue) is self.wanted(right)
        self.rest()

    @rule(
        which=CHOICE,
        name=st.sampled_from(["set", "cas", "add"]),
        value=st.sampled_from([0, 1, 1, 2, LAST_INDEX]),
    )
    def move_index(self, which: int, name: str, value: int) -> None:
        """Of queues without packets: what lies between the indices is not written."""
        queue = self.pick_queue(which)
        if queue is None:
            return
        if queue not in self.queues:
            with pytest.raises(HostError):
                self.runtime.queue_get_write_index(queue)
            return
        model = self.queues[queue]
        if model.packets or (name != "set" and value not in (1, LAST_INDEX)):
            return
        old = model.write_index
        if name == "set":
            value = old if value < old else value
            assert self.runtime.queue_set_write_index(queue, value) == old
        elif name == "cas":
            assert self.runtime.queue_cas_write_index(queue, old + 1, 5) == old
            return
        else:
            value = LAST_INDEX - old if value == LAST_INDEX else 0
            assert self.runtime.queue_add_write_index(queue, value) == old
            value += old
        if model.state is QueueState.ACTIVE and value == LAST_INDEX:
            model.write_index = LAST_INDEX
            model.state = QueueState.INACTIVE
            self.expect(model.context, "error", Status.ERROR_QUEUE, self.last_packet(model))
        elif model.state is QueueState.ACTIVE and value != old:
            # Packets reserved so are never written: the queue can only be stopped.
            model.write_index = value
        self.rest()

    @rule(
        which=CHOICE,
        first=CHOICE,
        second=CHOICE,
        completion=CHOICE,
        any_of=st.booleans(),
    )
    def barrier(self, which: int, first: int, second: int, completion: int, any_of: bool) -> None:
        queue = self.pick_queue(which)
        if queue not in self.queues:
            return
        assert queue is not None
        model = self.queues[queue]
        if (
            model.state is not QueueState.ACTIVE
            or model.write_index - model.read_index >= model.size
        ):
            return
        if model.write_index != model.read_index + len(model.packets):
            return  # reserved and not written
        known = [handle for handle in self.handles if handle in self.signals]
        unmet = [known[place % len(known)] for place in (first, second) if known and place < 6]
        # A signal that passes 0 on its way to -1 may be seen at either by another queue.
        taken = {each.completion for each in self.packets()}.union(
            unmet, *(each.unmet for each in self.packets())
        )
        free = [handle for handle in known if handle not in taken]
        done = free[completion % len(free)] if free and completion < 6 else None
        call = queue.barrier_or if any_of else queue.barrier_and
        call(
            [self.objects[handle] for handle in unmet],
            completion=None if done is None else self.objects[done],
        )
        queue.ring()
        model.packets.append(ModelPacket(unmet, done, any_of))
        model.write_index += 1
        self.rest()

    def packets(self) -> list[ModelPacket]:
        return [packet for model in self.queues.values() for packet in model.packets]

    def last_packet(self, model: ModelQueue) -> int | None:
        """The last packet that was taken, which errors name."""
        begun = model.read_index - 1 + bool(model.packets)
        return begun if begun >= 0 else None

    def rest(self) -> None:
        """Let device and model come to rest."""
        self.device.run()
        moved = True
        while moved:
            moved = sum(self.step(model) for model in self.queues.values()) > 0

    def step(self, model: ModelQueue) -> bool:
        """Take the first packet of a queue if its signals allow it."""
        if model.state is not QueueState.ACTIVE or not model.packets:
            return False
        packet = model.packets[0]
        values = [self.signals[handle].value for handle in packet.unmet]
        failed = any(value < 0 for value in values)
        if not failed and not (packet.any_of and 0 in values):
            packet.unmet = [handle for handle, value in zip(packet.unmet, values) if value]
            if packet.unmet:
                return False
        model.packets.pop(0)
        signal = None if packet.completion is None else self.signals[packet.completion]
        broken = failed or (signal is not None and not signal.alive)
        if broken:
            self.expect(model.context, "error", Status.ERROR_PACKET, model.read_index)
            model.state = QueueState.INACTIVE
        if signal is not None and signal.alive:
            signal.value = ERROR_VALUE if broken else signed(signal.value - 1)
        model.read_index += 1
        return True

    def stop(self, queue: DeviceQueue) -> None:
        """By the host: a packet that waits completes with an error."""
        model = self.queues[queue]
        if model.state is not QueueState.ACTIVE:
            return
        model.state = QueueState.INACTIVE
        if model.packets:
            self.fail(model.packets.pop(0))
            model.read_index += 1

    def forget(self, queue: DeviceQueue) -> None:
        """Destroyed: what was not taken completes with an error."""
        for packet in self.queues.pop(queue).packets:
            self.fail(packet)

    def fail(self, packet: ModelPacket) -> None:
        if packet.completion is not None and self.signals[packet.completion].alive:
            self.signals[packet.completion].value = ERROR_VALUE

    # ------------------------------------------------------------------ memory

    @rule(place=CHOICE, size=st.sampled_from([0, 1, 32, 33, 64, 65, -1]))
    def register(self, place: int, size: int) -> None:
        address = pick(self.places, place)
        end = self.system + 64
        right = self.system <= address < end and size > 0 and address + size <= end
        assert self.runtime.memory_register(address, size) is self.wanted(right)
        if right and self.is_open:
            self.registered[address] = max(size, self.registered.get(address, 0))

    @rule(place=CHOICE)
    def deregister(self, place: int) -> None:
        address = pick(self.places, place)
        wanted = self.wanted(address != 0)
        if wanted is SUCCESS and self.registered.pop(address, None) is None:
            wanted = Status.INFO_NOT_REGISTERED
        assert self.runtime.memory_deregister(address) is wanted

    @rule(size=st.sampled_from([0, 8, 64, -1, 1 << 60]))
    def allocate(self, size: int) -> None:
        component = self.device.topology.components[0]
        status, address = self.runtime.memory_allocate_component_local(component, size)
        if self.is_open and size == 1 << 60:
            assert status is Status.ERROR_OUT_OF_RESOURCES
            return
        assert status is self.wanted(size >= 0)
        if status is SUCCESS and size:
            assert address is not None
            self.local[address] = size
            self.places.append(address)
        elif status is SUCCESS:
            assert address == 0

    @rule(place=CHOICE)
    def free(self, place: int) -> None:
        address = pick(self.places, place)
        right = address == 0 or address in self.local
        assert self.runtime.memory_free_component_local(address) is self.wanted(right)
        if right and self.is_open:
            self.local.pop(address, None)

    @rule(to=CHOICE, source=CHOICE, size=st.sampled_from([0, 8, 32, 64, 65, -1]))
    def copy(self, to: int, source: int, size: int) -> None:
        to_place, from_place = pick(self.places, to), pick(self.places, source)
        right = (
            size >= 0
            and from_place in self.local
            and size <= self.local[from_place]
            and self.system <= to_place
            and to_place + size <= self.system + 64
        )
        call = self.runtime.memory_copy_component_local_to_system
        assert call(to_place, from_place, size) is self.wanted(right)

    # ------------------------------------------------------------------ comparing

    def pick_queue(self, which: int) -> DeviceQueue | None:
        return pick(self.made, which) if self.made else None

    def alive(self, handle: int) -> bool:
        return handle in self.signals and self.signals[handle].alive

    def wanted(self, right: bool) -> Status:
        if not self.is_open:
            return CLOSED
        return SUCCESS if right else INVALID

    def expect(self, context: Context, kind: str, status: int, packet: int | None = None) -> None:
        if context in self.held:
            self.expected.append((context, kind, status, packet))

    @invariant()
    def all_is_equal(self) -> None:
        assert self.runtime.is_open == self.is_open
        assert self.heard == self.expected
        for handle, signal in self.signals.items():
            if signal.alive:
                assert self.runtime.signal_query(handle) == (SUCCESS, signal.value)
        for queue, model in self.queues.items():
            assert queue.state is model.state
            assert self.runtime.queue_get_write_index(queue) == model.write_index
            assert self.runtime.queue_get_read_index(queue) == model.read_index
        assert self.runtime.registered == self.registered


class CallsOfAProcess(Calls):
    def where(self) -> Device | Process:
        return Device(cus=1).create_process()


EACH = pytest.mark.parametrize("calls", [Calls, CallsOfAProcess])


@EACH
def test_a_sample(calls: type[Calls]) -> None:
    run(calls, 15, 30)


@pytest.mark.fuzz
@EACH
def test_20000_sequences(calls: type[Calls]) -> None:
    run(calls, 20_000, 40)
