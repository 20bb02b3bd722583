"""Names in the running text of messages."""

from __future__ import annotations

from collections.abc import Sequence


def listed(names: Sequence[str]) -> str:
    """``a, b and c``; empty for none."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))
