"""What ``gpu-tester coverage`` takes."""

from __future__ import annotations

from pathlib import Path

from slicc.text.command.options import argument
from slicc.text.lazy_dataclass import dataclass
from tester.cli.options.common import Format, ProtocolOptions, output_option


@dataclass(frozen=True, kw_only=True)
class CoverageOptions(ProtocolOptions):
    """``gpu-tester coverage``. A protocol is one whose text the files must be of."""

    files: tuple[Path, ...] = argument("Files that --coverage has written.", "FILE")
    missing: bool = output_option(
        False, "List what was not hit, with the shortest way to what can be reached."
    )
    format: Format = output_option(Format.text, "What the result is printed as.")
    output: Path | None = output_option(
        None, "Write all files as one.", "--output", "-o", metavar="FILE"
    )
