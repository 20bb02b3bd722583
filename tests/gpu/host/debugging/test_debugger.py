"""Waves that stop at traps of a debugger."""

from __future__ import annotations

import numpy as np
import pytest

from gpu import Buffer, Device, Signal
from gpu.errors import HostError, KernelError
from gpu.host.debugging.debugger import Debugger, Stop
from gpu.memory.flat_memory import FlatMemory
from tests.gpu.kernels.stored import stored


@pytest.fixture(params=["functional", "timed"])
def device(request: pytest.FixtureRequest) -> Device:
    return Device(cus=1) if request.param == "functional" else Device(memory=FlatMemory(cus=1))


def launched(device: Device, kernel: str = "debugtrapk") -> tuple[Buffer, Signal]:
    """A kernel of two waves that adds 1 to each number, behind its trap."""
    data, done = device.alloc(np.arange(128, dtype=np.int32)), Signal(1)
    queue = device.create_queue()
    queue.dispatch(stored("device_hsa")[kernel], 128, 128, [data], completion=done)
    queue.ring()
    return data, done


def test_waves_stop_and_continue_when_resumed(device: Device) -> None:
    debugger = Debugger(device)
    data, done = launched(device)
    device.run()
    stops = debugger.stops
    assert sorted(stop.wave for stop in stops) == [0, 1]
    assert {(stop.kernel, stop.trap, stop.group, stop.packet_id) for stop in stops} == {
        ("debugtrapk", 3, (0, 0, 0), 0)
    }
    assert done.value == 1 and data.numpy().tolist() == list(range(128))
    assert "stopped by trap 3 at 0x" in str(stops[0])
    stops[0].resume()
    device.run()
    assert done.value == 1 and debugger.stops == stops[1:]
    stops[1].resume()
    device.run(until=done)
    assert data.numpy().tolist() == list(range(1, 129))


def test_registers_are_read_and_written(device: Device) -> None:
    """Lanes that are switched off at the trap do not add."""
    seen: list[Stop] = []

    def look(stop: Stop) -> None:
        seen.append(stop)
        stop.set_exec(stop.exec & 0xFF if stop.wave == 0 else stop.exec)
        stop.set_vector(3, np.arange(64) + 7)
        assert stop.vector(3).tolist() == list(range(7, 71))
        stop.set_scalar(20, 0xFFFF_FFFF)
        stop.set_scalar("m0", 5)
        assert (stop.scalar(20), stop.scalar("m0")) == (0xFFFF_FFFF, 5)
        stop.resume()

    Debugger(device, look)
    data, done = launched(device)
    device.run(until=done)
    assert len(seen) == 2
    assert data.numpy().tolist() == [*range(1, 9), *range(8, 64), *range(65, 129)]
    for call in (seen[0].resume, lambda: seen[0].set_scalar(0, 0), lambda: seen[0].set_exec(1)):
        with pytest.raises(HostError, match="the wave of debugtrapk was resumed"):
            call()


def test_what_is_no_register() -> None:
    device = Device(cus=1)
    debugger = Debugger(device)
    launched(device)
    device.run()
    stop = debugger.stops[0]
    for call, message in (
        (lambda: stop.scalar(102), "no s102"),
        (lambda: stop.scalar("exec"), "no register 'exec'; there are vcc_lo"),
        (lambda: stop.set_scalar(0, 1 << 32), "more than 32 bits"),
        (lambda: stop.set_exec(-1), "more than 64 bits, or a sign"),
        (lambda: stop.vector(500), "no v500"),
        (lambda: stop.set_vector(0, [1.5] * 64), "64 whole numbers"),
        (lambda: stop.set_vector(0, [1]), "64 whole numbers"),
    ):
        with pytest.raises(HostError, match=message):
            call()


def test_a_queue_with_stopped_waves_is_destroyed(device: Device) -> None:
    debugger = Debugger(device)
    queue = device.create_queue()
    data = device.alloc(np.zeros(64, np.int32))
    queue.dispatch(stored("device_hsa")["debugtrapk"], 64, 64, [data])
    queue.ring()
    device.run()
    (stop,) = debugger.stops
    device.destroy(queue)
    assert all(unit.idle for unit in device.units)
    stop.resume()
    device.run()
    assert data.numpy().tolist() == [0] * 64
    data, done = launched(device)
    device.run()
    for each in debugger.stops:
        each.resume()
    device.run(until=done)
    assert data.numpy().tolist() == list(range(1, 129))


def test_the_trap_of_a_program_is_none_of_the_debugger(device: Device) -> None:
    debugger = Debugger(device)
    queue = device.create_queue()
    data = device.alloc(np.full(64, -1, np.int32))
    queue.dispatch(stored("device_hsa")["trapk"], 64, 64, [data])
    queue.ring()
    with pytest.raises(KernelError, match="trap 2"):
        device.run()
    assert not debugger.stops
