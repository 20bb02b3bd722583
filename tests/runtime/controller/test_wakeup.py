"""The wake-up loop, stalls, waiting and waking, limits and line locks."""

from __future__ import annotations

import pytest

from runtime.errors import ErrorKind, ProtocolError
from tests.runtime.recorder import Event, Office, RequestType


def test_earlier_ports_have_priority_and_polling_starts_again_after_each_transition() -> None:
    office = Office((2, 0, 1))
    for label, port in enumerate((2, 1, 0, 2, 1, 0)):
        office.send(port, label, Event.Log, 5)
    office.engine.run()
    assert office.clerk.log == [(5, 0, 2), (5, 0, 5), (5, 1, 1), (5, 1, 4), (5, 2, 0), (5, 2, 3)]


def test_an_idle_controller_is_never_polled() -> None:
    office = Office()
    office.send(1, 0, Event.Log, 5)
    office.send(1, 1, Event.Log, 500)
    office.engine.run()
    assert office.clerk.polls == [(5, 1), (500, 1)]


def test_the_limit_of_transitions_per_cycle_carries_over_to_the_next_tick() -> None:
    office = Office(transitions_per_cycle=2)
    for label in range(5):
        office.send(0, label, Event.Log, 5)
    office.engine.run()
    assert [(tick, label) for tick, _, label in office.clerk.log] == [
        (5, 0),
        (5, 1),
        (6, 2),
        (6, 3),
        (7, 4),
    ]
    assert office.clerk.busy_cycles == 2


def test_the_limit_holds_for_all_rounds_of_a_tick() -> None:
    office = Office(transitions_per_cycle=3)
    office.send(0, 0, Event.Echo, 5)
    office.engine.run(until=8)
    ticks = [tick for tick, _, _ in office.clerk.log]
    assert ticks == [5, 5, 5, 6, 6, 6, 7, 7, 7, 8, 8, 8]


def test_endless_transitions_without_time_are_a_verdict() -> None:
    office = Office(transitions_per_cycle=10**9, max_transitions_per_tick=200)
    office.send(0, 0, Event.Echo, 5)
    with pytest.raises(ProtocolError, match="200 transitions") as caught:
        office.engine.run()
    assert caught.value.kind is ErrorKind.TOO_MANY_TRANSITIONS
    assert (caught.value.machine, caught.value.tick) == ("Clerk", 5)
    assert len(office.clerk.log) == 200


def test_a_port_whose_trigger_stalled_is_looked_at_again_next_cycle() -> None:
    office = Office()
    office.send(0, 0, Event.NeedSlot, 5)
    office.send(0, 1, Event.NeedSlot, 5)
    office.engine.run(until=8)
    # The first takes the only slot of the limited buffer, where its message stays.
    assert office.clerk.log == [(5, 0, 0)]
    assert [tick for tick, _ in office.clerk.polls] == [5, 5, 6, 7, 8]
    office.limited.dequeue()
    office.engine.run(until=20)
    assert office.clerk.log == [(5, 0, 0), (9, 0, 1)]


def test_a_stalled_port_does_not_hold_back_later_ports() -> None:
    office = Office()
    office.clerk.free_types = set()
    office.send(0, 0, Event.NeedType, 5)
    office.send(1, 1, Event.Log, 5)
    office.engine.run(until=6)
    assert office.clerk.log == [(5, 1, 1)]


def test_request_types_are_checked_by_name_and_recorded_as_written() -> None:
    office = Office()
    office.send(0, 0, Event.NeedType, 5)
    office.engine.run()
    assert office.clerk.type_calls == [
        ("check", RequestType.Ape),
        ("check", RequestType.Zebra),
        ("record", RequestType.Zebra),
        ("record", RequestType.Ape),
        ("record", RequestType.Zebra),
    ]


def test_a_resource_stall_records_nothing() -> None:
    office = Office()
    office.clerk.free_types = {RequestType.Ape}
    office.send(0, 0, Event.NeedType, 5)
    office.engine.run(until=5)
    assert [call for call, _ in office.clerk.type_calls] == ["check", "check"]


def test_z_stall_records_its_resources_and_runs_nothing() -> None:
    office = Office()
    office.send(0, 0, Event.Stall, 5)
    office.engine.run(until=6)
    assert office.clerk.log == []
    assert office.clerk.type_calls == [("check", RequestType.Ape), ("record", RequestType.Ape)] * 2
    assert office.clerk.count_of(0, Event.Stall) == 0


def test_a_stall_handler_that_says_yes_polls_again_and_counts() -> None:
    asked: list[str] = []

    def recycle_it() -> bool:
        asked.append("protocol")
        office.inputs[0].recycle(3)
        return True

    office = Office(handlers={"protocol": recycle_it})
    office.send(0, 0, Event.Stall, 5)
    office.send(0, 1, Event.Log, 5)
    office.engine.run(until=8)
    assert office.clerk.log == [(5, 0, 1)]
    assert len(asked) == 2


