"""Processes: what is theirs, what they cannot reach, and how they end."""

from __future__ import annotations

from contextlib import nullcontext

import numpy as np
import pytest

from gpu import Buffer, Device, Signal
from gpu.compute_unit.native.native_unit import NativeUnit
from gpu.errors import HostError, KernelError, PacketError
from gpu.host.device_core import Options
from gpu.host.processes.process import Process
from gpu.hsa.queue_state import QueueState
from gpu.memory.address_space import PAGE, Unmapped
from gpu.memory.coherent.factory import EngineChoice
from gpu.memory.flat_memory import FlatMemory
from gpu.memory.virtual.page_table import VMIDS, aperture
from tests.gpu.corpus.runner import coherent_device
from tests.gpu.host.devices import EACH, MakeDevice, with_cores, with_small_tlbs
from tests.gpu.kernels.stored import stored

N = 2100
X = np.arange(N, dtype=np.int32)


def added(where: Device | Process, a: Buffer, b: Buffer, c: Buffer, size: int = N) -> Signal:
    """vadd_i, launched."""
    done, queue = Signal(1), where.create_queue()
    queue.dispatch(stored("vadd")["vadd_i"], size, 64, [a, b, c], completion=done)
    queue.ring()
    return done


def foreign(buffer: Buffer, mine: Device | Process) -> Buffer:
    """The same address, as if it were a buffer of the process."""
    return Buffer(mine.host, buffer.address, buffer.shape, buffer.dtype)


@EACH
def test_kernels_of_processes_and_of_the_device_at_once(make: MakeDevice) -> None:
    device = with_small_tlbs(make())
    one, other = device.create_process(), device.create_process()
    runs = []
    for where, factor in ((device, 1), (one, 3), (other, 5)):
        a, c = where.alloc(X * factor), where.alloc_like(X)
        runs.append((where, c, factor, added(where, a, a, c)))
    device.run()
    for _, c, factor, done in runs:
        assert done.value == 0
        np.testing.assert_array_equal(c.numpy(), 2 * X * factor)
    assert [process.vmid for process in device.processes] == [8, 9]
    assert runs[1][1].address in aperture(8) and runs[2][1].address in aperture(9)


@EACH
@pytest.mark.parametrize("whose", ["process", "device"])
def test_a_kernel_reads_no_memory_of_others(make: MakeDevice, whose: str) -> None:
    device = make()
    mine, other = device.create_process(), device.create_process()
    owner = other if whose == "process" else device
    secret, c = owner.alloc(X), mine.alloc_like(X)
    why = f"it is no address of process {mine.vmid}"
    with pytest.raises(KernelError, match=rf"address {secret.address >> 12:#x}.*{why}"):
        mine.run(until=added(mine, foreign(secret, mine), c, c))
    assert not c.numpy().any()
    d = device.alloc_like(X)
    with pytest.raises(KernelError, match="nothing is mapped there"):
        device.run(until=added(device, foreign(c, device), d, d))


@EACH
def test_a_kernel_writes_no_page_that_is_not_mapped(make: MakeDevice) -> None:
    device = make()
    process = device.create_process()
    a, gone = process.alloc(X), process.alloc_like(X)
    process.run(until=added(process, a, a, gone))
    process.free(gone)
    with pytest.raises(KernelError, match=r"address 0x40000000.*nothing is mapped there"):
        process.run(until=added(process, a, a, gone))
    with pytest.raises(Unmapped, match="nothing is mapped"):
        process.memory.read(gone.address, 4)
    with pytest.raises(KernelError, match="past the end of buffer at 0x4"):
        process.run(until=added(process, a, a, process.alloc(X[:-1])))


