"""Calls of the driver: each rule once right and once wrong."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu.host.kfd.driver import CreateQueue, Driver, WaitResult
from gpu.host.kfd.refusals import DriverError
from gpu.hsa.queue import empty_ring
from gpu.hsa.queue_layout import AMD_QUEUE, FEATURE_KERNEL_DISPATCH, TYPE_SINGLE
from gpu.hsa.queue_state import QueueState
from gpu.hsa.signal import ERROR_VALUE, SIGNAL, SignalKind
from gpu.memory.interface import MemoryRequest
from runtime.requesters.port import AccessKind
from tests.gpu.packet_processor.harness import Bench

ARGS = [0, 0, 0, 64]
PACKETS = 16


class Process:
    """What a runtime does around the calls: it makes ring, queue object and doorbell signal."""

    def __init__(self, **ticks: int) -> None:
        self.bench = Bench(ticks={int(name[1:]): count for name, count in ticks.items()})
        self.driver = Driver(self.bench.device)

    def request(self) -> CreateQueue:
        space = self.bench.memory.space
        ring = space.allocate(PACKETS * 64, memory_type="cc").start
        self.bench.memory.write(ring, empty_ring(PACKETS))
        queue = space.allocate(AMD_QUEUE.size, memory_type="cc").start
        self.doorbell = space.allocate(SIGNAL.size, memory_type="cc").start
        fields = {
            "type": TYPE_SINGLE,
            "features": FEATURE_KERNEL_DISPATCH,
            "base_address": ring,
            "doorbell_signal": self.doorbell,
            "size": PACKETS,
            "read_dispatch_id_field_base_byte_offset": 128,
        }
        self.bench.memory.write(queue, AMD_QUEUE.pack(fields))
        return CreateQueue(
            ring_base=ring,
            ring_size=PACKETS * 64,
            read_pointer=queue + 128,
            write_pointer=queue + 56,
        )

    def create(self, request: CreateQueue | None = None) -> int:
        request = request or self.request()
        made = self.driver.create_queue(request)
        signal = {
            "kind": SignalKind.LEGACY_DOORBELL,
            "value": self.driver.doorbells + made.doorbell,
            "queue_ptr": request.read_pointer - 128,
        }
        self.bench.memory.write(self.doorbell, SIGNAL.pack(signal))
        return made.id


def test_a_queue_of_the_driver_runs_kernels() -> None:
    process = Process()
    bench = process.bench
    queue = process.driver._queues[process.create()]
    done = bench.device.signal(20)
    for _ in range(20):
        queue.dispatch(bench.kernel(), 64, 64, ARGS, completion=done)
    queue.ring()
    bench.device.run(until=done)
    bench.device.run()
    assert queue.field("read_dispatch_id") == queue.field("write_dispatch_id") == 20
    assert queue.field("max_legacy_doorbell_dispatch_id_plus_1") == 20


WRONG = [
    ({"ring_size": 512}, "EINVAL", "at least 1024, not 512"),
    ({"ring_size": 1536}, "EINVAL", "power of two"),
    ({"ring_size": 1 << 20}, "EFAULT", "not all mapped"),
    ({"ring_base": 0x100}, "EFAULT", "not all mapped"),
    ({"percentage": 0}, "EINVAL", "1 to 100 per cent, not 0"),
    ({"percentage": 101}, "EINVAL", "not 101"),
    ({"priority": 16}, "EINVAL", "0 to 15, not 16"),
    ({"read_pointer": 0x80}, "EFAULT", "read pointer 0x80 is not mapped"),
    ({"write_pointer": 0x80}, "EFAULT", "write pointer 0x80 is not mapped"),
    ({"gpu_id": 9}, "EINVAL", "no GPU has the id 9"),
    ({"type": 7}, "EINVAL", "7 is no type of queue"),
    ({"eop_buffer": 0x1000}, "EINVAL", "EOP buffer is mapped and has 4096"),
    ({"save_area": 0x1000, "save_size": 1 << 20}, "EINVAL", "save area is mapped"),
]


@pytest.mark.parametrize(("change", "code", "why"), WRONG, ids=[why for _, _, why in WRONG])
def test_what_create_refuses(change: dict[str, int], code: str, why: str) -> None:
    process = Process()
    request = process.request()
    with pytest.raises(DriverError, match=why) as caught:
        process.driver.create_queue(replace(request, **change))
    assert caught.value.code == code
    assert str(caught.value).startswith("driver call 0x02: ")
    process.create(request)


def test_what_create_refuses_about_places() -> None:
    process = Process()
    request, space = process.request(), process.bench.memory.space
    large = space.allocate(1 << 20).start
    for change, why in (
        ({"ring_base": request.ring_base + 64}, "256-byte aligned"),
        ({"write_pointer": large}, "not in one page"),
        ({"read_pointer": request.read_pointer + 8}, "none of an amd_queue_t"),
        ({"eop_buffer": large, "eop_size": 8192}, "has 4096 bytes"),
        ({"save_area": large, "save_size": 4096}, "1048576 bytes or more"),
        ({"save_area": large, "save_size": 1 << 20}, "a control stack has 4096 bytes"),
    ):
        with pytest.raises(DriverError, match=why):
            process.driver.create_queue(replace(request, **change))
    right = {"eop_buffer": large, "eop_size": 4096, "save_area": large, "save_size": 1 << 20}
    process.create(replace(request, **right, control_stack_size=4096, percentage=0x164))


def test_there_are_1024_doorbells() -> None:
    process = Process()
    request = process.request()
    for _ in range(1024):
        process.driver.create_queue(request)
    with pytest.raises(DriverError, match="1024 doorbells") as caught:
        process.driver.create_queue(request)
    assert caught.value.code == "ENOMEM"


def test_destroy() -> None:
    process = Process(p0=5000)
    queue_id = process.create()
    queue = process.driver._queues[queue_id]
    done = process.bench.device.signal(1)
    queue.dispatch(process.bench.kernel(), 64, 64, ARGS, completion=done)
    queue.ring()
    process.bench.device.run(limit=50)
    process.driver.destroy_queue(queue_id)
    assert (done.value, queue.state) == (ERROR_VALUE, QueueState.DESTROYED)
    assert queue.field("read_dispatch_id") == 1, "the memory is still the caller's"
    with pytest.raises(DriverError, match="0x03: there is no queue 0"):
        process.driver.destroy_queue(queue_id)


def test_update_stops_and_continues_a_queue_with_another_ring() -> None:
    process = Process()
    bench, driver = process.bench, process.driver
    queue_id = process.create()
    queue = driver._queues[queue_id]
    for call in (
        lambda: driver.update_queue(queue_id, 0x40, 1024, 100, 7),
        lambda: driver.update_queue(queue_id, queue.field("base_address"), 100, 100, 7),
        lambda: driver.update_queue(queue_id, 0, 0, 100, 16),
        lambda: driver.update_queue(9, 0, 0, 100, 7),
    ):
        with pytest.raises(DriverError):
            call()
    driver.update_queue(queue_id, 0, 0, 100, 7)
    queue.dispatch(bench.kernel(), 64, 64, ARGS)
    queue.ring()
    bench.device.run()
    assert not bench.log, "a queue without a ring runs nothing"
    larger = bench.memory.space.allocate(2 * PACKETS * 64, memory_type="cc").start
    bench.memory.write(larger, empty_ring(2 * PACKETS))
    bench.memory.write(larger, bench.memory.read(queue.field("base_address"), PACKETS * 64))
    driver.update_queue(queue_id, larger, 2 * PACKETS * 64, 50, 15)
    bench.device.run()
    assert len(bench.events("end")) == 1
    driver.update_queue(queue_id, larger, 2 * PACKETS * 64, 0, 15)
    assert not bench.device.machine.scheduler.mapped


def test_masks() -> None:
    process = Process()
    queue_id = process.create()
    process.driver.set_cu_mask(queue_id, 32, 0b10)
    assert process.driver._queues[queue_id].link.cus == (1,)
    for bits, mask in ((31, 1), (0, 1), (32, 0b100), (32, 1 << 32)):
        with pytest.raises(DriverError, match="0x1a"):
            process.driver.set_cu_mask(queue_id, bits, mask)


def test_a_mask_holds_for_groups_that_start_later() -> None:
    """Of a running dispatch as well; a unit that is new to it has its caches emptied first."""
    process = Process(p0=100)
    bench = process.bench
    queue_id = process.create()
    queue = process.driver._queues[queue_id]
    process.driver.set_cu_mask(queue_id, 32, 0b01)
    resident = 40
    queue.dispatch(bench.kernel(), 64 * 5 * resident, 64, ARGS)
    queue.ring()
    bench.device.run(limit=50)
    acquired = []
    push = bench.memory.push

    def watch(request: MemoryRequest) -> None:
        if request.kind == AccessKind.ACQUIRE:
            acquired.append(request.port)
        push(request)

    bench.memory.push = watch  # type: ignore[method-assign]
    process.driver.set_cu_mask(queue_id, 32, 0b10)
    bench.device.run(limit=100)
    process.driver.set_cu_mask(queue_id, 32, 0b11)
    bench.device.run()
    units = [
        (bench.units[0].where | bench.units[1].where)[group]
        for kind, _, group in bench.log
        if kind == "start"
    ]
    assert units[: 2 * resident] == [0] * resident + [1] * resident
    assert sorted(units[2 * resident : 4 * resident]) == [0] * resident + [1] * resident
    assert len(units) == 5 * resident
    vector, scalar, fetch = (bench.memory.ports.vector(1), 2, 3)
    assert set(acquired[:3]) == {vector, scalar, fetch}


def test_events() -> None:
    process = Process()
    bench, driver = process.bench, process.driver
    once, kept = driver.create_event(), driver.create_event(auto_reset=False)
    done = bench.device.signal(1)
    done.notify_by(once.mailbox, once.id)
    assert driver.wait_events([once.id], timeout=100) is WaitResult.TIMEOUT
    assert driver.wait_events([once.id, kept.id]) is WaitResult.FAIL, "it will never happen"
    queue = driver._queues[process.create()]
    queue.dispatch(bench.kernel(), 64, 64, ARGS, completion=done)
    queue.ring()
    assert driver.wait_events([once.id, kept.id]) is WaitResult.COMPLETE
    assert driver.wait_events([once.id], timeout=100) is WaitResult.TIMEOUT, "it was reset"
    driver.set_event(kept.id)
    driver.set_event(once.id)
    assert driver.wait_events([once.id, kept.id], wait_for_all=True) is WaitResult.COMPLETE
    assert driver.wait_events([kept.id]) is WaitResult.COMPLETE, "it stays"
    driver.reset_event(kept.id)
    assert driver.wait_events([kept.id], timeout=0) is WaitResult.TIMEOUT
    driver.destroy_event(kept.id)
    for call in (driver.destroy_event, driver.set_event, driver.reset_event):
        with pytest.raises(DriverError, match=f"there is no event {kept.id}"):
            call(kept.id)
    with pytest.raises(DriverError, match="0x0c: there is no event 77"):
        driver.wait_events([77])
    with pytest.raises(DriverError, match="0x08: there are 511 events"):
        for _ in range(600):
            driver.create_event()
