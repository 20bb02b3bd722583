"""What two texts say about the tester: did it see the fault that one has and the other has not?"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path

from tests.gem5.history.attack import Answer, attack_apart


class Verdict(Enum):
    """How a row ended."""

    FOUND = "found"
    """The faulty text fails, the mended one passes."""
    UNCLEAR = "unclear"
    """Both fail, in different ways."""
    MASKED = "masked"
    """Both fail alike."""
    MISSED = "missed"
    """The faulty text passes."""
    REFUSED = "refused"


@dataclass(frozen=True, slots=True)
class Judgement:
    """``what``: the failure that was seen, the one that masks it, or why it was refused."""

    verdict: Verdict
    what: str = ""
    episodes: int = 0

    def __str__(self) -> str:
        text = self.verdict.value
        if self.verdict is Verdict.FOUND:
            return f"{text} after {self.episodes:,} episodes: {self.what}"
        return f"{text}: {self.what}" if self.what else text


def judge(before: Path, after: Path, episodes: int, seeds: Sequence[int]) -> Judgement:
    """Attack both texts with every seed."""
    faulty = [attack_apart(before, episodes, seed) for seed in seeds]
    refused = next((answer.refused for answer in faulty if answer.refused), "")
    if refused:
        return Judgement(Verdict.REFUSED, refused)
    return compare(faulty, [attack_apart(after, episodes, seed) for seed in seeds])


def compare(faulty: Sequence[Answer], mended: Sequence[Answer]) -> Judgement:
    """The verdict on the answers of two texts, one for each seed."""
    refused = next((answer.refused for answer in (*faulty, *mended) if answer.refused), "")
    if refused:
        return Judgement(Verdict.REFUSED, refused)
    failed = [answer for answer in faulty if answer.failure]
    if not failed:
        return Judgement(Verdict.MISSED)
    still = [answer.failure for answer in mended if answer.failure]
    if not still:
        return Judgement(Verdict.FOUND, failed[0].failure, failed[0].episodes)
    other = next((answer for answer in failed if answer.failure not in still), None)
    if other is None:
        return Judgement(Verdict.MASKED, failed[0].failure)
    return Judgement(Verdict.UNCLEAR, f"{other.failure}; the mended text: {still[0]}")
