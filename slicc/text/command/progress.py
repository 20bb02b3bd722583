"""A line at the bottom of a terminal while a command works; nothing elsewhere.

Another thread asks for the line, so that the work is the same with it and without it. Invariant:
progress goes to stderr and leaves nothing behind; without a terminal there is none, so that a log
holds results only.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Any, TextIO

from slicc.text.terminal import own, printable_lines

_GOOD, _BAD, _PLAIN = "\x1b[1;32m", "\x1b[1;31m", "\x1b[0m"


def colored(stream: TextIO) -> bool:
    """Whether to colour what a stream shows: a terminal, unless NO_COLOR or TERM=dumb is set."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return not plain and stream.isatty()


class Progress:
    """A context manager, during which ``line`` is shown as it is at the time."""

    def __init__(self, line: Callable[[], str], wanted: bool) -> None:
        self._line = line
        self._wanted = wanted and sys.stderr.isatty()
        self._live: Any = None

    def __enter__(self) -> Progress:
        if self._wanted:
            from rich.console import Console
            from rich.live import Live
            from rich.text import Text

            # It asks for a line at once: a caller may have none before it has begun.
            self._live = Live(
                get_renderable=lambda: Text(self._line(), overflow="ellipsis", no_wrap=True),
                console=Console(file=own(sys.stderr)),
                transient=True,
            )
            self._live.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def verdict(self, word: str, rest: str, *, good: bool) -> None:
        """``PASSED: ...``: the word in green or red where there are colours."""
        if colored(sys.stdout):
            stream = own(sys.stdout)
            stream.write(f"{_GOOD if good else _BAD}{printable_lines(word)}{_PLAIN}")
            print(f": {rest}", flush=True)
        else:
            print(f"{word}: {rest}", flush=True)

    def say(self, text: str) -> None:
        """A line of results, above the progress if there is any."""
        if self._live is not None and sys.stdout.isatty():
            self._live.console.out(printable_lines(text), highlight=False)
        else:
            print(text, flush=True)
