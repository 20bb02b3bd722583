"""Takes every mutant through the legs of a campaign, many at a time, until it is killed.

Most mutants die in the first leg and a few have to be run for long, so the legs are taken in epochs
that grow: all mutants through the first, what is left through the next. Invariant: the outcome of a
mutant does not depend on the number of processes, or on where the study was interrupted before.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Final

from slicc.coverage.mutants import Fate
from slicc.mutation.equivalence.judge import Equivalence
from tester.mutation.exhaustion import Exhaustion, Explored
from tester.mutation.outcome import MutantOutcome
from tester.mutation.pool import Lost, Pool
from tester.mutation.study import Attempt, Study, Watch

_LONGEST_EPOCH: Final = 16
_PATIENCE: Final = 1800.0
"""Seconds for the exploration of a mutant."""
OnOutcome = Callable[[MutantOutcome], None]


def epoch_end(leg: int) -> int:
    """The leg behind those that belong to an epoch with a leg: 1, 3, 7, 15, 31, 47, ..."""
    end, length = 1, 1
    while end <= leg:
        length = min(2 * length, _LONGEST_EPOCH)
        end += length
    return end


class Scoring:
    """``known``: outcomes of an earlier run. ``on_outcome``: called with each new one."""

    def __init__(
        self,
        study: Study,
        episodes: int,
        known: Sequence[MutantOutcome] = (),
        on_outcome: OnOutcome = lambda outcome: None,
    ) -> None:
        self._budget = episodes
        self._on_outcome = on_outcome
        names = [mutant.name for mutant in study.mutated.mutants]
        self._numbers = {name: number for number, name in enumerate(names, 1)}
        self.outcomes = {name: MutantOutcome(name, Fate.OPEN) for name in names}
        self.outcomes |= {each.mutant: each for each in known if each.mutant in self._numbers}
        self._judge_equivalence(study)

    def _judge_equivalence(self, study: Study) -> None:
        judge = Equivalence(study.mutated.ir)
        for mutant in study.mutated.mutants:
            outcome = self.outcomes[mutant.name]
            if outcome.fate is Fate.OPEN and not outcome.legs:
                reason = judge.reason(mutant)
                if reason:
                    self._take(replace(outcome, fate=Fate.EQUIVALENT, reason=reason))

    @property
    def open(self) -> list[MutantOutcome]:
        """The outcomes of mutants whose fate is not known yet."""
        return [each for each in self.outcomes.values() if each.fate is Fate.OPEN]

    def run(self, pool: Pool[Attempt]) -> None:
        """Until the fate of all is known. Raises what legs raise."""
        while waiting := self.open:
            first = min(each.legs for each in waiting)
            now = [each for each in waiting if each.legs == first]
            left = self._budget - now[0].episodes
            legs = range(first, epoch_end(first))
            numbers = [self._numbers[each.mutant] for each in now]
            before = dict(zip(numbers, now))
            for number, ending in pool.run(numbers, legs, left):
                self._take(self._after(before[number], ending))

    def explore(self, exhaustion: Exhaustion, jobs: int) -> None:
        """What small systems say of the survivors."""
        numbers = [
            self._numbers[each.mutant]
            for each in self.outcomes.values()
            if each.fate is Fate.SURVIVED and not each.reason
        ]
        names = {number: name for name, number in self._numbers.items()}

        def work(mutant: int, legs: range, most: int, watch: Watch) -> Explored:
            return exhaustion.judged(mutant, watch)

        with Pool(jobs, work, _PATIENCE) as pool:
            for number, ending in pool.run(numbers, range(0), 0):
                outcome = self.outcomes[names[number]]
                if isinstance(ending, Lost):
                    outcome = replace(outcome, reason=f"its exploration: {ending.verdict}")
                else:
                    fate = Fate.EQUIVALENT if ending.equivalent else outcome.fate
                    outcome = replace(outcome, fate=fate, reason=ending.reason)
                self._take(outcome)

    def _after(self, before: MutantOutcome, ending: Attempt | Lost) -> MutantOutcome:
        if isinstance(ending, Lost):
            return replace(before, fate=Fate.KILLED, verdict=ending.verdict)
        after = _sum(before, ending)
        if ending.verdict is not None:
            verdict = ending.verdict.value
            return replace(after, fate=Fate.KILLED, verdict=verdict, place=ending.place)
        return replace(after, fate=Fate.SURVIVED) if after.episodes >= self._budget else after

    def _take(self, outcome: MutantOutcome) -> None:
        self.outcomes[outcome.mutant] = outcome
        self._on_outcome(outcome)


def _sum(before: MutantOutcome, attempt: Attempt) -> MutantOutcome:
    return replace(
        before,
        legs=before.legs + attempt.legs,
        episodes=before.episodes + attempt.episodes,
        reached=before.reached + attempt.reached,
        changed=before.changed + attempt.changed,
    )
