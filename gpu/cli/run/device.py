"""The device that a command line describes."""

from __future__ import annotations

from pathlib import Path

from gpu.cli.run.options import DeviceOptions
from gpu.errors import HostError
from gpu.host.device import Device
from gpu.host.processes.context import Context
from gpu.host.processes.process import Process
from gpu.memory.coherent.recording_file import Origin, save
from gpu.trace import Trace
from runtime.description import parse_assignment
from slicc.text.lazy_dataclass import dataclass
from slicc.text.terminal import printable_lines

DEFAULT_PROTOCOL = "GPU_VIPER"


@dataclass(frozen=True, slots=True)
class OpenedDevice:
    """``fidelity``: the meaning of a run's numbers, in a sentence. ``process``: where everything
    runs, if that is not the device itself."""

    device: Device
    fidelity: str
    timed: bool
    process: Process | None = None

    @property
    def context(self) -> Context:
        """Where the host program runs."""
        return self.process or self.device

    @property
    def ticks(self) -> str:
        """How long it took, as text."""
        return f"{self.device.now:,} cycles" if self.timed else "no time"


def open_device(options: DeviceOptions) -> OpenedDevice:
    """Raises what loading a protocol or opening a memory raises, and `HostError`."""
    if options.functional:
        _check_functional(options)
    protocol = options.protocol or DEFAULT_PROTOCOL
    device = Device(
        None if options.functional else protocol,
        functional=options.functional,
        cus=options.cus,
        tccs=None if options.functional else options.tccs,
        seed=options.seed,
        system=options.system,
        settings=dict(parse_assignment(text) for text in options.assignments),
        engine=options.engine,
        most_instructions=options.limit,
        checks=options.checks,
        trace=Trace(options.traces, _print_line) if options.traces else None,
        record=options.record is not None,
        profile=options.profile or options.trace_out is not None,
        ahead=options.core is None,
    )
    process = device.create_process() if options.process else None
    engine = device.engine + ", and units that run ahead of the clock" * device.runs_ahead
    fidelity = (
        "functional: right results on flat memory; no caches, no time"
        if options.functional
        else f"coherent: every load, store and atomic goes through the caches of {protocol} "
        f"({engine}); cycles are those of a model, not of a product"
    )
    return OpenedDevice(device, fidelity, not options.functional, process)


def _check_functional(options: DeviceOptions) -> None:
    """Raises HostError for what flat memory without time cannot have."""
    no_protocol, no_time = "only caches have a protocol", "only a device with time has a profile"
    for option, value, why in (
        ("--protocol", options.protocol, no_protocol),
        ("--system", options.system, "only the system of a protocol has a description"),
        ("--profile", options.profile, no_time),
        ("--trace-out", options.trace_out, no_time),
    ):
        if value:
            raise HostError(f"{option} with --functional: {why}")


def _print_line(line: str) -> None:
    print(printable_lines(line))


def keep_recording(device: Device, options: DeviceOptions, path: Path) -> None:
    """Write the recorded requests to the device's memory. Raises OSError."""
    assert device.recording is not None, "the device was opened to record"
    ports = device.memory.ports
    origin = Origin(
        protocol=options.protocol or DEFAULT_PROTOCOL,
        cus=ports.cus,
        sqcs=ports.sqcs,
        tccs=options.tccs,
        seed=options.seed,
        system="" if options.system is None else str(options.system),
        settings=dict(parse_assignment(text) for text in options.assignments),
        ticks=device.now,
        cpus=ports.cpus,
        dmas=ports.dmas,
    )
    save(device.recording, origin, path)
