"""A trap handler in memory: entered by traps, left by a return or with an error of the queue."""

from __future__ import annotations

import numpy as np
import pytest

from gpu import Buffer, Device, Signal
from gpu.errors import HostError, KernelError
from gpu.host.debugging.trap_handler import set_trap_handler
from gpu.hsa.queue_state import QueueState
from gpu.hsa.signal import ERROR_VALUE
from gpu.memory.flat_memory import FlatMemory
from tests.gpu.compute_unit.machine_code import code
from tests.gpu.kernels.stored import stored


@pytest.fixture(params=["functional", "timed"])
def device(request: pytest.FixtureRequest) -> Device:
    return Device(cus=1) if request.param == "functional" else Device(memory=FlatMemory(cus=1))


def with_handler(device: Device) -> Buffer:
    """The handler; where it stores the numbers of traps."""
    seen = device.alloc(np.zeros(1, np.uint32), mtype="cc")
    handler = device.alloc(np.frombuffer(code("trap_handler"), np.uint8))
    set_trap_handler(device, handler.address, seen.address)
    return seen


def test_a_handler_that_returns(device: Device) -> None:
    seen, data, done = with_handler(device), device.alloc(np.arange(64, dtype=np.int32)), Signal(1)
    queue = device.create_queue()
    queue.dispatch(stored("device_hsa")["debugtrapk"], 64, 64, [data], completion=done)
    queue.ring()
    device.run(until=done)
    assert seen.numpy().tolist() == [3]
    assert data.numpy().tolist() == list(range(1, 65))


def test_a_handler_that_reports_an_error(device: Device) -> None:
    seen, data, failed = with_handler(device), device.alloc(np.full(64, -1, np.int32)), Signal(1)
    queue = device.create_queue()
    queue.dispatch(stored("device_hsa")["trapk"], 64, 64, [data], completion=failed)
    queue.ring()
    with pytest.raises(KernelError, match=r"queue 0: .*its trap handler has reported error 9"):
        device.run()
    assert seen.numpy().tolist() == [2]
    assert (failed.value, queue.state) == (ERROR_VALUE, QueueState.INACTIVE)
    assert all(unit.idle for unit in device.units)


def test_without_a_handler_again(device: Device) -> None:
    seen, data = with_handler(device), device.alloc(np.full(64, -1, np.int32))
    set_trap_handler(device, 0)
    queue = device.create_queue()
    queue.dispatch(stored("device_hsa")["trapk"], 64, 64, [data])
    queue.ring()
    with pytest.raises(KernelError, match="trap 2"):
        device.run()
    assert seen.numpy().tolist() == [0]


def test_where_a_handler_may_lie() -> None:
    device = Device(cus=1)
    place = device.alloc(np.zeros(512, np.uint8)).address
    for base, memory, message in (
        (place + 4, 0, "256-byte aligned"),
        (1 << 40, 0, "the trap handler at 0x10000000000 is not mapped"),
        (place, 1 << 40, "the memory of a trap handler at"),
    ):
        with pytest.raises(HostError, match=message):
            set_trap_handler(device, base, memory)
