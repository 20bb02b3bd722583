"""The wake-up loop, stalls, waiting and waking, limits and line locks."""

from __future__ import annotations

import pytest

from runtime.errors import ErrorKind, ProtocolError
from tests.runtime.recorder import Event, Harness, RequestType, State


def test_earlier_ports_have_priority_and_polling_starts_again_after_each_transition() -> None:
    harness = Harness((2, 0, 1))
    for label, port in enumerate((2, 1, 0, 2, 1, 0)):
        harness.send(port, label, Event.Log, 5)
    harness.engine.run()
    assert harness.recorder.log == [
        (5, 0, 2),
        (5, 0, 5),
        (5, 1, 1),
        (5, 1, 4),
        (5, 2, 0),
        (5, 2, 3),
    ]


def test_an_idle_controller_is_never_polled() -> None:
    harness = Harness()
    harness.send(1, 0, Event.Log, 5)
    harness.send(1, 1, Event.Log, 500)
    harness.engine.run()
    assert harness.recorder.polls == [(5, 1), (500, 1)]


def test_the_limit_of_transitions_per_cycle_carries_over_to_the_next_tick() -> None:
    harness = Harness(transitions_per_cycle=2)
    for label in range(5):
        harness.send(0, label, Event.Log, 5)
    harness.engine.run()
    assert [(tick, label) for tick, _, label in harness.recorder.log] == [
        (5, 0),
        (5, 1),
        (6, 2),
        (6, 3),
        (7, 4),
    ]
    assert harness.recorder.busy_cycles == 2


def test_the_limit_holds_for_all_rounds_of_a_tick() -> None:
    harness = Harness(transitions_per_cycle=3)
    harness.send(0, 0, Event.Echo, 5)
    harness.engine.run(until=8)
    ticks = [tick for tick, _, _ in harness.recorder.log]
    assert ticks == [5, 5, 5, 6, 6, 6, 7, 7, 7, 8, 8, 8]


def test_endless_transitions_without_time_are_a_verdict() -> None:
    harness = Harness(transitions_per_cycle=10**9, max_transitions_per_tick=200)
    harness.send(0, 0, Event.Echo, 5)
    with pytest.raises(ProtocolError, match="200 transitions") as caught:
        harness.engine.run()
    assert caught.value.kind is ErrorKind.TOO_MANY_TRANSITIONS
    assert (caught.value.machine, caught.value.tick) == ("Recorder", 5)
    assert len(harness.recorder.log) == 200


def test_a_port_whose_trigger_stalled_is_looked_at_again_next_cycle() -> None:
    harness = Harness()
    harness.send(0, 0, Event.NeedSlot, 5)
    harness.send(0, 1, Event.NeedSlot, 5)
    harness.engine.run(until=8)
    # The first takes the only slot of the limited buffer, where its message stays.
    assert harness.recorder.log == [(5, 0, 0)]
    assert [tick for tick, _ in harness.recorder.polls] == [5, 5, 6, 7, 8]
    harness.limited.dequeue()
    harness.engine.run(until=20)
    assert harness.recorder.log == [(5, 0, 0), (9, 0, 1)]


def test_a_stalled_port_does_not_hold_back_later_ports() -> None:
    harness = Harness()
    harness.recorder.free_types = set()
    harness.send(0, 0, Event.NeedType, 5)
    harness.send(1, 1, Event.Log, 5)
    harness.engine.run(until=6)
    assert harness.recorder.log == [(5, 1, 1)]


def test_request_types_are_checked_by_name_and_recorded_as_written() -> None:
    harness = Harness()
    harness.send(0, 0, Event.NeedType, 5)
    harness.engine.run()
    assert harness.recorder.type_calls == [
        ("check", RequestType.Ape),
        ("check", RequestType.Zebra),
        ("record", RequestType.Zebra),
        ("record", RequestType.Ape),
        ("record", RequestType.Zebra),
    ]


def test_a_resource_stall_records_nothing() -> None:
    harness = Harness()
    harness.recorder.free_types = {RequestType.Ape}
    harness.send(0, 0, Event.NeedType, 5)
    harness.engine.run(until=5)
    assert [call for call, _ in harness.recorder.type_calls] == ["check", "check"]


def test_z_stall_records_its_resources_and_runs_nothing() -> None:
    harness = Harness()
    harness.send(0, 0, Event.Stall, 5)
    harness.engine.run(until=6)
    assert harness.recorder.log == []
    assert (
        harness.recorder.type_calls == [("check", RequestType.Ape), ("record", RequestType.Ape)] * 2
    )
    assert harness.recorder.count_of(0, Event.Stall) == 0


def test_every_look_at_what_is_held_back_is_reported() -> None:
    harness = Harness()
    looks: list[tuple[int, int, int]] = []
    recorder = harness.recorder
    recorder.stall_observer = lambda c, address, state, event: looks.append(
        (c.engine.now, address, event)
    )
    harness.send(0, 0, Event.Stall, 5, 0x40)
    harness.engine.run(until=7)
    assert looks == [(5, 0x40, Event.Stall), (6, 0x40, Event.Stall), (7, 0x40, Event.Stall)]


def test_an_action_can_be_run_before_those_of_a_transition() -> None:
    harness = Harness()
    harness.recorder.run_before(
        State.S, Event.NeedSlot, lambda c, t: c.log.append((c.engine.now, "before", t.address))
    )
    for label in range(2):
        harness.send(0, label, Event.NeedSlot, 5, 0x40)
    harness.engine.run(until=8)
    # Not before the second one, which finds no slot.
    assert harness.recorder.log == [(5, "before", 0x40), (5, 0, 0)]
    with pytest.raises(KeyError):
        harness.recorder.run_before(State.S, Event.NUM, lambda c, t: None)


