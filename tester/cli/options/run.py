"""What ``gpu-tester run`` takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from slicc.text.lazy_dataclass import dataclass
from tester.cli.options.common import (
    RUN,
    EngineOptions,
    LegsOptions,
    SeriesOptions,
    number_option,
    output_option,
    run_option,
)
from tester.formats.formats import ResultFormat
from tester.limits import CANDIDATES
from tester.statistics.formats import StatsFormat

STATS: Any = output_option(
    None,
    "Count what the protocol costs, and write it: .txt, .json, .csv or .html.",
    metavar="FILE",
)
STATS_FORMAT: Any = output_option(
    None, "What the file of --stats is written as, whatever its ending."
)


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
    stats: Path | None = STATS
    stats_format: StatsFormat | None = STATS_FORMAT
    format: ResultFormat = output_option(
        ResultFormat.text,
        "What results are printed as, for programs and for continuous integration; then the text "
        "goes to stderr.",
    )
