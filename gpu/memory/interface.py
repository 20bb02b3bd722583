"""The interface between agents that make requests and memories that answer them.

The same loop drives flat memory, the Python engine and the native engine: push what is due at this
tick, run to the first answers, distribute them, continue in a later tick. Requests and answers
cross in batches, so that the cost of crossing is paid once a tick and not once a request.

Invariant: an accepted request is answered once for every lane by each answer that its kind has;
what a port refuses is kept by the memory and entered as soon as the port takes it, in order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from enum import Enum
from typing import NamedTuple, Protocol, overload

import numpy as np
import numpy.typing as npt

from gpu.memory.address_space import Addresses, AddressSpace, Unmapped
from runtime.requesters.port import AnswerKind
from slicc.text.lazy_dataclass import dataclass

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
    CPU = "cpu"
    """A core of a processor beside the GPU, whose caches are coherent at every access."""
    DMA = "dma"
    """An engine that copies; it keeps nothing."""

    @property
    def moves_lines(self) -> bool:
        """Whether the device itself asks, for whole lines, also behind the end of a buffer."""
        return self in (PortKind.FETCH, PortKind.CONTROL)


class Extent(NamedTuple):
    """Where the bytes of a request lie. ``low``, ``high``: the lowest and the highest address.
    ``lines``: how many lines the bytes are in. ``crosses``: whether those of a lane are in two."""

    low: int
    high: int
    lines: int
    crosses: int


@dataclass(slots=True, eq=False)
class MemoryRequest:
    """One instruction's accesses through one port.

    ``addresses``: uint64, shape (n,), byte address of each active lane, any alignment; a lane may
    cross a line. ``size``: bytes a lane, 1 to 16 (scalar and fetch ports: one lane, 1 to 64;
    CPU ports: one lane; DMA ports: one lane, 1 to 64).
    ``data``: uint8, shape (n, size): what a STORE writes, the operand of an ATOMIC. ``compares``:
    the same shape, what compare-and-swap compares with. ``op``: a
    `runtime.types.atomic_op.AtomicKind`. ``tag``: the sender's own; answers carry it. ``listener``:
    called with the answers; memory only keeps it. ``glc``/``slc``: the instruction's bits: glc
    loads miss on purpose; slc goes past the shared cache; on an atomic ``returns`` says whether the
    old value is wanted. ``vmid``: whose addresses they are; 0: those of memory itself. ``failed``:
    called if the translation of an address takes time and then fails. ``extent``: of the addresses,
    from a sender that knows it.
    """

    port: int
    kind: int
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
    vmid: int = 0
    failed: Callable[[Unmapped], None] | None = None
    extent: Extent | None = None


@dataclass(slots=True, eq=False)
class Answer:
    """The result of some lanes of a request.

    ``lanes``: indices into ``request.addresses``, ascending; the lanes of a request are answered by
    one answer of each kind it has, or by several (one per line). ``data``: uint8, shape
    (len(lanes), size) for LOADED and OLD_VALUES, else None. ``tick``: when memory answered.
    ``hits`` and ``misses``: lines of a LOAD that the port's cache gave in the transition that took
    the request, or later; both 0 where there are no caches.
    """

    request: MemoryRequest
    kind: AnswerKind
    tick: int
    lanes: Lanes
    data: Data | None = None
    hits: int = 0
    misses: int = 0


def hand_out(answers: Sequence[Answer]) -> None:
    """Pass each answer to the listener of its request."""
    for answer in answers:
        listener = answer.request.listener
        if listener is not None:
            listener(answer)


@dataclass(frozen=True, slots=True)
class Port:
    """One way into memory. ``index`` is what `MemoryRequest.port` names."""

    index: int
    kind: PortKind
    number: int
    """Which compute unit (VECTOR), SQC (SCALAR, FETCH), core or engine it is."""


class Ports(Sequence[Port]):
    """All ports of a memory; a port's position is its ``index``.

    Vector ports first, one per compute unit, then a scalar and a fetch port for each SQC, the
    control port, and one for each core and each DMA engine. Compute unit i of n uses SQC
    i * m // n of m.
    """

    def __init__(self, cus: int, sqcs: int, cpus: int = 0, dmas: int = 0) -> None:
        kinds = [(PortKind.VECTOR, i) for i in range(cus)]
        kinds += [(PortKind.SCALAR, i) for i in range(sqcs)]
        kinds += [(PortKind.FETCH, i) for i in range(sqcs)]
        kinds.append((PortKind.CONTROL, 0))
        kinds += [(PortKind.CPU, i) for i in range(cpus)]
        kinds += [(PortKind.DMA, i) for i in range(dmas)]
        self._ports = tuple(Port(i, kind, number) for i, (kind, number) in enumerate(kinds))
        self.cus = cus
        self.sqcs = sqcs
        self.cpus = cpus
        self.dmas = dmas

    @overload
    def __getitem__(self, place: int) -> Port: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Port]: ...
    def __getitem__(self, place: int | slice) -> Port | Sequence[Port]:
        return self._ports[place]

    def __len__(self) -> int:
        return len(self._ports)

    def vector(self, cu: int) -> int:
        """Index of the vector port of a compute unit."""
        return cu

    def sqc_of(self, cu: int) -> int:
        """Which SQC a compute unit uses."""
        return cu * self.sqcs // self.cus

    def scalar(self, cu: int) -> int:
        """Index of the scalar port that a compute unit uses."""
        return self.cus + self.sqc_of(cu)

    def fetch(self, cu: int) -> int:
        """Index of the fetch port that a compute unit uses."""
        return self.cus + self.sqcs + self.sqc_of(cu)

    @property
    def control(self) -> int:
        """Index of the control port."""
        return self.cus + 2 * self.sqcs

    def cpu(self, core: int) -> int:
        """Index of the port of a core."""
        return self.control + 1 + core

    @property
    def engines(self) -> list[int]:
        """Indices of the ports of all DMA engines."""
        return [self.dma(number) for number in range(self.dmas)]

    def dma(self, engine: int) -> int:
        """Index of the port of a DMA engine."""
        return self.control + 1 + self.cpus + engine


class Translator(Protocol):
    """What knows the addresses of processes."""

    def push(self, request: MemoryRequest) -> None:
        """Enter a request of a process, now or once its pages are known, after those pushed before
        at its port. Raises `Unmapped`."""


class Memory(Protocol):
    """Memory with a clock. Ticks are cycles of the compute units."""

    translator: Translator | None
    """Takes the requests of processes, once there are any."""

    @property
    def now(self) -> int:
        """The tick that requests pushed next will be entered in."""

    @property
    def ports(self) -> Ports:
        """All ports; position = index."""

    @property
    def space(self) -> AddressSpace:
        """What is mapped; `AddressSpace.allocate` and `free` at any time."""

    @property
    def line_size(self) -> int:
        """Bytes of a cache line, a power of two."""

    def push(self, request: MemoryRequest) -> None:
        """Enter a request at tick `now`, after those pushed before. Raises `Unmapped`."""

    def run(self, until: int | None) -> list[Answer]:
        """Run to the end of the first tick with answers, or up to the start of tick ``until``.

        Afterwards `now` is the next tick, or ``until``. With None: until something is answered or
        nothing is under way (then: no answers). Errors of the protocol are raised as the engine
        reports them.
        """

    @property
    def busy(self) -> bool:
        """Whether anything is under way: requests kept or unanswered, messages in flight."""

    def system_fence(self, kind: int) -> list[list[MemoryRequest]]:
        """What a fence of system scope asks for beyond RELEASE or ACQUIRE of ports, one list
        after the other: behind the ports' RELEASE, before their ACQUIRE."""

    def read(self, address: int, size: int) -> bytes:
        """Bytes as a coherent reader would see them; for the host, when the memory is not busy."""

    def write(self, address: int, data: bytes) -> None:
        """Write so that every later reader sees it; for the host, when the memory is not busy."""
