"""How the verdict of a command that ran legs is called, by its exit status."""

from __future__ import annotations

from typing import Final

from slicc.text.command.exit_status import DISAGREE, FINE, FOUND, MISUSED, OURS

_WORDS: Final = {
    FINE: "PASSED",
    FOUND: "FAILED",
    MISUSED: "NOTHING TESTED",
    DISAGREE: "BROKEN: the engines disagree",
    OURS: "BROKEN: a fault of the tester",
}


def status_of(episodes: int) -> int:
    """Of legs that all passed: a time in which no episode completes is a wrong one."""
    return FINE if episodes else MISUSED


def verdict_word(status: int) -> str:
    """As it stands in front of the counts, and in documents."""
    return _WORDS.get(status, "INTERRUPTED")
