"""A hand-written machine with several ports whose messages say what is to be done.

Invariant: every message that is handled is written to ``log`` as (tick, port number, label).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Final

from runtime.controller.shapes import UNCOUNTED as UNCOUNTED
from runtime.controller.shapes import (
    ControllerContext,
    InPort,
    Need,
    PlainController,
    PollResult,
    Transaction,
    Transition,
    TransitionTable,
)
from runtime.network.network import Topology
from runtime.sim.engine import Engine
from runtime.sim.message_buffer import MessageBuffer
from runtime.types.enumeration import Enumeration
from runtime.types.message import Message
from runtime.types.messages import MachineType


class State(Enumeration):
    S: Final = 0


class Event(Enumeration):
    Log: Final = 0
    Wait: Final = 1
    WakeLower: Final = 2
    WakeLine: Final = 3
    WakeAll: Final = 4
    WakePort0: Final = 5
    NeedSlot: Final = 6
    NeedType: Final = 7
    Stall: Final = 8
    Echo: Final = 9
    Recycle: Final = 10


class RequestType(Enumeration):
    Zebra: Final = 0
    Ape: Final = 1


class Memo(Message):
    addr: int = 0
    event: int = 0
    label: int = 0


class Recorder(PlainController):
    """``ports`` in-ports; a line that is closed makes ``Log`` messages of it wait."""

    MACHINE: ClassVar[str] = "Recorder"
    MACHINE_TYPE: ClassVar[int] = MachineType.Cache
    STATES: ClassVar[type[Enumeration]] = State
    EVENTS: ClassVar[type[Enumeration]] = Event
    REQUEST_TYPES: ClassVar[type[Enumeration] | None] = RequestType

    def __init__(
        self,
        context: ControllerContext,
        ranks: tuple[int, ...],
        handlers: dict[str, Callable[[], bool]] | None = None,
    ) -> None:
        super().__init__(context)
        self.log: list[tuple[int, int, int]] = []
        self.polls: list[tuple[int, int]] = []
        self.closed: set[int] = set()
        self.free_types = {RequestType.Zebra, RequestType.Ape}
        self.type_calls: list[tuple[str, int]] = []
        self.limited: MessageBuffer = context.parameter("limited", MessageBuffer)
        self.inputs: list[MessageBuffer] = context.parameter("inputs", list)
        self.peeked = Memo()
        self.port_number = 0
        self.bind(
            ports=tuple(
                InPort(
                    f"in{number}",
                    buffer,
                    partial(self.poll, number),
                    rank=rank,
                    guarded=True,
                    resource_stall_handler=(handlers or {}).get("resource"),
                    protocol_stall_handler=(handlers or {}).get("protocol"),
                )
                for number, (buffer, rank) in enumerate(zip(self.inputs, ranks, strict=True))
            ),
            transitions=self.TRANSITIONS,
        )

    def poll(self, number: int) -> PollResult:
        buffer = self.inputs[number]
        self.polls.append((self.engine.now, number))
        if buffer.isReady():
            in_msg = self.peeked = buffer.peek(Memo)
            self.port_number = number
            if self.is_blocked(in_msg.addr, buffer):
                buffer.delay_head(1)
                return UNCOUNTED
            if in_msg.event == Event.Log and in_msg.addr in self.closed:
                return self.trigger(Event.Wait, in_msg.addr)
            return self.trigger(in_msg.event, in_msg.addr)
        return False

    def getState(self, address: int) -> int:
        return State.S

    def setState(self, address: int, state: int) -> None:
        pass

    def setAccessPermission(self, address: int, state: int) -> None:
        pass

    def checkResourceAvailable(self, request: int, address: int) -> bool:
        self.type_calls.append(("check", request))
        return request in self.free_types

    def recordRequestType(self, request: int, address: int) -> None:
        self.type_calls.append(("record", request))

    def p_pop(self, t: Transaction) -> None:
        self.log.append((self.engine.now, self.port_number, self.peeked.label))
        self.inputs[self.port_number].dequeue()

    def w_wait(self, t: Transaction) -> None:
        self.stall_and_wait(self.inputs[self.port_number], t.address)

    def l_lower(self, t: Transaction) -> None:
        self.closed.discard(t.address)
        self.wakeUpBuffers(t.address)

    def l_line(self, t: Transaction) -> None:
        self.closed.discard(t.address)
        self.wakeUpAllBuffers(t.address)

    def l_all(self, t: Transaction) -> None:
        self.closed.clear()
        self.wakeUpAllBuffers()

    def l_port0(self, t: Transaction) -> None:
        self.closed.discard(t.address)
        self.wakeup_port(self.inputs[0], t.address)

    def e_echo(self, t: Transaction) -> None:
        self.inputs[self.port_number].enqueue(self.peeked.copy(), 0)

    def q_use(self, t: Transaction) -> None:
        self.limited.enqueue(Memo(), 1)

    def r_recycle(self, t: Transaction) -> None:
        self.log.append((self.engine.now, self.port_number, self.peeked.label))
        if self.engine.now < 20:
            self.inputs[self.port_number].recycle(self.recycle_latency)
        else:
            self.inputs[self.port_number].dequeue()

    TRANSITIONS: ClassVar[TransitionTable] = {
        (State.S, Event.Log): Transition(None, (p_pop,)),
        (State.S, Event.Wait): Transition(None, (w_wait,)),
        (State.S, Event.WakeLower): Transition(None, (p_pop, l_lower)),
        (State.S, Event.WakeLine): Transition(None, (p_pop, l_line)),
        (State.S, Event.WakeAll): Transition(None, (p_pop, l_all)),
        (State.S, Event.WakePort0): Transition(None, (p_pop, l_port0)),
        (State.S, Event.NeedSlot): Transition(None, (p_pop, q_use), needs=(Need("limited", 1),)),
        (State.S, Event.NeedType): Transition(
            None, (p_pop,), requests=(RequestType.Zebra, RequestType.Ape, RequestType.Zebra)
        ),
        (State.S, Event.Stall): Transition(
            None, (p_pop,), requests=(RequestType.Ape,), stalls=True
        ),
        (State.S, Event.Echo): Transition(None, (e_echo, p_pop)),
        (State.S, Event.Recycle): Transition(None, (r_recycle,)),
    }


class Harness:
    """One recorder with its buffers."""

    def __init__(
        self,
        ranks: tuple[int, ...] = (0, 1, 2),
        kind: type[Recorder] = Recorder,
        handlers: dict[str, Callable[[], bool]] | None = None,
        **fields: Any,
    ) -> None:
        self.engine = Engine()
        self.topology = Topology({MachineType.Cache: 1})
        self.inputs = [
            MessageBuffer(f"Recorder.in{number}", engine=self.engine)
            for number in range(len(ranks))
        ]
        self.limited = MessageBuffer("Recorder.limited", 1, engine=self.engine)
        parameters: dict[str, Any] = {"inputs": self.inputs, "limited": self.limited}
        context = ControllerContext(self.engine, self.topology, 0, parameters, **fields)
        self.recorder = kind(context, ranks, handlers)
        self.limited.set_consumer(self.recorder)

    def send(self, port: int, label: int, event: int, tick: int, addr: int = 0) -> None:
        memo = Memo()
        memo.label = label
        memo.event = event
        memo.addr = addr
        self.engine.deliver(self.inputs[port], memo, tick)
