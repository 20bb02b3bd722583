"""The one loop of a device: front end, compute units and memory, tick by tick.

At a tick everything that is due in the front end and the units runs, in a fixed order, and pushes
requests; then memory runs to its first answers or to the next tick that is due, and each answer
goes to the listener of its request. Units and memory may run many ticks at once (`Mover`) while no
other component is due.

Invariant: the ticks depend on the calls made and on nothing else.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from functools import partial
from typing import Protocol

import numpy as np

from gpu.dispatch.dispatcher import Dispatcher
from gpu.dispatch.launch import ComputeUnit, SteppedUnit
from gpu.errors import HostError
from gpu.host_wait import HostWait, WaitObserver, host_waits
from gpu.hsa.activities import Activities, Activity
from gpu.memory.interface import Memory, hand_out

Due = Callable[[], int | None]
"""When a component other than units and memory acts next; None if none will."""


class Mover(Protocol):
    """What runs compute units and memory."""

    def run(self, due: Due) -> bool:
        """Let units act at this tick and memory run to its first answers, or further, but not
        beyond the tick in which another component acts; returns whether a unit has acted."""


class OneByOne:
    """A `Mover` that runs one unit after the other, and then memory."""

    def __init__(self, memory: Memory, units: Sequence[SteppedUnit]) -> None:
        self._memory = memory
        self._units = units

    def run(self, due: Due) -> bool:
        memory = self._memory
        now = memory.now
        acted = False
        for unit in self._units:
            tick = unit.next_tick
            if tick is not None and tick <= now:
                unit.run(now)
                acted = True
        until = due()
        for unit in self._units:
            tick = unit.next_tick
            if tick is not None and (until is None or tick < until):
                until = tick
        hand_out(memory.run(None if until is None else max(until, now + 1)))
        return acted


class Loop:
    """``calls``: functions to be called between ticks, where they may run the loop themselves.
    ``inside``: whose program computes in the middle of a tick, where it must not. ``observer``:
    notified of what the host waits for."""

    def __init__(
        self,
        memory: Memory,
        activities: Activities,
        dispatcher: Dispatcher,
        units: Sequence[ComputeUnit],
        mover: Mover,
        observer: WaitObserver,
    ) -> None:
        self.memory = memory
        self.activities = activities
        self.calls: deque[Callable[[], None]] = deque()
        self.inside: str | None = None
        self._dispatcher = dispatcher
        self._units = units
        self.mover = mover
        self.observer = observer

    def host_waits(self, how: HostWait) -> AbstractContextManager[None]:
        """For the time in which the host runs the device and waits in this way."""
        return host_waits(self.observer, how)

    @property
    def at_rest(self) -> bool:
        """Nothing can change unless the host acts."""
        for unit in self._units:
            if unit.next_tick is not None:
                return False
        return (
            not self.calls
            and not self.memory.busy
            and self._dispatcher.next_tick is None
            and self.activities.at_rest
        )

    @property
    def waiting(self) -> list[str]:
        """One line for each party that waits, and for what."""
        lines = self.activities.waiting
        for unit in self._units:
            if not unit.idle:
                lines.append(f"compute unit {unit.index}: waves are resident, and none can proceed")
        return lines

    def tick(self, end: int | None = None, watched: bool = False) -> bool:
        """Advance to the next tick at which something happens, or to ``end``; False at rest.
        ``watched``: by no more than one tick, because the caller looks at the device then."""
        self._call()
        if watched:
            end = self.memory.now + 1
        with np.errstate(all="ignore"):  # kernels may divide by zero
            return self._tick(end, None)

    def finish(self, sequence: Activity, end: int | None = None) -> bool:
        """Tick until a sequence of the front end is over, to the very next tick behind it, or
        until ``end``; False if all is at rest before."""
        moved = True
        while moved and self._goes_on(sequence, end):
            self._call()
            with np.errstate(all="ignore"):
                moved = self._tick(end, sequence)
                while moved and not self.calls and self._goes_on(sequence, end):
                    moved = self._tick(end, sequence)
        return moved

    def _goes_on(self, sequence: Activity, end: int | None) -> bool:
        return not sequence.over and (end is None or self.memory.now < end)

    def _call(self) -> None:
        while self.calls:
            self.calls.popleft()()

    def _tick(self, end: int | None, sequence: Activity | None) -> bool:
        if self.inside is not None:
            raise HostError(
                f"a program of {self.inside} runs the device that runs it; it yields its accesses"
            )
        if self.at_rest:
            return False
        now = self.memory.now
        self.activities.run(now)
        self._dispatcher.run(now)
        if sequence is not None and sequence.over:
            end = now + 1
        if self.mover.run(partial(self._due, end)):
            self.activities.happened += 1
        return True

    def settle(self) -> None:
        """Let memory answer all requests made so far; no new ones are made meanwhile."""
        while self.memory.busy:
            hand_out(self.memory.run(None))

    def _due(self, end: int | None) -> int | None:
        """When a component other than units and memory acts next; None if only answers cause
        progress."""
        if self.calls:
            return self.memory.now
        due = self.activities.next_tick
        if end is not None and (due is None or end < due):
            due = end
        tick = self._dispatcher.next_tick
        if tick is not None and (due is None or tick < due):
            due = tick
        return due
