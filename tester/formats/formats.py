"""The formats that a run can end in, and where its text goes meanwhile.

Invariant: nothing heavy is imported here; the command line names the formats in its help.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, redirect_stderr, redirect_stdout
from enum import StrEnum


class ResultFormat(StrEnum):
    """What the results of a run are printed as."""

    text = "text"
    json = "json"
    github = "github"
    junit = "junit"
    sarif = "sarif"


@contextmanager
def text_beside(format: ResultFormat) -> Iterator[None]:
    """What is printed meanwhile goes to stderr, so that stdout holds the document alone.

    Beside annotations of GitHub it gives no commands, whatever names it holds.
    """
    from slicc.text.results.github import PlainLog

    with ExitStack() as stack:
        if format is ResultFormat.github:
            stack.enter_context(redirect_stderr(PlainLog(sys.stderr)))
        if format is not ResultFormat.text:
            stack.enter_context(redirect_stdout(sys.stderr))
        yield
