"""Runs that are steered end as the way does."""

from __future__ import annotations

from dataclasses import replace

import pytest

from gpu.litmus.library import shipped
from gpu.litmus.sequences import VECTOR, WAIT, Sequence, Step
from gpu.litmus.series import steered_outcome
from gpu.litmus.single_run import Machine
from gpu.litmus.steering.direction import directed
from gpu.litmus.steering.search import explore
from gpu.memory.coherent.factory import EngineChoice
from gpu.memory_model.model import judge
from tests.gpu.litmus.programs import CHAIN, read, run_once

WEAK = [
    ("MP+relaxed+agent", (1, 0)),
    ("SB+acq-rel+agent", (0, 0)),
    ("LB+relaxed+agent", (1, 1)),
    ("2+2W+relaxed+agent", (1, 1)),
    ("MP+relaxed+kernel-to-core", (1, 0)),
]


@pytest.mark.parametrize(("name", "outcome"), WEAK)
def test_a_weak_outcome_is_reached(name: str, outcome: tuple[int, ...]) -> None:
    test = shipped(name)
    way = explore(test, "gfx803", wanted=lambda ended: ended == outcome, whole=True).way
    assert way is not None
    assert steered_outcome(test, Machine(), way) == outcome


def test_both_engines_are_steered() -> None:
    test = shipped("MP+relaxed+agent")
    way = explore(test, "gfx803", wanted=lambda ended: ended == (1, 0), whole=True).way
    assert way is not None
    python = Machine(engine=EngineChoice.python)
    assert steered_outcome(test, python, way) == (1, 0)


def test_a_release_of_a_group_is_not_cumulative_unless_stores_are_performed_in_order() -> None:
    """LLVM's sequences for GFX9, as they are: sound with one bank, and not with several."""
    test, broken = read(CHAIN), (1, 1, 0)
    assert not judge(test.program, test.rules).allows(broken)
    way = explore(test, "gfx900", wanted=lambda ended: ended == broken, whole=True).way
    assert way is not None
    banks = directed(test.program, way)
    ends = {
        tccs: run_once(test.program, replace(banks, tccs=tccs), Machine(processor="gfx900"))
        for tccs in (1, 4)
    }
    assert ends[4] == broken and ends[1] != broken


def test_a_wait_for_stores_makes_it_so() -> None:
    """As LLVM has it for GFX10 and GFX11."""

    def waiting(thread: int, operation: int, sequence: Sequence) -> Sequence:
        release = (thread, operation) == (0, 1)
        return (Step(WAIT, (VECTOR,)), *sequence) if release else sequence

    found = explore(read(CHAIN), "gfx900", sequences=waiting)
    assert found.complete and (1, 1, 0) not in found.outcomes
