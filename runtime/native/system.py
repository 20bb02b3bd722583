"""A system of the native engine: one block of memory and the functions that work on it.

Invariant: everything that a run changes is in the block, so that copying it is a snapshot and
copying it back is a return.
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Sequence
from contextlib import suppress
from enum import IntEnum
from pathlib import Path
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from msgspec import Struct

from runtime.errors import ErrorKind
from runtime.native.ctypes_api import Library
from runtime.native.plan import POOLS, Capacities, Words
from runtime.native.plan_words import NONE

Counts = npt.NDArray[np.uint64]


class RunStatus(IntEnum):
    """Why a run returned."""

    IDLE = 0
    """Nothing is pending."""
    UNTIL = 1
    """The next tick is later than asked."""
    FINDING = 2
    """There is a finding or a verdict."""
    EXHAUSTED = 3
    """A pool ran out."""
    OUR_BUG = 4
    """Something that cannot be: a mistake of ours, not of the protocol."""


class StepWord(IntEnum):
    """One transition, as a traced run writes it."""

    TICK = 0
    CONTROLLER = 1
    ADDRESS = 2
    STATE = 3
    EVENT = 4
    NEXT = 5


class ChoiceKind(IntEnum):
    """What a choice lets happen where there is no time."""

    ISSUE = 0
    DELIVER = 1
    WAKE = 2
    ALARM = 3


class ErrorWord(IntEnum):
    """The protocol's verdict as the block reports it. NONE: not known."""

    KIND = 0
    SITE = 1
    CONTROLLER = 2
    TICK = 3
    ADDRESS = 4
    STATE = 5
    EVENT = 6
    ACTION = 7


_ROOM: Final = 1 << 14
"""Transitions written down at first; more where that was not enough."""
_SHARE: Final = 0.8
"""Share of the memory that is free now which one block may take."""
_LARGE_PAGE: Final = 1 << 21
_MEMORY: Final = Path("/proc/meminfo")


class SystemTooLarge(MemoryError):
    """The block would not fit into this machine's memory; nothing was allocated."""


class PoolExhausted(RuntimeError):
    """A pool of the block ran out: the run is void. ``pool`` is a field of Capacities."""

    def __init__(self, pool: str, capacity: int) -> None:
        super().__init__(f"the pool of {pool} is exhausted ({capacity:,})")
        self.pool = pool
        self.capacity = capacity


class NativeError(Struct, frozen=True):
    """The protocol's verdict, in numbers of the machine. None: not known."""

    kind: ErrorKind
    site: int
    controller: int | None
    tick: int | None
    address: int | None
    state: int | None
    event: int | None
    action: int


class CountsTable(NamedTuple):
    """Executions of a controller's transitions; ``table[state * stride + event]``."""

    table: Counts
    stride: int


