"""A protocol's name, and a hash of the texts that it was compiled from."""

from __future__ import annotations

from slicc.text.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class ProtocolIdentity:
    """Which protocol it is. ``path`` is empty for shipped protocols."""

    name: str
    digest: str
    """Hash of the texts of all of its files."""
    path: str = ""
