"""The command ``gcn run``.

Invariant: importing this module imports nothing heavy.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from gpu.cli.common.parameters import File, KernelName
from gpu.compute_unit.pipeline.timing_parameters import Timing
from slicc.cli.exit_status import FINE, FOUND


class Trace(StrEnum):
    """What `gpu.trace.Trace` tells."""

    WAVES = "waves"
    MEMORY = "memory"
    PACKETS = "packets"


class Engine(StrEnum):
    """What `gpu.memory.coherent.factory.EngineChoice` knows."""

    PYTHON = "python"
    NATIVE = "native"
    AUTO = "auto"


_SYSTEM = "The GPU"
_CALL = "The call"
_OUTPUT = "Output"


def _option(panel: str, help_: str, *names: str, **more: Any) -> Any:
    return typer.Option(*names, help=help_, rich_help_panel=panel, show_default=False, **more)


def run(
    file: File,
    kernel: KernelName,
    grid: Annotated[
        str,
        _option(_CALL, "Work-items in each dimension.", "--grid", metavar="X[,Y[,Z]]"),
    ],
    group: Annotated[
        str,
        _option(
            _CALL, "Work-items of a group (what the kernel requires, or 64).", metavar="X[,Y[,Z]]"
        ),
    ] = "",
    arg: Annotated[
        list[str] | None,
        _option(
            _CALL,
            "An argument, in order: f32[1024]=random:1, out:f32[1024], u32=1024, a.npy, "
            "local=4096. Repeatable.",
            "--arg",
            metavar="TEXT",
        ),
    ] = None,
    expect: Annotated[
        list[str] | None,
        _option(
            _CALL,
            "What buffer N (from 0) holds at the end: 2=iota, 2=right.npy. Repeatable.",
            "--expect",
            metavar="N=VALUES",
        ),
    ] = None,
    scratch: Annotated[
        int | None,
        _option(
            _CALL,
            "Private memory of a work-item, for kernels that recurse (what the kernel says).",
            metavar="BYTES",
            min=0,
        ),
    ] = None,
    limit: Annotated[
        int | None,
        _option(
            _CALL,
            "Wave instructions after which the run fails, with what each wave does then (none).",
            metavar="N",
            min=1,
        ),
    ] = None,
    tolerance: Annotated[
        float, _option(_CALL, "By which floats may differ, relative to the expected (0).")
    ] = 0.0,
    save: Annotated[
        list[str] | None,
        _option(
            _OUTPUT,
            "Write argument N after the run: 2=c.npy. Repeatable.",
            "--save",
            metavar="N=FILE",
        ),
    ] = None,
    functional: Annotated[
        bool, _option(_SYSTEM, "Flat memory, no caches, no time: only the results.", "--functional")
    ] = False,
    protocol: Annotated[
        str | None,
        _option(_SYSTEM, "Shipped protocol, or path of a .slicc or .sm file (GPU_VIPER)."),
    ] = None,
    cus: Annotated[int, _option(_SYSTEM, "Compute units (4).", min=1, max=256)] = 4,
    tccs: Annotated[int, _option(_SYSTEM, "Banks of the shared cache (2).", min=1, max=64)] = 2,
    seed: Annotated[int, _option(_SYSTEM, "Of random delays (1).", min=0)] = 1,
    engine: Annotated[
        Engine,
        _option(
            _SYSTEM,
            "What runs the caches: compiled code, or Python; the results are the same (auto: "
            "native where there is a compiler).",
        ),
    ] = Engine.AUTO,
    system: Annotated[
        Path | None, _option(_SYSTEM, "System description (.toml).", metavar="FILE")
    ] = None,
    set_: Annotated[
        list[str] | None,
        _option(
            _SYSTEM,
            "Field of the system description: machine.TCC.parameters.WB=true; or, of the compute "
            f"units' timing, gpu.NAME=CYCLES, where NAME is {', '.join(Timing.names())}. "
            "Repeatable.",
            "--set",
            metavar="PATH=VALUE",
        ),
    ] = None,
    trace: Annotated[
        list[Trace] | None,
        _option(_OUTPUT, "Print each instruction, memory access or packet. Repeatable."),
    ] = None,
    check: Annotated[
        str,
        _option(
            _OUTPUT,
            "Look for mistakes of the kernel: races, waits, uninitialised (a comma between).",
            metavar="WHAT",
        ),
    ] = "",
    stats: Annotated[
        Path | None, _option(_OUTPUT, "Write counters as JSON.", metavar="FILE")
    ] = None,
    record: Annotated[
        Path | None,
        _option(_OUTPUT, "Write what was asked of memory, for gcn replay.", metavar="FILE"),
    ] = None,
    quiet: Annotated[
        bool, _option(_OUTPUT, "Print only what was asked for.", "--quiet", "-q")
    ] = False,
    no_progress: Annotated[bool, _option(_OUTPUT, "No live progress.", "--no-progress")] = False,
) -> None:
    """Run a kernel: packet, doorbell, waves, caches, completion signal."""
    from gpu.cli.run.options import Request
    from gpu.cli.run.session import run as run_session

    request = Request(
        file=file,
        kernel=kernel,
        grid=grid,
        group=group,
        arguments=tuple(arg or ()),
        expectations=tuple(expect or ()),
        scratch=scratch,
        limit=limit,
        tolerance=tolerance,
        saves=tuple(save or ()),
        functional=functional,
        protocol=protocol,
        cus=cus,
        tccs=tccs,
        seed=seed,
        engine=engine.value,
        system=system,
        assignments=tuple(set_ or ()),
        traces=tuple(kind.value for kind in trace or ()),
        checks=tuple(name for name in check.replace(" ", "").split(",") if name),
        stats=stats,
        record=record,
        quiet=quiet,
        progress=not no_progress,
    )
    raise typer.Exit(FINE if run_session(request) else FOUND)