class NativeSystem:
    """A started system at tick 0. Raises SystemTooLarge; ValueError for a plan of another version.

    ``block`` is the memory itself. A class for each kind of clients adds what issues accesses.
    """

    def __init__(self, library: Library, plan: Words, large_pages: bool = True) -> None:
        """``large_pages``: as for `zeroed_block`."""
        self.library = library
        size = library.system_size(plan.ctypes.data, len(plan))
        if not size:
            raise ValueError("the compiled protocol does not understand the plan of its system")
        self.block = _allocated(size, large_pages)
        self._at = self.block.ctypes.data
        status = library.start(self._at, size, plan.ctypes.data, len(plan))
        if status:
            raise ValueError(f"the compiled protocol cannot build the system (status {status})")
        self._view: Any = None
        """What the clients of the library have outside of the block."""
        self._counts: list[CountsTable] | None = None

    @property
    def size(self) -> int:
        """Bytes of the block."""
        return int(self.block.size)

    # ------------------------------------------------------------------ time

    def run(self, until: int | None = None) -> int:
        """Run as ``runtime.sim.engine.Engine.run`` does. Raises PoolExhausted."""
        limit = NONE if until is None else until
        status = self.library.run(self._at, self._view, limit)
        if status == RunStatus.EXHAUSTED:
            self.judge_pools()
        return status

    @property
    def address(self) -> int:
        """The address of the block, for code that calls the library's functions itself."""
        return int(self._at)

    def run_traced(self, until: int | None = None) -> tuple[int, npt.NDArray[np.uint64]]:
        """As `run`, and a row for each transition: see StepWord."""
        limit = NONE if until is None else until
        before = self.snapshot()
        room = _ROOM
        while True:
            steps = np.zeros((room, len(StepWord)), np.uint64)
            written = np.zeros(1, np.uint64)
            status = self.library.run_traced(
                self._at,
                self._view,
                limit,
                steps.ctypes.data,
                room,
                written.ctypes.data,
            )
            if status == RunStatus.EXHAUSTED:
                self.judge_pools()
            if int(written[0]) < room:
                return status, steps[: int(written[0])]
            room *= 4
            self.restore(before)

    @property
    def now(self) -> int:
        return self.library.now(self._at)

    @property
    def next_tick(self) -> int | None:
        """The next tick that has something to do; None when nothing is pending."""
        tick = self.library.next_tick(self._at)
        return None if tick < 0 else tick

    # ------------------------------------------------------------------ snapshots

    def snapshot(self) -> bytes:
        """Everything that the run has changed so far.

        Not for comparing states: bytes between the fields of the block are the compiler's, and
        differ between runs that are alike. `trace_hash` and `transitions` tell runs apart.
        """
        return self.block.tobytes()

    def restore(self, snapshot: bytes) -> None:
        """Go back (or forth) to a snapshot of this system, with the same agents added."""
        if len(snapshot) != self.block.size:
            raise ValueError("a snapshot of another system")
        self.block[:] = np.frombuffer(snapshot, np.uint8)

    # ------------------------------------------------------------------ what became of it

    @property
    def trace_hash(self) -> int:
        return self.library.trace_hash(self._at)

    @property
    def transitions(self) -> int:
        return self.library.transitions(self._at)

    def leaks(self) -> int:
        """0 if nothing is left behind."""
        return self.library.leaks(self._at)

    def error(self) -> NativeError | None:
        """The protocol's mistake that ended the run, if one did."""
        out = self._read(len(ErrorWord), self.library.error)
        if not out[ErrorWord.KIND]:
            return None
        known = [None if word == NONE else word for word in out]
        return NativeError(
            list(ErrorKind)[out[ErrorWord.KIND] - 1],
            out[ErrorWord.SITE],
            known[ErrorWord.CONTROLLER],
            known[ErrorWord.TICK],
            known[ErrorWord.ADDRESS],
            known[ErrorWord.STATE],
            known[ErrorWord.EVENT],
            out[ErrorWord.ACTION],
        )

    def counts(self, controller: int) -> CountsTable:
        """A view of the block: it changes while the system runs."""
        offset, length, stride = self._read(3, self.library.counts, controller)
        assert offset % 8 == 0 and offset + 8 * length <= self.block.size
        part = self.block[offset : offset + 8 * length]
        return CountsTable(part.view(np.uint64), stride)

    def written_lines(self, line_size: int) -> tuple[Counts, npt.NDArray[np.uint8]]:
        """(addresses, bytes) of the lines of memory that were written, in ascending order."""
        count = self.library.written_lines(self._at, None, None, 0)
        addresses = np.zeros(count, np.uint64)
        contents = np.zeros((count, line_size), np.uint8)
        self.library.written_lines(self._at, addresses.ctypes.data, contents.ctypes.data, count)
        return addresses, contents

    def count(self, words: npt.NDArray[np.int64] | None) -> None:
        """Let the object count in words (`runtime.native.statistics`), which have to stay alive
        until it counts no more: None. One run of an object counts at a time."""
        self.library.count(None if words is None else words.ctypes.data)

    def zero_memory(self) -> None:
        """Memory that was never written is zero from now on."""
        self.library.zero_memory(self._at)

    @property
    def memory_echoes(self) -> bool:
        """As of `runtime.system.system.System`."""
        return bool(self.library.memory_echoes(self._at))

    def write_memory(self, address: int, data: bytes) -> None:
        """Write memory itself. Raises PoolExhausted."""
        array = np.frombuffer(data, np.uint8)
        if self.library.write_memory(self._at, address, array.ctypes.data, len(array)):
            self.judge_pools()

    def read_memory(self, address: int, size: int) -> bytes:
        """Bytes of memory itself. Raises PoolExhausted."""
        array = np.empty(size, np.uint8)
        if self.library.read_memory(self._at, address, array.ctypes.data, size):
            self.judge_pools()
        return array.tobytes()

    # ------------------------------------------------------------------ helpers

    def _judge_addition(self, number: int) -> None:
        self.judge_pools()
        if number < 0:
            raise ValueError(f"the compiled protocol cannot add an agent (status {number})")

    def _read(self, words: int, function: Any, *arguments: int) -> list[int]:
        out = np.zeros(words, np.uint64)
        function(self._at, *arguments, out.ctypes.data)
        found: list[int] = out.tolist()
        return found

    def judge_pools(self) -> None:
        pool, capacity = self._read(2, self.library.pool)
        if pool:
            raise PoolExhausted(POOLS[pool - 1], capacity)


