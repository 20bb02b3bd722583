"""What happens at the ports, as driver, checker and history report it to each other.

The driver reports every issue and every response as one call of a :class:`RequestObserver`; the
observers (the checker always, the history only when a failing leg is run again) know nothing else
about the driver. Invariant: a :class:`Request` is complete when it is issued and, but for ``lost``,
never changes afterwards; observers keep what they need of its answers.
"""

from __future__ import annotations

from dataclasses import field
from enum import Enum
from typing import Final, Protocol

from runtime.requesters.port import AccessKind
from runtime.types.atomic_op import AtomicKind
from slicc.text.lazy_dataclass import dataclass
from tester.program.program import FAILS, QUIET


class Role:
    """Which part of an episode a request plays (plain integers: compared for every event)."""

    OPEN: Final = 0
    ACQUIRE: Final = 1
    ACTION: Final = 2
    RELEASE: Final = 3
    CLOSE: Final = 4
    READ_BACK: Final = 5
    FLUSH: Final = 6
    INVALIDATE: Final = 7
    RACING_LOAD: Final = 8

    NAMES: Final = (
        "opening fetch-add",
        "acquire",
        "action",
        "release",
        "closing fetch-add",
        "read-back",
        "flush",
        "invalidation",
        "racing load",
    )


KIND_NAMES: Final = (
    "load",
    "store",
    "fetch-add",
    "acquire",
    "release",
    "flush",
    "L2 invalidation",
)
"""By AccessKind."""


class Request:
    """One instruction of one agent: everything that was asked, in plain lists.

    ``lanes[i]`` is the lane number of ``addresses[i]``; ``values`` holds the store values or the
    operands of ``op``, ``expected`` what loads and atomic actions must return. ``episode`` is the
    position in the program's total order (-1 outside of any), ``row`` the action's row in the
    program's arrays (of a racing load that of the first action of its episode; -1 for all others),
    ``scope`` its bits. ``identity`` is given when it is issued first. ``issued`` is the tick in
    which the requester took it (-1 before). ``pieces`` has the bytes of each row of an access that
    the program writes as several; ``row`` is then the first of them.
    """

    __slots__ = (
        "addresses",
        "agent",
        "episode",
        "expected",
        "identity",
        "issued",
        "kind",
        "lanes",
        "lost",
        "op",
        "pieces",
        "role",
        "row",
        "scope",
        "size",
        "values",
    )

    def __init__(
        self,
        identity: int,
        agent: int,
        episode: int,
        role: int,
        kind: int,
        lanes: list[int],
        addresses: list[int],
        size: int,
        values: list[int],
        expected: list[int],
        row: int = -1,
    ) -> None:
        self.identity = identity
        self.agent = agent
        self.episode = episode
        self.role = role
        self.kind = kind
        self.issued = -1
        self.lanes = lanes
        self.addresses = addresses
        self.size = size
        self.values = values
        self.expected = expected
        self.row = row
        self.scope = 0
        self.op = 0
        """Of an atomic action, as in `tester.program.program`."""
        self.pieces: list[int] = []
        self.lost = False
        """Of a racing load: a line of it has left the cache since, as the machine reported."""

    @property
    def what(self) -> str:
        """What is asked for, as a short name."""
        if self.kind == AccessKind.ATOMIC and self.role == Role.ACTION:
            name = AtomicKind.name_of(self.op & ~FAILS).lower()
            return f"atomic {name}" + (" (to fail)" if self.op & FAILS else "")
        return KIND_NAMES[self.kind]

    def add_piece(self, size: int, value: int, expected: int) -> None:
        """The access of a single lane has ``size`` bytes more."""
        if not self.pieces:
            self.pieces.append(self.size)
        self.pieces.append(size)
        self.values[0] |= value << 8 * self.size
        self.expected[0] |= expected << 8 * self.size
        self.size += size

    def has_row(self, row: int) -> bool:
        """Whether the action's row is one of this request's."""
        return self.row <= row < self.row + max(1, len(self.pieces)) and self.row >= 0

    def lines(self, line_size: int) -> list[int]:
        """The lines that the addresses lie in, each once, in their order."""
        if self.pieces:
            end = self.addresses[0] + self.size
            return list(range(self.addresses[0] & -line_size, end, line_size))
        return list(dict.fromkeys(address & -line_size for address in self.addresses))

    @property
    def quiet(self) -> bool:
        """Fetch-adds or atomic actions that ask for no old values."""
        return bool(self.scope & QUIET)

    def __repr__(self) -> str:
        return (
            f"Request({self.identity}: agent {self.agent} episode {self.episode} "
            f"{Role.NAMES[self.role]} {self.what} at {self.issued})"
        )


