"""Devices of all kinds: without time, with pipelines, with caches, with cores."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import numpy as np
import pytest

from gpu import Device
from gpu.compute_unit.native.ctypes_api import issue_engine_library
from gpu.compute_unit.pipeline.timing_parameters import TlbParameters
from gpu.host.processes.process_table import ProcessTable
from gpu.memory.coherent.factory import LoadedSystem, choose_engine, load_system
from gpu.memory.flat_memory import FlatMemory
from tests.gpu.kernels.stored import stored

MakeDevice = Callable[[], Device]


def without_time() -> Device:
    return Device(cus=2)


def with_pipelines() -> Device:
    return Device(memory=FlatMemory(cus=2))


@cache
def viper() -> LoadedSystem:
    return load_system("GPU_VIPER", cus=2, tccs=2, native=True)


def with_caches() -> Device:
    return Device(memory=choose_engine(viper()).memory, ahead=False)


def with_cores(engine: str = "auto") -> Device:
    """Two cores and a DMA engine beside the GPU."""
    return Device("GPU_VIPER_APU", cus=2, engine=engine, ahead=False)


def with_small_tlbs(device: Device, entries: int = 2) -> Device:
    """The same device, before its first process."""
    device._process_table = ProcessTable(device.machine, TlbParameters(entries, entries, 3))
    return device


def spinning_ahead() -> Device:
    """A kernel that ends when the host has stored a 1 runs on units that run ahead of the clock."""
    if issue_engine_library() is None:
        pytest.skip("no C++ compiler")
    device = Device("GPU_VIPER", cus=1, engine="native")
    queue, flag = device.create_queue(), device.alloc(np.zeros(1, np.int32), "cc")
    queue.dispatch(stored("wait")["spin_forever"], 64, 64, [flag])
    queue.ring()
    device.run(limit=3000)
    return device


EACH = pytest.mark.parametrize(
    "make", [without_time, with_pipelines, with_caches], ids=["functional", "timed", "coherent"]
)
