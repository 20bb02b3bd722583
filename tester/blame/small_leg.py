"""Shrinks a failing leg and finds what is to blame, within a limit of time, in several processes.

Invariant: what is printed depends on the leg and the options, except where time was short.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

from runtime.system.builder import build_system
from slicc.text.lazy_dataclass import dataclass
from tester.blame.blame import Blame, blame
from tester.blame.report import as_lines
from tester.campaign.campaign import Campaign, leg_run
from tester.campaign.workers import OutOfTime
from tester.diagnosis.failure_report import Failure, refine
from tester.diagnosis.likely_causes import is_external
from tester.program.program import Program
from tester.program.replay_file import Leg
from tester.shrink.search import Shrinker, Shrunk, finding_of
from tester.shrink.shrink_report import as_text, save
from tester.shrink.trials import ParallelTrials, Trials

MAX_SECONDS: Final = 60.0
"""A last resort, for legs of which each run takes long."""

_FEW: Final = 24
"""Accesses up to which a leg has suspects although it could be smaller: each has a neighbour."""

OnCandidate = Callable[[int, Program], None]
"""Called with the candidates tried so far, and the smallest program; may raise OutOfTime."""


@dataclass(frozen=True, slots=True)
class Small:
    """A shrunk leg, what is to blame, and where it and the other failures were written."""

    shrunk: Shrunk
    blame: Blame
    path: Path
    others: dict[str, Path]

    def lines(self, campaign: Campaign, command: str) -> list[str]:
        """For people: what is left, and how to run it again."""
        return as_text(self.shrunk, campaign.protocol, self.others, command)

    def suspects(self) -> list[str]:
        """For people: where the protocol goes wrong."""
        return as_lines(self.blame)

    def describe(self, failure: Failure, campaign: Campaign, command: str, page: str = "") -> None:
        """Add to a report what is left of its leg, how that fails, and what is to blame.

        ``command`` runs the shrunk leg again; ``page``: the file that draws it.
        """
        lines = self.lines(campaign, command)
        failure.least = [*lines, f"its run, message by message: {page}"] if page else lines
        failure.suspects = self.suspects()
        leg = self.shrunk.leg
        run = leg_run(leg, build_system(campaign.protocol.info, leg.description, leg.run_key))
        finding = run.run().finding
        if finding is not None:
            failure.small = campaign.with_history(leg, run, refine(finding, leg.program))


def small(
    leg: Leg,
    campaign: Campaign,
    path: Path,
    *,
    budget: int,
    jobs: int = 1,
    on_candidate: OnCandidate | None = None,
) -> Small:
    """Shrink a leg and write it. Raises DoesNotFail, ReplayError."""
    ends = time.monotonic() + MAX_SECONDS

    def progress(candidates: int, program: Program) -> None:
        if time.monotonic() > ends:
            raise OutOfTime(f"{MAX_SECONDS:g} seconds")
        if on_candidate is not None:
            on_candidate(candidates, program)

    with ParallelTrials(campaign, jobs) if jobs > 1 else Trials(campaign) as trials:
        shrunk = Shrinker(leg, campaign.protocol, trials, budget, progress).run()
        small_already = shrunk.at_limit and shrunk.after.accesses <= _FEW
        worth = not shrunk.cut or small_already
        worth = worth and not _is_external(shrunk.leg, campaign)
        found = blame(shrunk.leg, shrunk.kind, trials) if worth else Blame(())
    return Small(shrunk, found, path, save(shrunk, path))


def _is_external(leg: Leg, campaign: Campaign) -> bool:
    """Whether no transition is to blame, but a function without a body."""
    finding = finding_of(leg, campaign.protocol)
    return finding is not None and is_external(finding)
