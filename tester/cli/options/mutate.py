"""What ``gpu-tester mutate`` takes."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from slicc.text.lazy_dataclass import dataclass
from tester.cli.options.common import (
    ENGINE,
    RUN,
    ProtocolOptions,
    number_option,
    output_option,
    run_option,
)
from tester.engines.choice import Choice


class ReportFormat(StrEnum):
    """What the result is printed as."""

    text = "text"
    json = "json"
    html = "html"


@dataclass(frozen=True, kw_only=True)
class MutateOptions(ProtocolOptions):
    """``gpu-tester mutate``."""

    sample: int | None = number_option(
        RUN, "mutants", "Run so many of the mutants, always the same (all)."
    )
    episodes: int = number_option(
        RUN, "episodes", "Episodes that a mutant has to survive (20,000).", default=20_000
    )
    seed: int = number_option(RUN, "seed", "The legs are drawn from it (1).", default=1)
    explore: int | None = number_option(
        RUN,
        "max_states",
        "Also explore small systems of up to N states with each survivor: it is equivalent if "
        "every run is right (no).",
    )
    profile: str = run_option(
        "default", "How to attack; default draws another one for every leg.", metavar="NAME"
    )
    system: Path | None = run_option(None, "System description to start from.", metavar="TOML")
    jobs: int = number_option(RUN, "jobs", "Processes to run in (1).", "--jobs", "-j", default=1)
    engine: Choice = ENGINE
    output: Path | None = output_option(
        None,
        "Keep results there, and go on from those that are there.",
        "--output",
        "-o",
        metavar="DIR",
    )
    format: ReportFormat = output_option(ReportFormat.text, "What the result is printed as.")
    quiet: bool = output_option(False, "Print the score only.", "--quiet", "-q")
    no_progress: bool = output_option(False, "No live progress.")
