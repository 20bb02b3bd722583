"""Queues and events as the Linux driver's calls make them.

Each method is one call with the fields of its structure; `gpu.host.kfd.table` makes the
same calls as bytes, and `gpu.host.kfd.memory` has those about memory. Ring, pointers and
save area belong to the caller and have to outlive the queue. Invariant: a call that fails has no
effect.

Sources: D3; the public header ``kfd_ioctl.h`` (numbers, types of queues).
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import IntEnum
from typing import Final

from gpu.errors import HostError, NoProgressError
from gpu.host.device_queue import DeviceQueue
from gpu.host.kfd.memory import DriverMemory, Node
from gpu.host.kfd.refusals import DriverError, Number, Refuse, refusal
from gpu.host.processes.context import Context
from gpu.host.queue_allocation import DOORBELL_BYTES
from gpu.hsa.queue_layout import AMD_QUEUE
from gpu.hsa.queue_state import (
    HIGHEST_PRIORITY,
    NORMAL_PRIORITY,
    Connection,
    QueueKind,
    QueueState,
    SaveArea,
)
from gpu.memory.address_space import Unmapped
from gpu.packet_processor.commands.command_layout import DWORD
from gpu.packet_processor.context_switch import HEADER
from gpu.packet_processor.events import HostEvent
from slicc.text.lazy_dataclass import dataclass

SMALLEST_RING: Final = 1024
PAGE: Final = 4096
PACKET: Final = 64
COUNTED_POINTER: Final = 16
"""Bytes of the read pointer of a queue of commands, with the counter that may be behind it."""
_READ_INDEX: Final = AMD_QUEUE.field("read_dispatch_id").offset


class QueueType(IntEnum):
    """What a queue's packets are."""

    COMPUTE = 0
    SDMA = 1
    COMPUTE_AQL = 2
    SDMA_XGMI = 3
    SDMA_BY_ENGINE = 4


