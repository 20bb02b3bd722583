"""Kernels that use signals and queues themselves, and variables of a program."""

from __future__ import annotations

import numpy as np
import pytest

from gpu.code_object import DispatchFacts, pack_arguments
from gpu.host.device import Device
from gpu.host.device_core import BareDevice
from gpu.hsa.signal import Signal
from tests.gpu.corpus.runner import coherent_device
from tests.gpu.kernels.stored import stored

MAKERS = {"functional": lambda: Device(cus=2), "coherent": coherent_device}


@pytest.fixture(params=MAKERS)
def device(request: pytest.FixtureRequest) -> BareDevice:
    return MAKERS[request.param]()


def run(device: BareDevice, source: str, kernel: str, *arguments: object, items: int = 1) -> None:
    """One launch in a queue of its own, to its end."""
    queue, done = device.create_queue(), Signal(1)
    queue.dispatch(stored(source)[kernel], items, 64, arguments, completion=done)
    queue.ring()
    device.run(until=done)


def test_a_kernel_stores_to_a_signal(device: BareDevice) -> None:
    signal = device.signal(5)
    run(device, "device_hsa", "signal_store", signal.handle, 17)
    assert signal.value == 17
    run(device, "device_hsa", "signal_sub", signal.handle, 20)
    assert signal.value == -3


def test_an_event_happens_when_a_kernel_signals(device: BareDevice) -> None:
    """Mailbox and interrupt, as the kernel does both by hand."""
    signal = device.signal(5)
    event = device.create_event(signal)
    run(device, "device_hsa", "signal_store", signal.handle, 0)
    assert event.count == 1


def test_a_kernel_waits_for_the_host(device: BareDevice) -> None:
    signal, done = device.signal(5), Signal(1)
    out = device.alloc(np.zeros(1, np.int64))
    queue = device.create_queue()
    kernel = stored("device_hsa")["signal_wait_lt"]
    queue.dispatch(kernel, 1, 64, [signal.handle, 3, 1 << 60, out], completion=done)
    queue.ring()
    device.run(limit=3000)
    assert done.value == 1
    signal.store(2)
    device.run(until=done)
    assert out.numpy().tolist() == [2]


def test_a_kernel_launches_another(device: BareDevice) -> None:
    """Packet, header and doorbell are written by a wave."""
    values = np.arange(100, dtype=np.int32)
    x = device.alloc(values)
    child = device.load(stored("calls"))["call1"]
    packed = pack_arguments(child.kernel, [x], DispatchFacts((100, 1, 1), (64, 1, 1), 1))
    other, done = device.create_queue(), device.signal(1)
    where = (other.address, child.object_address, device.arguments(packed.data), done.handle)
    run(device, "device_hsa", "enqueue", *where, 100)
    device.run(until=done)
    assert x.numpy().tolist() == (values * values + 1).tolist()


def test_a_debugger_trap_without_a_debugger_does_nothing(device: BareDevice) -> None:
    x = device.alloc(np.arange(128, dtype=np.int32))
    run(device, "device_hsa", "debugtrapk", x, items=128)
    assert x.numpy().tolist() == list(range(1, 129))


def test_a_variable_of_the_program_lives_from_launch_to_launch(device: BareDevice) -> None:
    code_object = stored("globals")
    counter = device.load(code_object).symbol("acount")
    for launches in (1, 2):
        run(device, "globals", "bump", items=100)
        assert int.from_bytes(device.host.read(counter, 4), "little") == 100 * launches
