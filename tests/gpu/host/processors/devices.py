"""Devices with two cores beside two compute units, and kernels on them."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

import gpu.host.device
from gpu import Buffer, Device, Signal
from gpu.compute_unit.hang_detector import HangDetector
from tests.gpu.kernels.stored import stored
from tests.gpu.memory.coherent.streams import ENGINES as ENGINES
from tests.gpu.memory.coherent.streams import loaded, on_engine

IN_VAIN = 6000
"""Ticks after which an impatient device calls a wait in vain."""


def opened(engine: str = "native", delays: str = "uniform", seed: int = 7) -> Device:
    """Skips where there is no compiler."""
    return Device(memory=on_engine(loaded("GPU_VIPER_APU", 2, 2, delays), engine, seed))


def impatient(monkeypatch: pytest.MonkeyPatch) -> Device:
    """One that soon calls a wait in vain."""
    monkeypatch.setattr(gpu.host.device, "HangDetector", partial(HangDetector, patience=50))
    return opened()


def shared(device: Device, count: int = 1) -> Buffer:
    """Words that are coherent at every access."""
    return device.alloc(np.zeros(count, np.int32), mtype="cc")


def launched(device: Device, source: str, kernel: str, items: int, *arguments: object) -> Signal:
    """The completion signal of a kernel in a queue of its own."""
    done = Signal(1)
    queue = device.create_queue()
    queue.dispatch(stored(source)[kernel], items, 64, [*arguments], completion=done)
    queue.ring()
    return done
