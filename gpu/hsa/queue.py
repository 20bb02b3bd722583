"""A user queue as its producers see it: the ring, the two indices, the doorbell.

Invariant: a packet's header is written last, so that the packet processor never sees an incomplete
one. Source: HSA Platform System Architecture 1.0, "User mode queuing"; D2 section 2.5.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from operator import index
from typing import Final, SupportsIndex, TypedDict, Unpack

from gpu.errors import GpuError, HostError
from gpu.hsa import queue_layout
from gpu.hsa.aql import (
    INVALID_HEADER,
    PACKET_BYTES,
    AgentDispatch,
    Barrier,
    FenceScope,
    Header,
    KernelDispatch,
    PacketType,
)
from gpu.hsa.draft_packets import to_draft
from gpu.hsa.host_memory import Host
from gpu.hsa.queue_layout import AMD_QUEUE, DWORDS_OF_PACKET
from gpu.hsa.queue_state import Connection, QueueState
from gpu.hsa.signal import Signal
from runtime.types.atomic_op import AtomicKind

Packet = KernelDispatch | AgentDispatch | Barrier
MOST_PACKETS: Final = 1 << 20
"""Of one ring."""
PACKETS: Final = ("1.0", "draft")
"""Which header its packets have: that of HSA 1.0, or that of the draft."""
LAST_INDEX: Final = (1 << 64) - 1
_SCOPES: Final = {"none": FenceScope.NONE, "agent": FenceScope.AGENT, "system": FenceScope.SYSTEM}


class BarrierHeader(TypedDict, total=False):
    """Options of barrier packets, see `UserQueue.agent_dispatch`; scopes are `none` by default."""

    completion: Signal | None
    barrier: bool
    acquire: str
    release: str


def scope(name: str) -> FenceScope:
    """The fence scope of that name. Raises HostError."""
    try:
        return _SCOPES[name]
    except KeyError:
        raise HostError(f"{name!r} is no scope; there are {', '.join(_SCOPES)}") from None


def check_size(size: object) -> None:
    """Raises HostError unless a ring can have so many packets."""
    count = index(size) if isinstance(size, SupportsIndex) else 0
    if count < 2 or count & count - 1 or count > MOST_PACKETS:
        raise HostError(f"a queue has a power of two of packets, 2 to {MOST_PACKETS:,}, not {size}")


def object_bytes(values: dict[str, int], address: int) -> bytes:
    """A queue object for that address. Raises HostError where none can lie."""
    if address % queue_layout.ALIGNMENT:
        raise HostError(f"a queue object is 64-byte aligned; {address:#x} is not")
    last = address + AMD_QUEUE.size - 1
    if address // queue_layout.BOUNDARY != last // queue_layout.BOUNDARY:
        raise HostError(f"a queue object at {address:#x} would cross a multiple of 4 GiB")
    return AMD_QUEUE.pack(values)


class UserQueue:
    """Producers of one queue. ``link`` is the packet processor's view of it.

    Operations on a queue that is not active have no effect; an operation that would be lost raises
    the queue's error instead.
    """

    def __init__(
        self,
        host: Host,
        link: Connection,
        signal_of: Callable[[Signal], int],
    ) -> None:
        self._host = host
        self.link = link
        self._signal_of = signal_of
        """Handle of a signal, which is bound to the device if it is not yet."""
        self._unrung = 0
        """Index past the last packet that was written here."""

    # ------------------------------------------------------------------ the object

    @property
    def address(self) -> int:
        """The address of the ``amd_queue_t``."""
        return self.link.queue

    @property
    def state(self) -> QueueState:
        return self.link.state

    @property
    def error(self) -> GpuError | None:
        """What stopped the queue."""
        return self.link.error

    def field(self, name: str) -> int:
        """A field of the queue object, as it is in memory."""
        field = AMD_QUEUE.field(name)
        data = self._host.read(self.address + field.offset, field.size)
        return int.from_bytes(data, "little")

    @property
    def size(self) -> int:
        """Packets."""
        return self.field("size")

    @property
    def doorbell(self) -> Signal:
        """The doorbell signal."""
        signal = Signal.at(self._host, self.field("doorbell_signal"))
        signal.counts_dwords = self.link.doorbell_in_dwords
        return signal

    # ------------------------------------------------------------------ indices

    def _index(self, name: str) -> int:
        return self.address + AMD_QUEUE.field(name).offset

    @property
    def _unit(self) -> int:
        """By how much the write index in memory increases with a packet."""
        return DWORDS_OF_PACKET if self.link.doorbell_in_dwords else 1

    @property
    def write_index(self) -> int:
        return self.field("write_dispatch_id") // self._unit

    @property
    def read_index(self) -> int:
        return self.field("read_dispatch_id")

    def store_write_index(self, value: int) -> None:
        """For a single producer."""
        if self.link.active:
            data = (value * self._unit & LAST_INDEX).to_bytes(8, "little")
            self._host.write(self._index("write_dispatch_id"), data)

    def add_write_index(self, count: int) -> int:
        """The old index. Several producers reserve packets so."""
        if not self.link.active:
            return self.write_index
        where, unit = self._index("write_dispatch_id"), self._unit
        return self._host.atomic(AtomicKind.ADD, where, count * unit & LAST_INDEX) // unit

    def exchange_write_index(self, expected: int, value: int) -> int:
        """Set ``value`` if the index is ``expected``; the old index."""
        if not self.link.active:
            return self.write_index
        where = self._index("write_dispatch_id")
        unit = self._unit
        scaled = (value * unit & LAST_INDEX, expected * unit & LAST_INDEX)
        return self._host.atomic(AtomicKind.CAS, where, *scaled) // unit

    # ------------------------------------------------------------------ packets

    def reserve(self) -> int:
        """The id of a packet to be written, which is this caller's alone.

        Raises the queue's error if it is not active, HostError at the last index.
        """
        self._need_active()
        if self.write_index >= LAST_INDEX:
            raise HostError(f"{self.link.name}: the write index has reached its maximum")
        if self.field("type") == queue_layout.TYPE_MULTI:
            return self.add_write_index(1)
        packet_id = self.write_index
        self.store_write_index(packet_id + 1)
        return packet_id

    def write(self, packet_id: int, data: bytes) -> None:
        """Write 64 bytes into a reserved slot, when it is free, header last."""
        if len(data) != PACKET_BYTES:
            raise HostError(f"a packet has {PACKET_BYTES} bytes, not {len(data)}")
        self._need_active()
        size = self.size
        if packet_id >= self.read_index + size:
            self._wait_for_room(packet_id, size)
        slot = self.field("base_address") + packet_id % size * PACKET_BYTES
        self._host.write(slot + 4, data[4:])
        self._host.write(slot, data[:4])
        self._unrung = max(self._unrung, packet_id + 1)

    def submit(self, packet: Packet, what: str = "") -> int:
        """Reserve and write, without ringing; the packet's id. Raises HostError, which begins with
        ``what``, for a value that does not fit its field."""
        try:
            data = packet.pack()
        except ValueError as error:
            raise HostError(f"{what}{error}") from None
        if self.link.draft:
            data = to_draft(data)
        packet_id = self.reserve()
        self.write(packet_id, data)
        return packet_id

    def ring(self, packet_id: int | None = None) -> None:
        """Ring the doorbell for all packets up to ``packet_id``, or all written here."""
        if packet_id is None:
            if not self._unrung:
                return
            packet_id = self._unrung - 1
        if self.link.active:
            self.doorbell.store(packet_id)

    def _wait_for_room(self, packet_id: int, size: int) -> None:
        """Ring for a full ring, which empties only if the packet processor was notified of its
        packets."""
        self.ring()
        self._host.wait(
            self._index("read_dispatch_id"),
            lambda data: packet_id < int.from_bytes(data, "little") + size or not self.link.active,
            None,
            f"room for packet {packet_id} in {self.link.name}",
        )
        self._need_active()

    def _need_active(self) -> None:
        if self.link.error is not None:
            raise self.link.error
        if not self.link.active:
            raise HostError(f"{self.link.name} is {self.state.value}")

    # ------------------------------------------------------------------ kinds of packets

    def barrier_and(self, signals: Iterable[Signal], **header: Unpack[BarrierHeader]) -> int:
        """Later packets wait until all signals are 0. Options: see `agent_dispatch`."""
        return self._barrier(PacketType.BARRIER_AND, signals, **header)

    def barrier_or(self, signals: Iterable[Signal], **header: Unpack[BarrierHeader]) -> int:
        """Later packets wait until one of the signals is 0. Options: see `agent_dispatch`."""
        return self._barrier(PacketType.BARRIER_OR, signals, **header)

    def _barrier(
        self,
        kind: PacketType,
        signals: Iterable[Signal],
        *,
        completion: Signal | None = None,
        barrier: bool = False,
        acquire: str = "none",
        release: str = "none",
    ) -> int:
        handles = tuple(self._signal_of(signal) for signal in signals)
        if len(handles) > 5:
            raise HostError(f"a barrier packet waits for up to 5 signals, not {len(handles)}")
        header = Header(kind, barrier, scope(acquire), scope(release))
        done = self._completion(completion)
        return self.submit(Barrier(header=header, dependencies=handles, completion=done))

    def agent_dispatch(
        self,
        type: int,
        arguments: Iterable[int] = (),
        *,
        return_address: int = 0,
        completion: Signal | None = None,
        barrier: bool = False,
        acquire: str = "system",
        release: str = "system",
    ) -> int:
        """Have the host's handler of ``type`` called with up to four numbers; the packet's id.

        ``barrier``: only after all earlier packets. ``acquire``/``release``: none, agent, system.
        """
        values = tuple(arguments)
        if len(values) > 4:
            raise HostError(f"an agent dispatch has up to 4 arguments, not {len(values)}")
        first, second, third, fourth = values + (0,) * (4 - len(values))
        return self.submit(
            AgentDispatch(
                header=Header(PacketType.AGENT_DISPATCH, barrier, scope(acquire), scope(release)),
                type=type,
                return_address=return_address,
                arguments=(first, second, third, fourth),
                completion=self._completion(completion),
            )
        )

    def _completion(self, signal: Signal | None) -> int:
        return 0 if signal is None else self._signal_of(signal)


def empty_ring(size: int, invalid_header: bytes = INVALID_HEADER) -> bytes:
    """A ring in which every packet is invalid."""
    return invalid_header.ljust(PACKET_BYTES, b"\0") * size
