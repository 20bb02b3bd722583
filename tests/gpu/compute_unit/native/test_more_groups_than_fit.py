"""Groups that start as others end, with numbers of waves that have ended; groups that fail while
the issue engine returns for one of their waves."""

from __future__ import annotations

import numpy as np
import pytest

from gpu.errors import KernelError
from gpu.host.device import Device
from gpu.hsa.signal import Signal
from tests.gpu.compute_unit.native.units import library
from tests.gpu.kernels.stored import stored
from tests.sampling import sampled

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


@pytest.mark.parametrize("limit", sampled(range(3181, 3261, 5), 4))
def test_a_limit_that_is_passed_while_waves_run_ahead(limit: int) -> None:
    library()
    device = Device("GPU_VIPER", cus=2, tccs=1, engine="native", most_instructions=limit)
    numbers = np.zeros(4096, np.uint32)
    a, b, c = (device.alloc(numbers) for _ in range(3))
    queue, done = device.create_queue(), Signal(1)
    kernel = stored("matmul")["matmul"]
    queue.dispatch(kernel, (64, 16), (16, 16), [a, b, c, np.uint32(64)], completion=done)
    queue.ring()
    with pytest.raises(KernelError, match=f"{limit:,} wave instructions have run, the limit"):
        device.run(until=done)
