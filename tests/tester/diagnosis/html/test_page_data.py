"""The data of a page: what its scripts rely on."""

from __future__ import annotations

import json
from typing import Any

import pytest

from slicc.text.data import script_json
from tester.diagnosis.events.line_events import AtPort, Sent, Stall, Transition
from tester.diagnosis.html.page_data import PORT, SENT, STALL, TRANSITION, page_data
from tester.diagnosis.listing import line_names
from tests.tester.diagnosis.recorded import failing, passing, texts

KINDS = {Transition: TRANSITION, Sent: SENT, AtPort: PORT, Stall: STALL}


@pytest.fixture(scope="module")
def data() -> dict[str, Any]:
    leg, recording = passing()
    found: dict[str, Any] = json.loads(
        script_json(page_data(recording, texts(), line_names(leg.program)))
    )
    return found


def test_every_event_is_there_and_every_number_leads_somewhere(data: dict[str, Any]) -> None:
    _, recording = passing()
    assert [row[:2] for row in data["events"]] == [
        [KINDS[type(event)], event.tick] for event in recording.events
    ]
    texts_, fields, events = len(data["texts"]), len(data["fields"]), len(data["events"])
    for index, (kind, _, life, line, *rest) in enumerate(data["events"]):
        assert 0 <= life < len(data["lifelines"]) and -1 <= line < len(data["lines"])
        if kind == TRANSITION:
            *names, entry, tbe, taken, aside, comment, _, _ = rest
            assert all(0 <= name < texts_ for name in (*names, comment))
            assert -1 <= entry < fields and -1 <= tbe < fields
            assert all(0 <= number < index for number in taken) and aside < index
        elif kind == SENT:
            name, _, shown, hops, cause, memory = rest
            assert 0 <= name < texts_ and max(shown, memory) < fields and cause < events
            for receiver, buffer, _ in hops:
                assert receiver < len(data["lifelines"]) and buffer < len(data["buffers"])
    for each in data["fields"]:
        assert len(each) % 2 == 0 and max(each) < texts_


def test_every_transition_has_its_text(data: dict[str, Any]) -> None:
    sources = data["sources"]
    lifelines, names = data["lifelines"], data["texts"]
    seen = 0
    for kind, _, life, _, *rest in data["events"]:
        if kind == TRANSITION:
            event, state, _, where = (names[number] for number in rest[:4])
            place = sources["cells"][f"{lifelines[life][2]} {state} {event}"]
            assert place == where
            passage = sources["passages"][place]
            assert names[passage["text"]].startswith("transition(")
            for name, there in passage["actions"]:
                action = names[sources["passages"][names[there]]["text"]]
                assert action.startswith(f"action({names[name]}")
            seen += 1
    assert seen > 50


def test_lifelines_stand_beside_their_ports(data: dict[str, Any]) -> None:
    names = [name for name, _, _ in data["lifelines"]]
    kinds = [kind for _, kind, _ in data["lifelines"]]
    assert names.index("cpu0") < names.index("L1Cache 0") < names.index("Directory 0")
    assert kinds[names.index("memory")] == "memory"
    assert len(set(names)) == len(names)


def test_the_coverage_is_that_of_the_run(data: dict[str, Any]) -> None:
    _, recording = passing()
    made = sum(count for m in data["machines"].values() for _, _, count in m["cells"])
    assert made == recording.history.transitions


def test_the_failing_access_is_named() -> None:
    leg, recording = failing()
    data = page_data(recording, {}, line_names(leg.program))
    (place,) = data["failure"]["events"]
    kind, tick, _, _, _, step, *_ = data["events"][place]
    assert (kind, tick) == (PORT, data["failure"]["tick"])
    assert data["texts"][step] == "WRONG DATA"
    assert recording.finding is not None
    line = data["lines"][data["failure"]["line"]]
    assert line["bytes"] == [[recording.finding.address % 64, recording.finding.size]]


def test_numbers_of_dropped_events_are_left_out() -> None:
    from protocols.loader import load_protocol
    from tester.campaign.recording import record

    leg, _ = passing()
    cut = record(leg, load_protocol("MI"), rows=40)
    rows = page_data(cut, {}, {})["events"]
    assert len(rows) == 40
    for index, row in enumerate(rows):
        if row[0] == TRANSITION:
            assert all(0 <= number < index for number in row[10])
