"""What two texts say about the tester: did it see the fault that one has and the other has not?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import Final

from tester.campaign.left_out import FEW, LeftOut
from tests.gem5.history.attack import Answer, Round, attack_apart

FURTHER: Final = (3, 4, 5, 6)
"""Seeds by which an unclear failure is attributed to the fault, or not."""
_QUICK: Final = (Round(), Round(apart=()))
"""The campaign that leaves nothing out, and its failing legs: a part of what goes on behind it."""
_LOOKED_AT: Final = 3
"""Campaigns that are run again with them."""


class Verdict(Enum):
    """How a row ended."""

    FOUND = "found"
    """The faulty text fails in a campaign in which the mended one does not fail so: with every
    seed; or with one seed and with further ones, where the mended one never does."""
    UNCLEAR = "unclear"
    """With one seed, and further ones do not decide it."""
    MASKED = "masked"
    """Both fail alike in every campaign."""
    MISSED = "missed"
    """The faulty text passes a campaign, with every seed, or nearly: fewer legs fail there than
    hide anything."""
    REFUSED = "refused"
    UNDETECTABLE = "undetectable"
    """No stream of requests can show it; the row says why."""


@dataclass(frozen=True, slots=True)
class Judgement:
    """``what``: the failure that was seen, the one that masks it, or why there is none.

    ``episodes``: before it in its campaign; ``without``: what that campaign left out, if it was a
    later one; ``still``: how the mended text fails in the campaign that leaves nothing out.
    """

    verdict: Verdict
    what: str = ""
    episodes: int = 0
    without: str = ""
    still: tuple[str, ...] = ()

    def __str__(self) -> str:
        text = self.verdict.value
        if self.verdict is Verdict.FOUND:
            behind = f", behind other faults, without {self.without}" if self.without else ""
            return f"{text} after {self.episodes:,} episodes: {self.what}{behind}"
        return f"{text}: {self.what}" if self.what else text


def judge(before: Path, after: Path, episodes: int, seeds: Sequence[int]) -> Judgement:
    """Attack both texts with every seed, the mended one in the campaigns of the faulty one; first
    without what takes longest.

    What one seed alone shows is looked at with further seeds: they tell whether a failure that was
    seen is of the fault, they find nothing by themselves.
    """
    for wanted in (_QUICK, None):
        faulty = [attack_apart(before, episodes, seed, wanted) for seed in seeds]
        if any(answer.refused for answer in faulty):
            return compare(faulty, [])
        mended = [
            attack_apart(after, episodes, seed, answer.rounds)
            for seed, answer in zip(seeds, faulty, strict=True)
        ]
        still = dict.fromkeys(kind for answer in mended for kind in _first(answer))
        judgement = replace(compare(faulty, mended), still=(*still,))
        if judgement.verdict is Verdict.FOUND:
            break
    if judgement.verdict is not Verdict.UNCLEAR:
        return judgement
    seen = sorted(suspects(faulty, mended), key=lambda each: not each.clean)
    rounds: list[Round] = []
    for each in seen:
        wanted = Round(each.left_out, apart=() if each.apart else None)
        if wanted not in rounds:
            rounds.append(wanted)
    again = [attack_apart(before, episodes, seed, rounds[:_LOOKED_AT]) for seed in FURTHER]
    never = [
        attack_apart(after, episodes, seed, answer.rounds)
        for seed, answer in zip(FURTHER, again, strict=True)
    ]
    final = confirmed(seen, again, [*mended, *never]) or _unclear(seen)
    return replace(final, still=judgement.still)


def _first(answer: Answer) -> Iterable[str]:
    """Failures of the campaign that leaves nothing out."""
    return answer.rounds[0].failures if answer.rounds else ()


def confirmed(
    seen: Sequence[Suspect], faulty: Sequence[Answer], mended: Sequence[Answer]
) -> Judgement | None:
    """The first suspect that the faulty text shows again, and the mended one never in that campaign
    or in one that leaves out more."""
    for each in seen:
        there = [{*_shown(texts, each.left_out)} for texts in (faulty, mended)]
        if each.kind in there[0] - there[1]:
            return each.found
    return None


def _shown(answers: Sequence[Answer], left_out: Sequence[LeftOut]) -> Iterator[str]:
    """What failed in campaigns that did at least without this."""
    for answer in answers:
        for each in answer.rounds:
            if all(one in each.left_out for one in left_out):
                yield from each.failures


def _unclear(seen: Sequence[Suspect]) -> Judgement:
    return Judgement(Verdict.UNCLEAR, f"{seen[0].kind} with one seed")


def compare(faulty: Sequence[Answer], mended: Sequence[Answer]) -> Judgement:
    """The verdict on the answers of two texts, one for each seed."""
    refused = next((answer.refused for answer in (*faulty, *mended) if answer.refused), "")
    if refused:
        return Judgement(Verdict.REFUSED, refused)
    seen = suspects(faulty, mended)
    for each in seen:
        seeds = {other.seed for other in seen if other.kind == each.kind}
        if len(seeds) == len(faulty):
            return each.found
    if seen:
        return _unclear(seen)
    for answer in faulty:
        if all(each.legs >= FEW for each in answer.rounds):
            return Judgement(Verdict.MASKED, next(iter(answer.rounds[-1].failures)))
    return Judgement(Verdict.MISSED)


@dataclass(frozen=True, slots=True)
class Suspect:
    """A failure of the faulty text in a campaign in which the mended one does not fail so.

    ``seed``: its place among the seeds; ``clean``: the mended text passed that campaign; ``apart``:
    seen in a leg without things of its own, and nowhere in the mended text.
    """

    kind: str
    episodes: int
    left_out: tuple[LeftOut, ...]
    seed: int
    clean: bool
    apart: bool = False

    @property
    def found(self) -> Judgement:
        """That it is the row's."""
        without = ", ".join(each.what for each in self.left_out)
        if self.apart:
            without = "what made single legs fail"
        return Judgement(Verdict.FOUND, self.kind, self.episodes, without)


def suspects(faulty: Sequence[Answer], mended: Sequence[Answer]) -> list[Suspect]:
    """In the order of seeds and campaigns."""
    return [
        Suspect(kind, episodes, before.left_out, seed, not after.failures, apart)
        for seed, (one, other) in enumerate(zip(faulty, mended, strict=True))
        for before, after in zip(one.rounds, other.rounds, strict=True)
        for apart in (before.apart is not None,)
        for kind, episodes in before.failures.items()
        if kind not in (other.failures if apart else after.failures)
    ]
