"""Walks: draws, values that are kept, and what a small system meets."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from slicc.analysis.product.exploration import Draws, Exploration, Findings
from slicc.analysis.product.library import requester_call
from slicc.analysis.product.machine import models_of
from slicc.analysis.product.values import DATA, LINE, OTHER_LINE, UNKNOWN, freeze, thaw
from slicc.compiler import compile_text
from tests.slicc.analysis.small_protocol import SMALL


def walked(text: str, steps: int = 300) -> Findings:
    protocol = compile_text(text)
    assert protocol is not None
    found = Findings()
    Exploration(models_of(protocol), 2).run(steps, found)
    return found


def test_draws_are_those_of_splitmix64() -> None:
    draws = Draws(1234567)
    first = [draws.below(1 << 64) for _ in range(3)]
    assert first == [6457827717110365317, 3203168211198807973, 9817491932198370423]


def test_a_frozen_record_is_hashable_and_thaws_to_an_equal_one_of_its_own() -> None:
    record = {"": "TBE", "count": 1, "to": frozenset({("L1Cache", 0)}), "in": {"": "In", "d": DATA}}
    frozen = freeze(record)
    assert hash(frozen) == hash(freeze(thaw(frozen)))
    assert thaw(frozen) == record
    thaw(frozen)["in"]["d"] = UNKNOWN
    assert thaw(frozen) == record


def test_a_walk_meets_every_cell_of_a_small_protocol() -> None:
    found = walked(SMALL)
    assert found.met == {
        *(("L1Cache", "I", event) for event in ("Load", "Store", "Fetch")),
        *(("L1Cache", "W", event) for event in ("Part", "LastPart")),
        *(("Directory", state, "Ask") for state in ("F", "L")),
        ("Directory", "L", "Return"),
    }
    assert (found.happenings, found.unmodelled) == ([], {})


def test_a_way_leads_from_the_start_to_what_happens() -> None:
    (found,) = walked(SMALL.replace("transition(L, Ask) { z_wait; }", "")).happenings
    state = {"L1Cache": "I", "Directory": "F"}
    states = {move.machine: state[move.machine[0]] for move in found.way}
    for move in found.way:
        assert states[move.machine] == move.state
        states[move.machine] = move.next
    assert (found.kind, found.state, found.event) == ("unhandled", "L", "Ask")
    assert states["Directory", 0] == "L"


def test_what_is_not_modelled_is_counted_and_nothing_behind_it_is_reported() -> None:
    bus = SMALL.replace(
        "out_msg.Destination.add(mapAddressToMachine(address, MachineType:Directory));",
        "out_msg.Destination.add(machineID);",
        1,
    )
    found = walked(bus)
    assert found.happenings == []
    assert found.unmodelled


def test_a_condition_on_an_unknown_value_goes_both_ways_and_proves_nothing() -> None:
    both = SMALL.replace("Cycles latency := 1;", "Cycles latency := 1; int limit;", 1)
    found = walked(both.replace("known.parts == 1", "known.parts == limit"))
    assert {("L1Cache", "W", "Part"), ("L1Cache", "W", "LastPart")} <= found.met
    assert found.happenings == []


def test_what_only_an_external_function_knows_is_unknown() -> None:
    count = SMALL.replace("tbe.parts := 2", "tbe.parts := partsOf(address)")
    found = walked("int partsOf(Addr a);\n" + count)
    assert ("L1Cache", "W", "LastPart") in found.met
    assert found.happenings == []


@pytest.mark.parametrize(
    ("method", "line", "ends"),
    [
        ("readCallback", LINE, True),
        ("readCallback", OTHER_LINE, False),
        ("writeCallback", LINE, True),
        # Of an older store, while a load of the line may be outstanding.
        ("writeCompleteCallback", LINE, False),
        ("invTCPCallback", LINE, False),
    ],
)
def test_an_answer_about_the_line_ends_the_request(method: str, line: Any, ends: bool) -> None:
    step: Any = SimpleNamespace(answered=False)
    requester_call(step, method, [line])
    assert step.answered is ends
