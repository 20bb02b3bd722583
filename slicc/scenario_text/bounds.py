"""How much a text may ask for. The tester's programs have the same bounds."""

from __future__ import annotations

from typing import Final

MAX_LANES: Final = 64
MAX_TRANSFER_BYTES: Final = 512
"""Of one access of a DMA engine."""
MAX_PROGRAM_AGENTS: Final = 512
MOST_EPISODES: Final = 1 << 20
LONGEST_LIMIT: Final = 1 << 40
"""Ticks without progress."""
