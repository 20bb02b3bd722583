"""When a device's units run ahead of the clock, and what its user sees of it: nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from gpu.compute_unit.native.native_unit import NativeUnit
from gpu.compute_unit.timed_unit import TimedUnit
from gpu.errors import KernelError
from gpu.host.device import Device
from gpu.hsa.signal import Signal
from gpu.memory.coherent.factory import EngineChoice
from gpu.trace import Trace
from tests.gpu.compute_unit.native.units import library
from tests.gpu.corpus.runner import coherent_device
from tests.gpu.kernels.stored import stored

ITEMS = 4096


def device(**options: Any) -> Device:
    library()
    return coherent_device(engine=EngineChoice.native, **options)


def add_up(made: Device) -> np.ndarray:
    """What a kernel without loops makes of 0 to `ITEMS` and of ones."""
    one, other = np.arange(ITEMS, dtype=np.float32), np.ones(ITEMS, np.float32)
    buffers = [made.alloc(values) for values in (one, other, np.zeros_like(one))]
    queue, done = made.create_queue(), Signal(1)
    queue.dispatch(stored("vadd")["vadd"], ITEMS, 64, [*buffers, ITEMS], completion=done)
    queue.ring()
    made.run(until=done)
    return buffers[2].numpy()


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({}, NativeUnit),
        ({"ahead": False}, TimedUnit),
        ({"checks": ["waits"]}, TimedUnit),
        ({"trace": Trace(["waves"], lambda line: None)}, TimedUnit),
        ({"record": True}, TimedUnit),
        ({"policy": lambda ready, last: ready}, TimedUnit),
    ],
    ids=["as it is", "ahead=False", "checks", "trace", "record", "a policy of one's own"],
)
def test_which_units(options: dict[str, Any], kind: type) -> None:
    made = device(**options)
    assert {type(unit) for unit in made.units} == {kind}
    assert add_up(made).tolist() == list(range(1, ITEMS + 1))


def test_nothing_is_recorded_past_units_that_fetch_themselves() -> None:
    made = device()
    with pytest.raises(ValueError, match="fetch past this memory"):
        made.memory.record()  # type: ignore[attr-defined]


@pytest.mark.parametrize("ahead", [False, True])
def test_a_limit_is_met_by_waves_without_loops(ahead: bool) -> None:
    made = device(ahead=ahead, most_instructions=500)
    with pytest.raises(KernelError, match="500 wave instructions have run, the limit"):
        add_up(made)


def test_one_device_after_the_other() -> None:
    """Wave numbers are reused; a second queue and a second kernel fetch the code again."""
    for _ in range(3):
        made = device()
        assert add_up(made)[-1] == ITEMS
        assert add_up(made)[-1] == ITEMS
