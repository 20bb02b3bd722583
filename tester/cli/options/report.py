"""What ``gpu-tester report`` takes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from slicc.text.command.options import argument
from tester.cli.options.common import ENGINE, ProtocolOptions, output_option
from tester.engines.choice import Choice


@dataclass(frozen=True, kw_only=True)
class ReportOptions(ProtocolOptions):
    """``gpu-tester report``."""

    file: Path = argument("Replay file of the leg, or a scenario.", "FILE")
    output: Path | None = output_option(
        None, "Where the page is written (FILE with .html).", "--output", "-o", metavar="FILE"
    )
    engine: Choice = ENGINE