@EACH
def test_the_end_of_a_process_ends_its_queues_alone(make: MakeDevice) -> None:
    device = make()
    before = len(device.memory.space.allocations)
    one, other = device.create_process(), device.create_process()
    flag, waits = one.alloc(np.zeros(1, np.int32)), Signal(1)
    queue = one.create_queue()
    queue.dispatch(stored("wait")["spin_forever"], 64, 64, [flag], completion=waits)
    queue.ring()
    a, c = other.alloc(X), other.alloc_like(X)
    done = added(other, a, a, c)
    device.run(limit=200)
    assert done.value <= 1 and queue.state is QueueState.ACTIVE
    one.end()
    assert queue.state is QueueState.DESTROYED and not one.alive
    other.run(until=done)
    np.testing.assert_array_equal(c.numpy(), 2 * X)
    other.end()
    other.end()
    assert len(device.memory.space.allocations) == before, "all memory is given back"


@EACH
def test_a_vmid_that_is_used_again_has_other_addresses(make: MakeDevice) -> None:
    device = make()
    seen: set[int] = set()
    for round_ in range(3):
        process = device.create_process()
        assert process.vmid == 8
        a, c = process.alloc(X + round_), process.alloc_like(X)
        assert not {a.address, c.address} & seen
        seen |= {a.address, c.address}
        process.run(until=added(process, a, a, c))
        np.testing.assert_array_equal(c.numpy(), 2 * (X + round_))
        process.end()


def test_there_are_as_many_processes_as_vmids() -> None:
    device = Device(cus=1)
    made = [device.create_process() for _ in VMIDS]
    assert [process.vmid for process in made] == list(VMIDS)
    with pytest.raises(HostError, match="there are 8 VMIDs"):
        device.create_process()
    made[3].end()
    assert device.create_process().vmid == VMIDS[3]


def test_an_error_is_that_of_its_process() -> None:
    device = Device(cus=1)
    one, other = device.create_process(), device.create_process()
    bad = added(one, foreign(other.alloc(X), one), one.alloc(X), one.alloc(X))
    good = added(other, other.alloc(X), other.alloc(X), other.alloc(X))
    other.run(until=good)
    with pytest.raises(KernelError, match="process 8, queue 0"):
        one.run(until=bad)
    assert other.queues[0].state is QueueState.ACTIVE


def test_objects_of_one_process_are_refused_by_another() -> None:
    device = Device(cus=1)
    one, other = device.create_process(), device.create_process()
    buffer, signal = one.alloc(X), one.signal()
    queue = other.create_queue()
    with pytest.raises(HostError, match="belongs to another"):
        queue.dispatch(stored("vadd")["vadd_i"], 64, 64, [buffer] * 3)
    with pytest.raises(HostError, match="belongs to another"):
        queue.barrier_and([signal])
    with pytest.raises(HostError, match="belongs to another"):
        other.free(buffer)


def test_a_packet_names_no_signal_and_no_kernel_of_another_process() -> None:
    device = Device(cus=1)
    one, other = device.create_process(), device.create_process()
    kernel = one.load(stored("vadd"))["vadd_i"]
    queue = other.create_queue()
    with pytest.raises(HostError, match="loaded by another"):
        queue.dispatch(kernel, 64, 64, [other.alloc(X)] * 3)
    signal = Signal.at(other.host, one.signal().handle)
    queue.barrier_and([signal])
    queue.ring()
    with pytest.raises(PacketError, match="it is no address of process 9"):
        other.run()


@EACH
def test_a_doorbell_of_another_process_is_not_rung(make: MakeDevice) -> None:
    """Nor by a store to the address that it has in memory itself."""
    device = make()
    one, other = device.create_process(), device.create_process()
    queue = one.create_queue()
    bell = Buffer(other.host, one.doorbells, (2,), np.dtype(np.int32))
    zeros = other.alloc(np.zeros(64, np.int32))
    with pytest.raises(KernelError, match="it is no address of process 9"):
        other.run(until=added(other, zeros, zeros, bell, 2))
    assert queue.link.promised == 0


