"""Wavefronts and work-groups that are resident in a compute unit.

Invariant: a group's waves share one LDS allocation and one barrier; a wave that has ended counts
as arrived at every later barrier.
"""

from __future__ import annotations

from collections import deque
from typing import Any, Generic, Protocol, TypeVar

from gpu.compute_unit.wave.lds import LocalMemory
from gpu.dispatch.launch import GroupStart, WaveStart
from gpu.dispatch.occupancy import Taken
from gpu.isa.encoding.immediates import ANY_COUNT
from gpu.isa.wave_registers import ALL, SCALARS, Wave


class Returning(Protocol):
    """A vector memory instruction; those of one wave return in order."""

    done: bool

    def retire(self) -> None:
        """Write registers; the instructions before it have returned."""


class Wavefront(Wave):
    """One wave of a resident group.

    ``vm``, ``lgkm``, ``exp``: what is outstanding (AMDGPU usage guide, "s_waitcnt"); ``most``: how
    much may be. ``generation``: of its code.
    ``outstanding``: vector memory instructions in order of issue. ``simd``: which one it is on, in
    which ``slot``. ``age``: order of start within the unit. ``executed``: instructions.
    """

    __slots__ = (
        "age",
        "at_barrier",
        "ended",
        "executed",
        "exp",
        "generation",
        "group",
        "in_handler",
        "lgkm",
        "most",
        "number",
        "outstanding",
        "priority",
        "private_base",
        "private_bytes",
        "simd",
        "slot",
        "stopped",
        "vm",
    )

    def __init__(self, start: WaveStart, group: Group[Any], simd: int, age: int) -> None:
        super().__init__(max(group.start.demand.vgprs, len(start.vgprs)), start.entry, start.mode)
        self.scalars = min(SCALARS, max(group.start.demand.sgprs, len(start.sgprs)))
        self.group = group
        self.generation = group.start.generation
        self.most = ANY_COUNT[self.generation]
        self.apertures = (group.start.shared_aperture, group.start.private_aperture)
        self.number = start.number
        self.simd = simd
        self.slot = 0
        self.age = age
        self.vm = 0
        self.lgkm = 0
        self.exp = 0
        self.outstanding: deque[Returning] = deque()
        self.priority = 0
        self.at_barrier = False
        self.ended = False
        self.in_handler = False
        """It executes its trap handler."""
        self.stopped = False
        """At a trap of a debugger, until that resumes it."""
        self.executed = 0
        self.private_base = start.private_base
        self.private_bytes = group.start.private_bytes
        self.sgprs[: len(start.sgprs)] = start.sgprs
        self.vgprs[: len(start.vgprs)] = start.vgprs
        self.set_exec(start.exec & ALL)

    @property
    def next_issue(self) -> tuple[int, int | None]:
        """Address of the instruction that issues next, and EXEC then, if that is known."""
        return self.pc, self.exec

    def line_text(self, address: int) -> str:
        """`` (vadd.cl:3)`` behind an instruction in a message; where no line is known its function
        and the distance in it, `` (vadd+0x14)``; empty where that is not known either."""
        return line_text(self.group.start, address)

    def __str__(self) -> str:
        x, y, z = self.group.start.id
        return f"wave {self.number} of group ({x}, {y}, {z}) of {self.group.start.kernel}"


def line_text(start: GroupStart, address: int) -> str:
    """See `Wavefront.line_text`."""
    place = start.line_at(address) or start.function_at(address)
    return f" ({place})" if place else ""


W = TypeVar("W", bound=Wavefront)


class Group(Generic[W]):
    """A resident work-group. ``lds``: its memory. ``live``: waves that have not ended."""

    __slots__ = ("arrived", "lds", "live", "start", "taken", "waves")

    def __init__(self, start: GroupStart, taken: Taken) -> None:
        self.start = start
        self.taken = taken
        self.lds = LocalMemory(start.demand.lds)
        self.waves: list[W] = []
        self.live = 0
        self.arrived = 0

    def arrive(self, wave: Wavefront) -> bool:
        """A wave is at ``s_barrier``; whether that opens it (a single wave never waits)."""
        if len(self.waves) == 1:
            return True
        wave.at_barrier = True
        self.arrived += 1
        return self._open_if_complete()

    def end(self, wave: Wavefront) -> bool:
        """A wave has ended; whether that opens a barrier at which the others wait."""
        wave.ended = True
        self.live -= 1
        return self.arrived > 0 and self._open_if_complete()

    def _open_if_complete(self) -> bool:
        if self.arrived < self.live:
            return False
        self.arrived = 0
        for wave in self.waves:
            wave.at_barrier = False
        return True
