"""Text on a terminal, which obeys what it prints.

Commands run inside of :func:`guarded`: all that they print then (a report, a message of a
library, a traceback) passes one place that writes acting characters as escapes. Line feeds and
tabs stay: they are the layout of what we print. What is meant to steer (colours, progress)
is written to :func:`own`. Invariant: nothing else steers the reader's terminal.
"""

from __future__ import annotations

import io
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, TextIO

from slicc.text.escapes import acts, escape, visible

_SUSPECT = re.compile(r"[^\x20-\x7e\n\t]")


def printable(text: str) -> str:
    """A name or other text that must stay on its line."""
    return visible(text)


def printable_lines(text: str) -> str:
    """A text that has lines of its own."""
    return _SUSPECT.sub(lambda found: escape(found[0]) if acts(found[0]) else found[0], text)


class Guard(io.TextIOBase):
    """A stream that shows what would act. It has no ``buffer``: there is no way around it."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str, /) -> int:
        self.stream.write(printable_lines(text))
        return len(text)

    def flush(self) -> None:
        if not self.stream.closed:  # as when the guard goes after it
            self.stream.flush()

    def fileno(self) -> int:
        return self.stream.fileno()

    def isatty(self) -> bool:
        return self.stream.isatty()

    def writable(self) -> bool:
        return True

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return self.stream.encoding

    @property
    def errors(self) -> str | None:  # type: ignore[override]
        return self.stream.errors


def own(stream: Any) -> TextIO:
    """The stream behind the guard, for sequences of our own around harmless text."""
    behind: TextIO = stream.stream if isinstance(stream, Guard) else stream
    return behind


@contextmanager
def guarded() -> Iterator[None]:
    """``sys.stdout`` and ``sys.stderr`` behind guards."""
    before = sys.stdout, sys.stderr
    guards = Guard(own(sys.stdout)), Guard(own(sys.stderr))
    sys.stdout, sys.stderr = guards
    try:
        yield
    finally:
        # What replaced a guard meanwhile (a live display, a test) is not ours to undo.
        if sys.stdout is guards[0]:
            sys.stdout = before[0]
        if sys.stderr is guards[1]:
            sys.stderr = before[1]
