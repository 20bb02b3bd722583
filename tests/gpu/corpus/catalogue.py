"""All cases, in the order of their modules."""

from __future__ import annotations

from tests.gpu.corpus import algorithms, arith, basic, mixed, programs, races, waves

CASES = [
    *basic.CASES, *programs.CASES, *mixed.CASES, *algorithms.CASES, *waves.CASES, *races.CASES,
    *arith.CASES,
]  # fmt: skip

ELSEWHERE = {
    "lock.lanelock": "never ends, and is reported as such",
    "wait.spin_forever": "never ends, and is reported as such",
    "wait.loop_forever": "never ends, and is reported as such",
    "wait.lost_barrier": "never ends, and is reported as such",
    "device_hsa.trapk": "stops its queue",
    "device_hsa.debugtrapk": "needs a queue",
    "device_hsa.signal_store": "needs a signal",
    "device_hsa.signal_sub": "needs a signal",
    "device_hsa.signal_wait_lt": "needs a signal",
    "device_hsa.enqueue": "needs a queue",
}
"""Kernels that are no case, with the reason; `test_endings` and `test_device_side` run them."""