@pytest.mark.parametrize("engine", ["python", "native"])
def test_cores_and_copies_have_the_addresses_of_their_process(engine: str) -> None:
    device = with_cores(engine)
    one, other = device.create_process(), device.create_process()
    a, b, theirs = one.alloc(X), one.alloc_like(X), other.alloc(X)
    one.cpu(0).store(a.address + 4, 77)
    assert one.cpu(1).atomic("add", a.address + 4, 1) == 77
    one.dma().copy(b.address, a.address, 4 * N)
    expected = X.copy()
    expected[1] = 78
    np.testing.assert_array_equal(b.numpy(), expected)
    with pytest.raises(HostError, match="it is no address of process 8"):
        one.cpu(0).load(theirs.address)
    with pytest.raises(HostError, match="nothing is mapped"):
        one.dma().copy(b.address, theirs.address, 4)
    flag, done = one.alloc(np.zeros(1, np.int32), "cc"), Signal(1)
    queue = one.create_queue()
    queue.dispatch(stored("wait")["spin_forever"], 64, 64, [flag], completion=done)
    queue.ring()
    device.run(limit=800)
    assert done.value == 1
    one.cpu(0).store(flag.address, 1)
    one.run(until=done)


def test_scratch_printing_and_events_are_its_own() -> None:
    texts: list[str] = []
    device = Device(cus=2, options=Options(printf=texts.append))
    process = device.create_process()
    event = process.create_event(process.signal())
    assert event.mailbox in aperture(8)
    signal = process.signal(2)
    event = process.create_event(signal)
    signal.subtract(1)
    process.run()
    assert event.count == 1


@pytest.mark.parametrize("make", [lambda: FlatMemory(cus=2), None], ids=["timed", "functional"])
def test_more_queues_than_slots_among_processes(make: object) -> None:
    """Queues of two processes take turns with context switches in their own memory."""
    options = Options(slots=1, quantum=200, preempt=True)
    device = Device(memory=make(), options=options) if callable(make) else Device(options=options)
    runs = []
    for process in (device.create_process(), device.create_process()):
        for factor in (1, 2):
            a, c = process.alloc(X * factor), process.alloc_like(X)
            runs.append((c, factor, added(process, a, a, c)))
    device.run()
    for c, factor, done in runs:
        assert done.value == 0
        np.testing.assert_array_equal(c.numpy(), 2 * X * factor)


@pytest.mark.parametrize("ahead", [True, False])
def test_no_process_beside_waves_that_run_ahead(ahead: bool) -> None:
    device = coherent_device(engine=EngineChoice.auto, ahead=ahead)
    runs_ahead = isinstance(device.units[0], NativeUnit)
    flag, done = device.alloc(np.zeros(1, np.int32), "cc"), Signal(1)
    queue = device.create_queue()
    queue.dispatch(stored("wait")["spin_forever"], 64, 64, [flag], completion=done)
    queue.ring()
    device.run(limit=3000)
    with pytest.raises(HostError, match="ahead=False") if runs_ahead else nullcontext():
        device.create_process()
    flag.write(np.ones(1, np.int32))
    device.run(until=done)
    process = device.create_process()
    c = process.alloc_like(X)
    process.run(until=added(process, process.alloc(X), process.alloc(X), c))
    np.testing.assert_array_equal(c.numpy(), 2 * X)


def test_the_topology_has_the_addresses_of_the_process() -> None:
    device = Device(cus=1)
    process = device.create_process()
    memory, of_device = process.topology.memories[0], device.topology.memories[0]
    assert range(memory.base, memory.base + memory.size) == aperture(8)
    assert process.alloc(X).address in aperture(8) and of_device.base < memory.base
    assert process.topology.agents == device.topology.agents


def test_counters_of_tlbs() -> None:
    device = Device(memory=FlatMemory(cus=1))
    assert "tlb" not in device.stats
    process = device.create_process()
    a = process.alloc(X)
    process.run(until=added(process, a, a, a))
    counters = device.stats["tlb"]
    assert isinstance(counters, dict)
    pages = 4 * N // PAGE + 1
    assert counters["vector 0"]["misses"] == pages, "each page of the buffer once"
    assert counters["walks"] >= counters["shared"]["misses"] >= pages
