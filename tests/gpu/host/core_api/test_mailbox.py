"""The mailbox of a queue: filled when waves stop, emptied by the host."""

from __future__ import annotations

import numpy as np
import pytest

from gpu import Buffer, Device
from gpu.errors import HostError
from gpu.host.core_api.contexts import Context
from gpu.host.core_api.mailbox import DEBUGTRAP, MAILBOX_POINTER, MAILBOX_SIGNAL, SLOT, Mailbox
from gpu.host.core_api.runtime import CoreRuntime
from gpu.host.core_api.signals import Condition
from gpu.host.core_api.status import Status
from gpu.host.device_queue import DeviceQueue
from gpu.memory.flat_memory import FlatMemory
from tests.gpu.host.core_api.opened import Opened, opened
from tests.gpu.host.devices import spinning_ahead
from tests.gpu.kernels.stored import stored


class Stopping:
    """A kernel of two groups, the second one with half a wave, whose waves stop."""

    def __init__(self, device: Device) -> None:
        runtime = CoreRuntime(device, timeout_ticks=100_000, execution_control=True)
        self.made = Opened(runtime, Context())
        _, self.made.context = runtime.open()
        self.queue: DeviceQueue = self.made.queue()
        status, mailbox = runtime.queue_mailbox(self.queue)
        assert status is Status.SUCCESS and mailbox is not None
        self.mailbox: Mailbox = mailbox
        self.done = self.made.signal(1)
        self.data: Buffer = device.alloc(np.zeros(160, np.int32))
        self.queue.dispatch(
            stored("device_hsa")["debugtrapk"],
            160,
            128,
            [self.data],
            completion=runtime.signal_of(self.done),
        )
        self.queue.ring()

    def slot(self, number: int) -> dict[str, int]:
        host = self.made.runtime.device.host
        return SLOT.unpack(host.read(self.mailbox.address + number * SLOT.size, SLOT.size))

    def array(self, number: int, name: str, size: int) -> list[int]:
        data = self.made.runtime.device.host.read(self.slot(number)[name], 128 * size)
        return [int(value) for value in np.frombuffer(data, f"<u{size}")]

    def full(self) -> list[int]:
        query = self.made.runtime.signal_query
        flags = (self.slot(number)["full_flag"] for number in range(self.mailbox.slots))
        return [number for number, flag in enumerate(flags) if query(flag)[1]]


@pytest.fixture(params=["functional", "timed"])
def stopping(request: pytest.FixtureRequest) -> Stopping:
    functional = request.param == "functional"
    return Stopping(Device(cus=1) if functional else Device(memory=FlatMemory(cus=1)))


def test_a_host_that_empties_the_slots(stopping: Stopping) -> None:
    runtime, mailbox = stopping.made.runtime, stopping.mailbox
    seen = []
    while runtime.signal_query(stopping.done)[1]:
        status, count = runtime.signal_wait(mailbox.signal, Condition.GREATER_EQUALS, 1)
        assert status is Status.SUCCESS and count
        runtime.signal_subtract(mailbox.signal, count)
        for number in stopping.full():
            conditions = stopping.array(number, "condition", 4)
            items = [place for place, what in enumerate(conditions) if what == DEBUGTRAP]
            ids = stopping.array(number, "workitem_id", 4)
            assert [ids[place] for place in items] == items
            assert set(stopping.array(number, "compute_unit_id", 4)) == {0}
            counters = stopping.array(number, "current_program_counter", 8)
            assert len({counters[place] for place in items}) == 1 and counters[items[0]]
            packet = stopping.array(number, "aql_packet_ptr", 8)[items[0]]
            assert runtime.device.host.read(packet, 1) == b"\2"
            assert runtime.device.host.read(stopping.slot(number)["args"], 1) == b"\3"
            seen.append((stopping.slot(number)["workgroup_size"], items[0], len(items)))
            runtime.signal_send(stopping.slot(number)["full_flag"], 0)
        runtime.device.run()
    assert sorted(seen) == [(32, 0, 32), (128, 0, 64), (128, 64, 64)]
    assert stopping.data.numpy().tolist() == [1] * 160


def test_nothing_continues_before_its_slot_is_empty(stopping: Stopping) -> None:
    stopping.made.runtime.device.run()
    assert stopping.full() == [0, 1]
    assert stopping.data.numpy().tolist() == [0] * 160
    assert stopping.made.runtime.signal_query(stopping.mailbox.signal) == (Status.SUCCESS, 2)


def test_the_queue_object_names_the_mailbox(stopping: Stopping) -> None:
    host, address = stopping.made.runtime.device.host, stopping.queue.address
    for offset, value in (
        (MAILBOX_POINTER, stopping.mailbox.address),
        (MAILBOX_SIGNAL, stopping.mailbox.signal),
    ):
        assert int.from_bytes(host.read(address + offset, 8), "little") == value
    assert stopping.mailbox.slots == 40


def test_a_queue_is_destroyed_while_its_waves_are_stopped(stopping: Stopping) -> None:
    runtime = stopping.made.runtime
    runtime.device.run()
    flag = stopping.slot(0)["full_flag"]
    assert runtime.queue_destroy(stopping.queue) is Status.SUCCESS
    assert runtime.signal_query(flag)[0] is Status.ERROR_INVALID_ARGUMENT
    runtime.device.run()
    assert all(unit.idle for unit in runtime.device.units)
    assert runtime.signal_query(stopping.done)[1] == -(1 << 62)
    assert runtime.close() is Status.SUCCESS


def test_without_execution_control_there_is_none() -> None:
    made = opened()
    found = made.runtime.queue_mailbox(made.queue())
    assert found == (Status.ERROR_INVALID_ARGUMENT, None)
    assert made.runtime.queue_mailbox(None)[0] is Status.ERROR_INVALID_ARGUMENT


def test_no_debugger_beside_waves_that_run_ahead() -> None:
    with pytest.raises(HostError, match="run ahead of the clock, which have no debugger"):
        CoreRuntime(spinning_ahead(), execution_control=True)
