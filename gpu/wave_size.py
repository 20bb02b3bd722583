"""How wide a wave is, and how resources are rounded. Instructions, dispatch and memory agree on
it and share nothing else."""

from __future__ import annotations

from typing import Final

LANES: Final = 64


def round_up(value: int, granule: int) -> int:
    """The next multiple of ``granule``."""
    return -(-value // granule) * granule
