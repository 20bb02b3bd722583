"""Events: mailboxes that signals write to, and the interrupts that say which one to check.

An interrupt carries only the low eight bits of an event's number, so all mailboxes with these bits
are checked; a number in one means that its event has happened.

Invariant: a mailbox that has been checked is empty again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gpu.errors import HostError
from gpu.hsa.activities import Steps
from gpu.memory.address_space import Unmapped
from gpu.packet_processor.control_port import ControlPort

SLOT: Final = 8
SLOTS: Final = 512
EMPTY: Final = (1 << 64) - 1


@dataclass(slots=True, eq=False)
class HostEvent:
    """``mailbox``: where its number is written. ``count``: how often it has happened."""

    id: int
    mailbox: int
    count: int = 0


class EventPage:
    """The mailboxes of one process, in one page at ``base`` that is filled with `EMPTY`."""

    def __init__(self, control: ControlPort, base: int) -> None:
        self._control = control
        self.base = base
        self._events: list[HostEvent] = []
        self.messages: list[int] = []
        """Low eight bits of event numbers, from interrupts."""

    def create(self) -> HostEvent:
        """A new event; number 0 is none. Raises HostError when all mailboxes are in use."""
        number = len(self._events) + 1
        if number >= SLOTS:
            raise HostError(f"there are {SLOTS - 1} events; no further one can be made")
        self._events.append(HostEvent(number, self.base + number * SLOT))
        return self._events[-1]

    def interrupt(self, message: int) -> None:
        """Check the mailboxes that the message can mean."""
        self.messages.append(message & 0xFF)
        asked = [event for event in self._events if event.id & 0xFF == message & 0xFF]
        self._control.activities.start(self._look(asked))

    def _look(self, events: list[HostEvent]) -> Steps[None]:
        for event in events:
            try:
                yield from self._check(event)
            except Unmapped:
                return  # the process has ended, or its page tables no longer name the page

    def _check(self, event: HostEvent) -> Steps[None]:
        found = yield from self._control.load_int(event.mailbox)
        if found != EMPTY:
            yield from self._control.store_int(event.mailbox, EMPTY)
            event.count += 1
            self._control.activities.notify()
