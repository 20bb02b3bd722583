"""Times count as deciding nothing only where every use of them is known to measure."""

from __future__ import annotations

from pathlib import Path

import pytest

from slicc.codegen.cpp.exploration.times import Times, measured_times
from slicc.compiler import compile as compile_protocol
from tests.measured_times import with_times


def measured(directory: Path, statement: str = "", objects: str = "") -> Times:
    """Those in MI with times."""
    driver = with_times(directory, statement, objects)
    return measured_times(compile_protocol(driver).protocol)


def idle(directory: Path, statement: str = "", objects: str = "") -> set[str]:
    return {name for _, name in measured(directory, statement, objects).idle}


@pytest.mark.parametrize(
    "statement",
    [
        "",
        "tbe.Begun := curCycle() + tbe.Begun;",
        'DPRINTF(RubySlicc, "%s\\n", tbe.Begun);',
        "tbe.Begun := zero_time();",
        "assert(tbe.Begun == zero_time());",
        "if (tbe.Begun == zero_time()) { tbe.Begun := curCycle(); }",
        "if (!(tbe.Begun != zero_time() || LastBegun > curCycle())) { LastBegun := zero_time(); }"
        " else { if (LastBegun != zero_time()) { assert(tbe.Begun >= LastBegun); } }",
    ],
)
def test_what_is_kept_printed_and_handed_to_a_requester_only_measures(
    tmp_path: Path, statement: str
) -> None:
    assert idle(tmp_path, statement) == {"Sent", "Begun", "LastBegun"}


@pytest.mark.parametrize(
    "statement",
    [
        "assert(tbe.Begun == zero_time() && cacheMemory.isTagPresent(address));",
        "if (tbe.Begun > zero_time()) { cacheMemory.profileDemandHit(); }",
        "if (tbe.Begun > zero_time()) { tbe.TBEState := State:M; }",
        "if (curCycle() > zero_time()) { if (tbe.Begun > curCycle()) { wakeUpBuffers(address); } }",
        "if (curCycle() > tbe.Begun / tbe.Begun) { LastBegun := curCycle(); }",
        "Cycles before := tbe.Begun;",
        "tbe.Begun := tbe.Begun / tbe.Begun;",
        "scheduleEvent(tbe.Begun);",
    ],
)
def test_what_is_used_otherwise_decides(tmp_path: Path, statement: str) -> None:
    assert idle(tmp_path, statement) == {"Sent", "LastBegun"}


def test_what_comes_to_be_used_through_another_decides(tmp_path: Path) -> None:
    assert idle(tmp_path, "scheduleEvent(LastBegun);") == {"Sent"}


def test_what_decides_whether_a_deciding_time_is_assigned_decides(tmp_path: Path) -> None:
    statement = (
        "if (LastBegun == zero_time()) { tbe.Begun := curCycle(); } scheduleEvent(tbe.Begun);"
    )
    assert idle(tmp_path, statement) == {"Sent"}


COUNTER = 'int Allocated, default="0"; int Late, default="0"; int Sum;'


@pytest.mark.parametrize(
    ("statement", "counting"),
    [
        ("Allocated := Allocated + 1;", {"Allocated", "Late", "Sum"}),
        ("if (tbe.Begun > LastBegun) { Late := Late + 1; }", {"Allocated", "Late", "Sum"}),
        ('Sum := Sum + 1; DPRINTF(RubySlicc, "%d", Sum);', {"Allocated", "Late", "Sum"}),
        ("if (Allocated > 3) { Late := Late + 1; }", {"Late", "Sum"}),
        ("Allocated := Late; assert(Allocated < 9);", {"Sum"}),
        ("Allocated := Late / Allocated;", {"Sum"}),
    ],
)
def test_what_a_machine_only_counts_is_no_state(
    statement: str, counting: set[str], tmp_path: Path
) -> None:
    names = idle(tmp_path, statement, COUNTER)
    assert names & {"Allocated", "Late", "Sum"} == counting


WAITS = """
  Cycles wait := zero_time();
  if (LastBegun > curCycle()) { wait := LastBegun - curCycle(); LastBegun := zero_time(); }
  enqueue(requestNetwork_out, RequestMsg, wait) { out_msg.addr := address; }
"""


def test_what_only_holds_messages_back_is_kept_as_that(tmp_path: Path) -> None:
    held = measured(tmp_path, WAITS).held
    assert {name for _, name in held} == {"LastBegun"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("> curCycle()", ">= curCycle()"),
        ("LastBegun - curCycle()", "LastBegun + curCycle()"),
        ("LastBegun := zero_time();", "tbe.TBEState := State:M;"),
        ("out_msg.addr := address;", "out_msg.addr := address; out_msg.Sent := wait;"),
    ],
)
def test_what_holds_back_in_another_way_decides(old: str, new: str, tmp_path: Path) -> None:
    times = measured(tmp_path, WAITS.replace(old, new))
    assert "LastBegun" not in {name for _, name in times.held | times.idle}


AVERAGE = """
  Cycles Average; TimerTable alarms;
  Cycles estimate() { return Average >> 3; }
  void update(Cycles sample) { Average := Average - estimate() + sample; }
"""
SAMPLES = "update(curCycle() - tbe.Begun);"
ALARM = "alarms.set(address, clockEdge() + cyclesToTicks(estimate()));"


@pytest.mark.parametrize(
    ("statement", "measures"),
    [
        (SAMPLES, True),
        (SAMPLES + ALARM, True),
        (SAMPLES + "scheduleEvent(estimate());", False),
        (SAMPLES + "if (estimate() > zero_time()) { wakeUpBuffers(address); }", False),
    ],
)
def test_times_that_functions_pass_on(statement: str, measures: bool, tmp_path: Path) -> None:
    """When an alarm is to go off does not matter: it does whenever a choice says so."""
    assert ({"Begun", "Average"} <= idle(tmp_path, statement, AVERAGE)) is measures
