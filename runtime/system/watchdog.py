"""Ends runs that only work: transitions without a completed request, messages without end.

Ticks alone do not show a runaway: one tick may hold any amount of work, and a system in which
messages multiply slows down until its ticks never come. So work is counted too. The engine counts
the wake-ups that it makes and looks here after every :data:`LOOK_WAKEUPS` of them, or when it has
sent a quarter of the messages that may be under way; everything else is read from counters that
exist anyway, so that a run pays for a look and not for a transition.

Invariant: both engines look at the same points and see the same numbers, so a runaway ends in the
same tick, with the same transition named, on both (runtime/native/cpp/system/watchdog.hpp).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from runtime.controller.source_location import port_location, transition_location
from runtime.errors import ErrorKind, ProtocolError
from runtime.sim.engine import IDLE_SHARE, Limits
from runtime.sim.message_buffer import MessageBuffer
from runtime.types.message import Message, kind_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from runtime.controller.shapes import Controller
    from runtime.description import SystemDescription
    from runtime.network.network import Network
    from runtime.requesters.base import RequesterBase
    from runtime.sim.engine import Engine


def limits_of(description: SystemDescription) -> Limits:
    """What a system of this size may do; ``description`` is complete.

    A request and what it causes is in a few messages at once, a dozen at most on average; a line
    that a cache gives up is in two, its replacement and its write-back; what a controller sends
    without a request behind it (probes, invalidations, acknowledgements) is bounded by the lines
    that it is busy with, for which 1,000 are allowed.

    Work is wake-ups and transitions. Between two completed requests every controller may retry
    through 10,000 cycles (a wake-up and a transition each), one of them through ten times as many,
    and every line of every cache may be written back, at 10 wake-ups and transitions. A completed
    request allows for more: 100 in each controller, since it may have asked all of them, and 50 for
    each of its 64 lanes.

    Measured: docs/semantics.md, "Runaways".
    """
    controllers = lines = outstanding = 0
    for machine in description.machines.values():
        count = machine.count or 0
        controllers += count
        lines += count * sum(each.sets * each.ways for each in machine.caches.values())
    for requester in description.requesters.values():
        count = description.machines[requester.machine].count or 0
        outstanding += count * (requester.outstanding or 64)
    return Limits(
        messages=10_000 + 1_000 * controllers + 12 * outstanding + 2 * lines,
        work=200_000 + 20_000 * controllers + 10 * lines,
        credit=100 * controllers + 50 * 64,
    )


class Watchdog:
    """Looks at a built system. ``since``: the tick from which it has been suspicious, or None."""

    def __init__(
        self,
        engine: Engine,
        controllers: Sequence[Controller],
        requesters: Sequence[RequesterBase],
        buffers: Mapping[str, MessageBuffer],
        network: Network,
    ) -> None:
        self.engine = engine
        self.controllers = controllers
        self.requesters = requesters
        self.buffers = buffers
        self.network = network
        self.since: int | None = None
        self._before: list[list[int]] = []
        """Counts of transitions, by controller, when the suspicion began ..."""
        self._wakeups_before = 0
        """... and wake-ups."""
        self._paid = 0
        """Work that completed requests account for."""
        self._completed = 0

    def look(self) -> ProtocolError | None:
        """The verdict, if this is a runaway."""
        limits, engine = self.engine.limits, self.engine
        transitions = sum(sum(controller.counts) for controller in self.controllers)
        work = transitions + engine.wakeups_made
        completed = sum(r.completed for r in self.requesters)
        allowed = limits.credit * (completed - self._completed)
        excess = max(0, work - self._paid - allowed)
        self._paid = work - excess
        self._completed = completed
        messages = sum(1 for _ in self._messages())
        if 2 * messages <= limits.messages and not excess:
            self.since = None
        elif self.since is None:
            self.suspect()
        elif messages > limits.messages:
            return self._multiplying(messages)
        elif excess > limits.work:
            return self._spinning()
        return None

    def suspect(self) -> None:
        """Note where the counters stand, so that it can be named what has moved since."""
        self.since = self.engine.now
        self._before = [controller.counts[:] for controller in self.controllers]
        self._wakeups_before = self.engine.wakeups_made

    # ------------------------------------------------------------------ verdicts

    def endless_tick(self) -> ProtocolError:
        """There were too many rounds in one tick."""
        rounds = self.engine.max_rounds
        return self._verdict(
            ErrorKind.TOO_MANY_TRANSITIONS,
            f"more than {rounds:,} rounds of wake-ups without progress of time",
        )

    def _spinning(self) -> ProtocolError:
        return self._verdict(
            ErrorKind.TOO_MANY_TRANSITIONS,
            f"{self._work_text()} since tick {self.since:,} for next to no completed request",
        )

    def _multiplying(self, messages: int) -> ProtocolError:
        return self._verdict(
            ErrorKind.TOO_MANY_MESSAGES,
            f"{messages:,} messages are under way, where {self.engine.limits.messages:,} are many",
            everywhere=True,
        )

    def _work_text(self) -> str:
        transitions = sum(count for _, count, *_ in self._cells())
        wakeups = self.engine.wakeups_made - self._wakeups_before
        return f"{transitions:,} transitions and {wakeups:,} wake-ups"

    def _verdict(self, kind: ErrorKind, text: str, everywhere: bool = False) -> ProtocolError:
        error = ProtocolError(kind, text)
        error.tick = self.engine.now
        culprit = self._culprit()
        if culprit is None:
            return error
        controller, count, cell = culprit
        error.machine, error.version = controller.MACHINE, controller.version
        error.message += f"; {controller!r} "
        error.message += f"made {count:,} of the transitions" if count else "is woken every time"
        if cell is not None:
            state, event = cell
            error.state = controller.STATES.name_of(state)
            error.event = controller.EVENTS.name_of(event)
            error.location = transition_location(type(controller), state, event) or None
            error.message += f"{',' if count else ' and stalls'} {error.event} in {error.state}"
        else:
            error.message += _ready_port(controller)
        message = self._message_text(None if everywhere else controller)
        if message:
            error.message += f"; {message}"
        error.args = (error.message,)
        return error

    def busiest(self) -> str:
        """What moves while no request is completed, for the report of a hang; empty: nothing."""
        if self.since is None:
            return ""
        error = self._spinning()
        return error.message + (f"  [{error.location}]" if error.location else "")

    # ------------------------------------------------------------------ who and what

    def _cells(self) -> Iterator[tuple[Controller, int, int, int]]:
        """(controller, executions since the suspicion, state, event), where there are any."""
        for controller, before in zip(self.controllers, self._before):
            if controller.counts == before:
                continue
            stride = controller.EVENTS.NUM + 1
            for index, (now, then) in enumerate(zip(controller.counts, before)):
                if now != then:
                    yield controller, now - then, *divmod(index, stride)

    def _culprit(self) -> tuple[Controller, int, tuple[int, int] | None] | None:
        """(controller, executions, (state, event)) of the transition that was made most often, the
        first of equals. If there are hardly any: the first controller that stalled in this tick,
        with the transition that it tried, else the first that ran."""
        cells = list(self._cells())
        transitions = sum(count for _, count, *_ in cells)
        if transitions * IDLE_SHARE >= self.engine.wakeups_made - self._wakeups_before:
            found = max(cells, key=lambda cell: cell[1], default=None)
            return None if found is None else (found[0], found[1], found[2:])
        now = self.engine.now
        for controller in self.controllers:
            tick, *cell = controller.stalled_at
            if tick == now:
                return controller, 0, (cell[0], cell[1])
        for controller in self.controllers:
            if controller.busy_tick == now:
                return controller, 0, None
        return None

    def _message_text(self, controller: Controller | None) -> str:
        """The most frequent kind of message for a controller's ports, or for all."""
        found = Counter(
            (buffer.name, kind_of(message))
            for buffer, message in self._in_buffers()
            if controller is None or buffer.consumer is controller
        )
        if not found:
            return ""
        (name, kind), count = found.most_common(1)[0]
        return f"{count:,} {kind} {'is' if count == 1 else 'are'} in or on the way to {name}"

    def _in_buffers(self) -> Iterator[tuple[MessageBuffer, Message]]:
        """Messages that are in a buffer or on the way to it, with it."""
        putting: dict[object, MessageBuffer] = {}
        for buffer in self.buffers.values():
            putting[buffer.put] = putting[buffer.insert] = buffer
            for message in buffer.messages:
                yield buffer, message
            for stalled in buffer.stalled.values():
                for message in stalled:
                    yield buffer, message
        for slot in self.engine.slots.values():
            for put, message, _ in slot:
                target = putting.get(put)
                if target is not None:
                    yield target, message

    def _messages(self) -> Iterator[object]:
        """Every message that was sent and not consumed."""
        for buffer in self.buffers.values():
            yield from buffer.messages
            for stalled in buffer.stalled.values():
                yield from stalled
        for slot in self.engine.slots.values():
            yield from (item for _, item, _ in slot if item is not None)
        yield from self.network.held_messages()
        for controller in self.controllers:
            yield from controller.held_responses


def _ready_port(controller: Controller) -> str:
    """The first port of the controller that has a message, and its place, as text."""
    for port in controller.ports:
        if isinstance(port.buffer, MessageBuffer) and port.buffer.messages:
            place = port_location(type(controller), port.poll.__name__)
            return f" and looks at port {port.name} [{place}]"
    return ""