KINDS: Final = {
    QueueType.COMPUTE: QueueKind.PM4,
    QueueType.SDMA: QueueKind.SDMA,
    QueueType.COMPUTE_AQL: QueueKind.AQL,
    QueueType.SDMA_XGMI: QueueKind.SDMA,
    QueueType.SDMA_BY_ENGINE: QueueKind.SDMA,
}
"""Engines of SDMA queues are taken in turn; which one is asked for makes no difference."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateQueue:
    """Sizes are bytes. ``read_pointer``: of an AQL queue the read index of an ``amd_queue_t``, by
    which the packet processor finds the object."""

    ring_base: int
    ring_size: int
    read_pointer: int
    write_pointer: int
    gpu_id: int = 1
    type: int = QueueType.COMPUTE_AQL
    percentage: int = 100
    priority: int = NORMAL_PRIORITY
    eop_buffer: int = 0
    eop_size: int = 0
    save_area: int = 0
    save_size: int = 0
    control_stack_size: int = 0


@dataclass(frozen=True, slots=True)
class CreatedQueue:
    """``doorbell``: offset in the page of doorbells."""

    id: int
    doorbell: int


class WaitResult(IntEnum):
    """The result of waiting for events."""

    COMPLETE = 0
    TIMEOUT = 1
    FAIL = 2


class Driver:
    """The calls of one process on one device; ``device`` may be one of `Device.create_process`."""

    def __init__(self, device: Context, node: Node | None = None) -> None:
        self.device = device
        self.node = node or Node.of(device)
        self.memory = DriverMemory(device, self.node)
        self._queues: dict[int, DeviceQueue] = {}
        self._disabled: set[int] = set()
        self._events: dict[int, tuple[HostEvent, bool]] = {}
        self._seen: dict[int, int] = {}
        """Counts of events up to which they have been waited for."""
        self._set: set[int] = set()

    # ------------------------------------------------------------------ queues

    @property
    def doorbells(self) -> int:
        """Address of the page of doorbells, as mapped for the process."""
        return self.device.doorbells

    def create_queue(self, request: CreateQueue) -> CreatedQueue:
        """Call 0x02. Raises DriverError."""
        refuse = refusal(Number.CREATE_QUEUE)
        self._check_ring(refuse, request.ring_base, request.ring_size)
        self._check_share(refuse, request.percentage, request.priority)
        self.memory.check_gpu(refuse, request.gpu_id)
        if request.type not in list(QueueType):
            raise refuse("EINVAL", f"{request.type} is no type of queue")
        kind = KINDS[QueueType(request.type)]
        self._check_pointers(refuse, request, kind)
        self._check_areas(refuse, request)
        link = Connection(
            queue=request.read_pointer - _READ_INDEX if kind is QueueKind.AQL else 0,
            cus=tuple(range(len(self.device.units))),
            doorbell_is_index=True,
            ring=_ring(kind, request.ring_base, request.ring_size),
            priority=request.priority,
            kind=kind,
            read_pointer=request.read_pointer,
            save_area=_save_area(request, kind),
            eop_buffer=(request.eop_buffer, request.eop_size) if request.eop_buffer else None,
        )
        try:
            queue = self.device.adopt(link)
        except HostError as error:
            raise refuse("ENOMEM", str(error)) from None
        self._queues[link.id] = queue
        return CreatedQueue(link.id, link.id * DOORBELL_BYTES)

    def destroy_queue(self, queue_id: int) -> None:
        """Call 0x03: ends its waves; the memory stays the caller's."""
        queue = self._queue(Number.DESTROY_QUEUE, queue_id)
        self.device.inactivate(queue, "destroyed by its process")
        queue.link.state = QueueState.DESTROYED
        del self._queues[queue_id]
        self._disabled.discard(queue_id)

    def update_queue(
        self, queue_id: int, ring_base: int, ring_size: int, percentage: int, priority: int
    ) -> None:
        """Call 0x07. Base and size 0 disable the queue, as a share of 0 does; the indices stay."""
        queue = self._queue(Number.UPDATE_QUEUE, queue_id)
        refuse = refusal(Number.UPDATE_QUEUE)
        if ring_base or ring_size:
            self._check_ring(refuse, ring_base, ring_size)
        self._check_share(refuse, percentage, priority, may_be_zero=True)
        self.device.unmap(queue)
        queue.link.priority = priority
        self._disabled.add(queue_id)
        if ring_base and percentage & 0xFF:
            self._disabled.discard(queue_id)
            queue.link.ring = _ring(queue.link.kind, ring_base, ring_size)
            self.device.map(queue)

    def set_cu_mask(self, queue_id: int, bits: int, mask: int) -> None:
        """Call 0x1A. ``bits``: how many the mask has, a multiple of 32."""
        queue = self._queue(Number.SET_CU_MASK, queue_id)
        refuse = refusal(Number.SET_CU_MASK)
        if bits < 32 or bits % 32:
            raise refuse("EINVAL", f"a mask has a multiple of 32 bits, not {bits}")
        try:
            self.device.set_cu_mask(queue, mask & (1 << bits) - 1)
        except HostError as error:
            raise refuse("EINVAL", str(error)) from None

    def get_wave_state(self, queue_id: int, control_stack: int) -> tuple[int, int]:
        """Call 0x1B: copy the control stack of a queue that an update has disabled to an address;
        the bytes of control stack and of waves' state that are used."""
        queue = self._queue(Number.GET_WAVE_STATE, queue_id)
        refuse = refusal(Number.GET_WAVE_STATE)
        area = queue.link.save_area
        if area is None:
            raise refuse("EINVAL", f"queue {queue_id} has no context save area")
        if queue_id not in self._disabled:
            raise refuse("EINVAL", f"queue {queue_id} is not disabled")
        saved = self.device.saved(queue)
        if saved is None:
            return 0, 0
        self._check_writable(
            refuse, "EFAULT", "a control stack", control_stack, saved.control_bytes
        )
        stack = self.device.host.read(area.address + HEADER.size, saved.control_bytes)
        self.device.host.write(control_stack, stack)
        return saved.control_bytes, saved.wave_bytes

    def _queue(self, call: int, queue_id: int) -> DeviceQueue:
        queue = self._queues.get(queue_id)
        if queue is None:
            raise DriverError("EINVAL", call, f"there is no queue {queue_id}")
        return queue

    # ------------------------------------------------------------------ rules

    def _check_ring(self, refuse: Refuse, base: int, size: int) -> None:
        if size < SMALLEST_RING or size & size - 1:
            raise refuse("EINVAL", f"a ring has a power of two of bytes, at least 1024, not {size}")
        if base % 256:
            raise refuse("EINVAL", f"a ring is 256-byte aligned; {base:#x} is not")
        found = self.device.memory.space.find(base)
        if found is None or base + size > found.end:
            raise refuse("EFAULT", f"{size} bytes at {base:#x} are not all mapped")

    def _check_share(
        self, refuse: Refuse, percentage: int, priority: int, may_be_zero: bool = False
    ) -> None:
        share = percentage & 0xFF
        if share > 100 or (not share and not may_be_zero):
            raise refuse("EINVAL", f"a share is 1 to 100 per cent, not {share}")
        if not 0 <= priority <= HIGHEST_PRIORITY:
            raise refuse("EINVAL", f"a priority is 0 to 15, not {priority}")

    def _check_pointers(self, refuse: Refuse, request: CreateQueue, kind: QueueKind) -> None:
        for name, address in (("read", request.read_pointer), ("write", request.write_pointer)):
            found = self.device.memory.space.find(address)
            if found is None:
                raise refuse("EFAULT", f"the {name} pointer {address:#x} is not mapped")
            if found.end - found.start != PAGE:
                raise refuse("EFAULT", f"the {name} pointer lies in {found}, not in one page")
            if not found.writable or found.on_store is not None:
                raise refuse("EFAULT", f"the {name} pointer lies in {found}, which has none")
        if kind is not QueueKind.AQL:
            last = request.read_pointer % PAGE + COUNTED_POINTER
            if request.read_pointer % kind.pointer_bytes or last > PAGE:
                raise refuse("EINVAL", f"the read pointer {request.read_pointer:#x} is misplaced")
        elif (request.read_pointer - _READ_INDEX) % 64:
            raise refuse(
                "EINVAL", f"the read pointer {request.read_pointer:#x} is none of an amd_queue_t"
            )

    def _check_areas(self, refuse: Refuse, request: CreateQueue) -> None:
        node = self.node
        if request.eop_buffer:
            if request.eop_size != node.eop_size:
                raise refuse("EINVAL", f"an EOP buffer is mapped and has {node.eop_size} bytes")
            self._check_writable(
                refuse, "EINVAL", "an EOP buffer", request.eop_buffer, request.eop_size
            )
        if not request.save_area:
            return
        if request.save_size < node.save_size:
            raise refuse("EINVAL", f"a save area is mapped and has {node.save_size} bytes or more")
        self._check_writable(refuse, "EINVAL", "a save area", request.save_area, request.save_size)
        if request.control_stack_size != node.control_stack_size:
            raise refuse("EINVAL", f"a control stack has {node.control_stack_size} bytes")

    def _check_writable(
        self, refuse: Refuse, code: str, what: str, address: int, size: int
    ) -> None:
        """Raises DriverError unless there is memory that can be written."""
        try:
            self.device.memory.space.at(address, max(1, size), loads=True, writes=True)
        except Unmapped as error:
            raise refuse(code, f"{what} is mapped: {error}") from None

    # ------------------------------------------------------------------ events

    def create_event(self, auto_reset: bool = True) -> HostEvent:
        """Call 0x08: the event, with its number and the address of its mailbox."""
        try:
            event = self.device.create_event()
        except HostError as error:
            raise DriverError("ENOMEM", Number.CREATE_EVENT, str(error)) from None
        self._events[event.id] = (event, auto_reset)
        self._seen[event.id] = 0
        return event

    def destroy_event(self, event_id: int) -> None:
        """Call 0x09; its number is not used again."""
        self._event(Number.DESTROY_EVENT, event_id)
        del self._events[event_id]

    def set_event(self, event_id: int) -> None:
        """Call 0x0A: make it happen."""
        self._event(Number.SET_EVENT, event_id)
        self._set.add(event_id)

    def reset_event(self, event_id: int) -> None:
        """Call 0x0B: as if it had not happened."""
        self._seen[event_id] = self._event(Number.RESET_EVENT, event_id)[0].count
        self._set.discard(event_id)

    def wait_events(
        self, event_ids: Sequence[int], wait_for_all: bool = False, timeout: int | None = None
    ) -> WaitResult:
        """Call 0x0C: run until one or all have happened, or for ``timeout`` ticks."""
        for event_id in event_ids:
            self._event(Number.WAIT_EVENTS, event_id)
        decide = all if wait_for_all else any

        def happened() -> bool:
            return decide(self._happened(event_id) for event_id in event_ids)

        try:
            self.device.run(until=happened, limit=timeout)
        except NoProgressError:
            return WaitResult.FAIL if timeout is None else WaitResult.TIMEOUT
        if not happened():
            return WaitResult.TIMEOUT
        for event_id in event_ids:
            if self._happened(event_id) and self._events[event_id][1]:
                self.reset_event(event_id)
        return WaitResult.COMPLETE

    def _happened(self, event_id: int) -> bool:
        event, _ = self._events[event_id]
        return event_id in self._set or event.count > self._seen[event_id]

    def _event(self, call: int, event_id: int) -> tuple[HostEvent, bool]:
        found = self._events.get(event_id)
        if found is None:
            raise DriverError("EINVAL", call, f"there is no event {event_id}")
        return found


def _save_area(request: CreateQueue, kind: QueueKind) -> SaveArea | None:
    """Only kernels have waves that it is needed for."""
    if not request.save_area or kind is not QueueKind.AQL:
        return None
    return SaveArea(request.save_area, request.save_size, request.control_stack_size)


def _ring(kind: QueueKind, base: int, size: int) -> tuple[int, int]:
    """Address, and how many packets or dwords there are."""
    return base, size // (PACKET if kind is QueueKind.AQL else DWORD)
