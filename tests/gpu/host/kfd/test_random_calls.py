"""Random sequences of calls agree with a small model of processes, queues, signals and events.

Two processes make the driver's calls as bytes; a context of the core runtime makes the signals that
their packets name. The model has no device: a queue is a list of what it still has to do. After
each call the device runs until it is at rest on two slots; codes, memory, pointers, states
signals and events are compared. Arguments include queues of the other process, what was
destroyed, and values that no call takes.

What queues do has one outcome in any order: a word is written by one queue alone and only grows.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import pytest
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
)

from gpu import Device
from gpu.errors import QueueError
from gpu.host.core_api.runtime import CoreRuntime
from gpu.host.core_api.status import Status
from gpu.host.device_core import Options
from gpu.host.device_queue import DeviceQueue
from gpu.host.kfd.driver import Driver, QueueType, WaitResult
from gpu.host.kfd.refusals import CODES
from gpu.host.kfd.structures import EVENT_DATA, MemoryFlags
from gpu.host.processes.process import Process
from gpu.hsa.queue import empty_ring
from gpu.hsa.queue_layout import AMD_QUEUE, FEATURE_KERNEL_DISPATCH, TYPE_SINGLE
from gpu.hsa.queue_state import QueueKind, QueueState
from gpu.hsa.signal import ERROR_VALUE, SIGNAL, SignalKind
from gpu.memory.address_space import Unmapped
from gpu.packet_processor.commands import pm4_layouts, sdma_layouts
from tests.gpu.host.kfd.test_table import ask
from tests.gpu.host.random_calls import pick, run

EINVAL, EFAULT, EBUSY = (-CODES[name] for name in ("EINVAL", "EFAULT", "EBUSY"))
RING, WORDS, MOST_WAITING = 1024, 16, 8
CHOICE = st.sampled_from([0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 4, 5])
WHO = st.integers(0, 1)

WRONG_QUEUES = [
    ({"gpu_id": 9}, EINVAL),
    ({"queue_type": 5}, EINVAL),
    ({"queue_percentage": 101}, EINVAL),
    ({"queue_priority": 16}, EINVAL),
    ({"ring_size": 512}, EINVAL),
    ({"ring_base_address": 256}, EFAULT),
    ({"read_pointer_address": 128}, EFAULT),
    ({"ctx_save_restore_address": 4096}, EINVAL),
    ({"eop_buffer_address": 4096}, EINVAL),
]


@dataclass(eq=False)
class ModelQueue:
    """``todo``: ("write", value), ("wait", word, value), ("event", number), ("bad",) or, of an AQL
    queue, ("barrier", signal)."""

    owner: int
    queue: DeviceQueue
    word: int
    pointer: int
    ring: int
    done: int = 0
    todo: list[tuple[object, ...]] = field(default_factory=list)
    state: QueueState = QueueState.ACTIVE
    enabled: bool = True
    written: int = 0
    next_value: int = 1
    loose: bool = False
    """It was stopped with a packet that may have been taken: its signal has an error or not."""

    @property
    def kind(self) -> QueueKind:
        return self.queue.link.kind


@dataclass
class ModelEvent:
    auto_reset: bool
    happened: bool = False


@dataclass
class ModelMemory:
    address: int
    mapped: bool = False


class Calls(RuleBasedStateMachine):
    def where(self) -> Device | Process:
        """Whose memory and queues the calls are about."""
        return Device(cus=1, options=Options(slots=2, quantum=100))

    def __init__(self) -> None:
        super().__init__()
        self.device = self.where()
        self.drivers = [Driver(self.device), Driver(self.device)]
        self.runtime = CoreRuntime(self.device, timeout_ticks=300)
        self.space = self.device.memory.space
        self.words = self.room(8 * WORDS)
        self.array = self.room(4096)
        self.values = [0] * WORDS
        self.queues: list[ModelQueue] = []
        self.signals: dict[int, int] = {}
        """Of gates: 1 until they are opened, then 0."""
        self.counts: dict[int, int] = {}
        """Of completion signals, a queue each."""
        self.events: list[dict[int, ModelEvent]] = [{}, {}]
        self.event_numbers: list[int] = []
        self.memory: list[dict[int, ModelMemory]] = [{}, {}]
        self.handles: list[int] = [0]
        self.errors = 0

    def room(self, size: int) -> int:
        return self.space.allocate(size, memory_type="cc").start

    @initialize()
    def begin(self) -> None:
        status, self.context = self.runtime.open()
        assert status is Status.SUCCESS
        for driver in self.drivers:
            assert ask(driver, 0x15, gpu_id=1, drm_fd=3)[0] == 0
        self.create_gate()
        for kind in (QueueType.COMPUTE, QueueType.SDMA, QueueType.COMPUTE_AQL):
            self.create_queue(0, kind, 7)

    # ------------------------------------------------------------------ signals (D2)

    @rule()
    def create_gate(self) -> None:
        status, handle = self.runtime.signal_create(1, self.context)
        assert status is Status.SUCCESS and handle is not None
        self.signals[handle] = 1

    @rule(which=CHOICE)
    def open_gate(self, which: int) -> None:
        handle = pick(list(self.signals), which)
        assert self.runtime.signal_send(handle, 0) is Status.SUCCESS
        self.signals[handle] = 0
        self.rest()

    @rule(which=CHOICE, compare=st.integers(0, 1))
    def wait_gate(self, which: int, compare: int) -> None:
        handle = pick(list(self.signals), which)
        status, value = self.runtime.signal_wait(handle, 0, compare)
        assert value == self.signals[handle]
        wanted = Status.SUCCESS if value == compare else Status.INFO_SIGNAL_TIMEOUT
        assert status is wanted

    # ------------------------------------------------------------------ queues (D3)

    def fields_of(self, kind: QueueType) -> dict[str, int]:
        ring, place = self.room(RING), self.room(AMD_QUEUE.size)
        fields = {
            "ring_base_address": ring,
            "ring_size": RING,
            "read_pointer_address": place,
            "write_pointer_address": place + 56,
            "gpu_id": 1,
            "queue_type": kind,
            "queue_percentage": 100,
        }
        if kind is QueueType.COMPUTE_AQL:
            fields["read_pointer_address"] = place + 128
            self.device.host.write(ring, empty_ring(RING // 64))
        return fields

    @rule(who=WHO, kind=st.sampled_from([0, 1, 2, 2]).map(QueueType), priority=st.integers(0, 15))
    def create_queue(self, who: int, kind: QueueType, priority: int) -> None:
        if len(self.queues) >= WORDS:
            return
        fields = self.fields_of(kind)
        code, made = ask(self.drivers[who], 0x02, **fields, queue_priority=priority)
        assert code == 0
        pointer = fields["read_pointer_address"]
        queue = self.device.queues[made["queue_id"]]
        word = len(self.queues)
        model = ModelQueue(who, queue, word, pointer, fields["ring_base_address"])
        self.queues.append(model)
        if kind is QueueType.COMPUTE_AQL:
            self.write_object(model, made["doorbell_offset"])

    def write_object(self, model: ModelQueue, doorbell: int) -> None:
        status, done = self.runtime.signal_create(1000, self.context)
        assert status is Status.SUCCESS and done is not None
        model.done = done
        self.counts[done] = 1000
        signal = self.room(SIGNAL.size)
        values = {
            "kind": SignalKind.LEGACY_DOORBELL,
            "value": self.device.doorbells + doorbell,
            "queue_ptr": model.queue.address,
        }
        self.device.host.write(signal, SIGNAL.pack(values))
        fields = {
            "type": TYPE_SINGLE,
            "features": FEATURE_KERNEL_DISPATCH,
            "base_address": model.ring,
            "doorbell_signal": signal,
            "size": RING // 64,
        }
        self.device.host.write(model.queue.address, AMD_QUEUE.pack(fields))

    @rule(who=WHO, kind=st.sampled_from([0, 1, 2]).map(QueueType), wrong=st.integers(0, 8))
    def create_wrong_queue(self, who: int, kind: QueueType, wrong: int) -> None:
        change, wanted = WRONG_QUEUES[wrong]
        code, _ = ask(self.drivers[who], 0x02, **self.fields_of(kind) | change)
        assert code == wanted

    @rule(who=WHO, which=CHOICE)
    def destroy_queue(self, who: int, which: int) -> None:
        model = pick(self.queues, which)
        code, _ = ask(self.drivers[who], 0x03, queue_id=model.queue.link.id)
        if not self.owns(who, model):
            assert code == EINVAL
            return
        assert code == 0
        model.loose |= bool(model.todo) and model.kind is QueueKind.AQL
        model.state = QueueState.DESTROYED
        model.todo.clear()
        self.rest()

    def owns(self, who: int, model: ModelQueue) -> bool:
        return model.owner == who and model.state is not QueueState.DESTROYED

    @rule(
        who=WHO,
        which=CHOICE,
        enable=st.booleans(),
        share=st.sampled_from([100, 100, 1, 0, 101]),
        priority=st.sampled_from([0, 7, 15, 16]),
    )
    def update_queue(self, who: int, which: int, enable: bool, share: int, priority: int) -> None:
        model = pick(self.queues, which)
        ring = {"ring_base_address": model.ring, "ring_size": RING} if enable else {}
        code, _ = ask(
            self.drivers[who],
            0x07,
            queue_id=model.queue.link.id,
            queue_percentage=share,
            queue_priority=priority,
            **ring,
        )
        if not self.owns(who, model) or share > 100 or priority > 15:
            assert code == EINVAL
            return
        assert code == 0
        model.enabled = enable and share > 0
        self.rest()

    @rule(
        who=WHO,
        which=CHOICE,
        bits=st.sampled_from([32, 64, 31, 0]),
        mask=st.sampled_from([1, 3, 2, 0]),
    )
    def set_mask(self, who: int, which: int, bits: int, mask: int) -> None:
        model = pick(self.queues, which)
        self.device.host.write(self.array, mask.to_bytes(8, "little"))
        fields = {"queue_id": model.queue.link.id, "num_cu_mask": bits, "cu_mask_ptr": self.array}
        code, _ = ask(self.drivers[who], 0x1A, **fields)
        right = self.owns(who, model) and bits % 32 == 0 and bits and mask & 1
        assert code == (0 if right else EINVAL)

    @rule(who=WHO, which=CHOICE)
    def wave_state(self, who: int, which: int) -> None:
        fields = {"queue_id": pick(self.queues, which).queue.link.id}
        code, _ = ask(self.drivers[who], 0x1B, ctl_stack_address=self.array, **fields)
        assert code == EINVAL, "no queue has a save area"

    # ------------------------------------------------------------------ what queues do

    def ready(self, which: int, *kinds: QueueKind) -> ModelQueue | None:
        """An active queue of these kinds that has not too much to do."""
        active = [each for each in self.queues if each.state is QueueState.ACTIVE]
        fitting = [each for each in active if not kinds or each.kind in kinds]
        free = [each for each in fitting if len(each.todo) < MOST_WAITING]
        return pick(free, which) if free else None

    @rule(which=CHOICE, other=CHOICE, more=st.integers(0, 2))
    def submit_wait(self, which: int, other: int, more: int) -> None:
        model = self.ready(which)
        if model is None:
            return
        if model.kind is QueueKind.AQL:
            self.submit_barrier(model, pick(list(self.signals), other))
            return
        target = pick(self.queues, other)
        value = self.values[target.word] + more
        fields = {"function": 5, "mask": (1 << 32) - 1, "reference": value, "space": 1}
        fields["address"] = self.words + 8 * target.word
        if model.kind is QueueKind.PM4:
            command = pm4_layouts.pack(pm4_layouts.Opcode.WAIT_REG_MEM, **fields)
        else:
            command = sdma_layouts.pack(
                sdma_layouts.Opcode.POLL, retries=sdma_layouts.NO_LIMIT, **fields
            )
        self.submit(model, command, ("wait", target.word, value))

    def submit_barrier(self, model: ModelQueue, gate: int) -> None:
        signals = [self.runtime.signal_of(handle) for handle in (gate, model.done)]
        assert signals[0] is not None and signals[1] is not None
        model.queue.barrier_and([signals[0]], completion=signals[1])
        model.queue.ring()
        model.todo.append(("barrier", gate))
        self.rest()

    @rule(which=CHOICE)
    def submit_write(self, which: int) -> None:
        model = self.ready(which, QueueKind.PM4, QueueKind.SDMA)
        if model is None:
            return
        value, address = model.next_value, self.words + 8 * model.word
        model.next_value += 1
        if model.kind is QueueKind.PM4:
            tail = value.to_bytes(4, "little")
            opcode = pm4_layouts.Opcode.WRITE_DATA
            command = pm4_layouts.pack(opcode, tail, destination=5, address=address)
        else:
            opcode = sdma_layouts.Opcode.FENCE
            command = sdma_layouts.pack(opcode, data=value, address=address)
        self.submit(model, command, ("write", value))

    @rule(which=CHOICE, other=CHOICE)
    def submit_event(self, which: int, other: int) -> None:
        model = self.ready(which, QueueKind.PM4)
        if model is None or not self.event_numbers:
            return
        number = pick(self.event_numbers, other)
        mailbox = self.device.events.base + 8 * number
        fields = {"event": 0x14, "index": 5, "data": 2, "interrupt": 2, "context": number}
        command = pm4_layouts.pack(
            pm4_layouts.Opcode.RELEASE_MEM, value=number, address=mailbox, **fields
        )
        self.submit(model, command, ("event", number))

    @rule(which=CHOICE, command=st.sampled_from([0x0000_0002, 0x4000_0000, 0xC000_1500]))
    def submit_bad(self, which: int, command: int) -> None:
        model = self.ready(which, QueueKind.PM4, QueueKind.SDMA)
        if model is None:
            return
        self.submit(model, command.to_bytes(4, "little"), ("bad",))

    def submit(self, model: ModelQueue, command: bytes, what: tuple[object, ...]) -> None:
        for place in range(0, len(command), 4):
            where = model.ring + 4 * model.written % RING
            self.device.host.write(where, command[place : place + 4])
            model.written += 1
        pointer = model.written % (RING // 4)
        if model.kind is QueueKind.SDMA:
            pointer = 4 * model.written
        doorbell = self.device.doorbells + 8 * model.queue.link.id
        self.device.host.write(doorbell, pointer.to_bytes(8, "little"))
        model.todo.append((*what, model.written))
        self.rest()

    def rest(self) -> None:
        """Let device and model come to rest."""
        errors = 0
        while True:
            try:
                self.device.run()
                break
            except QueueError:
                errors += 1
        moved = True
        while moved:
            moved = sum(self.step(model) for model in self.queues) > 0
        assert errors == self.errors
        self.errors = 0

    def step(self, model: ModelQueue) -> bool:
        """Take the first thing that a queue has to do, if it can be done."""
        if not model.todo or not model.enabled or model.state is not QueueState.ACTIVE:
            return False
        what, *rest = model.todo[0]
        if what == "barrier":
            if self.signals[rest[0]]:  # type: ignore[index]
                return False
            self.counts[model.done] -= 1
        elif what == "wait" and self.values[rest[0]] < rest[1]:  # type: ignore
            return False
        elif what == "write":
            self.values[model.word] = rest[0]  # type: ignore[assignment]
        elif what == "event":
            for events in self.events:
                if rest[0] in events:
                    events[rest[0]].happened = True  # type: ignore[index]
        elif what == "bad":
            model.state = QueueState.INACTIVE
            self.errors += 1
            return True
        model.todo.pop(0)
        return True

    # ------------------------------------------------------------------ events

    @rule(who=WHO, auto_reset=st.booleans(), kind=st.sampled_from([0, 0, 0, 3]))
    def create_event(self, who: int, auto_reset: bool, kind: int) -> None:
        code, made = ask(self.drivers[who], 0x08, auto_reset=auto_reset, event_type=kind)
        assert code == (EINVAL if kind else 0)
        if not kind:
            self.events[who][made["event_id"]] = ModelEvent(auto_reset)
            self.event_numbers.append(made["event_id"])

    @rule(who=WHO, which=CHOICE, number=st.sampled_from([0x09, 0x0A, 0x0A, 0x0A, 0x0B]))
    def of_event(self, who: int, which: int, number: int) -> None:
        event_id = pick(self.event_numbers or [1], which)
        code, _ = ask(self.drivers[who], number, event_id=event_id)
        event = self.events[who].get(event_id)
        assert code == (EINVAL if event is None else 0)
        if event is None:
            return
        if number == 0x09:
            del self.events[who][event_id]
        else:
            event.happened = number == 0x0A

    @rule(who=WHO, which=st.lists(CHOICE, min_size=1, max_size=3), whole=st.booleans())
    def wait_events(self, who: int, which: list[int], whole: bool) -> None:
        numbers = [pick(self.event_numbers or [1], each) for each in which]
        data = b"".join(EVENT_DATA.pack({"event_id": number}) for number in numbers)
        self.device.host.write(self.array, data)
        fields = {"events_ptr": self.array, "num_events": len(numbers), "wait_for_all": whole}
        code, answer = ask(self.drivers[who], 0x0C, **fields)
        events = [self.events[who].get(number) for number in numbers]
        if None in events:
            assert code == EINVAL
            return
        happened = [event.happened for event in events if event is not None]
        complete = all(happened) if whole else any(happened)
        wanted = WaitResult.COMPLETE if complete else WaitResult.TIMEOUT
        assert (code, answer["wait_result"]) == (0, wanted)
        for event in events:
            if complete and event is not None and event.auto_reset:
                event.happened = False

    # ------------------------------------------------------------------ memory

    @rule(who=WHO, size=st.sampled_from([0, 1, 4096, 5000, 1 << 40]), flags=st.integers(0, 3))
    def allocate(self, who: int, size: int, flags: int) -> None:
        wanted = EINVAL if not size or flags in (0, 3) else 0
        if size == 1 << 40 and not wanted:
            wanted = -CODES["ENOMEM"]
        fields = {"gpu_id": 1, "size": size, "flags": flags | MemoryFlags.WRITABLE}
        code, made = ask(self.drivers[who], 0x16, **fields)
        assert code == wanted
        if not code:
            self.memory[who][made["handle"]] = ModelMemory(made["va_addr"])
            self.handles.append(made["handle"])

    @rule(
        who=WHO,
        which=CHOICE,
        number=st.sampled_from([0x18, 0x18, 0x19]),
        gpu=st.sampled_from([1, 1, 1, 9]),
    )
    def map_or_unmap(self, who: int, which: int, number: int, gpu: int) -> None:
        handle = pick(self.handles, which)
        self.device.host.write(self.array, gpu.to_bytes(4, "little"))
        fields = {"handle": handle, "device_ids_array_ptr": self.array, "n_devices": 1}
        code, answer = ask(self.drivers[who], number, **fields)
        found = self.memory[who].get(handle)
        if found is None or gpu != 1:
            assert code == EINVAL
            return
        assert (code, answer["n_success"]) == (0, 1)
        found.mapped = number == 0x18

    @rule(who=WHO, which=CHOICE)
    def free(self, who: int, which: int) -> None:
        handle = pick(self.handles, which)
        code, _ = ask(self.drivers[who], 0x17, handle=handle)
        found = self.memory[who].get(handle)
        assert code == (EINVAL if found is None else EBUSY if found.mapped else 0)
        if not code:
            del self.memory[who][handle]

    # ------------------------------------------------------------------ comparing

    @invariant()
    def all_is_equal(self) -> None:
        host = self.device.host
        for model in self.queues:
            assert model.queue.state is model.state
            found = int.from_bytes(host.read(self.words + 8 * model.word, 8), "little")
            assert found == self.values[model.word]
            if model.kind is not QueueKind.AQL and model.state is QueueState.ACTIVE:
                self.compare_pointer(model)
        for handle, value in self.signals.items():
            assert self.runtime.signal_query(handle) == (Status.SUCCESS, value)
        loose = {model.done for model in self.queues if model.loose}
        for handle, value in self.counts.items():
            _, seen = self.runtime.signal_query(handle)
            assert seen == value or (handle in loose and seen == ERROR_VALUE)
        for memories in self.memory:
            for memory in memories.values():
                assert self.is_mapped(memory.address) == memory.mapped

    def compare_pointer(self, model: ModelQueue) -> None:
        if not model.written:
            return
        first = model.todo[0] if model.todo else None
        done = model.written if first is None else self.begins(model)
        size = model.kind.pointer_bytes
        found = int.from_bytes(self.device.host.read(model.pointer, size), "little")
        assert found == (4 * done if model.kind is QueueKind.SDMA else done % (RING // 4))

    def begins(self, model: ModelQueue) -> int:
        """The dword at which the first thing that is left to do begins."""
        lengths = {QueueKind.PM4: {"write": 5, "wait": 7, "event": 8, "bad": 1}}
        lengths[QueueKind.SDMA] = {"write": 4, "wait": 6, "bad": 1}
        what, *_, end = model.todo[0]
        assert isinstance(what, str) and isinstance(end, int)
        return end - lengths[model.kind][what]

    def is_mapped(self, address: int) -> bool:
        try:
            self.device.host.read(address, 1)
        except Unmapped:
            return False
        return True


class CallsOfAProcess(Calls):
    """Both drivers in an address space that is not the device's."""

    def where(self) -> Device | Process:
        return Device(cus=1, options=Options(slots=2, quantum=100)).create_process()


def test_a_queue_that_polls_hears_of_a_write_of_another() -> None:
    """WRITE_DATA was stored after the last poll, and the device was at rest."""
    calls = CallsOfAProcess()
    calls.begin()
    calls.create_queue(1, QueueType.COMPUTE, 2)
    calls.create_queue(0, QueueType.SDMA, 12)
    calls.submit_wait(which=4, other=1, more=1)
    calls.create_queue(1, QueueType.SDMA, 6)
    calls.submit_write(which=2)
    calls.all_is_equal()


EACH = pytest.mark.parametrize("calls", [Calls, CallsOfAProcess])


@EACH
def test_a_sample(calls: type[Calls]) -> None:
    run(calls, 12, 30)


@pytest.mark.fuzz
@EACH
def test_20000_sequences(calls: type[Calls]) -> None:
    run(calls, 20_000, 40)
