"""The shipped protocols: ``.sm`` and ``.slicc`` texts with one system description each.

Beside them (``systems``) lie descriptions for protocols that others wrote and keep.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

TYPE_CHECKING = False  # as type checkers know it; importing typing takes longer than the rest

__all__ = ["LoadedProtocol", "ProtocolBroken", "ProtocolMissing", "load", "shipped"]

DIRECTORY = Path(__file__).parent
SYSTEMS = DIRECTORY / "systems"
"""Descriptions by the names of protocols that are not shipped."""


def shipped() -> dict[str, Path]:
    """Names and files of the protocols that come with the package, by name."""
    return {path.stem: path for path in sorted(DIRECTORY.glob("*.slicc"))}


def run_pictures(name: str) -> list[Path]:
    """Pictures (SVG) of typical runs of a shipped protocol, by their names; there may be none."""
    return sorted((DIRECTORY / "runs" / name).glob("*.svg"))


if TYPE_CHECKING:
    from protocols.loader import LoadedProtocol, ProtocolBroken, ProtocolMissing, load
else:

    def __getattr__(name: str) -> object:
        """Import a public name when it is first used: the compiler asks only for directories."""
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module("protocols.loader"), name)

    def __dir__() -> list[str]:
        return sorted({*globals(), *__all__})
