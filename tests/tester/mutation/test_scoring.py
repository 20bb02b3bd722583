"""Outcomes depend on the mutants alone: not on processes, samples, or interruptions."""

from __future__ import annotations

from slicc.coverage.mutants import Fate
from tester.mutation.outcome import MutantOutcome
from tester.mutation.pool import Pool
from tester.mutation.score import Score
from tester.mutation.scoring import Scoring, epoch_end
from tests.tester.mutation.small_study import mutated, study

BUDGET = 60


def outcomes(jobs: int = 1, known: list[MutantOutcome] | None = None) -> list[MutantOutcome]:
    made = study()
    scoring = Scoring(made, BUDGET, known or [])
    with Pool(jobs, made.attempt) as pool:
        scoring.run(pool)
    assert not scoring.open
    return list(scoring.outcomes.values())


def test_epochs_grow() -> None:
    assert [epoch_end(leg) for leg in (0, 1, 2, 3, 6, 7, 15, 30, 31, 46)] == [
        1, 3, 3, 7, 7, 15, 31, 31, 47, 47,
    ]  # fmt: skip


def test_outcomes_are_the_same_in_several_processes_and_after_an_interruption() -> None:
    whole = outcomes()
    assert outcomes(jobs=2) == whole
    seen: list[MutantOutcome] = []

    def interrupted(outcome: MutantOutcome) -> None:
        seen.append(outcome)
        if sum(each.fate is not Fate.EQUIVALENT for each in seen) == 9:
            raise KeyboardInterrupt

    made = study()
    try:
        with Pool(1, made.attempt) as pool:
            Scoring(made, BUDGET, on_outcome=interrupted).run(pool)
    except KeyboardInterrupt:
        pass
    assert len(seen) < len(whole)
    assert outcomes(known=seen) == whole


def test_the_score_counts_every_mutant_once_and_no_equivalent_one() -> None:
    found = {each.mutant: each for each in outcomes()}
    score = Score(mutated().mutants, found)
    total = score.total
    assert total.mutants == len(mutated().mutants)
    for rows in (score.by_operator, score.by_machine):
        for fate in Fate:
            assert sum(row.fates.get(fate, 0) for row in rows) == total.fates.get(fate, 0)
    killed, survived = (len(score.of(fate)) for fate in (Fate.KILLED, Fate.SURVIVED))
    assert killed and score.of(Fate.EQUIVALENT)
    assert total.score == 100 * killed / (killed + survived)
    assert sum(count for _, count in score.verdicts) == killed
    assert score.killed_within(1 << 40) == killed
    for each in score.of(Fate.SURVIVED):
        assert each.outcome.episodes >= BUDGET


def test_survivors_that_change_runs_come_first() -> None:
    names = [mutant.name for mutant in mutated().mutants]
    made = [
        MutantOutcome(name, Fate.SURVIVED, 9, 99, reached=reached, changed=changed)
        for name, (reached, changed) in zip(names, [(0, 0), (5, 0), (5, 3), (9, 0), (9, 9)])
    ]
    score = Score(mutated().mutants[:5], {each.mutant: each for each in made})
    order = [(each.outcome.reached, each.outcome.changed) for each in score.survivors]
    assert order == [(9, 9), (5, 3), (9, 0), (5, 0), (0, 0)]
    assert score.survivors[-1].standing == "no leg comes to it"
