"""What a dispatcher passes to a compute unit, and what the unit reports back.

The command processor computes everything by the ABI; a compute unit only copies it into
registers. Invariant: a group is placed on one unit, with all its waves, once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from gpu.errors import WaveRegisters
from gpu.generation import Generation
from slicc.text.lazy_dataclass import dataclass


def no_line(address: int) -> str:
    """Nothing is known of the source."""
    return ""


WorkItemIds = npt.NDArray[np.uint32]


@dataclass(frozen=True, slots=True)
class Demand:
    """The resources that a group takes of a compute unit, all at once or not at all.

    ``vgprs``: registers of each wave, allocated (a multiple of 4). ``sgprs``: likewise (of 16).
    ``lds``: bytes of the group. ``scratch``: whether each wave takes a scratch slot.
    """

    waves: int
    vgprs: int
    sgprs: int
    lds: int
    scratch: bool = False

    @property
    def barrier(self) -> bool:
        """Groups of one wave need no barrier slot."""
        return self.waves > 1


@dataclass(slots=True, eq=False)
class WaveStart:
    """Initial registers of one wave (AMDGPU usage guide, "Initial Kernel Execution State").

    ``sgprs``: from s0 on. ``vgprs``: work-item ids, uint32, shape (1 to 3, 64). ``exec``: a bit
    per work-item that exists. ``mode``: from the descriptor's rsrc1.
    """

    entry: int
    sgprs: list[int]
    vgprs: WorkItemIds
    exec: int
    mode: int
    number: int
    """Of the wave in its group."""
    private_base: int = 0
    """Byte address of its scratch slice; 0 without scratch."""


class StoppedWave(Protocol):
    """A wave at ``s_trap 1`` or ``3`` that does not continue before it is resumed; everything that
    it has issued has returned. ``pc``: of the instruction behind the trap."""

    pc: int
    number: int
    sgprs: list[int]
    """By operand code: 106 and 107 VCC, 124 M0, 126 and 127 EXEC (to be written by `set_exec`)."""
    vgprs: npt.NDArray[np.uint32]
    """Shape (registers, 64)."""

    hardware: dict[int, int]
    """Hardware registers by number."""

    @property
    def exec(self) -> int: ...

    def set_exec(self, bits: int) -> None: ...


OnStop = Callable[["GroupStart", StoppedWave, int, Callable[[], None]], None]
"""Called in the middle of a tick with group, wave, number of the trap, and what resumes the wave,
which is called between two ticks."""


@dataclass(slots=True, eq=False)
class GroupStart:
    """One work-group, ready to run."""

    kernel: str
    packet: int
    """Packet id in its queue."""
    queue: int
    """Address of the ``amd_queue_t``."""
    id: tuple[int, int, int]
    demand: Demand
    waves: list[WaveStart]
    listener: GroupListener
    vmid: int = 0
    """Of the process whose addresses its waves use; 0: those of memory itself."""
    private_bytes: int = 0
    """Scratch of one work-item, rounded up to 4."""
    shared_aperture: int = 0
    """Upper 32 bits of flat addresses that mean LDS."""
    private_aperture: int = 0
    """Upper 32 bits of flat addresses that mean scratch."""
    hidden_private_base: int = 0
    """Address that the offset in FLAT_SCRATCH counts from."""
    generation: Generation = Generation.GFX8
    """Of the code."""
    line_at: Callable[[int], str] = no_line
    """Address of an instruction to the line of its source, ``vadd.cl:3``, or nothing."""
    function_at: Callable[[int], str] = no_line
    """The same to its function and the distance in it, ``vadd+0x14``."""
    trap_handler: tuple[int, int] = (0, 0)
    """TBA and TMA; no handler if the first is 0."""
    dispatch_pointer: int = 0
    """Where the packet can be read while the kernel runs."""
    on_stop: OnStop | None = None
    """Where a debugger is attached: without one, its traps do nothing."""


class Fault(Exception):
    """A wave has failed in a way that stops its queue: a trap, an unmapped address, an unknown
    instruction."""

    def __init__(self, message: str, group: GroupStart | None = None) -> None:
        super().__init__(message)
        self.group = group
        self.waves: tuple[WaveRegisters, ...] = ()
        """The waves of the group, once it was removed."""


class GroupListener(Protocol):
    """Notified of a group's end, in the tick in which it happens."""

    def group_ended(self, group: GroupStart) -> None:
        """All waves have ended and their resources are free."""

    def group_failed(self, group: GroupStart, fault: Fault) -> None:
        """A wave failed; the other waves of the packet are to be ended."""

    def interrupt(self, group: GroupStart, message: int) -> None:
        """A wave raised an interrupt (``s_sendmsg 1``); ``message``: its M0."""


class ComputeUnit(Protocol):
    """What a dispatcher needs of a compute unit, timed or functional."""

    index: int

    def fits(self, demand: Demand) -> bool:
        """Whether all of it is free now."""

    def could_ever_fit(self, demand: Demand) -> bool:
        """Whether it would fit an empty unit."""

    def start(self, group: GroupStart) -> None:
        """Take a group that fits."""

    def kill(self, queue: int, packet: int | None = None) -> None:
        """End all waves of a queue (or of one packet of it) without notification."""

    @property
    def idle(self) -> bool:
        """No wave is resident."""

    @property
    def next_tick(self) -> int | None:
        """When it has something to do without an answer; None while only answers wake it."""


@dataclass(frozen=True, slots=True, eq=False)
class SavedGroup:
    """A group that was taken off its unit. ``data``: its registers and LDS, as the unit packs
    them."""

    start: GroupStart
    data: bytes


@runtime_checkable
class SizedUnit(Protocol):
    """A unit that knows how much state its waves can have."""

    @property
    def largest_state(self) -> tuple[int, int]:
        """The most groups that it holds, and the bytes of all their state."""


@runtime_checkable
class PreemptableUnit(ComputeUnit, Protocol):
    """A unit whose groups can be taken off it and put back, on it or on another."""

    @property
    def may_be_preempted(self) -> bool:
        """Whether nothing looks at its waves that would be confused."""

    def halt(self, queue: int) -> None:
        """Let the waves of a queue issue nothing more."""

    def drained(self, queue: int) -> bool:
        """Whether all that the queue's waves have issued has returned."""

    def saved_bytes(self, queue: int) -> list[int]:
        """How much each group of the queue takes when it is saved."""

    def take_off(self, queue: int) -> list[SavedGroup]:
        """Remove the queue's groups; they are drained."""

    def check(self, saved: SavedGroup) -> None:
        """Raises ValueError for bytes that no group can continue with."""

    def put_back(self, saved: SavedGroup) -> None:
        """Continue a group that fits, with bytes that were checked."""


class SteppedUnit(ComputeUnit, Protocol):
    """A unit that is run tick by tick."""

    def run(self, now: int) -> None:
        """Do all that is due at tick ``now``: start, issue, push requests.

        Answers to a request go to its ``listener``, after the tick. A functional unit
        lets each of its waves run for a while and is due again at the next tick.
        """
