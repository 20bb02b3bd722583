"""What the check for races costs where many waves synchronise on the same words."""

from __future__ import annotations

import cProfile

import numpy as np

from gpu import CodeObject, Device, LocalBytes
from tests.gpu.kernels.stored import stored_bytes

COUNTERS = 64


def calls(groups: int) -> int:
    """Function calls of a kernel each of whose waves adds to all counters, one a lane."""
    device = Device(cus=2, checks=["races"])
    items = groups * COUNTERS
    values = device.alloc(np.arange(items, dtype=np.uint32))
    counters = device.alloc(np.zeros(COUNTERS, np.uint32))
    arguments = [values, counters, LocalBytes(4 * COUNTERS), items, COUNTERS]
    code = CodeObject.from_bytes(stored_bytes("mixed"))
    queue = device.create_queue()
    queue.dispatch(code["bins"], items, COUNTERS, arguments)
    queue.ring()
    with cProfile.Profile() as profile:
        device.run()
    assert counters.numpy().tolist() == [groups] * COUNTERS
    return sum(entry.callcount for entry in profile.getstats())


def test_no_more_than_with_the_square_of_the_waves() -> None:
    """Each wave finds what all before it have published."""
    calls(2)  # what is done once a process
    assert calls(40) < 5 * calls(20)
