"""Groups that start as others end, with numbers of waves that have ended."""

from __future__ import annotations

import numpy as np

from gpu.device import Device
from gpu.hsa.signal import Signal
from tests.gpu.front.units import library
from tests.gpu.kernels.stored import stored

COUNT = 64 * 50
"""Fifty groups of a wave; a unit holds forty."""


def test_all_of_them_run_and_take_as_long() -> None:
    library()
    ticks = []
    for engine in ("python", "native"):
        device = Device("GPU_VIPER", cus=1, tccs=1, engine=engine)
        numbers = np.arange(COUNT, dtype=np.float32)
        a, b, c = (device.alloc(values) for values in (numbers, numbers, np.zeros_like(numbers)))
        queue = device.create_queue()
        kernel = stored("vadd")["vadd"]
        done = Signal(1)
        queue.dispatch(kernel, COUNT, 64, [a, b, c, np.uint32(COUNT)], completion=done)
        queue.ring()
        device.run(until=done)
        np.testing.assert_array_equal(c.numpy(), 2 * numbers)
        ticks.append(device.now)
    assert ticks[0] == ticks[1]
