"""What the command line, a device and its native parts agree on. Invariant: it imports nothing."""

from __future__ import annotations

from typing import Final

MOST_UNITS: Final = 64
"""Compute units of a device: as many machines of one kind as a system description may have."""
MOST_BANKS: Final = 64
"""Banks of the shared cache, likewise."""
