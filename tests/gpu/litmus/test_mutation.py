"""Mutants of code sequences: what each loses, and that a loss which matters can be shown."""

from __future__ import annotations

import pytest

from gpu.litmus import scenario
from gpu.litmus.library import names, shipped
from gpu.litmus.mutation import STEERED, Mutant, attempt, mutants
from gpu.litmus.series import launched
from gpu.litmus.single_run import Machine
from gpu.memory_model.model import judge
from gpu.memory_model.weakening import Loss
from tests.gpu.litmus.programs import read

MP = """scenario "MP"
model hsa
P0 @ group 0                | P1 @ group 1
store x = 1                 | load f -> r0 acquire agent
store f = 1 release agent   | if r0 = 1: load x -> r1

forbidden P1:r0 = 1 and P1:r1 = 0
"""


def _test() -> scenario.Test:
    return read(MP)


def _with(lost: Loss, name: str) -> Mutant:
    found = mutants(_test(), "gfx803")
    return next(m for m in found if m.lost == (lost,) and m.original.name.startswith(name))


def test_each_step_is_lost_once() -> None:
    assert [(str(each), each.lost) for each in mutants(_test(), "gfx803")] == [
        (
            "operation 2 of thread 1: s_waitcnt vmcnt(0) lgkmcnt(0): left out",
            (Loss.release_beyond,),
        ),
        (
            "operation 2 of thread 1: s_waitcnt vmcnt(0) lgkmcnt(0): only s_waitcnt lgkmcnt(0)",
            (Loss.release_beyond,),
        ),
        ("operation 2 of thread 1: s_waitcnt vmcnt(0) lgkmcnt(0): only s_waitcnt vmcnt(0)", ()),
        ("operation 1 of thread 2: access glc: only access", (Loss.scope,)),
        ("operation 1 of thread 2: s_waitcnt vmcnt(0): left out", (Loss.acquire_beyond,)),
        ("operation 1 of thread 2: buffer_wbinvl1_vol: left out", (Loss.acquire_beyond,)),
    ]


@pytest.mark.parametrize("step", ["buffer", "s_waitcnt"])
def test_what_is_missing_shows_in_a_steered_run(step: str) -> None:
    for lost in (Loss.acquire_beyond, Loss.release_beyond):
        if (step, lost) == ("buffer", Loss.release_beyond):
            continue
        found = attempt(_test(), Machine(), 1, 0, _with(lost, step))
        # The value of the flag is waited for before it is compared.
        hidden = (step, lost) == ("s_waitcnt", Loss.acquire_beyond)
        assert (found.shown_in == STEERED) != hidden
        assert (found.hidden is not None) == hidden
        assert found.matters and not found.missed


def test_what_is_not_needed_is_not_run() -> None:
    (lds,) = (each for each in mutants(_test(), "gfx803") if not each.lost)
    found = attempt(_test(), Machine(), 1, 1_000_000, lds)
    assert not found.matters and not found.missed


@pytest.mark.parametrize(("processor", "hidden"), [("gfx803", True), ("gfx900", False)])
def test_the_wait_for_the_lds_stands_in_for_that_of_flat_stores(
    processor: str, hidden: bool
) -> None:
    only = next(m for m in mutants(_test(), processor) if "only s_waitcnt lgkm" in str(m))
    found = attempt(_test(), Machine(processor=processor), 1, 0, only)
    assert found.hidden == ("FLAT instructions count in both counters" if hidden else None)
    assert found.shown_in == (None if hidden else STEERED)


def test_no_run_shows_what_is_hidden() -> None:
    test = _test()
    (glc,) = (m for m in mutants(test, "gfx803") if m.lost == (Loss.scope,))
    found = attempt(test, Machine(), 1, 0, glc)
    assert found.hidden is not None and found.states > 100
    allowed = judge(test.program, test.rules)
    for number in range(12):
        ends = launched(test, Machine(), 1, 64, number, sequences=glc.sequence)
        assert all(map(allowed.allows, ends))


@pytest.mark.litmus
@pytest.mark.parametrize("processor", ["gfx803", "gfx900"])
@pytest.mark.parametrize("name", names())
def test_no_mutant_is_missed(name: str, processor: str) -> None:
    test, machine = shipped(name), Machine(processor=processor)
    missed = [
        str(each) for each in mutants(test, processor) if attempt(test, machine, 1, 0, each).missed
    ]
    assert not missed


@pytest.mark.parametrize("processor", ["gfx803", "gfx900"])
def test_only_the_chosen_operation_is_changed(processor: str) -> None:
    for name in names():
        for each in mutants(shipped(name), processor):
            said = (each.original,) * (each.step + 2)
            changed = each.sequence(each.thread, each.operation, said)
            assert len(changed) == len(said) - (each.instead is None)
            assert each.sequence(each.thread, each.operation + 1, said) == said
