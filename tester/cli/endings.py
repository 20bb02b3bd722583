"""How commands end: the word of a verdict, and the message for an error in the user's input."""

from __future__ import annotations

from typing import Final

from slicc.text.command.exit_status import DISAGREE, FINE, FOUND, MISUSED, OURS, Stop

_WORDS: Final = {
    FINE: "PASSED",
    FOUND: "FAILED",
    MISUSED: "NOTHING TESTED",
    DISAGREE: "BROKEN: the engines disagree",
    OURS: "BROKEN: a fault of the tester",
}


def status_of(episodes: int) -> int:
    """The exit status of legs that all passed: a time in which no episode completes is misuse."""
    return FINE if episodes else MISUSED


def verdict_word(status: int) -> str:
    """An exit status as a word, in front of the counts and in documents."""
    return _WORDS.get(status, "INTERRUPTED")


def input_error(error: Exception) -> Stop | None:
    """The message that ends the command; None: it is a fault of ours."""
    from protocols.loader import ProtocolBroken, ProtocolMissing
    from runtime.description import DescriptionError
    from slicc.scenario_text.errors import ScenarioError
    from tester.errors import ConfigError
    from tester.program.replay_file import ReplayError
    from tester.trace_file.reader import TraceError

    if isinstance(error, ProtocolBroken | ScenarioError):
        return Stop(str(error), complete=True)
    given = (ProtocolMissing, DescriptionError, ReplayError, ConfigError, TraceError)
    return Stop(str(error)) if isinstance(error, given) else None
