"""The device that a command line asks for."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from gpu.cli.common.files import writing
from gpu.cli.run.options import Request
from gpu.host.device import Device
from gpu.memory.coherent.recording_file import Origin, save
from gpu.trace import Trace
from runtime.description import parse_assignment
from slicc.text.terminal import printable_lines

DEFAULT_PROTOCOL = "GPU_VIPER"


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
    protocol = request.protocol or DEFAULT_PROTOCOL
    device = Device(
        None if request.functional else protocol,
        functional=request.functional,
        cus=request.cus,
        tccs=None if request.functional else request.tccs,
        seed=request.seed,
        system=request.system,
        settings=dict(parse_assignment(text) for text in request.assignments),
        engine=request.engine,
        most_instructions=request.limit,
        checks=request.checks,
        trace=Trace(request.traces, _tell) if request.traces else None,
        record=request.record is not None,
    )
    fidelity = (
        "functional: right results on flat memory; no caches, no time"
        if request.functional
        else f"coherent: every load, store and atomic goes through the caches of {protocol} "
        f"({device.engine}); cycles are those of a model, not of a product"
    )
    return OpenedDevice(device, fidelity, not request.functional)


def _tell(line: str) -> None:
    print(printable_lines(line))


def keep_recording(device: Device, request: Request, path: Path) -> None:
    """Write what was asked of the device's memory. Raises OSError."""
    assert device.recording is not None, "the device was opened to record"
    ports = device.memory.ports
    origin = Origin(
        protocol=request.protocol or DEFAULT_PROTOCOL,
        cus=ports.cus,
        sqcs=ports.sqcs,
        tccs=request.tccs,
        seed=request.seed,
        system="" if request.system is None else str(request.system),
        settings=dict(parse_assignment(text) for text in request.assignments),
        ticks=device.now,
    )
    with writing(path):
        save(device.recording, origin, path)
