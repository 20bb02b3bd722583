"""Copies of DMA engines, beside kernels and cores, on both engines."""

from __future__ import annotations

import numpy as np
import pytest

from gpu import Device, GpuError
from gpu.host.processors.actions import Program, Store, Wait
from gpu.packet_processor.dma_copy import WINDOW
from tests.gpu.host.processors.devices import ENGINES, impatient, launched, opened, shared
from tests.gpu.memory.coherent.streams import loaded, on_engine

SIZE = 2 * WINDOW + 100


def copied(device: Device) -> int:
    """Copies of all alignments, of what the host, a core and a kernel have stored."""
    engine, core = device.dma(), device.cpu(0)
    source = device.alloc(np.arange(SIZE, dtype=np.uint8))
    target = device.alloc(np.zeros(SIZE + 8, np.uint8))
    core.store(source.address + 64, 0xABCD, 2)
    core.load(target.address + 128)
    expected = source.numpy()
    assert expected[64:66].tolist() == [0xCD, 0xAB]
    for first, to, size in ((0, 8, SIZE), (3, 0, 1), (63, 70, 2), (1, 5, SIZE - 1)):
        engine.copy(target.address + to, source.address + first, size)
        want = target.numpy()
        np.testing.assert_array_equal(want[to : to + size], expected[first : first + size])
    return device.now


def test_copies_on_both_engines() -> None:
    ticks = copied(opened("python"))
    assert copied(opened("native")) == ticks > 1000


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("mtype", ["rw", "cc"])
def test_kernels_copies_and_cores_see_each_other(engine: str, mtype: str) -> None:
    """A kernel reads what was copied over what it has read, and what it stores is copied."""
    device = opened(engine)
    x = np.arange(256, dtype=np.int32)
    a, b, c = (device.alloc(x * n, mtype) for n in (1, 10, 0))
    out = device.alloc_like(x)
    for factor in (2, 20):
        device.run(until=launched(device, "vadd", "vadd_i", 256, a, a, c))
        device.dma(0).copy(out.address, c.address, 1024)
        device.settle()
        np.testing.assert_array_equal(out.numpy(), x * factor)
        assert device.cpu(1).load(out.address + 40) == 10 * factor
        device.dma(0).copy(a.address, b.address, 1024)


def test_a_kernel_waits_for_a_copy_and_a_core_for_the_kernel(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    device = impatient(monkeypatch)
    flag, end = shared(device, 4096), shared(device)
    ones = device.alloc(np.ones(4096, np.int32))
    last = flag.address + 4 * 4095
    done = launched(device, "wait", "spin_forever", 64, last)
    begun = device.dma(0).start(flag.address, ones.address, 4 * 4096)

    def program() -> Program:
        yield Wait(last, 1)
        yield Store(end.address, 1)

    core = device.cpu(0).start(program)
    device.run(until=done)
    device.run(until=core)
    device.run(until=begun)
    assert begun.result is None and flag.numpy().all() and end.numpy()[0]


def test_what_is_refused_copies_nothing() -> None:
    device = opened()
    engine = device.dma(0)
    a, b = device.alloc(np.ones(32, np.int32)), device.alloc(np.zeros(32, np.int32))
    code = device.memory.space.allocate(64, writable=False, name="code").start
    for destination, source, size, words in (
        (b.address, a.address, 0, "DMA engine 0: a copy has 1 byte or more, not 0"),
        (b.address, a.address, 129, "129 bytes reach past the end of buffer"),
        (b.address + 4, a.address, 128, "128 bytes reach past the end of buffer"),
        (a.address + 4, a.address, 8, "8 bytes from 0x.* overlap those at 0x"),
        (code, a.address, 64, "code at .* may not be written"),
        (device.doorbells, a.address, 8, "is a doorbell"),
        (64, a.address, 4, "address 0x40: nothing is mapped there"),
        (-64, a.address, 4, "the destination is no number of 64 bits: -64"),
        (b.address, a.address, 1 << 64, "the size is no number of 64 bits"),
    ):
        with pytest.raises(GpuError, match=words):
            engine.copy(destination, source, size)
    device.run()
    assert not b.numpy().any()


def test_there_is_no_such_engine() -> None:
    with pytest.raises(GpuError, match="GPU_VIPER has no DMA engine; a device of GPU_VIPER_APU"):
        Device(memory=on_engine(loaded("GPU_VIPER"), "python")).dma()
    device = opened()
    assert device.dmas == 1
    with pytest.raises(GpuError, match="no DMA engine 1: the device has DMA engine 0 alone"):
        device.dma(1)
