"""Failures of a mended text: the later commit that repairs them, or none."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.gem5.history.attack import Round, attack_apart
from tests.gem5.history.texts import driver_of

Fails = Callable[[str, str], bool]
"""Whether a failure is one of a revision's text."""


@dataclass(frozen=True, slots=True)
class Repair:
    """``what`` fails with the parent of ``commit`` and not with it; empty: no commit repairs it."""

    what: str
    commit: str

    def __str__(self) -> str:
        return f"{self.what} until `{self.commit[:10]}`" if self.commit else f"{self.what} to date"


def repairs(kinds: Collection[str], later: Sequence[str], fails: Fails) -> list[Repair]:
    """For each failure of a mended text the commit that repairs it, of those after it.

    Halves what is between a text that fails so and one that does not: of a failure that comes back
    it is one of the repairs.
    """
    return [Repair(kind, _repair(kind, later, fails)) for kind in kinds]


def _repair(kind: str, later: Sequence[str], fails: Fails) -> str:
    if not later or fails(kind, later[-1]):
        return ""
    first, last = 0, len(later) - 1
    while first < last:
        middle = (first + last) // 2
        if fails(kind, later[middle]):
            first = middle + 1
        else:
            last = middle
    # The one before in the list need not be its parent.
    return later[last] if fails(kind, f"{later[last]}^") else ""


def failures_of(clone: Path, protocol: str, episodes: int, seeds: Sequence[int]) -> Fails:
    """Of the campaign that leaves nothing out, with any of the seeds. A text that is refused fails
    in every way: nothing is known of it."""

    @cache
    def failures(revision: str) -> Collection[str] | None:
        with TemporaryDirectory() as directory:
            driver = driver_of(clone, revision, protocol, Path(directory))
            answers = [attack_apart(driver, episodes, seed, [Round()]) for seed in seeds]
        if any(answer.refused for answer in answers):
            return None
        return {kind for answer in answers for kind in answer.failures}

    def fails(kind: str, revision: str) -> bool:
        found = failures(revision)
        return found is None or kind in found

    return fails
