"""Where a verb writes what the protocol cost.

Invariant: only a session that counts has statistics, and only one with ``--stats`` counts.
"""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

from tester.cli.session import Session
from tester.statistics.documents import write
from tester.statistics.formats import StatsFormat


class StatsOptions(Protocol):
    """What ``--stats`` takes."""

    @property
    def stats(self) -> Path | None: ...

    @property
    def stats_format(self) -> StatsFormat | None: ...


def write_statistics(session: Session, options: StatsOptions) -> None:
    """After the last leg. Raises OSError."""
    statistics = session.campaign.statistics
    if options.stats is None or statistics is None:
        return
    name, totals = session.protocol.identity.name, session.campaign.totals
    seed = f", seed {session.drawn.seed}" if session.drawn.seed is not None else ""
    title = f"{name}: {totals.episodes:,} episodes{seed}"
    write(statistics, options.stats, options.stats_format, title)
