"""The first transitions of a leg, as both engines write them down.

Campaigns that are guided by what is new look at every leg, so that a log is written by compiled
code into memory that is kept. Invariant: both engines write the same rows for the same leg.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from runtime.controller.shapes import Controller

Rows = npt.NDArray[np.uint64]
"""[N, 6]: tick, controller, address, state, event, next state (`StepWord`)."""
ROOM: Final = 1 << 16
"""Legs that campaigns draw make some 15,000 transitions."""
_WORDS: Final = 6


class TransitionLog:
    """Memory for one leg at a time. ``made``: rows of the last one."""

    def __init__(self, room: int = ROOM) -> None:
        self.rows: Rows = np.zeros((room, _WORDS), np.uint64)
        self.made = 0

    @property
    def transitions(self) -> Rows:
        """The transitions of the last leg, in their order."""
        return self.rows[: self.made]

    def clear(self) -> None:
        self.made = 0

    def take(self, parts: Iterable[Rows]) -> None:
        """Replace the rows by these, as far as there is room."""
        self.clear()
        for part in parts:
            count = min(len(part), len(self.rows) - self.made)
            self.rows[self.made : self.made + count] = part[:count]
            self.made += count

    def note(
        self,
        controller: Controller,
        address: int,
        state: int,
        event: int,
        following: int,
        comment: str,
        /,
    ) -> None:
        """An observer of the Python engine's controllers."""
        if self.made < len(self.rows):
            tick, number = controller.engine.now, controller.consumer_id
            self.rows[self.made] = (tick, number, address, state, event, following)
            self.made += 1
