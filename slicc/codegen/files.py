"""What a backend hands over."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Package:
    """What a backend makes of a protocol. ``files``: name -> contents, in the order in which they
    are worth reading."""

    name: str
    files: dict[str, str]
