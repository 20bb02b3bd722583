"""The options of ``gcn run`` and ``gcn launch``; see `slicc.text.command.options`."""

from __future__ import annotations

from collections.abc import Iterable
from enum import StrEnum
from functools import partial
from pathlib import Path

from gpu.cli.options import Engine, KernelOptions, SourceOptions
from gpu.compute_unit.pipeline.timing_parameters import Timing
from gpu.device_limits import BANKS, MOST_UNITS, why_not_banks
from slicc.text.command.options import MISSING, argument, between, integer, not_negative, option
from slicc.text.lazy_dataclass import dataclass


class Trace(StrEnum):
    """What `gpu.trace.Trace` reports."""

    WAVES = "waves"
    MEMORY = "memory"
    PACKETS = "packets"


_call = partial(option, section="The call")
_system = partial(option, section="The GPU")
_output = partial(option, section="Output")


def _shipped() -> Iterable[str]:
    """The shipped protocols with caches for a GPU."""
    from protocols import shipped

    return [name for name in shipped() if name.startswith("GPU_")]


@dataclass(frozen=True, kw_only=True)
class DeviceOptions:
    """The GPU that kernels run on, how they are watched, and what is printed."""

    limit: int | None = _call(
        None,
        "Wave instructions after which the run fails, with what each wave does then (none).",
        metavar="N",
        read=between(1),
    )
    tolerance: float = _call(
        0.0,
        "By which floats may differ, relative to the expected (0).",
        metavar="RATIO",
        read=not_negative("a tolerance"),
    )
    verify: bool = _call(
        False, "Compare all buffers at the end with those of a run without caches and time."
    )
    functional: bool = _system(False, "Flat memory, no caches, no time: only the results.")
    protocol: str | None = _system(
        None,
        "Shipped protocol, or path of a .slicc or .sm file (GPU_VIPER).",
        metavar="NAME|PATH",
        complete=_shipped,
    )
    cus: int = _system(
        4, "Compute units (4).", metavar=f"1..{MOST_UNITS}", read=between(1, MOST_UNITS)
    )
    tccs: int = _system(
        2,
        "Banks of the shared cache (2).",
        metavar="|".join(map(str, BANKS)),
        read=integer(why_not_banks),
    )
    seed: int = _system(1, "Of random delays (1).", metavar="N", read=between(0))
    engine: Engine = _system(
        Engine.AUTO,
        "What runs the caches: compiled code, or Python; the results are the same (auto: native "
        "where there is a compiler).",
    )
    system: Path | None = _system(None, "System description (.toml).", metavar="FILE")
    assignments: tuple[str, ...] = _system(
        (),
        "Field of the system description: machine.TCC.parameters.WB=true; or, of the compute "
        f"units' timing, gpu.NAME=CYCLES, where NAME is {', '.join(Timing.names())}. Repeatable.",
        "--set",
        metavar="PATH=VALUE",
    )
    process: bool = _system(
        False, "Run in a process with an address space of its own: page tables, TLBs (gpu.tlb)."
    )
    traces: tuple[Trace, ...] = _output(
        (),
        "Print each instruction, memory access or packet. Repeatable.",
        "--trace",
        metavar="|".join(Trace),
    )
    check: str = _output(
        "",
        "Look for mistakes of the kernel: races, waits, uninitialised (a comma between).",
        metavar="WHAT",
    )
    profile: bool = _output(
        False, "Print where the time goes: by line of the source and by instruction."
    )
    trace_out: Path | None = _output(
        None,
        "Write waves, stalls and accesses as a picture for Perfetto or chrome://tracing.",
        metavar="FILE",
    )
    stats: Path | None = _output(None, "Write counters as JSON.", metavar="FILE")
    record: Path | None = _output(
        None, "Write the requests to memory, for gcn replay.", metavar="FILE"
    )
    core: Path | None = _output(
        None, "Write a core file if a kernel fails, for gcn core.", metavar="FILE"
    )
    quiet: bool = _output(False, "Print only the requested results.", "--quiet", "-q")
    no_progress: bool = _output(False, "No live progress.")

    @property
    def checks(self) -> tuple[str, ...]:
        """The names of `check`."""
        return tuple(name for name in self.check.replace(" ", "").split(",") if name)


@dataclass(frozen=True, kw_only=True)
class RunOptions(DeviceOptions, KernelOptions):
    """One call of ``gcn run``."""

    grid: str = _call(MISSING, "Work-items in each dimension.", metavar="X[,Y[,Z]]")
    group: str = _call(
        "", "Work-items of a group (what the kernel requires, or 64).", metavar="X[,Y[,Z]]"
    )
    arguments: tuple[str, ...] = _call(
        (),
        "An argument, in order: f32[1024]=random:1, out:f32[1024], u32=1024, a.npy, local=4096. "
        "Repeatable.",
        "--arg",
        metavar="TEXT",
    )
    expectations: tuple[str, ...] = _call(
        (),
        "What buffer N (from 0) holds at the end: 2=iota, 2=right.npy. Repeatable.",
        "--expect",
        metavar="N=VALUES",
    )
    scratch: int | None = _call(
        None,
        "Private memory of a work-item, for kernels that recurse (what the kernel says).",
        metavar="BYTES",
        read=between(0),
    )
    saves: tuple[str, ...] = _output(
        (), "Write argument N after the run: 2=c.npy. Repeatable.", "--save", metavar="N=FILE"
    )


@dataclass(frozen=True, kw_only=True)
class LaunchOptions(DeviceOptions, SourceOptions):
    """``gcn launch``: the file has the kernels, the buffers and the calls."""

    file: Path = argument("What is launched (.toml).", "FILE")
