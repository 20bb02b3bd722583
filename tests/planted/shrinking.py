"""``python -m tests.planted.shrinking [BUG ...]``: what shrinking makes of planted bugs.

For each, the first failing leg of the default campaign with seed 1 is shrunk on the native engine:
its size before and after, candidates, processor seconds, and where the planted transitions stand
among those that are blamed. Invariant: a row depends on the protocol's text alone, except for the
time.
"""

from __future__ import annotations

import argparse
import re
import tempfile
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from protocols.loader import LoadedProtocol
from tester.blame.blame import Blame, blame
from tester.campaign.campaign import Campaign
from tester.campaign.drawing.options import Options
from tester.engines.choice import Choice
from tester.engines.selection import choose
from tester.execution.events import Verdict
from tester.program.replay_file import Leg
from tester.program.verifier import verify
from tester.shrink.search import Shrinker, Shrunk
from tester.shrink.shrink_report import first_level_caches
from tester.shrink.trials import Trials
from tests.planted.bug import PROTOCOLS, Bug
from tests.planted.bugs import BUGS, ELUSIVE
from tests.planted.run import EPISODES, load_planted
from tests.planted.test_reports import changed_transitions

NOT_BLAMED = -1


@dataclass(frozen=True)
class Row:
    """One bug. ``rank``: of the first planted transition among those that are blamed, from 0; None:
    no transition was changed. ``wrong``: what does not hold of the result."""

    name: str
    shrunk: Shrunk
    caches: int
    seconds: float
    blame_seconds: float
    rank: int | None
    wrong: tuple[str, ...]

    def __str__(self) -> str:
        s, before, after = self.shrunk, self.shrunk.before.accesses, self.shrunk.after
        rank = {None: "-", NOT_BLAMED: "no"}.get(self.rank, str((self.rank or 0) + 1))
        return (
            f"| {self.name} | {s.kind} | {before:,} | {after.accesses} | {after.threads} "
            f"| {after.lines} | {self.caches} | {s.candidates:,} | {self.seconds:.2f} "
            f"| {self.blame_seconds:.2f} | {rank} | {'; '.join((s.cut, *self.wrong)).strip('; ')} |"
        )


def row_of(bug: Bug, directory: Path) -> Row | None:
    """Plant, find, shrink, blame; None: the campaign does not find the bug."""
    protocol = load_planted(bug, directory)
    engine = choose(Choice.native, protocol, lambda text: None)
    try:
        campaign = Campaign(protocol, Options(1, EPISODES), engine)
        leg = _first_failing(campaign)
        if leg is None:
            return None
        trials = Trials(campaign)
        started = time.process_time()
        shrunk = Shrinker(leg, protocol, trials).run()
        seconds = time.process_time() - started
        started = time.process_time()
        found = blame(shrunk.leg, shrunk.kind, trials)
        blame_seconds = time.process_time() - started
        caches = first_level_caches(protocol, shrunk.leg.description)
        lines = changed_lines(bug, directory)
        rank = rank_of(found, bug.file, lines) if lines else None
        wrong = tuple(_wrong(shrunk, campaign, protocol))
        return Row(bug.name, shrunk, caches, seconds, blame_seconds, rank, wrong)
    finally:
        engine.close()


def _first_failing(campaign: Campaign) -> Leg | None:
    """As a run would find it; runaways are not shrunk."""
    for plan in campaign.plans():
        kind = campaign.failure_of(plan.leg)
        if kind:
            return None if kind.startswith(Verdict.RUNAWAY.value) else plan.leg
        campaign.totals.episodes += plan.leg.program.episodes
    return None


def changed_lines(bug: Bug, directory: Path) -> set[int]:
    old = (PROTOCOLS / bug.file).read_text(encoding="utf-8")
    return set(changed_transitions(old, (directory / bug.file).read_text(encoding="utf-8")))


def rank_of(found: Blame, file: str, lines: set[int]) -> int:
    for rank, suspect in enumerate(found.suspects):
        place = re.fullmatch(rf"{re.escape(file)}:(\d+)", suspect.where)
        if place is not None and int(place[1]) in lines:
            return rank
    return NOT_BLAMED


def _wrong(shrunk: Shrunk, campaign: Campaign, protocol: LoadedProtocol) -> Iterator[str]:
    """What does not hold of the result: it is right, fails on both engines, is shrunk for good."""
    leg = shrunk.leg
    if errors := verify(leg.program):
        yield f"verify: {errors[0]}"
    native = Trials(campaign).ending(leg)
    python = Trials(Campaign(protocol, campaign.options)).ending(leg)
    if not native or native != python:
        yield f"it ends with {native!r} natively, with {python!r} in Python"
    again = Shrinker(leg, protocol, Trials(campaign)).run()
    if not shrunk.cut and not again.leg.program.equals(leg.program):
        yield f"shrunk again it has {again.after}"


def rows(bugs: Iterable[Bug]) -> Iterator[Row]:
    """Of those that a campaign is sure to find."""
    for bug in bugs:
        if bug.name in ELUSIVE:
            continue
        with tempfile.TemporaryDirectory() as name:
            row = row_of(bug, Path(name))
        if row is not None:
            yield row


def summary(found: list[Row]) -> list[str]:
    """The figures that the bars are about."""
    accesses = sorted(row.shrunk.after.accesses for row in found)
    ranks = [row.rank for row in found if row.rank is not None]
    whole = [row.seconds + row.blame_seconds for row in found]
    rates = [row.shrunk.candidates / row.seconds for row in found if row.seconds]
    return [
        f"{len(found)} bugs: accesses median {median(accesses):g}, nine of ten at most "
        f"{accesses[9 * (len(found) - 1) // 10]}, most {accesses[-1]}",
        f"threads median {median(row.shrunk.after.threads for row in found):g}, lines median "
        f"{median(row.shrunk.after.lines for row in found):g}, at most 2 first-level caches in "
        f"{sum(row.caches <= 2 for row in found) / len(found):.0%}",
        f"seconds median {median(row.seconds for row in found):.2f}, most "
        f"{max(row.seconds for row in found):.1f}; with blame median {median(whole):.2f}, most "
        f"{max(whole):.1f}; candidates a second, median {median(rates):,.0f}",
        f"blamed: {share(ranks, 99):.0%} hold a planted transition, {share(ranks, 1):.0%} as the "
        f"first (of {len(ranks)})",
    ]


def share(ranks: list[int], below: int) -> float:
    return sum(NOT_BLAMED < rank < below for rank in ranks) / max(1, len(ranks))


def main(wanted: list[str], step: int) -> None:
    bugs = [bug for bug in BUGS if not wanted or bug.name in wanted][::step]
    heads = "bug verdict before accesses threads lines caches candidates s blame-s rank wrong"
    print(f"| {' | '.join(heads.split())} |")
    found = []
    for row in rows(bugs):
        found.append(row)
        print(row, flush=True)
    print(*summary(found), sep="\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("bugs", nargs="*", help="names; all when none is given")
    parser.add_argument("--step", type=int, default=1, help="every so many-th bug")
    given = parser.parse_args()
    main(given.bugs, given.step)
