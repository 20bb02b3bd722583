"""Failures of one run that goes on behind them (``--go-on``), told apart by what they are.

Invariant: each kind is reported in full once, with the first leg that shows it; the others count.
"""

from __future__ import annotations

from pathlib import Path

from slicc.text.lazy_dataclass import dataclass
from slicc.text.terminal import printable
from tester.campaign.campaign import kind_of
from tester.execution.events import Finding
from tester.execution.leg import LegRun
from tester.program.replay_file import Leg


@dataclass(slots=True)
class Find:
    """One kind of failure. ``file``: the replay file of the leg that showed it first."""

    kind: str
    profile: str
    file: Path
    first: int
    """Number of that leg."""
    times: int = 1


class Finds:
    """All kinds of failures of a run. ``lost``: episodes that failing legs left undone."""

    def __init__(self) -> None:
        self._by_kind: dict[str, Find] = {}
        self._legs: dict[str, list[int]] = {}
        self.lost = 0

    def take_legs(self) -> dict[str, list[int]]:
        """Numbers of the failing legs of this campaign by kind; the next one begins."""
        legs, self._legs = self._legs, {}
        self.lost = 0
        return legs

    def __contains__(self, kind: str) -> bool:
        return kind in self._by_kind

    def __bool__(self) -> bool:
        return bool(self._by_kind)

    def count(self, leg: Leg, run: LegRun, finding: Finding) -> bool:
        """Count a failure; false: it is the first of its kind, which is to be added."""
        self.lost += leg.program.episodes - run.outcome.episodes
        kind = kind_of(run, finding)
        self._legs.setdefault(kind, []).append(leg.number)
        find = self._by_kind.get(kind)
        if find is None:
            return False
        find.times += 1
        return True

    def add(self, leg: Leg, run: LegRun, finding: Finding, file: Path) -> None:
        kind = kind_of(run, finding)
        self._by_kind[kind] = Find(kind, leg.profile, file, leg.number)

    def lines(self) -> list[str]:
        """A table, in the order of the first leg of each kind."""
        width = max(len(kind) for kind in self._by_kind)
        return [
            printable(
                f"{find.times:>4} x {kind:<{width}}  first in leg {find.first} "
                f"({find.profile}): {find.file}"
            )
            for kind, find in self._by_kind.items()
        ]
