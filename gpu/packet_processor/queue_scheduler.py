"""Time sharing of the packet processor's slots when there are more queues.

A queue that is not mapped keeps its doorbell; its packets are fetched once it is mapped. Every
quantum, the waiting queue that is next takes the slot of an idle one. A queue that waits at a
barrier packet counts as idle, or queues that wait for each other could hold all slots. If none is
idle, a queue of the lowest priority takes no further packet. One with a context save area gives its
slot up once its waves are there (`gpu.packet_processor.context_switch`); another one once those
packets that were launched, `IN_FLIGHT` at most, have completed.

Next is the queue of the highest priority among those with packets, then the one that has waited
longest. A queue that is passed over counts as one level higher each time, so that none starves.

Invariant: a queue with packets gets a slot after at most HIGHEST_PRIORITY + W turns, W being the
number of waiting queues. A turn lasts two quanta at most (from its first packet, or from when its
waves are back), and then what the queue that gives way needs: its accesses to return and its waves
to be written, or what was launched to complete. A quantum has to be longer than an access of a wave
takes.
Source: D4, "Hardware scheduler"; D3 for priorities.
"""

from __future__ import annotations

from collections import deque
from typing import Final, Protocol

from gpu.hsa.activities import Activities, Activity, Event, Pause, Steps
from gpu.hsa.queue_state import NOT_YET, Connection
from slicc.text.lazy_dataclass import dataclass

IN_FLIGHT: Final = 8
"""Packets of a queue that are under way at once where slots are limited."""


@dataclass(slots=True)
class Waits:
    """What turns have cost so far; ticks. ``turns``: slots that were handed over or kept, while
    queues without one had packets. Of a queue that had packets and no slot, ``longest_turns`` and
    ``longest_ticks``: turns that passed it over, and the time until its own. ``longest_switch``:
    what a queue whose turn was over took to give its slot up."""

    turns: int = 0
    longest_turns: int = 0
    longest_ticks: int = 0
    longest_switch: int = 0


@dataclass(slots=True, eq=False)
class _Waiting:
    """A queue without a slot. ``passed``: turns that went to another queue although it had work."""

    link: Connection
    passed: int = 0

    @property
    def urgency(self) -> int:
        return self.link.priority + self.passed


class Server(Protocol):
    """What serves queues."""

    def connect(self, link: Connection) -> Activity:
        """Begin to serve one; may be cancelled while it is idle."""


