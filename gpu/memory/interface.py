"""The seam between whatever makes requests and whatever answers them.

The same loop drives flat memory, the Python engine and the native engine: push what is due at
this tick, run to the first answers, hand them out, go on in a later tick. Requests and answers
cross in batches, so that the price of crossing is paid once a tick and not once a request.

Invariant: an accepted request is answered once for every lane by each answer that its kind has;
what a port refuses is kept by the memory and entered as soon as the port takes it, in order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import Protocol

import numpy as np
import numpy.typing as npt

Addresses = npt.NDArray[np.uint64]
Lanes = npt.NDArray[np.uint8]
Data = npt.NDArray[np.uint8]


class PortKind(Enum):
    """What stands behind a port, and who uses it."""

    VECTOR = "vector"
    """The first-level vector cache (TCP) of one compute unit."""
    SCALAR = "scalar"
    """The scalar data side of an SQC, shared by neighbouring compute units."""
    FETCH = "fetch"
    """The instruction side of an SQC."""
    CONTROL = "control"
    """The front end: packets, signals. Coherent at system scope, caches nothing of its own."""


class RequestKind(IntEnum):
    """What is asked; numbers equal those of `runtime.requester.AccessKind`."""

    LOAD = 0
    STORE = 1
    ATOMIC = 2
    ACQUIRE = 3
    """Drop what the port's caches hold, so that later loads see what others released."""
    RELEASE = 4
    """Answered when every earlier store and atomic of the port is globally performed."""
    FLUSH = 5
    """Write dirty lines of `addresses` back (shared caches that keep stores)."""


class AnswerKind(IntEnum):
    """What happened. A store has two answers, any other request one, per group of lanes."""

    LOADED = 0
    ACCEPTED = 1
    """The store is in the first-level cache; others may not see it yet."""
    PERFORMED = 2
    """The store (or an atomic without result) is globally performed. Lowers ``vmcnt``."""
    OLD_VALUES = 3
    """An atomic with result."""
    SYNCHRONIZED = 4
    """ACQUIRE, RELEASE or FLUSH is over."""


@dataclass(slots=True, eq=False)
class Request:
    """One instruction's accesses through one port.

    ``addresses``: uint64, shape (n,), byte address of each active lane, any alignment; a lane may
    cross a line. ``size``: bytes a lane, 1 to 16 (scalar and fetch ports: one lane, 1 to 64).
    ``data``: uint8, shape (n, size): what a STORE writes, the operand of an ATOMIC. ``compares``:
    the same shape, what compare-and-swap compares with. ``op``: a `runtime.atomics.AtomicKind`.
    ``tag``: the sender's own; answers carry it. ``listener``: who is handed the answers; memory
    only keeps it. ``glc``/``slc``: the instruction's bits: glc loads
    miss on purpose; slc goes past the shared cache; on an atomic ``returns`` says whether the old
    value is wanted.
    """

    port: int
    kind: RequestKind
    tag: int
    addresses: Addresses = field(default_factory=lambda: np.zeros(0, np.uint64))
    size: int = 4
    data: Data | None = None
    compares: Data | None = None
    op: int = 0
    returns: bool = False
    glc: bool = False
    slc: bool = False
    listener: Callable[[Answer], None] | None = None


@dataclass(slots=True, eq=False)
class Answer:
    """What became of some lanes of a request.

    ``lanes``: indices into ``request.addresses``, ascending; all lanes of a request are told by
    one answer of each kind it has, or by several (one per line). ``data``: uint8, shape
    (len(lanes), size) for LOADED and OLD_VALUES, else None. ``tick``: when memory answered.
    """

    request: Request
    kind: AnswerKind
    tick: int
    lanes: Lanes
    data: Data | None = None


class Unmapped(Exception):
    """A lane's address is in no allocation, or may not be written.

    ``lane`` is the index into ``request.addresses``.
    """

    def __init__(self, request: Request, lane: int, why: str) -> None:
        super().__init__(f"address {int(request.addresses[lane]):#x}: {why}")
        self.request = request
        self.lane = lane


@dataclass(frozen=True, slots=True)
class Port:
    """One way into memory. ``index`` is what `Request.port` names."""

    index: int
    kind: PortKind
    number: int
    """Which compute unit (VECTOR) or SQC (SCALAR, FETCH) it is."""


class Memory(Protocol):
    """Memory with a clock. Ticks are cycles of the compute units."""

    @property
    def now(self) -> int:
        """The tick that requests pushed next will be entered in."""

    @property
    def ports(self) -> tuple[Port, ...]:
        """All ports; position = index."""

    @property
    def line_size(self) -> int:
        """Bytes of a cache line, a power of two."""

    def push(self, request: Request) -> None:
        """Enter a request at tick `now`, after those pushed before. Raises `Unmapped`."""

    def run(self, until: int | None) -> list[Answer]:
        """Run to the end of the first tick with answers, or up to the start of tick ``until``.

        Afterwards `now` is the next tick, or ``until``. With None: until something is answered
        or nothing is under way (then: no answers). A mistake of the protocol raises the error
        that the engine raises.
        """

    @property
    def busy(self) -> bool:
        """Whether anything is under way: requests kept or unanswered, messages in flight."""

    def read(self, address: int, size: int) -> bytes:
        """Bytes as a coherent reader would see them; for the host, when the memory is not busy."""

    def write(self, address: int, data: bytes) -> None:
        """Write so that every later reader sees it; for the host, when the memory is not busy."""
