"""The driver's calls of a process: memory that it maps is in its own page tables."""

from __future__ import annotations

import numpy as np
import pytest

from gpu import Buffer
from gpu.errors import KernelError
from gpu.host.kfd.driver import Driver
from gpu.host.kfd.memory import MemoryFlags
from gpu.memory.virtual.page_table import aperture
from tests.gpu.host.devices import EACH, MakeDevice
from tests.gpu.host.processes.test_process import added


@EACH
def test_memory_is_mapped_unmapped_and_mapped_again(make: MakeDevice) -> None:
    device = make()
    device.create_process()
    process = device.create_process()
    driver = Driver(process)
    (node,) = driver.memory.apertures
    assert node.gpuvm[1] == aperture(9).stop - 1
    driver.memory.acquire_vm(node.gpu_id, 3)
    flags = MemoryFlags.VRAM | MemoryFlags.WRITABLE
    handle, address = driver.memory.alloc(node.gpu_id, 4096, flags)
    assert address in aperture(9)
    c = Buffer(process.host, address, (64,), np.dtype(np.int32))
    x = np.arange(64, dtype=np.int32)
    a = process.alloc(x)
    for _ in range(2):
        with pytest.raises(KernelError, match="nothing is mapped there"):
            process.run(until=added(process, a, a, c, 64))
        assert driver.memory.map(handle, [node.gpu_id]) == 1
        process.run(until=added(process, a, a, c, 64))
        np.testing.assert_array_equal(c.numpy(), 2 * x)
        driver.memory.unmap(handle, [node.gpu_id])
    driver.memory.map(handle, [node.gpu_id])
    np.testing.assert_array_equal(c.numpy(), 2 * x)
    process.end()
