"""Lets a timed engine take the order of a counterexample, and writes down how.

Step k of the counterexample gets a tick, so many after that of step k - 1. A message is delayed by
what is left, when it is sent, until the tick of the step in which it is to arrive; what the
counterexample does not send, because it ends before, arrives behind it. Invariant: steps are
further apart than any latency of the system, so messages arrive in the order of the steps
wherever each one is sent before it is to arrive.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from msgspec import structs

from protocols.loader import LoadedProtocol
from runtime.description import DelayedMessage
from runtime.network.bus import BusPort
from runtime.sim.delay_policy import SCRIPTED, line_number
from runtime.sim.engine import Engine
from runtime.sim.message_buffer import MessageBuffer
from runtime.system.builder import build_system, channel_names
from runtime.system.system import System
from runtime.types.message import Message
from slicc.text.lazy_dataclass import dataclass
from tester.campaign.campaign import leg_run
from tester.exploration.counterexample.followed import NO_LINE, Followed, Kept, is_never
from tester.exploration.small_system import FIRST_ADDRESS
from tester.program.replay_file import Leg

_SLACK: Final = 20
AFTERWARDS: Final = 20
"""Steps behind the last one, in which arrives what the counterexample leaves under way."""


@dataclass(frozen=True, slots=True)
class Late:
    """A message that was sent when it should have arrived."""

    step: int
    channel: str


@dataclass(frozen=True, slots=True)
class Directed:
    """``leg``: with the delays written down; ``late``: the first message that spoils the order."""

    leg: Leg
    late: Late | None


def steps_apart(leg: Leg) -> int:
    """Ticks from one step to the next."""
    description = leg.description
    return _SLACK + 2 * (description.memory.latency + description.network.latency)


def directed(leg: Leg, protocol: LoadedProtocol, followed: Followed) -> Directed:
    """The leg with the delays that give it the order of a counterexample."""
    system = build_system(protocol.info, leg.description, leg.run_key)
    plan = _Plan(system.engine, followed, steps_apart(leg), leg.program.line_size)
    _install(plan, system)
    leg_run(leg, system).run()
    if not plan.script:
        return Directed(leg, plan.late)
    network = structs.replace(
        leg.description.network, delays=SCRIPTED, script=tuple(sorted(plan.script, key=_order))
    )
    scripted = structs.replace(leg.description, network=network)
    return Directed(replace(leg, description=scripted), plan.late)


def _order(delay: DelayedMessage) -> tuple[str, int, int]:
    return delay.channel, delay.line, delay.message


def _install(plan: _Plan, system: System) -> None:
    """Every channel asks the plan. A tap, whatever it does, keeps the engine off its fast paths, on
    which a buffer would not ask."""
    system.engine.tap = lambda name, message, tick: None
    known = set(channel_names(system.network, system.buffers))
    for name, buffer in system.buffers.items():
        if name in known:
            buffer.__class__ = _DirectedBuffer
            buffer.delays = _Channel(plan, name)
    for port in system.network.ports:
        if isinstance(port, BusPort):
            port.set_delays(0, _Channel(plan, f"{port.name}->bus"))
            continue
        for node, buffer in port.receivers():
            port.set_delays(node, _Channel(plan, f"{port.name}->{buffer.name}"))


class _Plan:
    """When messages are to arrive. ``script``: the delays that do it."""

    def __init__(self, engine: Engine, followed: Followed, apart: int, line_size: int) -> None:
        self.script: list[DelayedMessage] = []
        self.late: Late | None = None
        self.line_bits = line_size.bit_length() - 1
        self._engine = engine
        self._followed = followed
        self._apart = apart

    def comes_at_once(self, channel: str, until: int) -> bool:
        """Whether what has no latency is there at once: nothing is under way that it must not
        overtake. ``until``: when the last message arrives that was sent there."""
        return until <= self._engine.now or channel in self._followed.prompt

    def arrival(self, delay: int) -> int:
        return self._engine.now + delay

    def delay(self, channel: str, line: int, message: int, turn: int) -> int:
        """The delay of a message that is sent now: the ``message``-th of a line on its channel,
        from 1, and the ``turn``-th of those that are under way for some time."""
        address = line << self.line_bits
        number = NO_LINE if address < FIRST_ADDRESS else line - (FIRST_ADDRESS >> self.line_bits)
        steps = self._followed.arrivals.get(Kept(channel, number), ())
        end = len(self._followed.steps)
        unknown = turn > len(steps)
        over = self._engine.now >= (1 + end) * self._apart
        if unknown and (over or channel in self._followed.eager):
            return 0
        step = end + AFTERWARDS if unknown else steps[turn - 1]
        if is_never(step):
            step = end + AFTERWARDS
        cycles = (1 + step) * self._apart - self._engine.now
        if cycles < 0 and (self.late is None or step < self.late.step):
            self.late = Late(step, channel)
        if cycles > 0:
            self.script.append(DelayedMessage(channel, message, cycles, address))
        return max(cycles, 0)


class _Channel:
    """The delays of one channel, as `runtime.sim.delay_policy.Delays` has them. ``latency``: of the
    message that is sent next."""

    def __init__(self, plan: _Plan, name: str) -> None:
        self.latency = 1
        self._plan = plan
        self._name = name
        self._sent: dict[int, int] = {}
        self._turns: dict[int, int] = {}
        self._until = 0

    def next(self, message: Message) -> int:
        line = line_number(message, self._plan.line_bits)
        number = self._sent[line] = self._sent.get(line, 0) + 1
        if not self.latency and self._plan.comes_at_once(self._name, self._until):
            return 0
        turn = self._turns[line] = self._turns.get(line, 0) + 1
        delay = self._plan.delay(self._name, line, number, turn)
        self._until = max(self._until, self._plan.arrival(self.latency + delay))
        return delay


class _DirectedBuffer(MessageBuffer):
    """A buffer that gives its channel the latency of each message that is sent."""

    __slots__ = ()

    def send(self, message: Message, latency: int, bypass: bool) -> None:
        if isinstance(self.delays, _Channel):
            self.delays.latency = latency
        super().send(message, latency, bypass)
