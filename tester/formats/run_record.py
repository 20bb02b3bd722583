"""What a command learns while its legs run, kept for the document at its end.

Invariant: its size is bounded by the numbers of profiles and of reported failures, not by that of
the legs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import field
from pathlib import Path
from typing import TYPE_CHECKING

from protocols.loader import LoadedProtocol, locate
from slicc.text.command.exit_status import FINE, FOUND
from slicc.text.lazy_dataclass import dataclass
from tester.campaign.campaign import Totals
from tester.campaign.coverage import Coverage

if TYPE_CHECKING:
    from slicc.text.results.model import Place
    from tester.blame.blame import Blame
    from tester.diagnosis.failure_report import Failure


@dataclass(slots=True)
class ProfileRecord:
    """The legs of one profile; ``failed`` counts them by their kind of failure."""

    legs: int = 0
    failed: dict[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FailureRecord:
    """A failure that was reported in full. ``cell`` and ``where``: the transition to blame, and its
    line as the report has it; empty: not known. ``files``: replay files and pages by what they
    are."""

    leg: int
    profile: str
    kind: str
    verdict: str
    headline: str
    cell: str
    where: str
    report: str
    command: str
    files: dict[str, str]

    @staticmethod
    def of(
        failure: Failure, kind: str, report: str, blame: Blame | None, files: Mapping[str, Path]
    ) -> FailureRecord:
        """``blame``: None: the leg was not shrunk. Of the ``files``, those that were written."""
        leg, finding = failure.leg, failure.finding
        cell, where = _blamed(failure, blame)
        return FailureRecord(
            leg=leg.number,
            profile=leg.profile,
            kind=kind,
            verdict=finding.verdict.value,
            headline=finding.headline,
            cell=cell,
            where=where,
            report=report,
            command=failure.reproduce,
            files={what: str(file) for what, file in files.items() if file.is_file()},
        )

    def place(self, protocol: LoadedProtocol) -> Place:
        """The line of the transition to blame; else that of the protocol's driver."""
        from slicc.text.results.model import Place, place_name

        name, _, line = self.where.rpartition(":")
        driver = Path(protocol.identity.path or locate(protocol.identity.name)[0])
        for file in _files_named(name, driver, protocol):
            if line.isdecimal() and int(line):
                return Place(place_name(file), int(line))
        return Place(place_name(driver), 1)


@dataclass(slots=True)
class RunRecord:
    """What the run of one command came to."""

    profiles: dict[str, ProfileRecord] = field(default_factory=dict)
    failures: list[FailureRecord] = field(default_factory=list)

    def add_leg(self, profile: str, kind: str = "") -> None:
        """``kind``: of its failure; empty: it passed."""
        record = self.profiles.setdefault(profile, ProfileRecord())
        record.legs += 1
        if kind:
            record.failed[kind] = record.failed.get(kind, 0) + 1


@dataclass(frozen=True, slots=True)
class RunEnd:
    """A run that has ended. ``word``: its verdict, as the text has it."""

    record: RunRecord
    protocol: LoadedProtocol
    totals: Totals
    coverage: Coverage
    seed: int
    version: str
    engine: str
    status: int
    word: str
    seconds: float

    @property
    def complete(self) -> bool:
        """Whether the tester came to a verdict about the protocol."""
        return self.status in (FINE, FOUND)


def _blamed(failure: Failure, blame: Blame | None) -> tuple[str, str]:
    """Transition and line: of the first suspect, else of the controller that failed."""
    if blame is not None and blame.suspects:
        return blame.suspects[0].cell, blame.suspects[0].where
    error = failure.run.outcome.error
    return failure.run.place, "" if error is None else error.location or ""


def _files_named(name: str, driver: Path, protocol: LoadedProtocol) -> Iterator[Path]:
    """Where a file of a protocol lies: reports have its name only."""
    directory = driver.parent
    known = () if protocol.texts is None else protocol.texts.files
    for candidate in (name, *(each for each in known if Path(each).name == name)):
        if name and (directory / candidate).is_file():
            yield directory / candidate
