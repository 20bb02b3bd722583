"""A queue as the packet processor sees it: what its hardware registers would hold.

Invariant: the doorbell only increases, and the state only moves towards destruction.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from enum import Enum
from typing import Final, Protocol

from gpu.errors import GpuError
from gpu.hsa import draft_packets
from gpu.hsa.activities import Event, Pause, Steps
from gpu.hsa.aql import INVALID_HEADER, KernelDispatch, PacketType
from gpu.hsa.queue_layout import DWORDS_OF_PACKET
from gpu.hsa.scratch import ScratchPool
from slicc.text.lazy_dataclass import dataclass

_HALF: int = 1 << 31

HIGHEST_PRIORITY: Final = 15
NORMAL_PRIORITY: Final = 7

NOT_YET: Final = 1 << 62
"""A tick that never comes."""


class QueueState(Enum):
    """Life of a queue (D2, "Queue Error Reporting, Deactivation and Queue State")."""

    ACTIVE = "active"
    ERROR_PENDING = "error pending"
    """No further packet is taken; running ones are completed."""
    INACTIVE = "inactive"
    DESTROYED = "destroyed"


class QueueKind(Enum):
    """What the packets of a queue are."""

    AQL = "AQL"
    PM4 = "PM4"
    """Commands of dwords; pointers have 4 bytes and count dwords of the ring."""
    SDMA = "SDMA"
    """Likewise; pointers have 8 bytes and count all bytes so far."""

    @property
    def pointer_bytes(self) -> int:
        """The size of the read pointer in memory."""
        return 4 if self is QueueKind.PM4 else 8

    @property
    def pointer_unit(self) -> int:
        """By how much a pointer to the next dword is larger."""
        return 4 if self is QueueKind.SDMA else 1


class ActiveDispatch(Protocol):
    """As much of a running kernel (`gpu.dispatch.kernel_run`) as its queue is asked about."""

    @property
    def kernel(self) -> str: ...
    @property
    def packet_id(self) -> int: ...
    @property
    def scratch(self) -> bool: ...
    @property
    def finished(self) -> bool: ...
    @property
    def packet(self) -> KernelDispatch: ...
    def restrict(self, cus: tuple[int, ...]) -> tuple[int, ...]: ...
    def allow(self, cus: tuple[int, ...]) -> None: ...


@dataclass(frozen=True, slots=True)
class SaveArea:
    """Memory of the process for a queue's waves while they are off the units. ``control_bytes``:
    how much of its beginning is header and control stack."""

    address: int
    size: int
    control_bytes: int

    def fits(self, header: int, entry: int, groups: Sequence[int]) -> bool:
        """Whether there is room for groups of so many bytes."""
        control = header + entry * len(groups)
        return control <= self.control_bytes and self.control_bytes + sum(groups) <= self.size

    def holds(self, offset: int, size: int) -> bool:
        """Whether a saved group can lie there."""
        return self.control_bytes <= offset and offset + size <= self.size


@dataclass(slots=True, eq=False)
class Connection:
    """One mapped queue. ``queue``: address of its object. ``cus``: which units it may use;
    ``used``: those that its dispatches were allowed to use so far.

    ``promised``: by the doorbell, packets below this id are written. ``doorbell_is_index``: the
    legacy rule, by which the doorbell is set to the index past the last packet, not its id.
    """

    queue: int
    cus: tuple[int, ...]
    doorbell_is_index: bool
    doorbell_in_dwords: bool = False
    """GFX7's legacy rule: it counts the dwords of a ring of twice the size, modulo that ring, and
    so does the write index in the queue object, without an end."""
    draft: bool = False
    """Its packets have D2's header."""
    used: tuple[int, ...] = ()
    ring: tuple[int, int] | None = None
    """Address and packets of the ring, where a driver gave them; else the queue object does."""
    base: int = 0
    size: int = 0
    id: int = 0
    vmid: int = 0
    """Of the process whose queue it is; 0 has the addresses of memory itself."""
    features: int = 0
    profiled: bool = False
    read_id: int = 0
    promised: int = 0
    state: QueueState = QueueState.ACTIVE
    error: GpuError | None = None
    incomplete: int = 0
    """Packets that were launched and have not completed."""
    runs: list[ActiveDispatch] = field(default_factory=list)
    pool: ScratchPool = field(default_factory=ScratchPool)
    resting: bool = False
    """Its sequence pauses where it can be cancelled and restarted."""
    blocked: bool = False
    """At a barrier packet whose signals are not met."""
    priority: int = NORMAL_PRIORITY
    """0 to `HIGHEST_PRIORITY`; it decides who gets a slot that several queues wait for."""
    gives_way: Event | None = None
    """Its turn is over: it takes no further packet, and fires this once it is idle."""
    since: int = 0
    """The tick in which its turn has begun: its first packet or command was there, or its waves
    were put back; `NOT_YET` before that."""
    tried: int = -1
    """`gpu.hsa.activities.Activities.happened` when it got the slot of its last turn."""
    waits_since: int | None = None
    """The tick from which on it has something to do and no slot."""
    begun: int = -1
    """The last packet that was taken."""
    changed: Event = field(default_factory=Event)
    """Doorbell, state, and packets that complete."""
    free_copies: list[int] = field(default_factory=list)
    """Room for packets that kernels read after their slot was recycled."""
    save_area: SaveArea | None = None
    saved: bool = False
    """Its waves are in the save area, and none is on a unit."""
    eop_buffer: tuple[int, int] | None = None
    """Address and bytes of the end-of-pipe buffer."""
    ended: int = 0
    """Entries that were written there."""
    kind: QueueKind = QueueKind.AQL
    read_pointer: int = 0
    """Of a queue of commands: where its read pointer is in memory. ``read_id``, ``promised`` and
    ``size`` count dwords then, and ``ring`` is given."""
    write_pointer: int | None = None
    """Of a queue of commands: what the doorbell was last set to."""
    begun_command: tuple[int, ...] = ()
    """The place of the last command that was taken."""

    def begin_turn(self, now: int) -> None:
        """The queue could do something in its turn, if it could not before."""
        if self.since == NOT_YET:
            self.since = now

    def note_used(self, cus: tuple[int, ...]) -> None:
        """Dispatches may use these units from now on, and have stores in their caches."""
        self.used = tuple(sorted({*self.used, *cus}))

    @property
    def name(self) -> str:
        return f"process {self.vmid}, queue {self.id}" if self.vmid else f"queue {self.id}"

    @property
    def active(self) -> bool:
        return self.state is QueueState.ACTIVE

    def is_invalid(self, packet: bytes) -> bool:
        """Whether a slot holds no packet yet."""
        return packet[0] == (0 if self.draft else PacketType.INVALID)

    @property
    def invalid_header(self) -> bytes:
        """The content of a free slot."""
        return draft_packets.INVALID_HEADER if self.draft else INVALID_HEADER

    @property
    def idle(self) -> bool:
        """Whether its packets can be fetched again later without loss."""
        return self.resting and (self.saved or self.incomplete == self.blocked)

    @property
    def has_packets(self) -> bool:
        """Whether its doorbell promises packets that were not taken."""
        return self.promised > self.read_id

    @property
    def has_work(self) -> bool:
        """Whether it would use a slot."""
        return self.saved or self.has_packets

    def slot(self, packet_id: int) -> int:
        """Address of a packet."""
        return self.base + (packet_id & self.size - 1) * 64

    def dword(self, index: int) -> int:
        """Address of a dword of the ring."""
        return self.base + 4 * (index % self.size)

    def begin_at(self, pointer: int) -> None:
        """Take the ring into use, with a read pointer."""
        assert self.ring is not None, "a queue of commands has a ring"
        self.base, self.size = self.ring
        self.read_id = pointer // self.kind.pointer_unit
        if self.kind is QueueKind.PM4:
            self.read_id %= self.size
        self._promise()

    @property
    def pointer_value(self) -> int:
        """The read pointer as it is in memory."""
        if self.kind is QueueKind.PM4:
            return self.read_id % self.size
        return self.read_id * self.kind.pointer_unit & (1 << 64) - 1

    def _promise(self) -> None:
        """The commands from the read pointer to the write pointer are written. Before the queue has
        had a slot, its read pointer is not known: there is something to do."""
        self.promised = self.read_id
        if self.write_pointer is not None and self.size:
            written = self.write_pointer // self.kind.pointer_unit
            self.promised += (written - self.read_id) % self.size
        elif self.write_pointer is not None:
            self.promised += 1

    def rest(self, pause: Pause) -> Steps[None]:
        """A pause at which the queue's slot can be given to another queue."""
        self.resting = True
        if self.idle and self.gives_way is not None:
            self.gives_way.fire()
        try:
            yield pause
        finally:
            self.resting = False

    def rung(self, data: bytes) -> None:
        """A store to the doorbell. Four bytes mean the nearest number that is not behind."""
        if not self.active:
            return
        if self.kind is not QueueKind.AQL:
            self.write_pointer = int.from_bytes(data, "little")
            self._promise()
            self.changed.fire()
            return
        value = int.from_bytes(data, "little")
        if self.doorbell_in_dwords:
            value = self._from_dwords(value)
        elif not self.doorbell_is_index:
            value += 1
        if len(data) < 8:
            value = self.promised + (value - self.promised + _HALF) % (2 * _HALF) - _HALF
        self.promised = max(self.promised, value)
        self.changed.fire()

    def _from_dwords(self, value: int) -> int:
        """The index that a doorbell of GFX7 means; one that is behind means the last one again."""
        further = (value // DWORDS_OF_PACKET - self.promised) % (2 * self.size)
        return self.promised + (further if further <= self.size else 0)
