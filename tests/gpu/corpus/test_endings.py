"""Kernels that do not end, or end badly: what their user reads."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest

import gpu.host.device
from gpu.compute_unit.hang_detector import HangDetector
from gpu.errors import KernelError
from gpu.host.device import Device
from gpu.host.device_core import BareDevice
from gpu.hsa.queue_state import QueueState
from gpu.hsa.signal import Signal
from gpu.memory.coherent.factory import EngineChoice
from tests.gpu.corpus.runner import coherent_device
from tests.gpu.kernels.stored import stored
from tests.sampling import sampled

MAKERS = {
    "functional": lambda: Device(cus=2),
    "coherent": coherent_device,
    "ahead": lambda: coherent_device(engine=EngineChoice.auto),
}


@pytest.fixture(params=MAKERS)
def make(request: pytest.FixtureRequest) -> Callable[[], BareDevice]:
    return MAKERS[request.param]


WAITING = (
    (("lock", "lanelock"), 64, 2),
    (("wait", "spin_forever"), 64, 1),
    (("wait", "lost_barrier"), 128, 2),
)
"""Kernels, their groups' sizes, and how many buffers they take."""


def failure(device: BareDevice, kernel: tuple[str, str], group: int, *values: object) -> str:
    """What a kernel of 128 work-items fails with."""
    source, name = kernel
    queue = device.create_queue()
    done = Signal(1)
    buffers = [device.alloc(np.asarray(value)) for value in values]
    queue.dispatch(stored(source)[name], 128, group, buffers, completion=done)
    queue.ring()
    with pytest.raises(KernelError) as caught:
        device.run(until=done)
    assert queue.state is QueueState.INACTIVE
    assert done.value < 0
    return str(caught.value)


@pytest.mark.parametrize(("kernel", "group", "buffers"), sampled(WAITING, 6))
@pytest.mark.parametrize(
    "maker", ["functional", "ahead", pytest.param("coherent", marks=pytest.mark.slow)]
)
def test_who_waits_for_what(
    maker: str,
    kernel: tuple[str, str],
    group: int,
    buffers: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    if maker == "ahead":
        monkeypatch.setattr(gpu.host.device, "HangDetector", partial(HangDetector, patience=500))
    device = MAKERS[maker]()
    words = [np.zeros(128, np.int32) for _ in range(buffers)]
    text = failure(device, kernel, group, *words)
    assert f"kernel {kernel[1]}: every wave repeats what it did" in text
    assert "wave 0 of group (0, 0, 0)" in text
    if kernel[1] == "lanelock":
        assert "lanes 1-63: address" in text
        assert "changed last by lane 0 of wave 0 of group" in text
        assert "which holds 0x1" in text
    elif kernel[1] == "lost_barrier":
        assert "waits at a barrier" in text


def test_a_loop_without_memory_ends_at_the_limit() -> None:
    device = Device(cus=1, most_instructions=3000)
    text = failure(device, ("wait", "loop_forever"), 64, np.zeros(1, np.int32))
    assert "the limit that was given" in text and "loop_forever" in text


def test_a_trap_stops_its_queue(make: Callable[[], BareDevice]) -> None:
    values = np.ones(128, np.int32)
    values[77] = -1
    text = failure(make(), ("device_hsa", "trapk"), 64, values)
    assert "kernel trapk: wave 0 of group (1, 0, 0) of trapk" in text
    assert re.search(r"`s_trap 2` \(trapk\+0x[0-9a-f]+\): trap 2", text)


def test_an_address_past_a_buffer(make: Callable[[], BareDevice]) -> None:
    """The last lanes run past the buffer's end; the first of them is still in its last page."""
    values = np.zeros(1024 - 8, np.int32)
    device = make()
    queue, done = device.create_queue(), Signal(1)
    a, c = device.alloc(values), device.alloc(values)
    queue.dispatch(stored("vadd")["vadd_i"], 1024, 64, [a, a, c], completion=done)
    queue.ring()
    with pytest.raises(
        KernelError, match=r"kernel vadd_i: .*flat_load_dword.* lane 56: address.*past the end"
    ):
        device.run(until=done)
