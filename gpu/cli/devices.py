"""The device that a command line asks for."""

from __future__ import annotations

from dataclasses import dataclass

from gpu.cli.request import Request
from gpu.device import Device


@dataclass(frozen=True, slots=True)
class OpenedDevice:
    """``fidelity``: what the numbers of a run on it mean, in a sentence."""

    device: Device
    fidelity: str
    timed: bool

    @property
    def ticks(self) -> str:
        """How long it took, in words."""
        return f"{self.device.now:,} cycles" if self.timed else "no time"


def open_device(request: Request) -> OpenedDevice:
    """Raises what loading a protocol or opening a memory raises, and `HostError`."""
    if request.functional:
        return OpenedDevice(
            Device(cus=request.cus, most_instructions=request.limit),
            "functional: right results on flat memory; no caches, no time",
            timed=False,
        )
    return _coherent(request)


def _coherent(request: Request) -> OpenedDevice:
    from gpu.memory.opening import DEFAULT_PROTOCOL, load_system, open_memory

    protocol = request.protocol or DEFAULT_PROTOCOL
    loaded = load_system(protocol, cus=request.cus, tccs=request.tccs, system=request.system)
    memory = open_memory(loaded, request.seed)
    return OpenedDevice(
        Device(memory=memory, most_instructions=request.limit),
        f"coherent: every load, store and atomic goes through the caches of {protocol}; cycles are "
        "those of a model, not of a product",
        timed=True,
    )
