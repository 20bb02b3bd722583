"""Looking at a run without changing it.

Invariant: observers are hooks that controllers call if there is one; without any, a run pays
one truth test per transition.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from runtime.prng import MASK64

if TYPE_CHECKING:
    from runtime.controller.shapes import Controller, TransitionObserver

_FACTOR = 0x9E3779B97F4A7C15


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