def test_a_stall_handler_that_says_yes_polls_again_and_counts() -> None:
    asked: list[str] = []

    def recycle_it() -> bool:
        asked.append("protocol")
        harness.inputs[0].recycle(3)
        return True

    harness = Harness(handlers={"protocol": recycle_it})
    harness.send(0, 0, Event.Stall, 5)
    harness.send(0, 1, Event.Log, 5)
    harness.engine.run(until=8)
    assert harness.recorder.log == [(5, 0, 1)]
    assert len(asked) == 2


def test_recycled_messages_let_others_pass() -> None:
    harness = Harness(recycle_latency=8)
    harness.send(0, 0, Event.Recycle, 5)
    harness.send(0, 1, Event.Log, 6)
    harness.engine.run()
    assert harness.recorder.log == [(5, 0, 0), (6, 0, 1), (13, 0, 0), (21, 0, 0)]


def fill(harness: Harness, ports: tuple[int, ...] = (0, 1, 2)) -> None:
    """Two waiting messages of line 0 in each port, labelled by port, and one of line 64."""
    harness.recorder.closed = {0, 64}
    for port in ports:
        harness.send(port, 10 * port, Event.Log, 1)
        harness.send(port, 10 * port + 1, Event.Log, 1)
    harness.send(ports[0], 99, Event.Log, 1, addr=64)
    harness.engine.run()
    assert harness.recorder.log == []


def handled(harness: Harness) -> list[int]:
    return [label for _, _, label in harness.recorder.log]


def test_wake_up_buffers_wakes_lower_ranks_and_keeps_the_others() -> None:
    harness = Harness((0, 1, 2))
    fill(harness)
    harness.send(1, 500, Event.WakeLower, 5)
    harness.engine.run()
    assert handled(harness) == [500, 0, 1]
    harness.send(0, 501, Event.WakeLine, 9)
    harness.engine.run()
    assert handled(harness) == [500, 0, 1, 501, 10, 11, 20, 21]
    assert {tick for tick, _, _ in harness.recorder.log} == {5, 9}


def test_in_a_machine_without_ranks_it_wakes_all_other_ports() -> None:
    harness = Harness((0, 0, 0))
    fill(harness)
    harness.send(1, 500, Event.WakeLower, 5)
    harness.engine.run()
    assert handled(harness) == [500, 0, 1, 20, 21]
    assert harness.inputs[1].hasStalledMsg(0)


def test_waking_a_line_leaves_other_lines_alone() -> None:
    harness = Harness()
    fill(harness)
    harness.send(2, 500, Event.WakeLine, 5)
    harness.engine.run()
    assert handled(harness) == [500, 0, 1, 10, 11, 20, 21]
    assert harness.inputs[0].hasStalledMsg(64)


def test_waking_all_wakes_every_line() -> None:
    harness = Harness()
    fill(harness)
    harness.send(2, 500, Event.WakeAll, 5)
    harness.engine.run()
    assert handled(harness) == [500, 0, 1, 99, 10, 11, 20, 21]
    assert not harness.recorder.waiting


def test_waking_one_port() -> None:
    harness = Harness()
    fill(harness)
    harness.send(2, 500, Event.WakePort0, 5)
    harness.engine.run()
    assert handled(harness) == [500, 0, 1]
    assert harness.inputs[1].getStallMapSize() == 1


def test_woken_messages_come_before_younger_ones() -> None:
    harness = Harness()
    fill(harness, (0,))
    harness.send(1, 500, Event.WakeLine, 5)
    harness.send(0, 7, Event.Log, 5, addr=128)
    harness.engine.run()
    assert handled(harness) == [7, 500, 0, 1]
    harness = Harness()
    fill(harness, (1,))
    harness.send(0, 500, Event.WakeLine, 5)
    harness.send(1, 7, Event.Log, 5, addr=128)
    harness.engine.run()
    assert handled(harness) == [500, 10, 11, 7]


def test_waking_from_outside_runs_the_controller_in_this_tick() -> None:
    harness = Harness()
    fill(harness)
    harness.recorder.closed.clear()
    harness.recorder.wakeUpAllBuffers(0)
    harness.engine.run()
    assert handled(harness) == [0, 1, 10, 11, 20, 21]


def test_nothing_is_lost_when_two_ports_of_one_rank_wait_for_a_line() -> None:
    harness = Harness((0, 0))
    fill(harness, (0, 1))
    harness.send(0, 500, Event.WakeLine, 5)
    harness.engine.run()
    assert handled(harness) == [500, 0, 1, 10, 11]


def test_a_locked_line_delays_other_ports_cycle_by_cycle() -> None:
    harness = Harness()
    harness.recorder.block_line(0, harness.inputs[1])
    harness.send(0, 0, Event.Log, 5)
    harness.send(1, 1, Event.Log, 5)
    harness.send(0, 2, Event.Log, 5, addr=64)
    harness.engine.run(until=9)
    assert harness.recorder.log == [(5, 0, 2), (5, 1, 1)]
    assert harness.recorder.is_locked_by(0, harness.inputs[1])
    harness.recorder.unblock_line(0)
    harness.engine.run()
    assert harness.recorder.log[-1] == (10, 0, 0)


def test_stalling_on_an_address_that_is_no_line_is_a_verdict() -> None:
    harness = Harness()
    harness.recorder.closed = {4}
    harness.send(0, 0, Event.Log, 5, addr=4)
    with pytest.raises(ProtocolError, match="stall_and_wait") as caught:
        harness.engine.run()
    assert caught.value.kind is ErrorKind.MISALIGNED
