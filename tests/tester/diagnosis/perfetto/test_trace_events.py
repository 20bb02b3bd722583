"""Trace events follow the rules of their format."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import pytest

from tester.diagnosis.events.line_events import Sent, Transition
from tester.diagnosis.events.recording import Recording
from tester.diagnosis.perfetto.trace_events import trace, write_trace
from tests.tester.diagnosis.recorded import failing, passing

REQUIRED = {"ph", "ts", "pid", "name"}


@pytest.fixture(scope="module", params=["MI", "GPU_VIPER", "failing"])
def recording(request: pytest.FixtureRequest) -> Recording:
    return failing()[1] if request.param == "failing" else passing(request.param)[1]


@pytest.fixture
def events(recording: Recording) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = trace(recording)["traceEvents"]
    return found


def test_every_event_has_what_its_phase_needs(events: list[dict[str, Any]]) -> None:
    for event in events:
        assert event.keys() >= REQUIRED and isinstance(event["ts"], int) and event["ts"] >= 0
        match event["ph"]:
            case "X":
                assert event["dur"] > 0 and "tid" in event
            case "b" | "e" | "s" | "f":
                assert "id" in event and event["cat"]
            case "M":
                assert event["name"] in ("process_name", "process_sort_index", "thread_name")
            case other:
                pytest.fail(f"phase {other}")


def test_every_track_is_named(events: list[dict[str, Any]]) -> None:
    named = {e["pid"] for e in events if e["name"] == "process_name"}
    assert {e["pid"] for e in events} == named


def test_asynchronous_slices_begin_and_end(events: list[dict[str, Any]]) -> None:
    open_: dict[tuple[str, int], dict[str, Any]] = {}
    for event in events:
        key = event.get("cat", ""), event.get("id", 0)
        if event["ph"] == "b":
            assert key not in open_
            open_[key] = event
        elif event["ph"] == "e":
            begin = open_.pop(key)
            assert begin["ts"] <= event["ts"] and begin["pid"] == event["pid"]
            assert begin["name"] == event["name"]
    assert not open_


def test_flows_start_and_end_in_slices(events: list[dict[str, Any]]) -> None:
    slices: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for event in events:
        if event["ph"] == "X":
            slices[event["pid"], event["tid"]].append((event["ts"], event["ts"] + event["dur"]))
    flows: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for event in events:
        if event["ph"] in "sf":
            flows[event["id"]].append(event)
            spans = slices[event["pid"], event["tid"]]
            assert any(first <= event["ts"] <= last for first, last in spans), event
    assert flows
    for start, end in flows.values():
        assert (start["ph"], end["ph"], end["bp"]) == ("s", "f", "e")
        assert start["ts"] <= end["ts"] and start["name"] == end["name"]


def test_what_happened_is_there(recording: Recording, events: list[dict[str, Any]]) -> None:
    count = Counter((e["ph"], e.get("cat")) for e in events)
    transitions = [e for e in recording.events if isinstance(e, Transition)]
    assert count["X", "transition"] == len(transitions)
    taken = [
        number
        for event in transitions
        for number in event.taken
        if isinstance(recording.events[number], Sent)
    ]
    assert count["s", "message"] == len(taken)


def test_a_life_of_a_tbe_is_that_of_the_controller() -> None:
    _, recording = passing()
    lives = [e for e in trace(recording)["traceEvents"] if e.get("cat") == "TBE"]
    assert lives and not any("left" in e["name"] for e in lives)


def test_the_file_is_json(tmp_path: Path) -> None:
    path = write_trace(tmp_path / "run.json", passing()[1])
    document = json.loads(path.read_text(encoding="ascii"))
    assert document["displayTimeUnit"] in ("ms", "ns") and document["traceEvents"]
