"""The abstract machine: what each of its parts lets happen, and that real runs do no more."""

from __future__ import annotations

from itertools import chain

import pytest

from gpu.litmus.library import names, shipped
from gpu.litmus.series import launched
from gpu.litmus.single_run import Machine
from gpu.litmus.situation import most_instances
from gpu.litmus.steering.abstract_machine import EVERY_RULE, Rule
from gpu.litmus.steering.search import Exhaustion, explore
from tests.gpu.litmus.programs import CHAIN, read

STALE = (1, 0)


def _ends(text: str, processor: str = "gfx803", rules: frozenset[Rule] = EVERY_RULE) -> Exhaustion:
    found = explore(read(text), processor, rules=rules)
    assert found.complete
    return found


def _message_passing(store: str, flag: str, see: str, load: str, reader: str = "group 1") -> str:
    return f"""scenario "MP"
model hsa
P0 @ group 0, wave 0 | P1 @ {reader}
{store}              | {see}
{flag}               | {load}

forbidden P1:r0 = 1 and P1:r1 = 0
"""


RELEASE = "store x = 1", "store f = 1 release agent"
SEE = "load f -> r0 relaxed agent"


def test_a_line_that_is_warm_is_stale_without_an_invalidation() -> None:
    stale = _message_passing(*RELEASE, SEE, "if r0 = 1: load x -> r1")
    assert STALE in _ends(stale).outcomes
    fresh = _message_passing(*RELEASE, "load f -> r0 acquire agent", "if r0 = 1: load x -> r1")
    assert STALE not in _ends(fresh).outcomes


def test_a_load_with_glc_takes_no_line_of_its_cache() -> None:
    late = _message_passing(*RELEASE, SEE, "if r0 = 1: load x -> r1 relaxed agent")
    assert STALE not in _ends(late).outcomes


def test_requests_for_two_lines_pass_each_other_and_for_one_they_do_not() -> None:
    flag = "store f = 1 relaxed agent"
    see = SEE, "if r0 = 1: load x -> r1 relaxed agent"
    assert STALE in _ends(_message_passing("store x = 1", flag, *see)).outcomes
    one = _message_passing(
        "store x = 1 relaxed agent", "store x+4 = 1 relaxed agent",
        "load x+4 -> r0 relaxed agent", "load x -> r1 relaxed agent",
    )  # fmt: skip
    assert STALE not in _ends(one).outcomes


def test_a_unit_sees_its_own_stores_in_order() -> None:
    near = _message_passing(
        "store x = 1 relaxed work-group", "store f = 1 relaxed work-group",
        "load f -> r0 relaxed work-group", "if r0 = 1: load x -> r1 relaxed work-group",
        "group 0, wave 1",
    )  # fmt: skip
    assert STALE not in _ends(near).outcomes


def test_flat_instructions_count_in_both_counters() -> None:
    """The wait of a work-group's release is for the LDS, and for FLAT stores by the way."""
    weak = (1, 1, 0)
    assert weak not in _ends(CHAIN).outcomes
    assert weak in _ends(CHAIN, rules=EVERY_RULE - {Rule.both}).outcomes
    assert weak in _ends(CHAIN, "gfx900").outcomes


def test_the_lds_performs_at_once() -> None:
    text = """scenario "MP"
model hsa
local x
P0 @ group 0, wave 0           | P1 @ group 0, wave 1
store x = 1 relaxed work-group | load f -> r0 relaxed work-group
store f = 1 relaxed work-group | if r0 = 1: load x -> r1 relaxed work-group

exists P1:r0 = 1 and P1:r1 = 0
"""
    assert STALE not in _ends(text).outcomes
    assert STALE in _ends(text, rules=EVERY_RULE - {Rule.local}).outcomes


def test_a_core_has_a_store_buffer() -> None:
    weak = explore(shipped("SB+acq-rel+core"), "gfx803")
    strong = explore(shipped("SB+seq_cst+core"), "gfx803")
    assert (0, 0) in weak.outcomes and (0, 0) not in strong.outcomes


SMALL = [name for name in names() if not name.startswith("IRIW")]


@pytest.mark.parametrize("name", SMALL[::16])
def test_no_run_ends_otherwise(name: str) -> None:
    _compare(name, "gfx900", 6)


@pytest.mark.litmus
@pytest.mark.parametrize("processor", ["gfx803", "gfx900"])
@pytest.mark.parametrize("name", names())
def test_no_run_of_any_test_ends_otherwise(name: str, processor: str) -> None:
    _compare(name, processor, 60)


def _compare(name: str, processor: str, launches: int) -> None:
    test, machine = shipped(name), Machine(processor=processor)
    can = explore(test, processor)
    assert can.complete
    instances = min(32, most_instances(test.program))
    ends = (launched(test, machine, 3, instances, number) for number in range(launches))
    assert set(chain.from_iterable(ends)) <= can.outcomes
