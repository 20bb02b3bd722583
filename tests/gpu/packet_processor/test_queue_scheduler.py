"""More queues than slots: all get on, none starves, and they may wait for each other."""

from __future__ import annotations

import pytest

from gpu.errors import HostError, NoProgressError
from gpu.host.device_core import Options
from gpu.hsa.queue_state import QueueState
from gpu.hsa.signal import ERROR_VALUE, Signal
from gpu.packet_processor.queue_scheduler import IN_FLIGHT
from tests.gpu.packet_processor.harness import Bench

ARGS = [0, 0, 0, 64]


def bench_of(slots: int | None, quantum: int = 500) -> Bench:
    return Bench(options=Options(slots=slots, quantum=quantum))


@pytest.mark.parametrize("slots", [1, 2, 3, None])
def test_every_queue_makes_progress(slots: int | None) -> None:
    bench = bench_of(slots)
    queues = [bench.device.create_queue() for _ in range(7)]
    signals = [bench.device.signal(5) for _ in queues]
    for _ in range(5):
        for queue, signal in zip(queues, signals):
            queue.dispatch(bench.kernel(), 64, 64, ARGS, completion=signal)
            queue.ring()
    bench.device.run()
    assert [signal.value for signal in signals] == [0] * 7
    assert len(bench.events("end")) == 35
    if slots is not None:
        assert len(bench.device.machine.scheduler.mapped) == slots


def test_turns_are_fair() -> None:
    """No queue has a second turn before every queue had one."""
    bench = bench_of(1)
    queues = [bench.device.create_queue() for _ in range(4)]
    for _ in range(3):
        for queue in queues:
            queue.dispatch(bench.kernel(), 64, 64, ARGS)
            queue.ring()
        bench.device.run()
    order = [group.queue for kind, _, group in bench.log if kind == "start"]
    for first in range(0, 12, 4):
        assert sorted(order[first : first + 4]) == sorted(queue.address for queue in queues)


def test_all_slots_hold_queues_that_wait() -> None:
    """What they wait for comes from a queue without a slot."""
    bench = bench_of(2)
    waiting = [bench.device.create_queue() for _ in range(2)]
    source = bench.device.create_queue()
    met = bench.device.signal(1)
    done = [bench.device.signal(1) for _ in waiting]
    for queue, signal in zip(waiting, done):
        queue.barrier_and([met])
        queue.dispatch(bench.kernel(), 64, 64, ARGS, completion=signal)
        queue.ring()
    bench.device.run()
    assert [signal.value for signal in done] == [1, 1]
    source.dispatch(bench.kernel(), 64, 64, ARGS, completion=met)
    source.ring()
    bench.device.run()
    assert [signal.value for signal in done] == [0, 0]
    assert bench.device.packets.launched == {"barrier and": 2, "kernel dispatch": 3}
    assert bench.device.packets.completed == 5


def test_turns_end_beside_queues_without_packets() -> None:
    """Queues that poll for a value that is never stored have one turn each, as have empty ones."""
    bench = bench_of(1, quantum=100)
    met = bench.device.signal(1)
    waiting = [bench.device.create_queue() for _ in range(3)]
    for _ in range(2):
        bench.device.create_queue()
    for queue in waiting:
        queue.barrier_and([met])
        queue.ring()
    bench.device.run(limit=100_000)
    assert bench.device.machine.loop.at_rest
    bench.device.run()
    met.store(0)
    bench.device.run()
    assert bench.device.packets.completed == 3


def test_a_doorbell_of_an_unmapped_queue_is_kept() -> None:
    bench = bench_of(1, quantum=10_000)
    bench.ticks[0] = 30_000
    first, second = bench.device.create_queue(), bench.device.create_queue()
    first.dispatch(bench.kernel(), 64, 64, ARGS)
    first.ring()
    bench.device.run(limit=100)
    done = Signal(1)
    second.dispatch(bench.kernel(), 64, 64, ARGS, completion=done)
    second.ring()
    bench.device.run(limit=15_000)
    assert bench.device.machine.scheduler.mapped == [first.link], "nothing is pre-empted"
    bench.device.run(until=done)
    assert bench.tick_of("start", 0) < 100
    starts = [tick for kind, tick, _ in bench.log if kind == "start"]
    assert starts[1] > 30_000


def test_a_deadlock_of_queues_is_reported() -> None:
    bench = bench_of(1)
    queues = [bench.device.create_queue() for _ in range(3)]
    signals = [bench.device.signal(1) for _ in queues]
    for place, queue in enumerate(queues):
        queue.barrier_and([signals[place]], completion=signals[(place + 1) % 3])
        queue.ring()
    with pytest.raises(NoProgressError, match="waits for signal"):
        bench.device.run(until=signals[0])
    signals[1].store(0)
    bench.device.run()
    assert [signal.value for signal in signals] == [0, -1, 0]


