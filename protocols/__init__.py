"""The shipped protocols: ``.sm`` and ``.slicc`` texts with one system description each.

Beside them (``systems``) lie descriptions for protocols that others wrote and keep.
"""

from pathlib import Path

DIRECTORY = Path(__file__).parent
SYSTEMS = DIRECTORY / "systems"
"""Descriptions by the names of protocols that are not shipped."""


def shipped() -> dict[str, Path]:
    """Names and files of the protocols that come with the package, by name."""
    return {path.stem: path for path in sorted(DIRECTORY.glob("*.slicc"))}
