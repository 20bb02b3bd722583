"""Queues with running waves lose their slot and get it back: results, memory, bounds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from gpu import Device
from gpu.errors import QueueError
from gpu.host.buffer import Buffer
from gpu.host.device_core import BareDevice, Options
from gpu.host.device_queue import DeviceQueue
from gpu.host.kfd.driver import CreateQueue, Driver
from gpu.hsa.queue import empty_ring
from gpu.hsa.queue_layout import AMD_QUEUE, FEATURE_KERNEL_DISPATCH, TYPE_SINGLE
from gpu.hsa.queue_state import HIGHEST_PRIORITY, QueueState
from gpu.hsa.signal import ERROR_VALUE, SIGNAL, Signal, SignalKind
from gpu.memory.flat_memory import FlatMemory
from gpu.packet_processor.context_switch import ENTRY, HEADER
from tests.gpu.corpus.case import Case
from tests.gpu.corpus.catalogue import CASES
from tests.gpu.corpus.runner import complaint
from tests.gpu.kernels.stored import stored
from tests.sampling import MATRIX, sampled

KINDS = ["functional", "timed", "coherent"]


def device_of(kind: str, quantum: int = 40, slots: int = 1) -> Device:
    options = Options(slots=slots, quantum=quantum, preempt=True)
    if kind == "functional":
        return Device(cus=2, options=options)
    if kind == "timed":
        return Device(memory=FlatMemory(cus=2), options=options)
    return Device("GPU_VIPER", cus=2, options=replace(options, quantum=4000), ahead=False)


def name_of(case: Case) -> str:
    return case.name


def spin(device: Device) -> tuple[Buffer, Signal, DeviceQueue]:
    """A kernel that ends when the host has stored a 1."""
    flag, done = device.alloc(np.zeros(1, np.int32), mtype="cc"), device.signal(1)
    queue = device.create_queue()
    queue.dispatch(stored("wait")["spin_forever"], 64, 64, [flag], completion=done)
    queue.ring()
    device.run(limit=100 if isinstance(device.memory, FlatMemory) else 4000)
    return flag, done, queue


class Switches:
    """Counts how often waves were taken off, and put back."""

    def __init__(self, device: BareDevice) -> None:
        self.off = self.back = 0
        dispatcher = device.machine.dispatcher
        hold, put_back = dispatcher.hold, dispatcher.put_back

        def counted_hold(queue: int) -> None:
            self.off += 1
            hold(queue)

        def counted_put_back(queue: int, saved: list[object]) -> None:
            self.back += 1
            put_back(queue, saved)  # type: ignore[arg-type]

        dispatcher.hold = counted_hold  # type: ignore[method-assign]
        dispatcher.put_back = counted_put_back  # type: ignore[method-assign,assignment]


@pytest.mark.parametrize("kind", KINDS)
def test_a_queue_does_not_wait_for_a_kernel_without_end(kind: str) -> None:
    device = device_of(kind)
    switches = Switches(device)
    flag, done, _ = spin(device)
    out = device.alloc(np.zeros(256, np.int32))
    queue = device.create_queue()
    for value in (3, 5):
        arguments = [device.alloc(np.full(256, value, np.int32)), out, out]
        queue.dispatch(stored("vadd")["vadd_i"], 256, 64, arguments, barrier=True)
    finished = device.signal(1)
    queue.barrier_and([], barrier=True, completion=finished)
    queue.ring()
    device.run(until=lambda: finished.value == 0)
    assert out.numpy().tolist() == [8] * 256
    assert done.value == 1, "the other kernel is still there"
    flag.write(np.ones(1, np.int32))
    device.run(until=done)
    assert switches.off >= 1 and switches.back >= 1


HARD = ["reduce.reduce_lds", "scan.scan_tree", "sort.bitonic_local", "scratch.scratch",
        "matmul.matmul", "calls.call_rec", "lock.gridbarrier", "algorithms.lookback",
        "mixed.lds_atomics", "diverge.early_return", "diverge.nested", "wave.bperm"]  # fmt: skip
"""Kernels with barriers, LDS, scratch, groups that wait for each other, waves that end early."""


@pytest.mark.parametrize(
    "case", sampled([case for case in CASES if case.name in HARD], 6, MATRIX), ids=name_of
)
def test_kernels_end_right_between_turns(case: Case) -> None:
    """Beside a kernel that never ends, on one slot: turns are a few instructions long."""
    device = device_of("timed", quantum=50)
    switches = Switches(device)
    spin(device)
    assert complaint(case, _Patient(device)) is None
    assert switches.back > 0


@pytest.mark.parametrize("case", sampled(CASES, 30, MATRIX), ids=name_of)
def test_every_kernel_ends_right_between_turns(case: Case) -> None:
    device = device_of("timed", quantum=250)
    spin(device)
    assert complaint(case, _Patient(device)) is None


class _Patient:
    """A device whose host may still act, so that the kernel that spins is not an error."""

    def __init__(self, device: Device) -> None:
        self._device = device

    def run(self, until: Signal) -> None:
        self._device.run(until=lambda: until.value < 1)

    def __getattr__(self, name: str) -> object:
        return getattr(self._device, name)


# ---------------------------------------------------------------------- the area


def stopped(kind: str = "timed") -> tuple[Driver, DeviceQueue, Buffer, Signal]:
    """A queue whose waves are in its area."""
    device = device_of(kind)
    driver = Driver(device)
    queue = queue_of(driver)
    flag, done = device.alloc(np.zeros(1, np.int32), mtype="cc"), device.signal(1)
    queue.dispatch(stored("wait")["spin_forever"], 256, 128, [flag], completion=done)
    queue.ring()
    device.run(limit=40 if kind == "functional" else 400)
    driver.update_queue(queue.link.id, 0, 0, 100, 7)
    assert all(unit.idle for unit in device.units)
    return driver, queue, flag, done


def queue_of(
    driver: Driver, packets: int = 16, priority: int = 7, eop: bool = False
) -> DeviceQueue:
    """What a runtime does: ring, object, doorbell signal, areas."""
    device, node = driver.device, driver.node
    space = device.memory.space

    def room(size: int) -> int:
        return space.allocate(size, memory_type="cc").start

    ring, address, doorbell = room(packets * 64), room(AMD_QUEUE.size), room(SIGNAL.size)
    fields = {
        "type": TYPE_SINGLE,
        "features": FEATURE_KERNEL_DISPATCH,
        "base_address": ring,
        "doorbell_signal": doorbell,
        "size": packets,
        "group_segment_aperture_base_hi": device.options.apertures.shared,
        "private_segment_aperture_base_hi": device.options.apertures.private,
        "read_dispatch_id_field_base_byte_offset": 128,
    }
    device.host.write(ring, empty_ring(packets))
    device.host.write(address, AMD_QUEUE.pack(fields))
    made = driver.create_queue(
        CreateQueue(
            ring_base=ring,
            ring_size=packets * 64,
            read_pointer=address + 128,
            write_pointer=address + 56,
            priority=priority,
            save_area=room(node.save_size),
            save_size=node.save_size,
            control_stack_size=node.control_stack_size,
            eop_buffer=room(node.eop_size) if eop else 0,
            eop_size=node.eop_size if eop else 0,
        )
    )
    signal = {
        "kind": SignalKind.LEGACY_DOORBELL,
        "value": driver.doorbells + made.doorbell,
        "queue_ptr": address,
    }
    device.host.write(doorbell, SIGNAL.pack(signal))
    return device.queues[made.id]


def resume(driver: Driver, queue: DeviceQueue) -> None:
    base = queue.field("base_address")
    driver.update_queue(queue.link.id, base, 64 * queue.size, 100, 7)


def test_the_area_says_which_groups_it_holds() -> None:
    driver, queue, flag, done = stopped()
    area, host = queue.link.save_area, driver.device.host
    assert area is not None
    header = HEADER.unpack(host.read(area.address, HEADER.size))
    assert header["control_stack_size"] == 2 * ENTRY.size
    assert header["wave_state_offset"] == area.control_bytes == driver.node.control_stack_size
    stack = host.read(area.address + HEADER.size, 2 * ENTRY.size)
    groups = [ENTRY.unpack(stack[place : place + 32]) for place in (0, 32)]
    assert sorted((each["packet"], each["x"], each["waves"]) for each in groups) == [
        (0, 0, 2),
        (0, 1, 2),
    ]
    copy = driver.device.memory.space.allocate(4096).start
    used = driver.get_wave_state(queue.link.id, copy)
    assert used == (64, header["wave_state_size"])
    assert host.read(copy, 64) == stack
    resume(driver, queue)
    flag.write(np.ones(1, np.int32))
    driver.device.run(until=done)
    assert used[1] == sum(each["size"] for each in groups)


def test_what_is_put_back_is_what_the_area_holds() -> None:
    """Another program counter there: the waves continue at s_endpgm."""
    driver, queue, flag, done = stopped()
    area, host = queue.link.save_area, driver.device.host
    assert area is not None
    end = driver.device.alloc(np.array([0xBF810000] * 16, np.uint32))
    offset = area.control_bytes
    for group in range(2):
        entry = host.read(area.address + HEADER.size + 32 * group, 32)
        offset = ENTRY.unpack(entry)["offset"]
        for wave in range(2):
            where = area.address + offset + wave * (32 + 4 * 160)
            host.write(where, end.address.to_bytes(8, "little"))
    resume(driver, queue)
    driver.device.run(until=done)
    assert flag.numpy()[0] == 0
    assert driver.device.memory.read(area.address, 4) == HEADER.size.to_bytes(4, "little")


BROKEN = [
    (HEADER.size, (7).to_bytes(8, "little"), "the groups that were saved, not group"),
    (HEADER.size + 24, bytes(4), "a saved group lies in its area, not 0"),
    (HEADER.size + 28, (64).to_bytes(4, "little"), "waves that can continue, not 64 bytes"),
    (4096 + 12, b"\x02" + bytes(32 + 4 * 160 - 1) + b"\x04", "ended or waits at the barrier"),
]


@pytest.mark.parametrize(("offset", "data", "why"), BROKEN, ids=[why for *_, why in BROKEN])
def test_an_area_that_was_changed(offset: int, data: bytes, why: str) -> None:
    driver, queue, _, done = stopped()
    area = queue.link.save_area
    assert area is not None
    driver.device.host.write(area.address + offset, data)
    with pytest.raises(QueueError, match=why):
        resume(driver, queue)
        driver.device.run()
    assert (queue.state, done.value) == (QueueState.INACTIVE, ERROR_VALUE)
    assert all(unit.idle for unit in driver.device.units)


def test_an_area_that_is_gone() -> None:
    driver, queue, _, done = stopped()
    area = queue.link.save_area
    assert area is not None
    driver.device.memory.space.free(area.address)
    with pytest.raises(QueueError, match="queue 0: a context save area is mapped"):
        resume(driver, queue)
        driver.device.run()
    assert done.value == ERROR_VALUE


@pytest.mark.parametrize("kind", ["functional", "timed"])
def test_a_queue_is_destroyed_while_its_waves_are_in_the_area(kind: str) -> None:
    driver, queue, _, done = stopped(kind)
    driver.destroy_queue(queue.link.id)
    assert (queue.state, done.value) == (QueueState.DESTROYED, ERROR_VALUE)
    other = queue_of(driver)
    finished = driver.device.signal(1)
    out = driver.device.alloc(np.zeros(64, np.int32))  # type: ignore[attr-defined]
    other.dispatch(stored("vadd")["vadd_i"], 64, 64, [out, out, out], completion=finished)
    other.ring()
    driver.device.run(until=finished)


def test_ends_of_kernels_are_in_the_end_of_pipe_buffer() -> None:
    device = device_of("functional")
    queue = queue_of(Driver(device), eop=True)
    out = device.alloc(np.zeros(64, np.int32))
    signals = [device.signal(1) for _ in range(130)]
    for signal in signals:
        queue.dispatch(stored("vadd")["vadd_i"], 64, 64, [out, out, out], completion=signal)
        queue.ring()
        device.run(until=signal)
    assert queue.link.eop_buffer is not None
    base, size = queue.link.eop_buffer
    data = np.frombuffer(device.host.read(base, size), np.uint64).reshape(-1, 4)
    assert data[:2, 0].tolist() == [129, 130], "the oldest were overwritten"
    assert data[1, 2:].tolist() == [129, signals[129].handle]
    assert data[2:, 0].tolist() == list(range(3, 129))
    assert (np.diff(data[2:, 1].astype(np.int64)) > 0).all()


# ---------------------------------------------------------------------- many queues


BATCHES = 7
"""Of the corpus, 31 cases or so each."""


@pytest.mark.parametrize("batch", sampled(range(BATCHES), BATCHES, MATRIX))
def test_32_queues_of_4_processes_on_3_slots(batch: int) -> None:
    """A case of the corpus each: each is right, and no queue waits longer than the bound."""
    quantum = 200
    device = device_of("timed", quantum, slots=3)
    drivers = [Driver(device) for _ in range(4)]
    priorities = [0, 7, 7, 15]
    queues = [
        queue_of(driver, 32, priorities[number % 4]) for driver in drivers for number in range(8)
    ]
    switches = Switches(device)
    cases = [CASES[(batch + BATCHES * number) % len(CASES)] for number in range(len(queues))]
    results = [submit(queue, case) for queue, case in zip(queues, cases, strict=True)]
    for queue in queues:
        queue.ring()
    device.run()
    for case, buffers in zip(cases, results, strict=True):
        assert case.complaint({name: each.numpy() for name, each in buffers.items()}) is None
    waits = device.machine.scheduler.waits
    assert waits.longest_turns <= HIGHEST_PRIORITY + len(queues) - 3
    assert waits.longest_ticks < waits.longest_turns * (2 * quantum + waits.longest_switch)
    assert switches.back > 1, "they took turns"


def submit(queue: DeviceQueue, case: Case) -> dict[str, Buffer]:
    device, code = queue._device, stored(case.source)
    assert isinstance(device, BareDevice)
    buffers = {name: device.alloc(values) for name, values in case.buffers.items()}
    for launch in case.launches:
        arguments = [buffers[each] if isinstance(each, str) else each for each in launch.arguments]
        queue.dispatch(
            code[launch.kernel],
            launch.grid,
            launch.group,
            arguments,
            barrier=True,
            private_bytes=launch.private,
        )
    return buffers
