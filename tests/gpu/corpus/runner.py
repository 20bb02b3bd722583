"""Runs a case on a device, the way a host program would."""

from __future__ import annotations

from functools import cache
from typing import Any

from gpu.host.device import Device
from gpu.host.device_core import BareDevice
from gpu.hsa.signal import Signal
from gpu.memory.coherent.factory import EngineChoice, LoadedSystem, choose_engine, load_system
from tests.gpu.corpus.case import Array, Case
from tests.gpu.kernels.stored import CONFIGURATIONS, stored


def run_case(case: Case, device: BareDevice, configuration: str = "clang14-O2") -> dict[str, Array]:
    """All launches, each completed before the next; the buffers at the end."""
    code_object = stored(case.source, configuration)
    buffers = {name: device.alloc(values, name=name) for name, values in case.buffers.items()}
    queue = device.create_queue()
    for launch in case.launches:
        done = Signal(1)
        arguments: list[Any] = [
            buffers[each] if isinstance(each, str) else each for each in launch.arguments
        ]
        queue.dispatch(
            code_object[launch.kernel],
            launch.grid,
            launch.group,
            arguments,
            completion=done,
            private_bytes=launch.private,
        )
        queue.ring()
        device.run(until=done)
    return {name: buffer.numpy() for name, buffer in buffers.items()}


def complaint(case: Case, device: BareDevice, configuration: str = "clang14-O2") -> str | None:
    """What is wrong with the buffers at the end. For gfx900, compilers keep f32 denormals."""
    denormals = CONFIGURATIONS[configuration].processor == "gfx900"
    return case.complaint(run_case(case, device, configuration), denormals)


@cache
def _system(cus: int, tccs: int, delays: str, native: bool) -> LoadedSystem:
    """Compiled once in a process."""
    settings = {"network.delays": delays}
    return load_system(cus=cus, tccs=tccs, settings=settings, native=native)


def coherent_device(
    cus: int = 2,
    tccs: int = 2,
    seed: int = 0,
    delays: str = "nominal",
    engine: EngineChoice = EngineChoice.python,
    **more: Any,
) -> Device:
    """A new device whose accesses go through the caches of GPU_VIPER."""
    system = _system(cus, tccs, delays, engine is not EngineChoice.python)
    return Device(memory=choose_engine(system, engine, seed).memory, **more)
