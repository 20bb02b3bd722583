"""The formats of statistics; apart, so that the command line imports nothing heavy."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path


class StatsFormat(StrEnum):
    """What statistics are written as."""

    text = "text"
    json = "json"
    csv = "csv"
    html = "html"


def format_of(path: Path) -> StatsFormat | None:
    """By the ending of a file; None: the ending is that of no format."""
    ending = path.suffix.lower().removeprefix(".")
    if ending in ("", "txt"):
        return StatsFormat.text
    return StatsFormat(ending) if ending in list(StatsFormat) else None
