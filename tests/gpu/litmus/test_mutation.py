"""Mutants of code sequences: what each loses, and that a loss which matters can be shown."""

from __future__ import annotations

import pytest

from gpu.litmus import scenario
from gpu.litmus.library import names, shipped
from gpu.litmus.mutation import Mutant, attempt, mutants
from gpu.litmus.single_run import Machine
from gpu.memory_model.weakening import Loss
from slicc.scenario_text.parser import parse_scenario
from slicc.source import SourceFile

MP = """scenario "MP"
model hsa
P0 @ group 0                | P1 @ group 1
store x = 1                 | load f -> r0 acquire agent
store f = 1 release agent   | if r0 = 1: load x -> r1

forbidden P1:r0 = 1 and P1:r1 = 0
"""


def _test() -> scenario.Test:
    return scenario.read_test(parse_scenario(SourceFile("MP.litmus", MP)))


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


def test_a_missing_invalidation_shows() -> None:
    lost = _with(Loss.acquire_beyond, "buffer")
    found = attempt(_test(), Machine(), 1, 24, lost)
    assert found.matters and found.shown_in is not None and not found.missed


def test_what_is_not_needed_is_not_run() -> None:
    (lds,) = (each for each in mutants(_test(), "gfx803") if not each.lost)
    found = attempt(_test(), Machine(), 1, 1_000_000, lds)
    assert not found.matters and not found.missed


def test_what_matters_and_does_not_show_is_missed() -> None:
    lost = _with(Loss.acquire_beyond, "buffer")
    assert attempt(_test(), Machine(), 1, 0, lost).missed


@pytest.mark.parametrize("processor", ["gfx803", "gfx900"])
def test_only_the_chosen_operation_is_changed(processor: str) -> None:
    for name in names():
        for each in mutants(shipped(name), processor):
            said = (each.original,) * (each.step + 2)
            changed = each.sequence(each.thread, each.operation, said)
            assert len(changed) == len(said) - (each.instead is None)
            assert each.sequence(each.thread, each.operation + 1, said) == said