def test_recycled_messages_let_others_pass() -> None:
    office = Office(recycle_latency=8)
    office.send(0, 0, Event.Recycle, 5)
    office.send(0, 1, Event.Log, 6)
    office.engine.run()
    assert office.clerk.log == [(5, 0, 0), (6, 0, 1), (13, 0, 0), (21, 0, 0)]


def fill(office: Office, ports: tuple[int, ...] = (0, 1, 2)) -> None:
    """Two waiting messages of line 0 in each port, labelled by port, and one of line 64."""
    office.clerk.closed = {0, 64}
    for port in ports:
        office.send(port, 10 * port, Event.Log, 1)
        office.send(port, 10 * port + 1, Event.Log, 1)
    office.send(ports[0], 99, Event.Log, 1, addr=64)
    office.engine.run()
    assert office.clerk.log == []


def handled(office: Office) -> list[int]:
    return [label for _, _, label in office.clerk.log]


def test_wake_up_buffers_wakes_lower_ranks_and_keeps_the_others() -> None:
    office = Office((0, 1, 2))
    fill(office)
    office.send(1, 500, Event.WakeLower, 5)
    office.engine.run()
    assert handled(office) == [500, 0, 1]
    office.send(0, 501, Event.WakeLine, 9)
    office.engine.run()
    assert handled(office) == [500, 0, 1, 501, 10, 11, 20, 21]
    assert {tick for tick, _, _ in office.clerk.log} == {5, 9}


def test_in_a_machine_without_ranks_it_wakes_all_other_ports() -> None:
    office = Office((0, 0, 0))
    fill(office)
    office.send(1, 500, Event.WakeLower, 5)
    office.engine.run()
    assert handled(office) == [500, 0, 1, 20, 21]
    assert office.inputs[1].hasStalledMsg(0)


def test_waking_a_line_leaves_other_lines_alone() -> None:
    office = Office()
    fill(office)
    office.send(2, 500, Event.WakeLine, 5)
    office.engine.run()
    assert handled(office) == [500, 0, 1, 10, 11, 20, 21]
    assert office.inputs[0].hasStalledMsg(64)


def test_waking_all_wakes_every_line() -> None:
    office = Office()
    fill(office)
    office.send(2, 500, Event.WakeAll, 5)
    office.engine.run()
    assert handled(office) == [500, 0, 1, 99, 10, 11, 20, 21]
    assert not office.clerk.waiting


def test_waking_one_port() -> None:
    office = Office()
    fill(office)
    office.send(2, 500, Event.WakePort0, 5)
    office.engine.run()
    assert handled(office) == [500, 0, 1]
    assert office.inputs[1].getStallMapSize() == 1


def test_woken_messages_come_before_younger_ones() -> None:
    office = Office()
    fill(office, (0,))
    office.send(1, 500, Event.WakeLine, 5)
    office.send(0, 7, Event.Log, 5, addr=128)
    office.engine.run()
    assert handled(office) == [7, 500, 0, 1]
    office = Office()
    fill(office, (1,))
    office.send(0, 500, Event.WakeLine, 5)
    office.send(1, 7, Event.Log, 5, addr=128)
    office.engine.run()
    assert handled(office) == [500, 10, 11, 7]


def test_waking_from_outside_runs_the_controller_in_this_tick() -> None:
    office = Office()
    fill(office)
    office.clerk.closed.clear()
    office.clerk.wakeUpAllBuffers(0)
    office.engine.run()
    assert handled(office) == [0, 1, 10, 11, 20, 21]


def test_nothing_is_lost_when_two_ports_of_one_rank_wait_for_a_line() -> None:
    office = Office((0, 0))
    fill(office, (0, 1))
    office.send(0, 500, Event.WakeLine, 5)
    office.engine.run()
    assert handled(office) == [500, 0, 1, 10, 11]


def test_a_locked_line_delays_other_ports_cycle_by_cycle() -> None:
    office = Office()
    office.clerk.block_line(0, office.inputs[1])
    office.send(0, 0, Event.Log, 5)
    office.send(1, 1, Event.Log, 5)
    office.send(0, 2, Event.Log, 5, addr=64)
    office.engine.run(until=9)
    assert office.clerk.log == [(5, 0, 2), (5, 1, 1)]
    assert office.clerk.is_locked_by(0, office.inputs[1])
    office.clerk.unblock_line(0)
    office.engine.run()
    assert office.clerk.log[-1] == (10, 0, 0)


def test_stalling_on_an_address_that_is_no_line_is_a_verdict() -> None:
    office = Office()
    office.clerk.closed = {4}
    office.send(0, 0, Event.Log, 5, addr=4)
    with pytest.raises(ProtocolError, match="stall_and_wait") as caught:
        office.engine.run()
    assert caught.value.kind is ErrorKind.MISALIGNED
