"""What ``gpu-tester campaign`` and ``gpu-tester status`` take."""

from __future__ import annotations

from pathlib import Path

from slicc.text.command.options import argument, hours
from slicc.text.lazy_dataclass import dataclass
from tester.cli.options.common import (
    ENGINE,
    RUN,
    Format,
    LegOptions,
    ProtocolOptions,
    number_option,
    output_option,
    run_option,
)
from tester.engines.choice import Choice
from tester.limits import CANDIDATES, LIMITS

NO_END = LIMITS["episodes"].high


@dataclass(frozen=True, kw_only=True)
class CampaignOptions(ProtocolOptions, LegOptions):
    """``gpu-tester campaign``."""

    directory: Path = argument("Where the campaign is kept; it resumes there.", "DIR")
    episodes: int = number_option(
        RUN, "episodes", "Episodes to complete, over all sessions (no end).", default=NO_END
    )
    hours: float | None = run_option(
        None, "End after this time; legs under way do not count.", metavar="HOURS", read=hours
    )
    jobs: int = number_option(
        RUN, "jobs", "Processes to run legs in (1).", "--jobs", "-j", default=1
    )
    scheduler: str | None = run_option(
        None, "Run legs on the workers of a Dask scheduler.", metavar="ADDRESS"
    )
    local_cluster: int | None = number_option(
        RUN, "jobs", "Run legs on a Dask cluster of so many workers, started here."
    )
    engine: Choice = ENGINE
    guide: bool = run_option(
        False,
        "Deal profiles and knobs by what recently brought new pairs of transitions.",
        "--guide/--no-guide",
    )
    no_shrink: bool = run_option(
        False, "Keep failing legs as they are, without bringing them down to the least."
    )
    shrink_budget: int = number_option(
        RUN,
        "shrink_budget",
        f"Candidates to try, at most, for each failing leg ({CANDIDATES:,}).",
        default=CANDIDATES,
    )
    quiet: bool = output_option(False, "Print the verdict only.", "--quiet", "-q")
    no_progress: bool = output_option(False, "No live progress.")


@dataclass(frozen=True, kw_only=True)
class StatusOptions:
    """``gpu-tester status``."""

    directory: Path = argument("Where a campaign is kept.", "DIR")
    html: Path | None = output_option(
        None, "Write one page that needs nothing else.", metavar="FILE"
    )
    format: Format = output_option(Format.text, "What the status is printed as.")
