"""What a campaign keeps of a failing leg: its cause, and files for the first leg of each cause.

Where the protocol stopped the run, the verdict names machine, state and event. Wrong data and hangs
have no such place: there, the transition that is to blame for the shrunk leg takes it. Invariant:
which legs have one cause depends on the legs alone; files are whole, and those of one cause are
written once.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from slicc.text.files import write_whole
from slicc.text.lazy_dataclass import dataclass
from tester.blame.small_leg import OnCandidate, Small, small
from tester.campaign.campaign import Campaign
from tester.campaign.drawing.profile_schedule import Turn
from tester.campaign_directory.leg_task import LegRecord
from tester.campaign_directory.store import FailureRow
from tester.diagnosis.failure_report import Failure, render
from tester.execution.events import Verdict
from tester.execution.leg import LegRun
from tester.program.replay_file import Leg, save_leg
from tester.shrink.leg_page import write_leg_page
from tester.shrink.search import DoesNotFail, finding_of
from tester.shrink.shrink_report import small_file

SHRUNK: Final = 6
"""Legs of a verdict without a place that are shrunk to know their cause; later ones are counted
with the first of that verdict."""


@dataclass(frozen=True, slots=True)
class Files:
    """``root``: the campaign's directory. ``include``, ``preludes``: with which the protocol was
    loaded."""

    root: Path
    directory: Path
    include: Sequence[Path] = ()
    preludes: Sequence[Path] = ()

    def name(self, path: Path) -> str:
        """As the store has it."""
        return path.relative_to(self.root).as_posix()


class FailureLog:
    """The causes so far. ``known``: those that are stored, and how many legs each has."""

    def __init__(
        self,
        files: Files,
        known: Sequence[tuple[FailureRow, int]],
        *,
        budget: int,
        jobs: int,
        shrinks: bool = True,
        on_candidate: OnCandidate | None = None,
    ) -> None:
        self._files = files
        self._rows = [row for row, _ in known]
        self._legs: Counter[str] = Counter()
        for row, legs in known:
            self._legs[row.kind] += legs
        self._budget = budget
        self._jobs = jobs
        self._shrinks = shrinks
        self._on_candidate = on_candidate

    def cause_of(self, campaign: Campaign, record: LegRecord) -> tuple[FailureRow, bool]:
        """The cause of a leg that failed, and whether it is a new one, whose files are written by
        now. ``campaign``: one that has run nothing. Raises ReplayError, OSError, KeyboardInterrupt.
        """
        alike = [row for row in self._rows if row.kind == record.kind]
        self._legs[record.kind] += 1
        if alike and (not self._blames(record) or self._legs[record.kind] > SHRUNK):
            return alike[0], False
        case = _Case(campaign, record)
        found = self._small(case)
        blamed = ""
        if found is not None and self._blames(record) and found.blame.suspects:
            blamed = found.blame.suspects[0].cell
        for row in alike:
            if row.blamed == blamed:
                _discard(found)
                return row, False
        row = self._written(case, found, blamed)
        self._rows.append(row)
        return row, True

    def _blames(self, record: LegRecord) -> bool:
        """Whether the cause is the transition to blame."""
        return self._shrinks and " " not in record.kind and not _is_runaway(record.kind)

    def _small(self, case: _Case) -> Small | None:
        """Runaways take so long that they are left as they are."""
        if not self._shrinks or _is_runaway(case.record.kind) or not case.failure.repeated:
            return None
        path = small_file(self._path(case))
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            found = small(
                case.leg,
                case.campaign,
                path,
                budget=self._budget,
                jobs=self._jobs,
                on_candidate=self._on_candidate,
            )
        except DoesNotFail:
            return None
        if found.shrunk.interrupted:
            _discard(found)
            raise KeyboardInterrupt
        return found

    def _path(self, case: _Case) -> Path:
        leg, verdict = case.leg, case.record.kind.split(" ")[0]
        return self._files.directory / f"leg{leg.number}-{verdict}.leg"

    def _written(self, case: _Case, found: Small | None, blamed: str) -> FailureRow:
        """Write leg, report and page; what is stored of them."""
        path = self._path(case)
        path.parent.mkdir(parents=True, exist_ok=True)
        save_leg(case.leg, path)
        files = {"leg": self._files.name(path)}
        failure = case.failure
        failure.reproduce = self._command(case, path)
        if found is not None:
            page = path.with_suffix(".html")
            protocol, least = case.campaign.protocol, found.shrunk.leg
            command = self._command(case, found.path)
            write_leg_page(
                page,
                least,
                protocol,
                finding_of(least, protocol),
                include=self._files.include,
                preludes=self._files.preludes,
                command=command,
            )
            found.describe(failure, case.campaign, command, str(page))
            files |= {"shrunk": self._files.name(found.path), "page": self._files.name(page)}
        report = path.with_suffix(".txt")
        write_whole(report, f"{render(failure)}\n".encode())
        files["report"] = self._files.name(report)
        least_words = "" if found is None else f"{found.shrunk.after}"
        record = case.record
        return FailureRow(
            len(self._rows) + 1,
            record.kind,
            blamed,
            record.headline,
            record.number,
            record.profile,
            files,
            least_words,
        )

    def _command(self, case: _Case, path: Path) -> str:
        words = ["gpu-tester", "replay", str(path)]
        if case.leg.texts is None and case.leg.protocol.path:
            words += ["--protocol", case.leg.protocol.path]
        return shlex.join(words)


def _discard(found: Small | None) -> None:
    """Remove the files of a leg that is not the first of its cause."""
    if found is not None:
        for path in (found.path, *found.others.values()):
            path.unlink(missing_ok=True)


def _is_runaway(kind: str) -> bool:
    return kind.split(" ")[0] == Verdict.RUNAWAY.value


class _Case:
    """A failing leg, run again in this process."""

    def __init__(self, campaign: Campaign, record: LegRecord) -> None:
        self.campaign = campaign
        self.record = record
        self.leg: Leg = campaign.plan(record.number, Turn(record.profile, record.pinned or {})).leg
        run, finding = campaign.run_leg(self.leg)
        assert isinstance(run, LegRun) and finding is not None, "a leg that failed fails again"
        self.failure: Failure = campaign.explain(self.leg, run, finding)
