"""Names, numbers and times in the running text of messages."""

from __future__ import annotations

from collections.abc import Sequence


def listed(names: Sequence[str]) -> str:
    """``a, b and c``; empty for none."""
    return " and ".join(filter(None, (", ".join(names[:-1]), *names[-1:])))


def first_few(items: Sequence[str], most: int) -> str:
    """``a, b and 7 more``: a line that people read has an end."""
    more = len(items) - most
    return ", ".join(items[:most]) + (f" and {more:,} more" if more > 0 else "")


def counted(number: int, noun: str) -> str:
    """A number with its noun in the right form: ``1 leg``, ``1,200 legs``."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def duration(seconds: float) -> str:
    """``0:07``, ``1:02:30``."""
    minutes, rest = divmod(int(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
