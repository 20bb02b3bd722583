"""What ``gpu-tester report`` takes."""

from __future__ import annotations

from pathlib import Path

from slicc.text.command.options import argument
from slicc.text.lazy_dataclass import dataclass
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
