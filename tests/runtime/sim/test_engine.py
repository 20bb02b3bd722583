"""The order inside a tick, as docs/semantics.md gives it."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from runtime.errors import ErrorKind, ProtocolError
from runtime.sim.engine import Consumer, Engine
from runtime.sim.message_buffer import MessageBuffer
from runtime.types.message import Message


class Actor(Consumer):
    """Notes when it runs, and then does what is planned for that tick."""

    __slots__ = ("log", "plans")

    def __init__(self, engine: Engine, log: list[tuple[int, int]]) -> None:
        super().__init__(engine)
        self.log = log
        self.plans: dict[int, list[Callable[[], None]]] = {}

    def wakeup(self) -> None:
        self.log.append((self.engine.now, self.consumer_id))
        for plan in self.plans.pop(self.engine.now, []):
            plan()


@pytest.fixture
def world() -> tuple[Engine, list[Actor], list[tuple[int, int]]]:
    engine = Engine()
    log: list[tuple[int, int]] = []
    return engine, [Actor(engine, log) for _ in range(70)], log


World = tuple[Engine, list[Actor], list[tuple[int, int]]]


def test_consumers_run_in_ascending_id_whatever_the_order_of_asking(world: World) -> None:
    engine, actors, log = world
    for number in (68, 3, 65, 0, 3):
        engine.schedule(actors[number], 5)
    engine.run()
    assert log == [(5, 0), (5, 3), (5, 65), (5, 68)]


def test_idle_ticks_do_not_exist(world: World) -> None:
    engine, actors, log = world
    engine.schedule(actors[0], 10**12)
    engine.schedule(actors[0], 3)
    engine.run()
    assert log == [(3, 0), (10**12, 0)]
    assert engine.now == 10**12


def test_wake_ups_for_now_run_in_a_further_round(world: World) -> None:
    engine, actors, log = world
    actors[1].plans[4] = [lambda: engine.schedule(actors[0], 4)]
    actors[1].plans[4] += [lambda: engine.schedule(actors[2], 4)]
    engine.schedule(actors[1], 4)
    engine.schedule(actors[2], 4)
    engine.run()
    assert log == [(4, 1), (4, 2), (4, 0), (4, 2)]


def test_all_messages_of_a_tick_are_there_before_anybody_runs(world: World) -> None:
    engine, actors, log = world
    buffers = []
    for actor in actors[:3]:
        buffer = MessageBuffer(f"b{actor.consumer_id}", engine=engine)
        buffer.set_consumer(actor)
        buffers.append(buffer)
    seen: list[list[int]] = []
    for actor in actors[:3]:
        actor.plans[7] = [lambda: seen.append([len(b.messages) for b in buffers])]
    for buffer in reversed(buffers):
        buffer.enqueue(Message(), 7)
    engine.run()
    assert seen == [[1, 1, 1]] * 3
    assert log == [(7, 0), (7, 1), (7, 2)]


def test_a_message_without_latency_is_there_at_once_and_wakes_in_the_next_round(
    world: World,
) -> None:
    engine, actors, log = world
    buffer = MessageBuffer("b", engine=engine)
    buffer.set_consumer(actors[0])
    sizes: list[int] = []

    def send() -> None:
        buffer.enqueue(Message(), 0)
        sizes.append(len(buffer.messages))

    actors[5].plans[2] = [send]
    engine.schedule(actors[5], 2)
    engine.schedule(actors[6], 2)
    engine.run()
    assert sizes == [1]
    assert log == [(2, 5), (2, 6), (2, 0)]


def test_run_stops_before_a_tick_beyond_until_and_goes_on_later(world: World) -> None:
    engine, actors, log = world
    for tick in (2, 5, 9):
        engine.schedule(actors[0], tick)
    engine.run(until=5)
    assert (engine.now, len(log)) == (5, 2)
    engine.run(until=8)
    assert (engine.now, len(log)) == (5, 2)
    engine.run()
    assert (engine.now, len(log)) == (9, 3)


def test_stop_takes_effect_at_the_end_of_the_tick(world: World) -> None:
    engine, actors, log = world
    actors[0].plans[1] = [engine.stop]
    engine.schedule(actors[0], 1)
    engine.schedule(actors[9], 1)
    engine.schedule(actors[0], 2)
    engine.run()
    assert log == [(1, 0), (1, 9)]
    engine.run()
    assert log[-1] == (2, 0)


def test_endless_rounds_are_a_verdict() -> None:
    engine = Engine(max_rounds=50)

    class Restless(Consumer):
        __slots__ = ()

        def wakeup(self) -> None:
            self.engine.schedule(self, self.engine.now)

    engine.schedule(Restless(engine), 3)
    with pytest.raises(ProtocolError, match="50 rounds") as caught:
        engine.run()
    assert caught.value.kind is ErrorKind.TOO_MANY_TRANSITIONS
    assert caught.value.tick == 3


def test_deliver_ignores_latencies_and_takes_a_slot(world: World) -> None:
    engine, actors, _ = world
    buffer = MessageBuffer("b", 1, engine=engine)
    buffer.set_consumer(actors[0])
    message = Message()
    engine.deliver(buffer, message, 6)
    assert not buffer.areNSlotsAvailable(1)
    engine.run()
    assert (engine.now, message.arrival, list(buffer.messages)) == (6, 6, [message])
