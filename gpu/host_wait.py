"""What the host waits for while a device runs, reported to the hang detector.

A kernel that waits for the host is no mistake as long as the host can still act. Invariant: outside
of a wait the host is taken to wait for ever, because the caller that runs the device cannot act.
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
    """When a function of the host returns true, which may itself act."""
    FOR_A_WHILE = "for a while"
    """After some ticks at the latest."""


class WaitObserver(Protocol):
    """What looks for kernels that can never end."""

    waiting: HostWait
    acting: int
    """Agents that act again by themselves, whatever the waves do."""

    def progress(self) -> None:
        """An agent other than waves has changed memory."""


class NoObserver:
    """Nothing looks for such kernels."""

    waiting = HostWait.FOR_EVER
    acting = 0

    def progress(self) -> None:
        """Ignored."""


@contextmanager
def host_waits(observer: WaitObserver, how: HostWait) -> Iterator[None]:
    """Notify an observer for as long as the wait takes."""
    before, observer.waiting = observer.waiting, how
    try:
        yield
    finally:
        observer.waiting = before