def zeroed_block(size: int, large_pages: bool = True) -> npt.NDArray[np.uint8]:
    """Zeros for a system, where a block may begin (runtime/native/cpp/block/layout.hpp:
    BLOCK_ALIGNMENT).

    Fresh pages, so that those which are never touched cost nothing: an allocator may give memory
    back that it has to clear. ``large_pages``, where there is much: a system looks here and there,
    and the processor knows the places of few pages; but each is cleared as a whole. Raises
    MemoryError.
    """
    spare = _LARGE_PAGE if large_pages and size >= 2 * _LARGE_PAGE else 0
    try:
        pages = mmap.mmap(-1, size + spare, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    except OSError:
        raise MemoryError from None
    block = np.frombuffer(pages, np.uint8)
    if not spare:
        return block
    with suppress(OSError, AttributeError):  # not every system has them
        pages.madvise(mmap.MADV_HUGEPAGE)
    begin = -block.ctypes.data % _LARGE_PAGE
    return block[begin : begin + size]


def _allocated(size: int, large_pages: bool) -> npt.NDArray[np.uint8]:
    """A block. Raises SystemTooLarge."""
    free = available_memory()
    if free is not None and size > _SHARE * free:
        raise SystemTooLarge(
            f"the system needs {_megabytes(size)} of memory, this machine has {_megabytes(free)} "
            "free; fewer machines, smaller caches or fewer lines under test need less"
        )
    try:
        return zeroed_block(size, large_pages)
    except MemoryError:
        raise SystemTooLarge(f"there are no {_megabytes(size)} of memory for the system") from None


def available_memory() -> int | None:
    """Bytes that could be used now; None when it is not known."""
    try:
        with _MEMORY.open(encoding="ascii") as stream:
            for line in stream:
                if line.startswith("MemAvailable:"):
                    return _under_limits(int(line.split()[1]) << 10)
    except (OSError, ValueError):
        pass
    try:
        return _under_limits(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE"))
    except (OSError, ValueError, AttributeError):
        return None


def _under_limits(free: int) -> int:
    """What ``ulimit -v`` leaves of it."""
    try:
        import resource

        soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    except (ImportError, OSError):
        return free
    return free if soft == resource.RLIM_INFINITY else min(free, soft)


def _megabytes(size: int) -> str:
    return f"{size / (1 << 20):,.0f} MB"


def sum_counts(system: NativeSystem, controllers: Sequence[int]) -> CountsTable:
    """The counts of several controllers of one machine, added up."""
    first = system.counts(controllers[0])
    total = first.table.copy()
    for number in controllers[1:]:
        total += system.counts(number).table
    return CountsTable(total, first.stride)


def enlarged(capacities: Capacities, error: PoolExhausted) -> Capacities:
    """Capacities with which the run may succeed."""
    return capacities.doubled(error.pool)