class RequestObserver(Protocol):
    """Notified of what the ports do.

    ``indices`` index ``request.addresses``; ticks never decrease.
    """

    def issued(self, request: Request, tick: int) -> None:
        """The requester took the request."""

    def loaded(self, request: Request, indices: list[int], line: int, data: int, tick: int) -> None:
        """A line answered lanes of a load; byte i of the line is bits 8*i of ``data``."""

    def accepted(self, request: Request, indices: list[int], line: int, tick: int) -> None:
        """The first cache took the bytes that lanes of a store wrote."""

    def completed(self, request: Request, indices: list[int], line: int, tick: int) -> None:
        """The bytes are globally performed."""

    def returned(self, request: Request, indices: list[int], values: list[int], tick: int) -> None:
        """Fetch-adds returned the old values (none if they are quiet)."""

    def synchronized(self, request: Request, tick: int) -> None:
        """An acquire, a release or a flush has finished."""


class Verdict(Enum):
    """What kind of fault a run ended with. The value is the slug that reports print."""

    WRONG_VALUE = "wrong-value"
    STALE_READ = "stale-read"
    EARLY_WRITE = "early-write"
    TORN_BYTES = "torn-bytes"
    FOREIGN_BYTES = "foreign-bytes"
    LOST_WRITE = "lost-write"
    ATOMIC_REPEATED = "atomic-repeated"
    ATOMIC_SKIPPED = "atomic-skipped"
    ATOMIC_FOREIGN = "atomic-foreign"
    ATOMIC_ORDER = "atomic-order"
    EARLY_RELEASE = "early-release"
    UNEXPECTED_RESPONSE = "unexpected-response"
    HANG = "hang"
    LEAK = "leak"
    UNDEFINED_TRANSITION = "undefined-transition"
    PANIC = "panic"
    PROTOCOL_ERROR = "protocol-error"
    FAILED_CHECK = "failed-check"
    RUNAWAY = "runaway"


VALUE_VERDICTS: Final = (
    Verdict.WRONG_VALUE,
    Verdict.STALE_READ,
    Verdict.EARLY_WRITE,
    Verdict.TORN_BYTES,
    Verdict.FOREIGN_BYTES,
    Verdict.LOST_WRITE,
)
"""Those about loaded bytes that were compared one by one."""
ATOMIC_VERDICTS: Final = (
    Verdict.ATOMIC_REPEATED,
    Verdict.ATOMIC_SKIPPED,
    Verdict.ATOMIC_ORDER,
    Verdict.ATOMIC_FOREIGN,
)
"""Those about what fetch-adds returned."""


@dataclass(slots=True)
class Finding:
    """One fault, as far as the component that found it knows: what, when, and on which bytes."""

    verdict: Verdict
    tick: int
    headline: str
    request: Request | None = None
    index: int = -1
    """Which of the request's addresses (-1: the request as a whole)."""
    address: int = -1
    size: int = 0
    expected: int = 0
    got: int = 0
    notes: list[str] = field(default_factory=list)
    stuck: str = ""
    """Of a hang: what is asked for and not answered, if it is a request."""


class Tee:
    """Forwards every event to several observers, in their order."""

    def __init__(self, *observers: RequestObserver) -> None:
        self.observers = observers

    def issued(self, request: Request, tick: int) -> None:
        for observer in self.observers:
            observer.issued(request, tick)

    def loaded(self, request: Request, indices: list[int], line: int, data: int, tick: int) -> None:
        for observer in self.observers:
            observer.loaded(request, indices, line, data, tick)

    def accepted(self, request: Request, indices: list[int], line: int, tick: int) -> None:
        for observer in self.observers:
            observer.accepted(request, indices, line, tick)

    def completed(self, request: Request, indices: list[int], line: int, tick: int) -> None:
        for observer in self.observers:
            observer.completed(request, indices, line, tick)

    def returned(self, request: Request, indices: list[int], values: list[int], tick: int) -> None:
        for observer in self.observers:
            observer.returned(request, indices, values, tick)

    def synchronized(self, request: Request, tick: int) -> None:
        for observer in self.observers:
            observer.synchronized(request, tick)
