"""What the verbs take that run a leg again, draw or judge it."""

from __future__ import annotations

from pathlib import Path

from slicc.text.command.options import argument
from slicc.text.lazy_dataclass import dataclass
from tester.cli.options.common import (
    EngineOptions,
    LegOptions,
    LegsOptions,
    ProtocolOptions,
    SeriesOptions,
    output_option,
    run_option,
)


@dataclass(frozen=True, kw_only=True)
class ReplayOptions(EngineOptions, LegsOptions):
    """``gpu-tester replay``."""

    file: Path = argument("Replay file of the leg, or a scenario.", "FILE")
    trace_out: Path | None = output_option(
        None, "Write the run as trace events, which Perfetto opens.", metavar="FILE"
    )
    break_: str | None = run_option(
        None,
        "Stop before these transitions; a state or event may be *.",
        metavar="MACHINE.STATE.EVENT[@LINE]",
    )
    pdb: bool = run_option(False, "Start Python's debugger where --break stops.", "--pdb")


@dataclass(frozen=True, kw_only=True)
class DiffOptions(LegsOptions, SeriesOptions):
    """``gpu-tester diff``."""

    file: Path | None = argument("Replay file; without one, legs are drawn.", "FILE", None)


@dataclass(frozen=True, kw_only=True)
class GenerateOptions(ProtocolOptions, LegOptions):
    """``gpu-tester generate``."""

    file: Path = argument("Where the leg is written.", "FILE")
    quiet: bool = output_option(False, "Print nothing.", "--quiet", "-q")


@dataclass(frozen=True, kw_only=True)
class VerifyOptions(ProtocolOptions):
    """``gpu-tester verify``."""

    file: Path = argument(
        "Replay file of the program, or a scenario: of this, the protocol is compiled.", "FILE"
    )