class Scheduler:
    """``slots``: queues that are served at once; None: all. ``quantum``: ticks between swaps."""

    def __init__(
        self,
        activities: Activities,
        processor: Server,
        slots: int | None,
        quantum: int,
    ) -> None:
        self._activities = activities
        self._processor = processor
        self._slots = slots
        self._quantum = quantum
        self._mapped: deque[tuple[Connection, Activity]] = deque()
        self._waiting: deque[_Waiting] = deque()
        self._arrived = Event()
        self._given_up = Event()
        self._asked = 0
        """The tick in which a queue was last told to give way."""
        self.waits = Waits()
        if slots is not None:
            activities.start(self._swap())

    @property
    def mapped(self) -> list[Connection]:
        """Queues that have a slot, the one that has had it longest first."""
        return [link for link, _ in self._mapped]

    def add(self, link: Connection) -> None:
        """A new queue: it takes a free slot at once, or waits for its turn."""
        self._drop_ended()
        link.tried = -1
        if self._slots is None or len(self._mapped) < self._slots:
            self._map(_Waiting(link))
        else:
            self._wait(link)
            self._arrived.fire()

    def rung(self, link: Connection) -> None:
        """A queue's doorbell was rung."""
        link.tried = -1
        if link.waits_since is None and link.has_work and not self.serves(link):
            link.waits_since = self._now

    def serves(self, link: Connection) -> bool:
        """Whether a queue has a slot."""
        return any(other is link for other, _ in self._mapped)

    def remove(self, link: Connection) -> None:
        """Take an idle queue's slot away for good."""
        self._waiting = deque(each for each in self._waiting if each.link is not link)
        if self.serves(link):
            self._unmap(link)

    def _wait(self, link: Connection) -> None:
        link.waits_since = self._now if link.has_work else None
        self._waiting.append(_Waiting(link))

    def _map(self, chosen: _Waiting) -> None:
        link, waits = chosen.link, self.waits
        if link.waits_since is not None:
            waits.longest_turns = max(waits.longest_turns, chosen.passed)
            waits.longest_ticks = max(waits.longest_ticks, self._now - link.waits_since)
        link.waits_since = None
        link.tried = self._activities.happened
        link.gives_way = None
        link.since = NOT_YET
        assert not self.serves(link), "a queue has one slot"
        assert self._slots is None or len(self._mapped) < self._slots
        self._mapped.append((link, self._processor.connect(link)))

    def _unmap(self, link: Connection) -> None:
        for place, (other, activity) in enumerate(self._mapped):
            if other is link:
                del self._mapped[place]
                self._activities.cancel(activity)
                return

    def _drop_ended(self) -> None:
        """Queues that have become inactive need no slot."""
        self._mapped = deque(each for each in self._mapped if not each[1].over)
        self._waiting = deque(each for each in self._waiting if each.link.active)

    # ------------------------------------------------------------------ turns

    def _swap(self) -> Steps[None]:
        while True:
            if not self._waiting:
                self._keep_the_others()
                yield Pause(None, self._arrived, self._arrived.count)
                continue
            looked = self._activities.happened if self._in_vain else None
            yield Pause(self._quantum, self._given_up, self._given_up.count, looked)
            self._drop_ended()
            self._give_slots()

    @property
    def _in_vain(self) -> bool:
        """Whether further turns have no effect: every queue has had one since the last event, or
        one that holds its slot has been told to give way."""
        if any(link.idle for link in self.mapped):
            happened = self._activities.happened
            return all(each.link.tried == happened for each in self._waiting)
        told = any(link.gives_way is not None for link in self.mapped)
        return told or not any(each.link.has_work for each in self._waiting)

    def _give_slots(self) -> None:
        assert self._slots is not None, "swaps without a number of slots"
        while self._waiting and len(self._mapped) < self._slots:
            self._map(self._take_next())
        if not self._waiting:
            self._keep_the_others()  # the one that was to get a slot has ended
            return
        idle = self._first_idle()
        if idle is None:
            self._end_a_turn()
            return
        if self._in_vain:
            return
        if idle.gives_way is not None:
            if not idle.saved:
                idle.tried = -1  # it was to do more
            self.waits.longest_switch = max(self.waits.longest_switch, self._now - self._asked)
        then = self._take_next()
        self._unmap(idle)
        self._wait(idle)
        self._map(then)
        self._keep_the_others()

    def _next(self) -> _Waiting:
        """The one that has waited longest among equals."""
        return max(self._waiting, key=lambda each: (each.link.has_work, each.urgency))

    def _take_next(self) -> _Waiting:
        """The others with packets become more urgent. A queue without packets is looked at when
        all with packets have been, since the last event."""
        happened = self._activities.happened
        untried = [each for each in self._waiting if each.link.tried != happened]
        with_work = any(each.link.has_work for each in untried)
        chosen = untried[0] if untried and not with_work else self._next()
        self._waiting.remove(chosen)
        self._pass_over()
        return chosen

    def _pass_over(self) -> None:
        self.waits.turns += 1
        for each in self._waiting:
            each.passed += each.link.has_work

    def _first_idle(self) -> Connection | None:
        """One that was to give way, if it is ready, else the one that has had its slot longest."""
        idle = [link for link in self.mapped if link.idle]
        return min(idle, key=lambda link: link.gives_way is None, default=None)

    def _end_a_turn(self) -> None:
        """Have a busy queue give way, if none does yet, to one that is as urgent."""
        if any(link.gives_way is not None for link in self.mapped):
            return
        then = self._next()
        over = [link for link in self.mapped if self._now - link.since >= self._quantum]
        if not over or not then.link.has_work:
            return
        least = min(over, key=lambda link: link.priority)
        if least.priority <= then.urgency:
            least.gives_way = self._given_up
            self._asked = self._now
            least.changed.fire()
        else:
            self._pass_over()

    @property
    def _now(self) -> int:
        return self._activities.memory.now

    def _keep_the_others(self) -> None:
        """Take back that queues give way: the slot of another one was enough."""
        for link in self.mapped:
            if link.gives_way is not None:
                link.gives_way = None
                link.changed.fire()
