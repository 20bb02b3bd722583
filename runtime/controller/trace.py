"""Looking at a run without changing it.

Invariant: observers are hooks that controllers call if there is one; without any, a run pays
one truth test per transition.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from runtime.prng import MASK64

if TYPE_CHECKING:
    from runtime.controller.shapes import Controller, TransitionObserver

_FACTOR = 0x9E3779B97F4A7C15


@dataclass(frozen=True, slots=True)
class Step:
    """One transition, in numbers of the machine ``controller``."""

    tick: int
    controller: Controller
    address: int
    state: int
    event: int
    next_state: int
    comment: str

    def __str__(self) -> str:
        states = self.controller.STATES
        event = self.controller.EVENTS.name_of(self.event)
        change = f"{states.name_of(self.state)} > {states.name_of(self.next_state)}"
        comment = f"  {self.comment}" if self.comment else ""
        who = f"{self.tick:>8}  {self.controller!r:<14} {self.address:#x}"
        return f"{who} {event:<20} {change}{comment}"


class LineHistory:
    """The last ``depth`` transitions of every line."""

    __slots__ = ("_rings", "depth")

    def __init__(self, depth: int = 64) -> None:
        self.depth = depth
        self._rings: dict[int, deque[tuple[int, Controller, int, int, int, int, str]]] = {}

    def __call__(
        self,
        controller: Controller,
        address: int,
        state: int,
        event: int,
        next_state: int,
        comment: str,
        /,
    ) -> None:
        ring = self._rings.get(address)
        if ring is None:
            ring = self._rings[address] = deque(maxlen=self.depth)
        ring.append((controller.engine.now, controller, address, state, event, next_state, comment))

    def of_line(self, address: int) -> list[Step]:
        """What is remembered about a line, oldest first."""
        return [Step(*step) for step in self._rings.get(address, ())]

    def lines(self) -> list[int]:
        """The lines with a history, in address order."""
        return sorted(self._rings)


class TraceHash:
    """A running 64-bit hash over (tick, controller, address, event, state, next state).

    Two runs with the same hash made the same transitions in the same order.
    """

    __slots__ = ("count", "value")

    def __init__(self) -> None:
        self.value = 0
        self.count = 0

    def __call__(
        self,
        controller: Controller,
        address: int,
        state: int,
        event: int,
        next_state: int,
        comment: str,
        /,
    ) -> None:
        step = (
            (controller.engine.now << 20)
            ^ (controller.consumer_id << 48)
            ^ (address << 1)
            ^ (event << 11)
            ^ state
            ^ (next_state << 56)
        )
        value = (self.value ^ step) * _FACTOR & MASK64
        self.value = value ^ (value >> 29)
        self.count += 1


class Observers:
    """Several observers as one."""

    __slots__ = ("members",)

    def __init__(self, *members: TransitionObserver) -> None:
        self.members = members

    def __call__(
        self,
        controller: Controller,
        address: int,
        state: int,
        event: int,
        next_state: int,
        comment: str,
        /,
    ) -> None:
        for member in self.members:
            member(controller, address, state, event, next_state, comment)
