"""One run: both engines end with the same outcome, in the same tick."""

from __future__ import annotations

import pytest

from slicc.scenario_text.conditions import Model, Place, Register
from slicc.scenario_text.errors import ScenarioError
from tester.campaign.campaign import Campaign
from tester.campaign.drawing.options import Options
from tester.engines.selection import PYTHON
from tester.execution.events import Request
from tester.litmus.series import run_series
from tester.litmus.single_run import Recorder, run_in_python, run_once
from tester.litmus.variations import variation
from tester.program.program import Program
from tests.compiling import compiler
from tests.tester.scenarios import SB, bound, native_engine, protocol

MIXED = """
P0                               | P1
store x = 0x8877665544332211 (8 bytes) | load x+2 -> r0 (2 bytes)
atomic add y 3 -> r1             | atomic cas y 9 if 3 -> r2
load x+7 -> r3 (1 byte)          | load z -> r4 (8 bytes)
exists P0:r3 = 0x88
"""
"""Several sizes, atomic operations, what nothing stores to."""
OVERTAKING = """
P0               | P1
store x = 1      | store y = 1
load y+4 -> r0   | load x+4 -> r2
load y -> r1     | load x -> r3
exists P0:r1 = 0 and P1:r3 = 0 under tso
"""
LANES = """
gpu0.0                         | gpu1.0
store x = 1                    | load x -> r0
with lane 3: store x+4 = 2     | with lane 5: load x+4 -> r1
atomic add y 1 -> r2           | atomic add y 1 -> r3
with lane 1: atomic add z 1    | load y -> r4
exists gpu1.0:r0 = 1
"""


@pytest.mark.parametrize(
    ("name", "text"),
    [("MSI", SB), ("MSI", MIXED), ("MSI", OVERTAKING), ("GPU_VIPER", LANES)],
    ids=("accesses", "sizes", "overtaking loads", "lanes"),
)
def test_the_engines_agree(name: str, text: str) -> None:
    compiler()
    made, engine = bound(text, name), native_engine(name)
    outcomes = set()
    for number in range(6):
        each = variation(made.scenario, made.cast, 64, 1, number)
        for overlap in (False, True):
            leg, lowered = made.of(each).leg(each.keys[0], each.delays[0], overlap=overlap)
            native = run_once(leg, lowered, made.protocol, engine)
            python, _ = run_in_python(leg, lowered, made.protocol)
            assert native.finding is None
            assert (native.outcome, native.ticks) == (python.outcome, python.ticks)
            outcomes.add(tuple(native.outcome.values()))
    assert len(outcomes) > 1


class Course(Recorder):
    """Notes in which tick each row is issued and has its last answer."""

    def __init__(self, program: Program) -> None:
        super().__init__(program)
        self.began: dict[int, int] = {}
        self.ended: dict[int, int] = {}

    def issued(self, request: Request, tick: int) -> None:
        self.began[request.row] = tick

    def loaded(self, request: Request, indices: list[int], line: int, data: int, tick: int) -> None:
        self.ended[request.row] = tick

    def completed(self, request: Request, indices: list[int], line: int, tick: int) -> None:
        self.ended[request.row] = tick


def test_loads_overtake_a_store_and_no_load() -> None:
    made = bound(OVERTAKING, "MSI")
    leg, lowered = made.leg(1, overlap=True)
    course = Course(leg.program)
    run_in_python(leg, lowered, made.protocol, [course])
    store, first, second = leg.program.actions_of(0)
    assert course.began[store] < course.began[first] < course.ended[store]
    assert course.ended[first] < course.began[second]


def test_what_only_two_overtaking_loads_make_possible_is_seen() -> None:
    compiler()
    made, engine = bound(OVERTAKING, "MSI"), native_engine("MSI")
    campaign = Campaign(made.protocol, Options(1, 1), engine)
    result = run_series(made, engine, campaign, 100, 1, Model.tso)
    (relaxed,) = made.scenario.conditions
    assert result.failed is None and result.was_seen(relaxed)


def test_registers_and_memory_are_what_was_stored() -> None:
    made = bound(MIXED.replace("exists", "exists x = 1 or"), "MSI")
    leg, lowered = made.leg(1)
    outcome = run_in_python(leg, lowered, made.protocol)[0].outcome
    assert outcome[Place("x")] == 0x8877665544332211
    assert outcome[Register("P0", "r3")] == 0x88
    assert outcome[Register("P1", "r0")] in (0, 0x4433)
    assert outcome[Register("P1", "r4")] == 0
    first, second = outcome[Register("P0", "r1")], outcome[Register("P1", "r2")]
    assert (first, second, outcome[Place("y")]) in {(0, 3, 9), (0, 0, 3)}


@pytest.mark.parametrize("model", list(Model))
def test_every_outcome_of_store_buffering_is_seen_under_its_model(model: Model) -> None:
    compiler()
    made = bound(SB, "MSI")
    campaign = Campaign(protocol("MSI"), Options(1, 1), PYTHON)
    result = run_series(made, native_engine("MSI"), campaign, 80, 1, model)
    assert result.judge is not None and result.failed is None
    assert set(result.seen) == result.judge.allowed
    assert sum(each.count for each in result.seen.values()) == result.runs == 80


def test_tests_of_kernels_are_refused() -> None:
    text = "P0 @ group 0 | P1\nstore x = 1 | load x -> r0 acquire agent\nexists P1:r0 = 1\n"
    with pytest.raises(ScenarioError, match="test of kernels") as caught:
        bound(text, "GPU_VIPER")
    assert caught.value.diagnostic.primary.span.text == "@ group 0"
