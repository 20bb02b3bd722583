"""MessageBuffer against a list that is sorted before every look at it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.errors import ErrorKind, ProtocolError
from runtime.sim.engine import Consumer, Engine
from runtime.sim.message_buffer import MessageBuffer
from runtime.types.message import Message


class Note(Message):
    addr: int = 0
    label: int = 0


@dataclass
class Item:
    label: int
    arrival: int
    sequence: int


@dataclass
class NaiveBuffer:
    """Says what a buffer should do, in the words of docs/semantics.md."""

    capacity: int = 0
    items: list[Item] = field(default_factory=list)
    stalled: dict[int, list[Item]] = field(default_factory=dict)
    sequence: int = 0
    popped_at: int = -1
    popped: int = 0

    def ready(self, now: int) -> list[Item]:
        arrived = [item for item in self.items if item.arrival <= now]
        return sorted(arrived, key=lambda item: (item.arrival, item.sequence))

    def add(self, label: int, arrival: int) -> None:
        self.items.append(Item(label, arrival, self.sequence))
        self.sequence += 1

    def taken(self) -> int:
        return len(self.items) + sum(len(waiting) for waiting in self.stalled.values())

    def available(self, count: int, now: int) -> bool:
        recent = self.popped if self.popped_at == now else 0
        return not self.capacity or self.taken() + recent + count <= self.capacity


Operation = tuple[str, int]
operations = st.lists(
    st.lists(
        st.one_of(
            st.tuples(st.just("enqueue"), st.integers(0, 5)),
            st.tuples(st.just("enqueue"), st.integers(0, 2)),
            st.tuples(st.just("dequeue"), st.just(0)),
            st.tuples(st.just("recycle"), st.integers(0, 4)),
            st.tuples(st.just("delay"), st.integers(0, 3)),
            st.tuples(st.just("stall"), st.integers(0, 2)),
            st.tuples(st.just("wake"), st.integers(0, 2)),
            st.tuples(st.just("wake_all"), st.just(0)),
        ),
        max_size=6,
    ),
    max_size=25,
)


class Script(Consumer):
    """Does one list of operations per tick, on the buffer and on the model, and compares."""

    __slots__ = ("buffer", "labels", "model", "script", "tick")

    def __init__(self, engine: Engine, script: list[list[Operation]], capacity: int) -> None:
        super().__init__(engine)
        self.buffer = MessageBuffer("b", capacity, engine=engine)
        self.buffer.set_consumer(self)
        self.model = NaiveBuffer(capacity)
        self.script = script
        self.labels = 0
        self.tick = 0
        engine.schedule(self, 0)

    def wakeup(self) -> None:
        if self.tick > self.engine.now or self.tick >= len(self.script):
            return
        assert self.tick == self.engine.now
        for operation in self.script[self.tick]:
            self.compare()
            self.do(*operation)
        self.compare()
        self.tick += 1
        self.engine.schedule(self, self.tick)

    def compare(self) -> None:
        now = self.engine.now
        got = [m.label for m in self.buffer.messages if isinstance(m, Note)]
        assert got == [item.label for item in self.model.ready(now)]
        assert self.buffer.isReady() == bool(got)
        assert self.buffer.getSize() == len(self.model.items)
        assert self.buffer.isEmpty() == (not self.model.items)
        assert self.buffer.getStallMapSize() == len(self.model.stalled)
        assert self.buffer.isStallMapEmpty() == (not self.model.stalled)
        for line in range(3):
            assert self.buffer.hasStalledMsg(line * 64) == (line * 64 in self.model.stalled)
        for count in range(1, 5):
            expected = self.model.available(count, now)
            assert self.buffer.areNSlotsAvailable(count) == expected
        assert len(self.buffer.contents()) == self.model.taken()

    def do(self, name: str, number: int) -> None:
        now = self.engine.now
        model, buffer = self.model, self.buffer
        if name == "enqueue":
            if model.available(1, now):
                message = Note()
                message.label = self.labels
                model.add(self.labels, now + number)
                self.labels += 1
                buffer.enqueue(message, number)
        elif name == "wake":
            model.items += model.stalled.pop(number * 64, [])
            buffer.wake(number * 64)
        elif name == "wake_all":
            for waiting in model.stalled.values():
                model.items += waiting
            model.stalled.clear()
            buffer.wake_all()
        elif model.ready(now):
            head = model.ready(now)[0]
            peeked = buffer.peek(Note)
            assert peeked.label == head.label
            if name == "recycle":
                head.arrival = now + number
                buffer.recycle(number)
                return
            model.items.remove(head)
            if name == "dequeue":
                if model.popped_at != now:
                    model.popped_at, model.popped = now, 0
                model.popped += 1
                assert buffer.dequeue() == now - head.arrival
            elif name == "delay":
                model.add(head.label, now + number)
                buffer.delay_head(number)
            else:
                model.stalled.setdefault(number * 64, []).append(head)
                buffer.stall(number * 64)


@settings(max_examples=60)
@given(operations, st.sampled_from([0, 0, 1, 3, 5]))
def test_behaves_like_a_sorted_list(script: list[list[Operation]], capacity: int) -> None:
    engine = Engine()
    consumer = Script(engine, script, capacity)
    engine.run()
    assert consumer.tick == len(script)


class Silent(Consumer):
    __slots__ = ()

    def wakeup(self) -> None:
        pass


def make(capacity: int = 0, ordered: bool = False) -> tuple[Engine, MessageBuffer]:
    engine = Engine()
    buffer = MessageBuffer("Box.in", capacity, ordered, engine=engine)
    buffer.set_consumer(Silent(engine))
    return engine, buffer


def note(label: int) -> Note:
    message = Note()
    message.label = label
    return message


def labels(buffer: MessageBuffer) -> list[int]:
    return [m.label for m in buffer.messages if isinstance(m, Note)]


def test_overflow_is_a_verdict_that_names_the_buffer() -> None:
    _, buffer = make(capacity=2)
    buffer.enqueue(note(0))
    buffer.enqueue(note(1))
    with pytest.raises(ProtocolError, match=r"Box\.in") as caught:
        buffer.enqueue(note(2))
    assert caught.value.kind is ErrorKind.SLOT_OVERFLOW


@pytest.mark.parametrize("operation", ["peek", "dequeue", "recycle", "stall", "delay"])
def test_using_an_empty_buffer_is_a_verdict(operation: str) -> None:
    _, buffer = make()
    calls: dict[str, Callable[[], object]] = {
        "peek": lambda: buffer.peek(Note),
        "dequeue": buffer.dequeue,
        "recycle": lambda: buffer.recycle(1),
        "stall": lambda: buffer.stall(0),
        "delay": lambda: buffer.delay_head(1),
    }
    with pytest.raises(ProtocolError) as caught:
        calls[operation]()
    assert caught.value.kind is ErrorKind.EMPTY_BUFFER


def test_peek_of_another_type_is_a_verdict() -> None:
    class Other(Message):
        pass

    engine, buffer = make()
    buffer.enqueue(note(0))
    engine.run()
    with pytest.raises(ProtocolError, match="holds a Note, not a Other") as caught:
        buffer.peek(Other)
    assert caught.value.kind is ErrorKind.WRONG_MESSAGE


def test_negative_latency_is_a_verdict() -> None:
    engine, buffer = make()
    engine.schedule(engine.consumers[0], 10)
    engine.run()
    with pytest.raises(ProtocolError) as caught:
        buffer.enqueue(note(0), -3)
    assert caught.value.kind is ErrorKind.NEGATIVE_LATENCY


def test_an_ordered_buffer_never_lets_messages_overtake() -> None:
    engine, buffer = make(ordered=True)
    buffer.enqueue(note(0), 9)
    buffer.enqueue(note(1), 1)
    buffer.enqueue(note(2), 2, bypass=True)
    engine.run()
    assert labels(buffer) == [2, 0, 1]
    assert [m.arrival for m in buffer.messages] == [2, 9, 9]


def test_a_queue_that_its_machine_calls_ordered_gets_nothing_due_before_the_last() -> None:
    engine, buffer = make(ordered=True)
    strict = MessageBuffer("Box.triggers", 0, True, engine=engine, strict=True)
    strict.set_consumer(engine.consumers[0])
    strict.enqueue(note(0), 9)
    strict.enqueue(note(1), 9)
    strict.enqueue(note(2), 1, bypass=True)
    with pytest.raises(ProtocolError, match=r"due at 8, the one before at 9") as caught:
        strict.enqueue(note(3), 8)
    assert caught.value.kind is ErrorKind.OUT_OF_ORDER
    buffer.enqueue(note(0), 9)
    buffer.enqueue(note(1), 8)


def test_an_unordered_buffer_lets_the_faster_message_overtake() -> None:
    engine, buffer = make()
    buffer.enqueue(note(0), 9)
    buffer.enqueue(note(1), 1)
    engine.run()
    assert labels(buffer) == [1, 0]


def test_woken_messages_come_back_in_the_order_of_their_age() -> None:
    engine, buffer = make()
    for label in range(4):
        buffer.enqueue(note(label), label + 1)
    engine.run()
    buffer.stall(64)
    buffer.stall(0)
    buffer.stall(64)
    assert labels(buffer) == [3]
    buffer.wake(64)
    assert labels(buffer) == [0, 2, 3]
    buffer.wake(0)
    assert labels(buffer) == [0, 1, 2, 3]


def test_a_buffer_has_one_consumer() -> None:
    engine, buffer = make()
    with pytest.raises(ValueError, match="two consumers"):
        buffer.set_consumer(Silent(engine))
