"""What the verbs take that run, draw or judge legs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from slicc.text.command.options import argument
from tester.cli.options.common import (
    RUN,
    EngineOptions,
    LegOptions,
    LegsOptions,
    ProtocolOptions,
    SeriesOptions,
    number_option,
    output_option,
    run_option,
)
from tester.formats.formats import ResultFormat
from tester.limits import CANDIDATES


@dataclass(frozen=True, kw_only=True)
class RunOptions(EngineOptions, LegsOptions, SeriesOptions):
    """``gpu-tester run``."""

    jobs: int = number_option(
        RUN, "jobs", "Processes to run legs in (1).", "--jobs", "-j", default=1
    )
    go_on: bool = run_option(
        False, "Go on behind failures; report each kind once, and list all at the end."
    )
    no_shrink: bool = run_option(
        False, "Report failing legs as they are, without bringing them down to the least."
    )
    shrink_budget: int = number_option(
        RUN,
        "shrink_budget",
        f"Candidates to try, at most, for each failing leg ({CANDIDATES:,}).",
        default=CANDIDATES,
    )
    verify: bool = run_option(
        False, "Have each program judged by the slow verifier before it runs."
    )
    save_program: Path | None = output_option(
        None, "Write the first leg as a replay file.", metavar="FILE"
    )
    format: ResultFormat = output_option(
        ResultFormat.text,
        "What results are printed as, for programs and for continuous integration; then the text "
        "goes to stderr.",
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
