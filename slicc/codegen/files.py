"""What a backend hands over."""

from __future__ import annotations

from slicc.text.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Package:
    """The files that a backend generates. ``files``: name -> contents, in reading order."""

    name: str
    files: dict[str, str]
