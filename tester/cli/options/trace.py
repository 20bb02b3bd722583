"""What ``gpu-tester trace`` takes."""

from __future__ import annotations

from pathlib import Path

from slicc.text.command.options import argument
from slicc.text.lazy_dataclass import dataclass
from tester.cli.options.common import (
    EngineOptions,
    LegsOptions,
    output_option,
    run_option,
    system_option,
)
from tester.cli.options.run import STATS, STATS_FORMAT
from tester.statistics.formats import StatsFormat


@dataclass(frozen=True, kw_only=True)
class TraceOptions(EngineOptions, LegsOptions):
    """``gpu-tester trace``."""

    file: Path = argument("CSV: tick, agent, operation, address, bytes.", "FILE")
    system: Path | None = run_option(None, "System description to start from.", metavar="TOML")
    assignments: tuple[str, ...] = system_option(
        (), "Field of the system description.", "--set", metavar="PATH=VALUE"
    )
    output: Path = output_option(
        Path(), "Where the replay file of a failure goes (here).", "--output", "-o", metavar="DIR"
    )
    save_program: Path | None = output_option(
        None, "Write the requests as a replay file.", metavar="FILE"
    )
    stats: Path | None = STATS
    stats_format: StatsFormat | None = STATS_FORMAT
