"""The four shapes of machines: what ``trigger`` hands to the functions of the machine."""

from __future__ import annotations

from typing import Any, ClassVar, Final

import pytest

from runtime.controller.shapes import (
    COMPUTED,
    Controller,
    ControllerContext,
    EntryController,
    EntryTbeController,
    InPort,
    Need,
    PlainController,
    PollResult,
    TbeController,
    Transaction,
    Transition,
    TransitionTable,
)
from runtime.errors import ErrorKind, ProtocolError
from runtime.network.network import Topology
from runtime.sim.engine import Engine
from runtime.sim.message_buffer import MessageBuffer
from runtime.types.enumeration import NO_VALUE, Enumeration
from runtime.types.message import Message
from runtime.types.messages import MachineType


class State(Enumeration):
    A: Final = 0
    B: Final = 1
    C: Final = 2


class Event(Enumeration):
    Go: Final = 0
    Ask: Final = 1


class Note(Message):
    addr: int = 0


class Recorder(Controller):
    """Remembers every call that the worker makes, in order."""

    MACHINE: ClassVar[str] = "Recorder"
    MACHINE_TYPE: ClassVar[int] = MachineType.Cache
    STATES: ClassVar[type[Enumeration]] = State
    EVENTS: ClassVar[type[Enumeration]] = Event

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self.calls: list[tuple[Any, ...]] = []
        self.states = {0: State.A}
        self.notes: MessageBuffer = context.parameter("notes", MessageBuffer)
        self.results: list[bool] = []
        self.room = True
        self.bind((InPort("in", self.notes, self.poll, guarded=True),), self.TRANSITIONS)

    def poll(self) -> PollResult:
        raise NotImplementedError

    def areNSlotsAvailable(self, count: int) -> bool:
        self.calls.append(("room", count))
        return self.room

    @property
    def table(self) -> Recorder:
        return self

    def getNextState(self, address: int) -> int:
        self.calls.append(("next", address))
        return State.C

    def first(self, t: Transaction) -> None:
        self.calls.append(("first", t.address))
        t.tbe = "new tbe"
        t.cache_entry = "new entry"

    def second(self, t: Transaction) -> None:
        self.calls.append(("second", t.address))
        self.notes.dequeue()

    TRANSITIONS: ClassVar[TransitionTable] = {
        (State.A, Event.Go): Transition(State.B, (first, second)),
        (State.B, Event.Go): Transition(COMPUTED, (second,), needs=(Need("table", 2),)),
        (State.C, Event.Go): Transition(None, (second,)),
    }


class Both(EntryTbeController, Recorder):
    def poll(self) -> PollResult:
        return self.trigger(Event.Go, 64, "entry", "tbe")

    def getState(self, tbe: Any, entry: Any, address: int) -> int:
        return self.states[0]

    def setState(self, tbe: Any, entry: Any, address: int, state: int) -> None:
        self.calls.append(("set", tbe, entry, address, state))
        self.states[0] = state

    def setAccessPermission(self, entry: Any, address: int, state: int) -> None:
        self.calls.append(("permit", entry, address, state))


class OnlyTbe(TbeController, Recorder):
    def poll(self) -> PollResult:
        return self.trigger(Event.Go, 64, tbe="tbe")

    def getState(self, tbe: Any, address: int) -> int:
        return self.states[0]

    def setState(self, tbe: Any, address: int, state: int) -> None:
        self.calls.append(("set", tbe, address, state))
        self.states[0] = state

    def setAccessPermission(self, address: int, state: int) -> None:
        self.calls.append(("permit", address, state))


class OnlyEntry(EntryController, Recorder):
    def poll(self) -> PollResult:
        return self.trigger(Event.Go, 64, "entry")

    def getState(self, entry: Any, address: int) -> int:
        return self.states[0]

    def setState(self, entry: Any, address: int, state: int) -> None:
        self.calls.append(("set", entry, address, state))
        self.states[0] = state

    def setAccessPermission(self, entry: Any, address: int, state: int) -> None:
        self.calls.append(("permit", entry, address, state))


