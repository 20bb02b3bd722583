"""Scenarios as programs, and their judged runs."""

from __future__ import annotations

import pytest

from gpu.litmus.scenario import Test as LitmusTest
from gpu.litmus.scenario import read_test
from gpu.litmus.series import Verdict, run_series
from gpu.memory_model.program import Fence, Guard, Order, Rmw, Space, Store
from gpu.memory_model.scopes import Position, Scope
from slicc.scenario_text.errors import ScenarioError
from slicc.scenario_text.parser import parse_scenario
from slicc.scenario_text.printer import printed
from slicc.source import SourceFile

MP = """model hsa
P0 @ group 0              | P1 @ group 1
store x = 1               | load f -> r0 acquire agent
store f = 1 release agent | if r0 = 1: load x -> r1
forbidden P1:r0 = 1 and P1:r1 = 0
"""
RELAXED = MP.replace("acquire", "relaxed").replace("release", "relaxed")
EVERYTHING = """model opencl
local g
P0 @ group 1, wave 2, lane 3, unit 2     | P1 @ group 1
atomic cas x 5 if 3 -> r0 acq_rel system | fence release work-group local
store g = r0                             | if r1 = 1: fence seq_cst agent
atomic add y r0 relaxed work-group       | load z -> r2 (8 bytes)
exists x = 5
"""


def _read(text: str) -> LitmusTest:
    return read_test(parse_scenario(SourceFile("a.litmus", text)))


def test_all_that_the_language_has() -> None:
    text = EVERYTHING.replace("| fence", "| load y -> r1 relaxed agent\n | fence", 1)
    test = _read(text)
    first, second = test.program.threads
    assert first.position == Position("gpu", 1, 2, 3) and test.units == {1: 2}
    cas, store, add = first.operations
    assert isinstance(cas, Rmw) and (cas.compare, cas.order, cas.scope) == (3, "acq_rel", 4)
    assert isinstance(store, Store) and (store.value, store.place.space) == ("r0", Space.local)
    assert isinstance(add, Rmw) and (add.operand, add.scope) == ("r0", Scope.work_group)
    _, fence, guarded, _ = second.operations
    assert isinstance(fence, Fence) and fence.spaces == {Space.local}
    assert guarded.when == Guard("r1", 1) and isinstance(guarded, Fence)
    assert guarded.order is Order.seq_cst
    again = parse_scenario(SourceFile("b.litmus", printed(test.scenario)))
    assert again == test.scenario


@pytest.mark.parametrize(
    ("old", "new", "slug", "message"),
    [
        ("model hsa", "model tso", "place", "`model hsa` or `opencl`"),
        ("acquire agent", "acquire", "place", "`acquire` needs a scope"),
        ("acquire agent", "release agent", "program", "a load cannot be release"),
        ("@ group 0", "@ cpu 4", "place", "cores 0 to 3, not 4"),
        ("@ group 0              | P1 @ group", "@ cpu 0 | P1 @ cpu", "place", "thread on the GPU"),
        ("@ group 0", "@ group 16", "value", "16 is not a group"),
        ("@ group 0", "= gpu0.0", "place", "has a place"),
        ("store x = 1", "store x = r7", "program", "register r7 is not set before"),
        ("store x = 1", "store x+64 = 1", "place", "4 bytes at x+64 are beyond the 64 bytes"),
        ("store x = 1", "flush", "program", "for tests of protocols"),
        ("acquire agent", "acquire galaxy", "syntax", "`galaxy` stands where a scope should"),
        ("forbidden P1:r0 = 1 and P1:r1 = 0\n", "", "condition", "needs a condition"),
    ],
)
def test_a_mistake_is_shown(old: str, new: str, slug: str, message: str) -> None:
    with pytest.raises(ScenarioError) as caught:
        _read(MP.replace(old, new, 1))
    assert caught.value.diagnostic.slug == f"scenario-{slug}"
    assert message in str(caught.value) and "^" in str(caught.value)


def test_what_is_seen_is_judged() -> None:
    safe = run_series(_read(MP), 12)
    assert not safe.failed and (1, 0) not in safe.outcomes
    assert {seen.verdict for seen in safe.outcomes.values()} == {Verdict.usual}
    racy = run_series(_read(RELAXED), 24)
    stale = racy.outcomes[1, 0]
    assert racy.allowed.undefined and stale.count and stale.refused_by is not None and racy.failed
    assert sum(seen.count for seen in racy.outcomes.values()) == 24
