"""The document of a command that ended before it could look: its input is missing or malformed.

Invariant: a job that collects the document finds one, and in it why there is nothing else.
"""

from __future__ import annotations

from slicc.text.results.github import github_text
from slicc.text.results.junit import junit_text
from slicc.text.results.model import Found, Level, Suite, Tool
from slicc.text.results.sarif import sarif_text

_RULE = "input-error"


def unfinished(format: str, tool: Tool, suite: str, reason: str) -> str:
    """``format``: junit, sarif or github. ``suite``: the name that JUnit has otherwise, too."""
    match format:
        case "junit":
            return junit_text(Suite(suite, [], error=reason))
        case "sarif":
            return sarif_text(tool, [], [], complete=False, reason=reason)
        case "github":
            return github_text([Found(_RULE, Level.error, reason)])
    raise AssertionError(format)
