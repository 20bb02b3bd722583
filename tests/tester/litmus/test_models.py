"""The models allow what the literature says they do, of shipped tests and of the smallest ones."""

from __future__ import annotations

import pytest

from slicc.scenario_text.conditions import Model, Quantifier, outcome_text
from slicc.scenario_text.errors import ScenarioError
from slicc.scenario_text.parser import read_scenario
from tester.litmus.binding import bind
from tester.litmus.judgement import Judge, judge_of
from tester.litmus.models import TooManyStates, allowed, threads_of
from tester.litmus.shipped import scenario_files, shipped_folder
from tester.scenario_text.episodes import episodes_of
from tester.scenario_text.placement import Addresses, agents_of_threads
from tests.tester.scenarios import MP, SB, bound, protocol

CPU_MODELS = (Model.sc, Model.tso)
RELAXED = {"SB", "R", "RWC", "3SB", "W+RWC", "SB+line", "SB+own"}
"""What TSO allows and SC forbids: all of them need a load that overtakes a store."""
NAMES = [file.stem for file in scenario_files(shipped_folder("litmus"))]


def judged(text: str, model: Model) -> Judge:
    return judge_of(bound(text, "MSI"), model)


def outcomes(text: str, model: Model) -> list[str]:
    return [outcome_text(each) for each in judged(text, model).outcomes()]


def test_there_are_enough_of_them() -> None:
    assert len(NAMES) >= 25
    assert {"MP", "SB", "LB", "IRIW", "2+2W", "CoRR", "CoWW", "CoRW", "CoWR"} <= set(NAMES)
    assert {"R", "S", "WRC", "RWC", "ISA2"} <= set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_shipped_is_forbidden_and_allowed_as_is_known(name: str) -> None:
    """The condition of interest, decided by enumeration."""
    text = read_scenario(shipped_folder("litmus") / f"{name}.litmus")
    made = bind(text, protocol("MSI"))
    interesting = text.conditions[0]
    possible = {model: judge_of(made, model).possible(interesting) for model in CPU_MODELS}
    assert possible == {Model.sc: False, Model.tso: name in RELAXED}


def test_every_outcome_of_store_buffering() -> None:
    sc = {"P0:r0=0; P1:r1=1", "P0:r0=1; P1:r1=0", "P0:r0=1; P1:r1=1"}
    ends = [{each.removesuffix("; x=1; y=1") for each in outcomes(SB, m)} for m in CPU_MODELS]
    assert ends == [sc, sc | {"P0:r0=0; P1:r1=0"}]


def test_a_fence_or_an_atomic_operation_drains_the_buffer() -> None:
    relaxed = "P0:r0=0; P1:r1=0; x=1; y=1"
    fenced = SB.replace("load y", "fence | fence\nload y")
    one = SB.replace("load y -> r0 |", "fence |\nload y -> r0 |")
    atomic = SB.replace("store x = 1", "atomic exchange x 1").replace(
        "store y = 1", "atomic exchange y 1"
    )
    assert [relaxed in outcomes(text, Model.tso) for text in (SB, one, fenced, atomic)] == [
        True,
        True,
        False,
        False,
    ]


def test_own_stores_are_seen_before_they_drain() -> None:
    text = "P0\nstore x = 1\nload x -> r0\nstore x = 2\nload x -> r1\nexists P0:r0 = 1\n"
    assert outcomes(text, Model.tso) == ["P0:r0=1; P0:r1=2; x=2"]


def test_bytes_of_several_stores_are_one_value() -> None:
    text = (
        "P0 | P1\nstore x = 0x1111 (2 bytes) | store x+1 = 0x22 (1 byte)\n"
        "load x -> r0 (4 bytes) |\nexists P0:r0 = 0\n"
    )
    assert outcomes(text, Model.sc) == [
        "P0:r0=0x1111; x=0x1111; x+1=0x11",
        "P0:r0=0x1111; x=0x2211; x+1=0x22",
        "P0:r0=0x2211; x=0x2211; x+1=0x22",
    ]


def test_what_waits_comes_later_and_is_seen() -> None:
    ordered = MP.replace("store y = 1 |", "| after P0\nstore y = 1 |")
    text = "P0 | P1\nstore x = 1 |\n| after P0\n| load x -> r0\nexists P1:r0 = 0\n"
    assert outcomes(text, Model.sc) == outcomes(text, Model.tso) == ["P1:r0=1; x=1"]
    stale = "P1:r0=0; P1:r1=0; x=1; y=1"
    assert [stale in outcomes(each, Model.sc) for each in (MP, ordered)] == [True, False]


@pytest.mark.parametrize(
    ("condition", "model"),
    [
        ("forbidden P0:r0 = 0 and P1:r1 = 0", Model.tso),
        ("forbidden P0:r0 = 1", Model.sc),
        ("forall P0:r0 = 1", Model.sc),
        ("exists P0:r0 = 0 and P1:r1 = 0 under sc", Model.sc),
    ],
)
def test_a_condition_that_the_model_contradicts_is_a_mistake(condition: str, model: Model) -> None:
    text = SB.replace("exists P0:r0 = 0 and P1:r1 = 0", condition)
    with pytest.raises(ScenarioError) as caught:
        judged(text, model)
    assert caught.value.diagnostic.slug == "scenario-condition"
    assert condition in str(caught.value)


def test_other_models_conditions_are_not_looked_at() -> None:
    text = SB.replace("exists", "forbidden").replace("r1 = 0", "r1 = 0 under sc")
    assert judged(text, Model.tso).conditions == ()
    assert [c.quantifier for c in judged(text, Model.sc).conditions] == [Quantifier.forbidden]


@pytest.mark.parametrize("rows", ["begin\nload x -> r0\nend", "acquire\nload x -> r0\nrelease"])
def test_accesses_that_overlap_are_for_no_model(rows: str) -> None:
    assert judged(f"P0\n{rows}\nexists P0:r0 = 0\n", Model.sc).allowed is None


def test_too_many_states_are_not_enumerated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tester.litmus.models.MAX_STATES", 5)
    with pytest.raises(ScenarioError, match="too large to be judged"):
        judged(SB, Model.sc)
    made = bound(SB, "MSI")
    agents = agents_of_threads(made.scenario, made.cast)
    found = episodes_of(made.scenario, agents, made.cast)
    threads = threads_of(made.scenario, found, Addresses(made.scenario, 64), {})
    assert threads is not None
    with pytest.raises(TooManyStates):
        allowed(threads, Model.tso, threads.registers)