def test_destroying_queues_with_and_without_a_slot() -> None:
    bench = bench_of(1)
    first, second, third = (bench.device.create_queue() for _ in range(3))
    left = bench.device.signal(1)
    second.dispatch(bench.kernel(), 64, 64, ARGS, completion=left)
    second.ring()
    bench.device.destroy(second)
    assert (left.value, second.state) == (ERROR_VALUE, QueueState.DESTROYED)
    bench.device.destroy(first)
    done = bench.device.signal(1)
    third.dispatch(bench.kernel(), 64, 64, ARGS, completion=done)
    third.ring()
    bench.device.run(until=done)
    assert bench.device.machine.scheduler.mapped == [third.link]


def starts_of(bench: Bench, queue: object) -> list[int]:
    """Ticks at which groups of a queue began."""
    address = queue.address  # type: ignore[attr-defined]
    return [tick for kind, tick, group in bench.log if kind == "start" and group.queue == address]


@pytest.mark.parametrize("barrier", [False, True])
@pytest.mark.parametrize("created_first", [False, True])
def test_a_busy_queue_gives_way(barrier: bool, created_first: bool) -> None:
    """One packet does not wait for all 200 of another queue, which may have been there first."""
    bench, ticks = bench_of(1, quantum=500), 300
    bench.ticks.update(dict.fromkeys(range(300), ticks))
    busy = bench.device.create_queue(256)
    if not created_first:
        patient = bench.device.create_queue()
    for _ in range(200):
        busy.dispatch(bench.kernel(), 64, 64, ARGS, barrier=barrier)
    busy.ring()
    if created_first:
        bench.device.run(limit=100)
        patient = bench.device.create_queue()
    done = bench.device.signal(1)
    patient.dispatch(bench.kernel(), 64, 64, ARGS, completion=done)
    patient.ring()
    asked = bench.device.now
    bench.device.run(until=done)
    (started,) = starts_of(bench, patient)
    assert started - asked < 500 + (IN_FLIGHT + 1) * ticks + 500
    bench.device.run()
    assert len(starts_of(bench, busy)) == 200
    assert bench.device.packets.completed == 201


def test_no_queue_waits_longer_than_the_bound() -> None:
    """Six busy queues of drawn priorities on two slots: the highest of these + W turns, which is
    shorter than all have to do."""
    quantum, ticks = 20, 50
    bench = bench_of(2, quantum)
    bench.ticks.update(dict.fromkeys(range(1000), ticks))
    priorities = (5, 0, 2, 5, 1, 4)
    queues = [bench.device.create_queue(256, priority=each) for each in priorities]
    for queue in queues:
        for _ in range(50):
            queue.dispatch(bench.kernel(), 64, 64, ARGS, barrier=True)
        queue.ring()
    bench.device.run()
    turn = quantum + (IN_FLIGHT + 1) * ticks + quantum
    for queue in queues:
        starts = starts_of(bench, queue)
        assert len(starts) == 50
        gaps = [later - earlier for earlier, later in zip([0, *starts], starts)]
        assert max(gaps) < (max(priorities) + len(queues)) * turn


def test_the_highest_priority_is_next() -> None:
    bench = bench_of(1, quantum=100)
    bench.ticks.update(dict.fromkeys(range(100), 400))
    busy = bench.device.create_queue(priority=7)
    low, high = (bench.device.create_queue(priority=each) for each in (0, 15))
    for queue in (busy, low, high):
        for _ in range(3):
            queue.dispatch(bench.kernel(), 64, 64, ARGS, barrier=True)
        queue.ring()
    bench.device.run()
    first, last = starts_of(bench, high)[0], starts_of(bench, high)[-1]
    assert starts_of(bench, busy)[0] < first < starts_of(bench, busy)[1]
    assert last < starts_of(bench, low)[0], "a much lower one waits"


def test_a_priority_has_limits() -> None:
    with pytest.raises(HostError, match="a priority is 0 to 15, not 16"):
        bench_of(1).device.create_queue(priority=16)


def test_the_queue_that_was_to_get_a_slot_ends() -> None:
    """The one that was to give way goes on."""
    bench = bench_of(1, quantum=100)
    bench.ticks.update(dict.fromkeys(range(100), 400))
    busy, patient = bench.device.create_queue(), bench.device.create_queue()
    for _ in range(3):
        busy.dispatch(bench.kernel(), 64, 64, ARGS, barrier=True)
    busy.ring()
    patient.dispatch(bench.kernel(), 64, 64, ARGS)
    patient.ring()
    bench.device.run(limit=250)
    assert busy.link.gives_way is not None
    bench.device.destroy(patient)
    bench.device.run()
    assert len(starts_of(bench, busy)) == 3
