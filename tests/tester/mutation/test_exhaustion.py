"""A survivor is equivalent where every run of small systems that come to its mistake is right."""

from __future__ import annotations

import os

import pytest

from protocols.mutated import load_mutated
from slicc.coverage.mutants import Fate
from tester.mutation.exhaustion import Exhaustion, Explored, _reports_loss, systems_of
from tester.mutation.outcome import ENGINE_CRASH, MutantOutcome
from tester.mutation.score import Judged
from tester.mutation.scoring import Scoring
from tester.mutation.study import Watch
from tests.tester.mutation.small_study import mutated, study

SAME = "L1Cache:M.OtherGetM:action-dropped:qr_popRequest"
"""The row of the next state pops the request."""
RESERVED = "L1Cache:S.Store:next-state:IM_AD"
"""A reservation survives its line: campaigns find it after 1,695 episodes."""
UNSEEN = "L1Cache:IM_A.OwnGetM:action-dropped:kw_wakeWaiting"
"""It takes a buffer of one slot to come there."""


class _Answers(Exhaustion):
    """Made-up ones, by number; a number without any ends its process."""

    def __init__(self, answers: dict[int, Explored]) -> None:
        self._answers = answers

    def judged(self, number: int, watch: Watch) -> Explored:
        watch(True)
        if number not in self._answers:
            os._exit(3)
        watch(False)
        return self._answers[number]


def test_what_was_explored_decides_what_becomes_of_survivors() -> None:
    names = [mutant.name for mutant in mutated().mutants]
    fates = [Fate.SURVIVED, Fate.SURVIVED, Fate.SURVIVED, Fate.KILLED]
    known = [MutantOutcome(name, fate, 9, 99, reached=2) for name, fate in zip(names, fates)]
    seen: list[MutantOutcome] = []
    scoring = Scoring(study(), 60, known, seen.append)
    seen.clear()
    answers = {1: Explored(True, "every run is right"), 2: Explored(False, "not all of it")}
    scoring.explore(_Answers(answers), 2)
    found = [scoring.outcomes[name] for name in names[:4]]
    assert [each.fate for each in found] == [
        Fate.EQUIVALENT, Fate.SURVIVED, Fate.SURVIVED, Fate.KILLED,
    ]  # fmt: skip
    assert [each.reason for each in found[:2]] == ["every run is right", "not all of it"]
    assert ENGINE_CRASH in found[2].reason
    standing = Judged(mutated().mutants[1], found[1]).standing
    assert standing == "no transition differs in 2 legs that come to it; not all of it"
    assert {each.mutant for each in seen} == set(names[:3])
    seen.clear()
    scoring.explore(_Answers({}), 1)
    assert not seen, "each is explored once"


def test_systems_have_evictions_reservations_and_engines() -> None:
    first, second, third = systems_of(mutated().loaded)
    assert first.lines == 2 and third.engines
    assert dict(second.assignments) == {"requester.cpu.atomics": "linked"}
    assert "atomic" in second.operations


def test_rows_that_report_a_lost_line_are_known() -> None:
    machine = next(m for m in load_mutated("MSI", lambda _: ()).ir.machines if m.name == "L1Cache")
    found = {(c.state, c.event): _reports_loss(machine, c) for c in machine.cells}
    assert found["M", "Replacement"] and found["SM_AD", "Inv"]
    assert not found["I", "Load"] and not found["M", "Load"]


@pytest.mark.explore
def test_small_systems_of_a_bus() -> None:
    wanted = (SAME, RESERVED, UNSEEN)
    protocol = load_mutated("MSI_Snoop", lambda every: [m for m in every if m.name in wanted])
    exhaustion = Exhaustion(protocol, 100_000)
    assert not exhaustion.obstacle
    watched: list[bool] = []
    answers = {
        mutant.name: exhaustion.judged(number, watched.append)
        for number, mutant in enumerate(protocol.mutants, 1)
    }
    assert answers[SAME].equivalent
    assert not answers[RESERVED].equivalent and "exploration finds it" in answers[RESERVED].reason
    assert not answers[UNSEEN].equivalent and "do not come to" in answers[UNSEEN].reason
    assert watched == [True, False] * 3
    assert "more than 100 states" in Exhaustion(protocol, 100).obstacle
