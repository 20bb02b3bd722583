"""How wide a wave is. Instructions, dispatch and memory agree on it and share nothing else."""

from __future__ import annotations

from typing import Final

LANES: Final = 64
