"""Failures of one run that goes on behind them (``--go-on``), told apart by what they are.

Invariant: each kind is reported in full once, with the first leg that shows it; the others count.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from slicc.text.terminal import printable
from tester.execution.events import Finding, Verdict
from tester.execution.leg import LegRun
from tester.program.replay_file import Leg


@dataclass
class Find:
    """One kind of failure. ``file``: the replay file of the leg that showed it first."""

    kind: str
    verdict: Verdict
    profile: str
    file: Path
    legs: list[int]
    """Those that show it in the campaign that showed it first."""
    times: int = 1


class Finds:
    """All kinds of failures of a run. ``lost``: episodes that failing legs left undone."""

    def __init__(self) -> None:
        self._by_kind: dict[str, Find] = {}
        self._new: list[Find] = []
        self.lost = 0

    def take_new(self) -> list[Find]:
        """What was first seen in this campaign; the next one begins."""
        new, self._new = self._new, []
        self.lost = 0
        return new

    def __bool__(self) -> bool:
        return bool(self._by_kind)

    def count(self, leg: Leg, run: LegRun, finding: Finding) -> bool:
        """Count a failure; false: it is the first of its kind, which is to be added."""
        self.lost += leg.program.episodes - run.outcome.episodes
        find = self._by_kind.get(kind_of(run, finding))
        if find is None:
            return False
        find.times += 1
        if find in self._new:
            find.legs.append(leg.number)
        return True

    def add(self, leg: Leg, run: LegRun, finding: Finding, file: Path) -> None:
        kind = kind_of(run, finding)
        self._by_kind[kind] = Find(kind, finding.verdict, leg.profile, file, [leg.number])
        self._new.append(self._by_kind[kind])

    def lines(self) -> list[str]:
        """A table, in the order of the first leg of each kind."""
        width = max(len(kind) for kind in self._by_kind)
        return [
            printable(
                f"{find.times:>4} x {kind:<{width}}  first in leg {find.legs[0]} "
                f"({find.profile}): {find.file}"
            )
            for kind, find in self._by_kind.items()
        ]


def kind_of(run: LegRun, finding: Finding) -> str:
    """``undefined-transition L1Cache.SM.Inv``: the verdict, and where the protocol failed."""
    error = run.outcome.error
    if error is None or error.machine is None:
        return finding.verdict.value
    place = ".".join(filter(None, (error.machine, error.state, error.event)))
    return f"{finding.verdict.value} {place}"