class Neither(PlainController, Recorder):
    def poll(self) -> PollResult:
        return self.trigger(Event.Go, 64)

    def getState(self, address: int) -> int:
        return self.states[0]

    def setState(self, address: int, state: int) -> None:
        self.calls.append(("set", address, state))
        self.states[0] = state

    def setAccessPermission(self, address: int, state: int) -> None:
        self.calls.append(("permit", address, state))


SHAPES = {
    Both: (("tbe", "entry"), ("new tbe", "new entry")),
    OnlyTbe: (("tbe",), ("new tbe",)),
    OnlyEntry: (("entry",), ("new entry",)),
    Neither: ((), ()),
}


def make(kind: type[Recorder], notes: int = 1) -> Recorder:
    engine = Engine()
    buffer = MessageBuffer("notes", engine=engine)
    topology = Topology({MachineType.Cache: 1})
    recorder = kind(ControllerContext(engine, topology, 0, {"notes": buffer}))
    for _ in range(notes):
        buffer.enqueue(Note(), 1)
    return recorder


def permitted(pointers: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in pointers if name.endswith("entry"))


@pytest.mark.parametrize("kind", SHAPES)
def test_actions_run_in_order_and_their_pointers_reach_set_state(kind: type[Recorder]) -> None:
    recorder = make(kind)
    recorder.engine.run()
    pointers = SHAPES[kind][1]
    assert recorder.calls == [
        ("first", 64),
        ("second", 64),
        ("set", *pointers, 64, State.B),
        ("permit", *permitted(pointers), 64, State.B),
    ]
    assert recorder.count_of(State.A, Event.Go) == 1
    assert (recorder.curTransitionEvent(), recorder.curTransitionNextState()) == (0, State.A)


@pytest.mark.parametrize("kind", SHAPES)
def test_a_computed_next_state_comes_before_the_checks_on_every_try(kind: type[Recorder]) -> None:
    recorder = make(kind, notes=2)
    recorder.states[0] = State.B
    recorder.room = False
    recorder.engine.run(until=2)
    assert recorder.calls == [("next", 64), ("room", 2)] * 2
    recorder.calls.clear()
    recorder.room = True
    recorder.engine.run()
    pointers = SHAPES[kind][0]
    tail = [
        ("second", 64),
        ("set", *pointers, 64, State.C),
        ("permit", *permitted(pointers), 64, State.C),
    ]
    assert recorder.calls == [("next", 64), ("room", 2), *tail, *tail]


@pytest.mark.parametrize("kind", SHAPES)
def test_states_without_a_row_are_verdicts(kind: type[Recorder]) -> None:
    for state, expected in (
        (State.NUM, ErrorKind.ENUM_RANGE),
        (77, ErrorKind.ENUM_RANGE),
    ):
        recorder = make(kind)
        recorder.states[0] = state
        with pytest.raises(ProtocolError) as caught:
            recorder.engine.run()
        assert caught.value.kind is expected
        assert caught.value.address == 64


def test_a_controller_must_be_allowed_to_do_something() -> None:
    engine = Engine()
    parameters = {"notes": MessageBuffer("notes", engine=engine)}
    context = ControllerContext(engine, Topology({}), 0, parameters, transitions_per_cycle=0)
    with pytest.raises(ValueError, match="no transitions"):
        Neither(context)


def test_a_missing_parameter_is_named() -> None:
    context = ControllerContext(Engine(), Topology({}), 0, {})
    with pytest.raises(ProtocolError, match="`notes`"):
        Neither(context)


def test_enumerations_are_numbers_with_names() -> None:
    assert State.members() == ("A", "B", "C")
    assert (State.NUM, State.count(), State.value_of("C")) == (3, 3, 2)
    assert [State.name_of(value) for value in (0, 3, 9)] == ["A", NO_VALUE, "<State 9>"]
    with pytest.raises(KeyError, match="State has no member D"):
        State.value_of("D")

    class Odd(Enumeration):
        None_: Final = 0
        count_: Final = 1
        plain_: Final = 2

    assert Odd.members() == ("None", "count", "plain_")
    with pytest.raises(TypeError, match="not numbered"):
        type("Bad", (Enumeration,), {"X": 0, "Y": 2})
