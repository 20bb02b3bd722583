"""What the command line, a device and its native parts agree on. Invariant: it imports nothing."""

from __future__ import annotations

from typing import Final

MOST_UNITS: Final = 64
"""Compute units of a device: as many machines of one kind as a system description may have."""
BANKS: Final = (1, 2, 4, 8, 16, 32, 64)
"""Banks that the shared cache may have, likewise: bits of an address say which of them has it."""


def why_not_banks(count: int) -> str | None:
    """None if the shared cache may have so many."""
    if count in BANKS:
        return None
    return ", ".join(str(each) for each in BANKS[:-1]) + f" or {BANKS[-1]} are possible"
