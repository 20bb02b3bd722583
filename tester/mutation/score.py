"""A study's outcomes as numbers: by operator, by machine, by verdict; survivors in order.

Invariant: every mutant is in one row of each table, and the score leaves out those that are
equivalent.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from statistics import median
from typing import Final

from slicc.coverage.mutants import Fate, score_of
from slicc.mutation.mutant import Mutant, Operator
from slicc.text.lazy_dataclass import dataclass
from tester.mutation.outcome import MutantOutcome

STEPS: Final = (10, 100, 1_000, 10_000)
"""Episodes within which it is said how many mutants were killed."""


@dataclass(frozen=True, slots=True)
class Judged:
    """A mutant and what became of it."""

    mutant: Mutant
    outcome: MutantOutcome

    @property
    def standing(self) -> str:
        """What is known of a survivor."""
        explored = self.outcome.reason
        return f"{self._in_legs}; {explored}" if explored else self._in_legs

    @property
    def _in_legs(self) -> str:
        outcome = self.outcome
        if not outcome.reached:
            return "no leg comes to it"
        if not outcome.changed:
            return f"no transition differs in {outcome.reached} legs that come to it"
        return f"{outcome.changed} of {outcome.reached} legs went otherwise"


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """Counts of some mutants."""

    name: str
    fates: Mapping[Fate, int]
    episodes: float | None
    """Median until a kill."""

    @property
    def mutants(self) -> int:
        return sum(self.fates.values())

    @property
    def score(self) -> float | None:
        """Percent that were killed of those that could be; None: there are none."""
        return score_of(self.fates)


class Score:
    """The numbers of one study."""

    def __init__(self, mutants: Iterable[Mutant], outcomes: Mapping[str, MutantOutcome]) -> None:
        self.judged = [Judged(mutant, outcomes[mutant.name]) for mutant in mutants]

    @property
    def total(self) -> ScoreRow:
        return _row("all", self.judged)

    @property
    def by_operator(self) -> list[ScoreRow]:
        """In the order of their declaration."""
        rows = self._rows(lambda each: each.mutant.operator)
        return [rows[operator] for operator in Operator if operator in rows]

    @property
    def by_machine(self) -> list[ScoreRow]:
        return list(self._rows(lambda each: each.mutant.machine).values())

    def _rows(self, key: Callable[[Judged], str]) -> dict[str, ScoreRow]:
        groups: dict[str, list[Judged]] = {}
        for each in self.judged:
            groups.setdefault(key(each), []).append(each)
        return {name: _row(name, group) for name, group in groups.items()}

    @property
    def verdicts(self) -> list[tuple[str, int]]:
        """How mutants were killed, the most frequent first."""
        killed = Counter(e.outcome.verdict for e in self.of(Fate.KILLED))
        return sorted(killed.items(), key=lambda item: (-item[1], item[0]))

    def killed_within(self, episodes: int) -> int:
        return sum(each.outcome.episodes <= episodes for each in self.of(Fate.KILLED))

    def of(self, fate: Fate) -> list[Judged]:
        return [each for each in self.judged if each.outcome.fate is fate]

    @property
    def survivors(self) -> list[Judged]:
        """Where to look first: those that change runs, and no check sees it; then those that
        legs come to; then those that no leg comes to."""
        order: Sequence[Judged] = self.of(Fate.SURVIVED)
        return sorted(order, key=lambda each: (-each.outcome.changed, -each.outcome.reached))


def _row(name: str, judged: Sequence[Judged]) -> ScoreRow:
    fates = Counter(each.outcome.fate for each in judged)
    killed = [each.outcome.episodes for each in judged if each.outcome.fate is Fate.KILLED]
    return ScoreRow(name, fates, median(killed) if killed else None)
