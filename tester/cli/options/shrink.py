"""What ``gpu-tester shrink`` takes."""

from __future__ import annotations

from pathlib import Path

from slicc.text.command.options import argument
from slicc.text.lazy_dataclass import dataclass
from tester.cli.options.common import (
    ENGINE,
    RUN,
    Format,
    ProtocolOptions,
    number_option,
    output_option,
)
from tester.engines.choice import Choice
from tester.limits import CANDIDATES


@dataclass(frozen=True, kw_only=True)
class ShrinkOptions(ProtocolOptions):
    """``gpu-tester shrink``."""

    file: Path = argument("Replay file of a failing leg.", "FILE")
    output: Path | None = output_option(
        None,
        "Where the small leg is written (FILE with .min.leg).",
        "--output",
        "-o",
        metavar="FILE",
    )
    budget: int = number_option(
        RUN, "shrink_budget", f"Candidates to try, at most ({CANDIDATES:,}).", default=CANDIDATES
    )
    jobs: int = number_option(
        RUN, "jobs", "Processes to run candidates in (1).", "--jobs", "-j", default=1
    )
    engine: Choice = ENGINE
    format: Format = output_option(Format.text, "What the result is printed as.")
