"""Values of walks: numbers are those of the engines, and what is not modelled is unknown."""

from __future__ import annotations

import pytest

from slicc.analysis.product.exploration import Findings
from tests.slicc.analysis.product.test_exploration import walked
from tests.slicc.analysis.small_protocol import SMALL


def with_action(statements: str) -> str:
    """The small protocol; a cache runs the statements when a part arrives."""
    counted = 'action(c_count, "c") {'
    assert SMALL.count(counted) == 1
    return SMALL.replace(counted, f"{counted} {statements}")


def reached(statements: str) -> bool:
    found: Findings = walked(with_action(statements))
    assert {each.kind for each in found.happenings} <= {"reached"}
    assert not found.unmodelled
    return bool(found.happenings)


@pytest.mark.parametrize(
    "statements",
    [
        "int k := 2147483647; k := k + 1; assert(k < 0);",
        "int k := 65536; assert(k * k == 0);",
        "int k := 0 - 2147483647; k := k - 1; assert(0 - k == k); assert(-k == k);",
        "int k := 1; assert((k << 31) < 0); assert(((k << 31) >> 31) == -1);",
        "Cycles c := intToCycles(0); c := c - 1; assert(c > intToCycles(0));",
        "Addr none := intToAddress(-1); assert(none + 1 == intToAddress(0));",
        "NodeID n := intToID(-1); assert(IDToInt(n) == -1);",
    ],
)
def test_numbers_wrap_as_those_of_the_engines(statements: str) -> None:
    assert not reached(statements)
    last = statements.rindex("assert(")
    assert reached(statements[:last] + "assert(!" + statements[last + len("assert") : -1] + ");")


@pytest.mark.parametrize(
    "condition",
    [
        "makeLineAddress(address + 133) == address + 128",
        "getOffset(address + 133) == 5",
        "TBEs.isPresent(address + 64)",
        "is_valid(TBEs[address + 64])",
        "bitSelect(address + 64, 6, 6) == bitSelect(address, 0, 0)",
        "clockEdge() > zero",
        "tbe.DataBlk == block",
        "mod(address_bits - 7, 4) == 1",
        "State:W < State:I",
        'static_cast(int, "value", State:W) == 1',
        "(1 << (address_bits - 1)) == 0",
        "(1 << (address_bits + 32)) == 1",
    ],
)
def test_a_condition_on_what_is_not_modelled_may_hold_or_not(condition: str) -> None:
    names = "Tick zero; int address_bits;"
    assert not reached(f"{names} assert({condition});")
    assert not reached(f"{names} assert(({condition}) == false);")
    assert not reached(f'{names} if ({condition}) {{ error("it holds"); }}')


def test_a_wake_up_for_a_line_that_is_not_modelled_proves_nothing() -> None:
    elsewhere = "wakeUpAllBuffers(address + 64);"
    found = walked(SMALL.replace("wakeUpAllBuffers(address);", elsewhere))
    assert found.happenings == []
    assert "wakes another line" in found.unmodelled
