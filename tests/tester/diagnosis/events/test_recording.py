"""Recordings: everything that happens in a run, and a run that recording does not change."""

from __future__ import annotations

from pathlib import Path

import pytest

from protocols.loader import LoadedProtocol, load_protocol
from runtime.controller.trace import Observers, TraceHash
from runtime.system.builder import build_system
from tester.campaign.campaign import Campaign, leg_run
from tester.campaign.drawing.options import Options
from tester.campaign.recording import record
from tester.diagnosis.events.history import FINISHED, ISSUED, WRONG
from tester.diagnosis.events.line_events import AtPort, Sent, Stall, Transition
from tester.diagnosis.events.recording import Recording
from tester.execution.events import Finding, Verdict
from tester.program.replay_file import Leg
from tests.planted.bugs import BY_NAME

NAMES = ("MI", "MSI_Snoop", "GPU_VIPER")


def leg_of(protocol: LoadedProtocol, episodes: int = 12, profile: str = "default") -> Leg:
    options = Options(1, episodes, profile, leg_episodes=episodes)
    return Campaign(protocol, options).plan(0).leg


@pytest.fixture(scope="module", params=NAMES)
def recorded(request: pytest.FixtureRequest) -> tuple[LoadedProtocol, Leg, Recording]:
    protocol = load_protocol(request.param)
    leg = leg_of(protocol)
    return protocol, leg, record(leg, protocol)


def test_recording_changes_nothing(recorded: tuple[LoadedProtocol, Leg, Recording]) -> None:
    protocol, leg, recording = recorded
    system = build_system(protocol.info, leg.description, leg.run_key)
    trace = TraceHash()
    for controller in system.controllers:
        controller.observer = Observers(trace)
    bare = leg_run(leg, system)
    bare.run()
    made = sum(e.times for e in recording.events if isinstance(e, Transition))
    assert made == trace.count == recording.history.transitions
    assert bare.outcome.ticks == recording.run.outcome.ticks
    assert recording.finding is None and recording.dropped == 0


def test_a_message_arrives_after_it_was_sent_and_is_taken_after_that(
    recorded: tuple[LoadedProtocol, Leg, Recording],
) -> None:
    events = recorded[2].events
    taken = 0
    for event in events:
        if isinstance(event, Sent):
            assert [hop.receiver for hop in event.hops if hop.arrival < event.tick] == []
        elif isinstance(event, Transition):
            for number in event.taken:
                cause = events[number]
                assert cause.number == number < event.number
                if isinstance(cause, Sent):
                    arrivals = [h.arrival for h in cause.hops if h.receiver == event.who]
                    assert arrivals and min(arrivals) <= event.tick
                    taken += 1
    assert taken > 20
    sent = sum(len(e.hops) for e in events if isinstance(e, Sent) and e.receivers != ["memory"])
    assert taken == sent, "every message was taken once: the run came to rest"


def test_the_stream_is_in_the_order_of_time(
    recorded: tuple[LoadedProtocol, Leg, Recording],
) -> None:
    """Answers that no transition gave, as the end of a release, come before what is later."""
    ticks = [event.tick for event in recorded[2].events]
    assert ticks == sorted(ticks)
    assert any(isinstance(e, AtPort) and e.step == FINISHED for e in recorded[2].events)


def test_what_is_held_agrees_with_the_state(
    recorded: tuple[LoadedProtocol, Leg, Recording],
) -> None:
    """Whatever an entry or TBE says of its state is that of the last transition there."""
    looked = 0
    for event in recorded[2].events:
        if isinstance(event, Transition) and event.times == 1:
            assert event.held is not None
            for name, value in (*event.held.tbe, *event.held.entry)[:1]:
                looked += name.endswith("State") and value == event.next_state
    assert looked > 0 or recorded[0].identity.name not in ("MI",)


def test_every_access_begins_and_ends(recorded: tuple[LoadedProtocol, Leg, Recording]) -> None:
    ports = [e for e in recorded[2].events if isinstance(e, AtPort)]
    issued = {id(e.request) for e in ports if e.step == ISSUED}
    ended = {id(e.request) for e in ports if e.step != ISSUED}
    assert issued == ended
    with_no_line = [e for e in ports if e.line < 0]
    assert {e.step for e in with_no_line} <= {ISSUED, FINISHED}
    assert not any(e.step == WRONG for e in ports)


def test_a_transition_that_is_held_back_is_one_event() -> None:
    """The controller looks at it again every cycle, which is no news."""
    protocol = load_protocol("MI")
    events = record(leg_of(protocol, 60, "scarcity"), protocol).events
    stalls = [e for e in events if isinstance(e, Stall)]
    assert stalls and any(e.times > 1 for e in stalls)
    for stall in stalls:
        assert stall.until == -1 if stall.times == 1 else stall.until >= stall.tick
        assert stall.location.startswith("MI-")


def test_the_failing_transition_is_the_last_event(tmp_path: Path) -> None:
    main = BY_NAME["mi-two-owners"].plant(tmp_path)
    cache = tmp_path / "MI-cache.sm"
    text = cache.read_text(encoding="utf-8")
    assert "transition(M, Fwd_GETX" in text
    cache.write_text(text.replace("transition(M, Fwd_GETX", "transition(I, Fwd_GETX"))
    protocol = load_protocol(str(main))
    recording = record(leg_of(protocol), protocol)
    error = recording.run.outcome.error
    assert error is not None and recording.failed is recording.events[-1]
    assert recording.failed.line == (error.address or 0) & -64
    line = text[: text.index("transition(M, Fwd_GETX")].count("\n") + 1
    place = f"UNDEFINED (elsewhere MI-cache.sm:{line}, "
    assert recording.failed.event == "Fwd_GETX"
    assert recording.failed.location.startswith(place)
    assert [e.number for e in recording.events] == list(range(len(recording.events)))


def test_earlier_events_are_dropped() -> None:
    protocol = load_protocol("MI")
    leg = leg_of(protocol)
    whole, cut = record(leg, protocol), record(leg, protocol, rows=50)
    assert len(cut.events) == 50
    assert cut.dropped == len(whole.events) - 50
    assert [e.what for e in cut.events] == [e.what for e in whole.events[-50:]]


def test_of_a_runaway_only_transitions_are_recorded() -> None:
    """Its messages are so many that to follow them takes longer than the run."""
    protocol = load_protocol("MI")
    recording = record(leg_of(protocol), protocol, Finding(Verdict.RUNAWAY, 9, "work without end"))
    assert not any(isinstance(event, Sent) for event in recording.events)
    assert any(isinstance(event, Transition) for event in recording.events)
