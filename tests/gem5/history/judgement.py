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
    """The faulty text fails with every seed in a way in which the mended one does not; one seed is
    enough where the mended one passes."""
    UNCLEAR = "unclear"
    """The faulty text fails with one seed in a way in which the mended one was not seen to fail."""
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
    still = [kind for answer in mended for kind in answer.failures]
    new = [
        {kind: at for kind, at in answer.failures.items() if kind not in still} for answer in faulty
    ]
    found = [kind for kind in new[0] if not still or all(kind in each for each in new)]
    found += [kind for each in new for kind in each if not still and kind not in found]
    behind = f", behind {still[0]}" if still else ""
    if found:
        first = min(each[found[0]] for each in new if found[0] in each)
        return Judgement(Verdict.FOUND, f"{found[0]}{behind}", first)
    if any(new):
        kind = next(kind for each in new for kind in each)
        return Judgement(Verdict.UNCLEAR, f"{kind} with one seed{behind}")
    if any(answer.failures for answer in faulty):
        return Judgement(Verdict.MASKED, next(k for a in faulty for k in a.failures))
    return Judgement(Verdict.MISSED)
