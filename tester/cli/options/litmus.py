"""What ``gpu-tester litmus`` takes."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from slicc.text.command.options import argument, option
from slicc.text.lazy_dataclass import dataclass
from tester.cli.options.common import (
    ENGINE,
    RUN,
    SYSTEM,
    Format,
    ProtocolOptions,
    number_option,
    output_option,
    run_option,
)
from tester.engines.choice import Choice


class ModelChoice(StrEnum):
    """Memory models that outcomes are judged by."""

    sc = "sc"
    tso = "tso"


@dataclass(frozen=True, kw_only=True)
class LitmusOptions(ProtocolOptions):
    """``gpu-tester litmus``."""

    files: tuple[Path, ...] = argument(
        "Scenarios, or directories of them; without any, the litmus tests that are shipped, and "
        "the protocol's own scenarios.",
        "FILE",
        (),
    )
    runs: int = number_option(RUN, "litmus_runs", "Runs of each (100).", default=100)
    seed: int = number_option(RUN, "seed", "Everything is drawn from it (1).", default=1)
    model: ModelChoice = run_option(
        ModelChoice.sc,
        "How racy scenarios are driven and judged (sc): one access of a thread after the other, "
        "or with loads that overtake the store before them.",
    )
    assignments: tuple[str, ...] = option(
        (),
        "Field of the system description.",
        "--set",
        section=SYSTEM,
        metavar="PATH=VALUE",
    )
    engine: Choice = ENGINE
    output: Path = output_option(
        Path(), "Where runs that failed go (here).", "--output", "-o", metavar="DIR"
    )
    format: Format = output_option(Format.text, "What the result is printed as.")
    quiet: bool = output_option(False, "Print a line for each scenario.", "--quiet", "-q")
