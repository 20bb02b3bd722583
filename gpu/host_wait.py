"""What the host waits for while a device runs, and who has to know.

A kernel that waits for the host is no mistake as long as the host can still act. Invariant: outside
of a wait the host is taken to wait for ever, because whoever runs the device then cannot act.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import Protocol


class HostWait(Enum):
    """When the host acts again."""

    FOR_EVER = "for ever"
    """When the device has done something: a kernel that waits for the host waits in vain."""
    ON_CONDITION = "on a condition"
    """When a function of the host's says so, which may itself act."""
    FOR_A_WHILE = "for a while"
    """After some ticks at the latest."""


class Watcher(Protocol):
    """Who looks for kernels that can never end."""

    waiting: HostWait

    def progress(self) -> None:
        """Somebody else than waves has changed memory."""


class NoWatcher:
    """Nobody looks."""

    waiting = HostWait.FOR_EVER

    def progress(self) -> None:
        """Nobody wants to know."""


@contextmanager
def host_waits(watcher: Watcher, how: HostWait) -> Iterator[None]:
    """Tell a watcher for as long as the wait takes."""
    before, watcher.waiting = watcher.waiting, how
    try:
        yield
    finally:
        watcher.waiting = before
