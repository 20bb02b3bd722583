"""A wave's state in the timed unit: what it waits for, what it has fetched, what is in flight.

Invariant: ``ready`` is `NEVER` exactly while something must happen before the wave can issue again;
``waiting`` says what.
"""

from __future__ import annotations

from enum import Enum
from typing import Any, Final

from gpu.compute_unit.program.decoded_program import DecodedInstruction
from gpu.compute_unit.wave.wavefront import Group, Wavefront
from gpu.dispatch.launch import WaveStart

NEVER: Final = 1 << 62


class Waiting(Enum):
    """Why a wave cannot issue."""

    NOTHING = "nothing"
    FETCH = "instruction fetch"
    COUNTERS = "s_waitcnt"
    FULL = "a counter at its maximum"
    BARRIER = "barrier"
    DEBUGGER = "debugger"
    END = "end of the program"


class PipelinedWave(Wavefront):
    """``fetched``: end of the instruction bytes it has from ``pc`` on; ``fetching``: address of a
    fetch under way, or -1. ``wait``: the last ``s_waitcnt``; ``limits``: its vm, exp, lgkm.
    ``watched``: instructions that were reported to the hang detector.
    """

    __slots__ = (
        "fetched",
        "fetching",
        "limits",
        "next",
        "queued",
        "ready",
        "since",
        "trap",
        "unmapped",
        "wait",
        "waiting",
        "watched",
    )

    def __init__(self, start: WaveStart, group: Group[Any], simd: int, age: int) -> None:
        super().__init__(start, group, simd, age)
        self.ready = 0
        self.waiting = Waiting.NOTHING
        self.since = 0
        self.limits = (0, 0, 0)
        self.wait: DecodedInstruction | None = None
        self.next: DecodedInstruction | None = None
        self.fetched = 0
        self.fetching = -1
        self.queued = False
        self.unmapped: Exception | None = None
        self.watched = 0
        self.trap = 0
        """The number of the debugger's trap that it waits at."""

    def block(self, reason: Waiting, now: int) -> None:
        """The wave cannot continue before something happens."""
        self.waiting = reason
        self.since = now
        self.ready = NEVER

    def within(self, limits: tuple[int, int, int]) -> bool:
        """Whether the counters have come down to these."""
        return self.vm <= limits[0] and self.exp <= limits[1] and self.lgkm <= limits[2]
