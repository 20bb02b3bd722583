"""A kernel that waits for something which only the host can do, and a host that still can."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

import gpu.host.device
from gpu import Buffer, Device, Signal
from gpu.compute_unit.functional_unit import FunctionalUnit
from gpu.compute_unit.hang_detector import HangDetector
from gpu.errors import KernelError
from gpu.memory.coherent.factory import load_system
from gpu.memory.flat_memory import FlatMemory
from tests.gpu.kernels.stored import stored
from tests.gpu.memory.coherent.opened import python_memory


def without_time() -> Device:
    return Device(cus=2)


def with_pipelines() -> Device:
    return Device(memory=FlatMemory(cus=2))


def with_caches() -> Device:
    return Device(memory=python_memory(load_system("GPU_VIPER", cus=2, tccs=2)))


@pytest.fixture(
    params=[without_time, with_pipelines, with_caches], ids=["functional", "timed", "coherent"]
)
def device(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Device:
    """One whose hang detector has little patience."""
    monkeypatch.setattr(gpu.host.device, "HangDetector", partial(HangDetector, patience=50))
    make: Callable[[], Device] = request.param
    return make()


def spinning(device: Device) -> tuple[Buffer, Signal]:
    """A kernel that is done when the host has stored 1 into the buffer."""
    flag, done = device.alloc(np.zeros(1, np.int32)), Signal(1)
    queue = device.create_queue()
    queue.dispatch(stored("wait")["spin_forever"], 64, 64, [flag], completion=done)
    queue.ring()
    return flag, done


def long(device: Device) -> int:
    """Ticks after which a wait that is not excused has been called one in vain."""
    return 100 if isinstance(device.units[0], FunctionalUnit) else 3000


def release(flag: Buffer) -> None:
    flag.write(np.ones(1, np.int32))


def test_nothing_is_said_while_the_host_waits_for_a_while(device: Device) -> None:
    flag, done = spinning(device)
    for _ in range(3):
        before = device.now
        device.run(limit=long(device))
        assert device.now == before + long(device)
    device.run(until=done, limit=long(device))
    assert done.wait("<", 1, timeout=long(device)) == done.value == 1
    release(flag)
    device.run(until=done)
    assert done.value == 0


def test_nor_while_a_function_of_the_host_may_act(device: Device) -> None:
    flag, done = spinning(device)
    start = device.now

    def acts() -> bool:
        if device.now >= start + long(device) and not flag.numpy()[0]:
            release(flag)
        return done.value < 1

    device.run(until=acts)
    assert device.now >= start + long(device)


@pytest.mark.parametrize("ahead", [True, False])
def test_a_function_is_asked_beside_a_kernel_that_waits(ahead: bool) -> None:
    """Units that run ahead of the clock did not come back before the hang detector."""
    device = Device("GPU_VIPER", cus=2, ahead=ahead)
    flag, done = spinning(device)
    device.run(until=lambda: device.now >= 3000)
    assert 3000 <= device.now < 3200
    release(flag)
    device.run(until=lambda: device.packets.completed == 1)
    assert done.value == 0


def test_a_function_ends_a_run_at_the_same_tick_on_all_units() -> None:
    ends = []
    for ahead in (True, False):
        device = Device("GPU_VIPER", cus=2, ahead=ahead)
        x = device.alloc(np.arange(1000, dtype=np.int32))
        queue = device.create_queue()
        queue.dispatch(stored("vadd")["vadd_i"], 1000, 64, [x, x, x])
        queue.ring()
        device.run(until=partial(lambda one: one.packets.completed == 1, device))
        ends.append(device.now)
    assert ends[0] == ends[1]


@pytest.mark.parametrize("until", [False, True])
def test_but_when_it_waits_for_ever(device: Device, until: bool) -> None:
    _, done = spinning(device)
    device.run(limit=long(device))
    with pytest.raises(KernelError, match=r"(?s)every wave repeats.*which holds 0x0"):
        device.run(until=done if until else None)


def test_the_host_goes_on_beside_a_kernel_that_waits(device: Device) -> None:
    """Memory, code, a queue, a kernel of it: none of that waits for the first kernel."""
    flag, done = spinning(device)
    device.run(limit=long(device))
    x = np.arange(100, dtype=np.int32)
    a, c, second = device.alloc(x), device.alloc_like(x), Signal(1)
    queue = device.create_queue(cu_mask=2)
    queue.dispatch(stored("vadd")["vadd_i"], 100, 64, [a, a, c], completion=second)
    queue.ring()
    device.run(until=second)
    np.testing.assert_array_equal(c.numpy(), x * 2)
    device.run(limit=long(device))
    assert (done.value, second.value) == (1, 0)
    release(flag)
    device.run(until=done)


def test_a_condition_that_never_holds_meets_the_plain_limit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(gpu.host.device, "STILL_LIMIT", 5000)
    device = Device(cus=1)
    spinning(device)
    with pytest.raises(KernelError, match="no wave has ended and no memory has changed for 5,"):
        device.run(until=lambda: False)
