"""The cores of a device: their accesses one by one, and those that there are not."""

from __future__ import annotations

import numpy as np
import pytest

from gpu import Device, GpuError
from gpu.hsa.signal import VALUE
from tests.gpu.host.processors.devices import ENGINES, launched, opened, shared
from tests.gpu.kernels.stored import stored
from tests.gpu.memory.coherent.streams import loaded, on_engine


def accesses(device: Device) -> list[int]:
    """What both cores find, the host, and when."""
    first, second = device.cpu(0), device.cpu(1)
    buffer = device.alloc(np.arange(32, dtype=np.int32))
    at = buffer.address
    first.store(at, -2)
    first.store(at + 7, 0x80, 1)
    found = [second.load(at), second.load(at, 8), second.load(at + 6, 2), first.load(at + 124)]
    found += [first.atomic("add", at + 8, 5), second.atomic("cas", at + 8, 9, 7)]
    found += [second.atomic("exchange", at + 16, 1 << 40, size=8), first.load(at + 16, 8)]
    found += buffer.numpy()[:6].tolist()
    buffer.write(np.full(32, 77, np.int32))
    return [*found, first.load(at + 8), second.load(at + 8), device.now]


def test_accesses_of_both_cores_on_both_engines() -> None:
    found = accesses(opened("python"))
    low = (1 << 32) - 2
    assert found[:4] == [low, 0x8000_0001 << 32 | low, 0x8000, 31]
    assert found[4:8] == [2, 7, 5 << 32 | 4, 1 << 40]
    assert found[8:-3] == [-2, 0x8000_0001 - (1 << 32), 9, 3, 0, 256]
    assert found[-3:-1] == [77, 77], "the host has stored into lines that both cores have"
    assert accesses(opened("native")) == found


@pytest.mark.parametrize("engine", ENGINES)
def test_a_core_and_a_kernel_that_waits(engine: str) -> None:
    """The kernel runs for as long as the core does not store; accesses run the device."""
    device = opened(engine)
    flag, word = shared(device), shared(device)
    done = launched(device, "wait", "spin_forever", 64, flag)
    while device.now < 2000:
        device.cpu(1).store(word.address, device.now)
    assert done.value == 1 and device.cpu(0).load(word.address) < 2000
    device.cpu(0).store(flag.address, 1)
    device.run(until=done)


def test_a_core_reads_signals_and_rings_doorbells() -> None:
    device = opened()
    x = np.arange(64, dtype=np.int32)
    a, c = device.alloc(x), device.alloc_like(x, mtype="cc")
    queue, done = device.create_queue(), device.signal(1)
    queue.dispatch(stored("vadd")["vadd_i"], 64, 64, [a, a, c], completion=done)
    core = device.cpu(0)
    device.run()
    assert core.load(done.handle + VALUE, 8) == 1
    bell = core.load(queue.doorbell.handle + VALUE, 8)
    core.store(bell, 0, 8)
    device.run(until=done)
    assert core.load(done.handle + VALUE, 8) == 0
    assert [core.load(c.address + 4 * i) for i in (0, 1, 63)] == [0, 2, 126]


def test_there_is_no_such_core() -> None:
    with pytest.raises(GpuError, match="GPU_VIPER has no CPU; a device of GPU_VIPER_APU has some"):
        Device(memory=on_engine(loaded("GPU_VIPER"), "python")).cpu(0)
    with pytest.raises(GpuError, match="memory without caches has no CPU"):
        Device(cus=1).cpu(0)
    device = opened()
    assert device.cpus == 2
    for number in (-1, 2, "x"):
        with pytest.raises(GpuError, match=f"no CPU {number!r}: the device has CPUs 0 to 1"):
            device.cpu(number)  # type: ignore[arg-type]


def test_addresses_that_are_not_mapped() -> None:
    """Nothing is left behind that a later run would raise."""
    device = opened()
    word, core = shared(device), device.cpu(1)
    code = device.memory.space.allocate(64, writable=False, name="code").start
    for access, words in (
        (lambda: core.load(64), "CPU 1: address 0x40: nothing is mapped there"),
        (lambda: core.load(word.address + 4), "4 bytes reach past the end of buffer"),
        (lambda: core.store(code, 1), "code at .* may not be written"),
        (lambda: core.load(device.doorbells, 8), "is a doorbell"),
        (lambda: core.atomic("add", word.address + 2, 1), "no multiple of its 4 bytes"),
    ):
        with pytest.raises(GpuError, match=words):
            access()
    device.run()
    core.store(word.address, 3)
    assert core.load(word.address) == 3
