"""Live progress for people: one line at the bottom of a terminal, nothing elsewhere.

Invariant: progress goes to stderr, results to stdout, and without a terminal there is no progress,
so that a log holds results only.
"""

from __future__ import annotations

import sys
import time
from types import TracebackType
from typing import Any

from slicc.text.terminal import own, printable_lines


class Progress:
    """A context manager. ``total`` episodes (0: unknown)."""

    def __init__(self, total: int, wanted: bool) -> None:
        self._bar: Any = None
        self._task: Any = None
        self._started = time.monotonic()
        if wanted and sys.stderr.isatty():
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[rates]}"),
                console=Console(file=own(sys.stderr)),
                transient=True,
            )
            self._task = self._bar.add_task("episodes", total=total or None, rates="")

    def __enter__(self) -> Progress:
        self._started = time.monotonic()
        if self._bar is not None:
            self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def show(self, episodes: int, transitions: int) -> None:
        """Episodes and transitions so far."""
        if self._bar is not None:
            seconds = max(1e-9, time.monotonic() - self._started)
            rates = (
                f"{transitions:,} transitions, {transitions / seconds:,.0f}/s, "
                f"{episodes / seconds:,.0f} episodes/s"
            )
            self._bar.update(self._task, completed=episodes, rates=rates)

    def say(self, text: str) -> None:
        """A line of results, above the progress if there is any."""
        if self._bar is not None and sys.stdout.isatty():
            self._bar.console.out(printable_lines(text), highlight=False)
        else:
            print(text, flush=True)
