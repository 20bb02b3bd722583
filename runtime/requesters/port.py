"""The port through which anything drives memory: a tester's thread, a compute unit, a DMA engine.

A client hands an :class:`Access` to a requester. The requester refuses it (and calls
:meth:`Client.retry` when it may succeed) or takes it and answers through the client's methods.

Invariant: an accepted access is answered exactly once for every lane, in the very tick in which
the memory system answered, and it stays outstanding until then; a refused access
leaves no trace but the promise of a retry.

Clients act no earlier than the tick after an answer or a retry: they are consumers that schedule
themselves for the next tick, so an answer never runs a second instruction in the middle of a
transition. ``docs/system.md`` has the protocol on one page.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Final, NamedTuple, Protocol

from runtime.types.atomic_op import AtomicKind
from runtime.types.enumeration import Enumeration
from runtime.types.values import DataBlock


class AccessKind(Enumeration):
    """What one instruction asks of memory."""

    LOAD: Final = 0
    STORE: Final = 1
    ATOMIC: Final = 2
    ACQUIRE: Final = 3
    """Later loads must see what others released: private copies are dropped."""
    RELEASE: Final = 4
    """All earlier stores and atomics of this client are globally performed."""
    FLUSH: Final = 5
    """The lines of ``addresses`` are written back."""
    INVALIDATE_L2: Final = 6
    """The lines of ``addresses`` are dropped from the shared cache (coalescer only)."""


class AnswerKind(IntEnum):
    """What happened to an access. A store has two answers, any other access one, per lane."""

    LOADED = 0
    ACCEPTED = 1
    """The store is in the first-level cache; others may not see it yet."""
    PERFORMED = 2
    """The store (or an atomic without result) is globally performed."""
    OLD_VALUES = 3
    """An atomic with result."""
    SYNCHRONIZED = 4
    """An ACQUIRE, RELEASE, FLUSH or INVALIDATE_L2 is complete."""


LINKED_TRIES: Final = 3
"""Store-conditionals of one operation; after so many failures it is done on the line, so that
agents that take the line from each other in step come to an end."""


class AtomicWay(IntEnum):
    """How a sequencer does the atomic operations of its clients."""

    LINE = 0
    """A request of type ST; the operation is applied to the line while it can be written."""
    LINKED = 1
    """Load-linked and store-conditional, sent as LD and ST."""
    CONDITIONAL = 2
    """The same, with the store sent as Store_Conditional, for machines that know it."""
    FAR = 3
    """One request with the operation, done wherever the protocol likes."""


class Scope:
    """Properties of an access as bits of one number."""

    GLC: Final = 1
    """A load misses the first-level cache on purpose."""
    SLC: Final = 2
    """The shared cache is bypassed."""
    QUIET: Final = 4
    """An atomic returns no old values."""
    INSTRUCTION: Final = 8
    """A load is an instruction fetch."""
    ACQUIRES: Final = 32
    """The first access after an acquire, of a requester that marks it."""
    RELEASES: Final = 64
    """The last access before a release, of a requester that marks it."""


class Access:
    """One instruction of one wavefront or thread.

    ``addresses`` are the byte addresses of the active lanes, in lane order; a lane's number is
    its index here. ``size`` is bytes per lane: 1, 2, 4, 8, 12 or 16; behind a
    sequencer 1 to those of a line, anywhere in it; of a DMA engine any length from 1, over any
    number of lines.
    ``values`` holds one unsigned number per lane: what a STORE writes (little-endian, cut to
    ``size`` bytes), the operand of an ATOMIC; empty otherwise. ``op`` is the :class:`AtomicKind`
    of an ATOMIC, whose size is 4 or 8; ``compares`` holds what CAS compares with, per lane.
    ACQUIRE and RELEASE have no addresses.

    ``crosses``: lanes of a LOAD or STORE may reach into the next line (coalescers only).
    ``instruction``: a LOAD is made as an instruction fetch (sequencers only).
    ``fence``: ``Scope.ACQUIRES`` and ``Scope.RELEASES``, as a sequencer can mark its requests.
    ``tag`` and ``scope`` are the client's own; the requester never looks at them.
    ``sequence``, ``issued`` (tick) and ``open`` (parts not yet answered) are the requester's.
    An access object is issued once at a time; after a refusal the same object may be reissued.
    """

    __slots__ = (
        "addresses",
        "client",
        "compares",
        "crosses",
        "fence",
        "glc",
        "instruction",
        "issued",
        "kind",
        "op",
        "open",
        "returns",
        "scope",
        "sequence",
        "size",
        "slc",
        "tag",
        "values",
    )

    def __init__(
        self,
        kind: int,
        client: Client,
        tag: int = 0,
        addresses: Sequence[int] = (),
        size: int = 4,
        values: Sequence[int] = (),
        op: int = AtomicKind.ADD,
        returns: bool = True,
        glc: bool = False,
        slc: bool = False,
        scope: int = 0,
        compares: Sequence[int] = (),
    ) -> None:
        self.kind = kind
        self.client = client
        self.tag = tag
        self.addresses = addresses
        self.size = size
        self.values = values
        self.op = op
        self.returns = returns
        self.glc = glc
        self.slc = slc
        self.scope = scope
        self.compares = compares
        self.crosses = False
        self.instruction = False
        self.fence = 0
        self.sequence = -1
        self.issued = -1
        self.open = 0

    def __repr__(self) -> str:
        where = " ".join(f"{address:#x}" for address in self.addresses[:4])
        more = " ..." if len(self.addresses) > 4 else ""
        return f"<{AccessKind.name_of(self.kind)} #{self.sequence} tag {self.tag} {where}{more}>"


class Client(Protocol):
    """Who issues accesses. Every method is called in the tick of the memory system's answer.

    ``lanes`` index ``access.addresses``. Each lane of an access is reported exactly once by the
    method that answers its kind (a store: once by ``stored``, once by ``store_completed``); lanes
    of one line are reported together. A lane that crosses a line is reported with each of both.
    A class that names this one as its base need not have the methods whose answers it ignores.
    """

    def loaded(self, access: Access, lanes: list[int], line: int, data: DataBlock) -> None:
        """The byte at address ``a`` is ``data.data >> 8 * (a - line) & 0xFF``.

        ``data`` is the cache's own block: read it now, keep nothing. A DMA engine reports a whole
        transfer at once; its ``data`` may then be longer than a line.
        """
        return

    def stored(self, access: Access, lanes: list[int], line: int) -> None:
        """The first-level cache has taken the store; others may not see it yet."""
        return

    def store_completed(self, access: Access, lanes: list[int], line: int) -> None:
        """The store is globally performed. Never before ``stored``."""
        return

    def atomic_done(self, access: Access, lanes: list[int], old_values: list[int]) -> None:
        """``old_values`` are unsigned, parallel to ``lanes``; empty unless ``access.returns``."""
        return

    def synchronized(self, access: Access) -> None:
        """An ACQUIRE, RELEASE, FLUSH or INVALIDATE_L2 has finished."""
        return

    def retry(self, requester: Requester) -> None:
        """An access of this client that was refused may succeed from the next tick on."""
        return


class Outstanding(NamedTuple):
    """One unanswered part of an access, for watchdogs and reports."""

    access: Access
    lanes: list[int]
    line: int
    """-1 for synchronisation, which has no line."""
    issued: int
    """Tick of :meth:`Requester.issue`."""
    where: str
    """What it waits for: ``sent``, ``behind 0x40``, ``accepted, not complete``, …"""


class Requester(Protocol):
    """One port into the memory system."""

    kind: str
    """``gpu``, ``cpu`` or ``dma``."""
    name: str
    index: int
    """Position in ``System.requesters``."""
    lanes: int
    """The most addresses one access may have."""

    def issue(self, access: Access) -> bool:
        """Take the access, or refuse it (False) and call ``access.client.retry(self)`` later.

        Raises ValueError, with the address, for an access that no state of the system could make
        right: a lane across two lines, a bad size, too many lanes.
        """

    def outstanding(self) -> list[Outstanding]:
        """Everything unanswered, oldest access first."""
