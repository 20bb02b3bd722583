"""Time sharing of the packet processor's slots when there are more queues.

A queue that is not mapped keeps its doorbell; its packets are fetched once it is mapped. A queue is
never preempted in the middle of its work: only an idle one loses its slot. A queue that waits at a
barrier packet counts as idle, or queues that wait for each other could hold all slots.

Invariant: between two turns of a queue every other queue that can give way has had one.
Source: D4, "Hardware scheduler".
"""

from __future__ import annotations

from collections import deque

from gpu.hsa.activities import Activities, Activity, Event, Pause, Steps
from gpu.hsa.queue_state import Connection
from gpu.packet_processor.packet_processor import PacketProcessor


class Scheduler:
    """``slots``: queues that are served at once; None: all. ``quantum``: ticks between swaps."""

    def __init__(
        self,
        activities: Activities,
        processor: PacketProcessor,
        slots: int | None,
        quantum: int,
    ) -> None:
        self._activities = activities
        self._processor = processor
        self._slots = slots
        self._quantum = quantum
        self._mapped: deque[tuple[Connection, Activity]] = deque()
        self._waiting: deque[Connection] = deque()
        self._arrived = Event()
        self._turns = 0
        """Swaps and checks since the last event."""
        if slots is not None:
            activities.start(self._swap())

    @property
    def mapped(self) -> list[Connection]:
        """Queues that have a slot, the one that has had it longest first."""
        return [link for link, _ in self._mapped]

    def add(self, link: Connection) -> None:
        """A new queue: it takes a free slot at once, or waits for its turn."""
        self._drop_ended()
        if self._slots is None or len(self._mapped) < self._slots:
            self._map(link)
        else:
            self._waiting.append(link)
            self._arrived.fire()

    def remove(self, link: Connection) -> None:
        """Take an idle queue's slot away for good."""
        self._waiting = deque(each for each in self._waiting if each is not link)
        for place, (other, activity) in enumerate(self._mapped):
            if other is link:
                del self._mapped[place]
                self._activities.cancel(activity)
                return

    def _map(self, link: Connection) -> None:
        self._mapped.append((link, self._processor.connect(link)))

    def _drop_ended(self) -> None:
        """Queues that have become inactive need no slot."""
        self._mapped = deque(each for each in self._mapped if not each[1].over)
        self._waiting = deque(link for link in self._waiting if link.active)

    # ------------------------------------------------------------------ turns

    def _swap(self) -> Steps[None]:
        seen_happening = self._activities.happened
        while True:
            if not self._waiting:
                yield Pause(None, self._arrived, self._arrived.count)
                continue
            happened = self._activities.happened
            self._turns = self._turns + 1 if happened == seen_happening else 0
            seen_happening = happened
            # Once every queue had a turn without an event, another round has no effect.
            done = self._turns > len(self._waiting) + len(self._mapped)
            yield Pause(self._quantum, looked=happened if done else None)
            self._drop_ended()
            self._give_slots()

    def _give_slots(self) -> None:
        assert self._slots is not None, "swaps without a number of slots"
        while self._waiting and len(self._mapped) < self._slots:
            self._map(self._waiting.popleft())
        if not self._waiting:
            return
        for place, (link, activity) in enumerate(self._mapped):
            if link.idle:
                del self._mapped[place]
                self._activities.cancel(activity)
                self._waiting.append(link)
                self._map(self._waiting.popleft())
                return
