"""From a dispatch packet to a run whose groups can be placed.

Reads the kernel's descriptor and the queue's scratch fields from memory, checks the packet, grows
the scratch pool if needed, keeps a copy of the packet for the kernel, and invalidates caches as the
header says.

Invariant: the only effect of a refused packet is the size of its queue's scratch pool.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from gpu.code_object import RUNNABLE, KernelDescriptor, LoadedKernel
from gpu.code_object import kernel_descriptor as descriptors
from gpu.dispatch.dispatcher import Dispatcher
from gpu.dispatch.kernel_run import KernelRun, Surroundings
from gpu.dispatch.launch import OnStop
from gpu.errors import PacketError
from gpu.hsa import scratch
from gpu.hsa.activities import Pause, Steps
from gpu.hsa.aql import PACKET_BYTES, KernelDispatch
from gpu.hsa.packet_validation import check_dispatch, check_kernel_object
from gpu.hsa.queue_layout import AMD_QUEUE
from gpu.hsa.queue_state import Connection
from gpu.packet_processor.control_port import ControlPort
from gpu.packet_processor.fences import Fences
from slicc.text.lazy_dataclass import dataclass

COPIES: Final = 64
"""Packets for which room is allocated at a time."""


@dataclass(frozen=True, slots=True)
class Apertures:
    """Upper halves of the flat addresses of LDS and scratch, and the base of offsets in
    FLAT_SCRATCH."""

    shared: int = 0x1_0000
    private: int = 0x2_0000
    hidden_base: int = 1 << 32


class Kernels(Protocol):
    """The registry of loaded kernels."""

    def kernel_at(self, address: int) -> LoadedKernel | None:
        """The kernel whose descriptor lies there."""


@dataclass(frozen=True, slots=True)
class ScratchLimits:
    """``resident``: waves that the device holds at once. ``largest_pool``: bytes of a queue's."""

    resident: int
    largest_pool: int = 256 << 20


class CommandProcessor:
    """Starts dispatches."""

    def __init__(
        self,
        control: ControlPort,
        dispatcher: Dispatcher,
        fences: Fences,
        kernels: Kernels,
        apertures: Apertures,
        limits: ScratchLimits,
    ) -> None:
        self._control = control
        self._dispatcher = dispatcher
        self._fences = fences
        self._kernels = kernels
        self._space = control.space
        self._apertures = apertures
        self._limits = limits
        self.on_stop: OnStop | None = None
        """A debugger of the kernels that are launched from now on."""
        self.trap_handler = (0, 0)
        """TBA and TMA of the kernels that are launched from now on."""

    def launch(
        self,
        link: Connection,
        data: bytes,
        failed: Callable[[KernelRun], None],
        interrupted: Callable[[int], None],
    ) -> Steps[KernelRun]:
        """Start the packet that is next in the queue. Raises PacketError and Unmapped."""
        packet = KernelDispatch.unpack(data)
        found = self._kernels.kernel_at(packet.kernel_object)
        kernel = check_kernel_object(packet.kernel_object, found)
        descriptor = yield from self._descriptor(kernel)
        check_dispatch(packet, kernel, descriptor)
        queue = yield from self._queue_fields(link)
        if packet.private_bytes:
            queue = yield from self._pool(link, packet, kernel, queue)
        copy = self._room_for_copy(link)
        run = KernelRun(
            kernel=kernel.name,
            packet=packet,
            descriptor=descriptor,
            around=self._surroundings(link, queue, copy),
            pool=link.pool,
            cus=link.cus,
            changed=self._dispatcher.changed,
            failed=failed,
            interrupted=interrupted,
            line_at=kernel.line_at,
            function_at=kernel.function_at,
            on_stop=self.on_stop,
            trap_handler=self.trap_handler,
            generation=RUNNABLE[kernel.kernel.target.processor],
        )
        why = self._dispatcher.why_never(run)
        if why is not None:
            self.forget(link, run)
            raise PacketError("a group fits an empty compute unit of the queue", why, kernel.name)
        link.note_used(run.cus)
        yield from self._control.store(copy, data)
        # The draft's header has a bit of its own for instructions.
        yield from self._fences.acquire(packet.header.acquire, run.cus, code=not link.draft)
        return run

    def forget(self, link: Connection, run: KernelRun) -> None:
        """The run is over: its copy of the packet can be reused."""
        link.free_copies.append(run.around.dispatch_pointer)

    # ------------------------------------------------------------------ parts

    def _descriptor(self, kernel: LoadedKernel) -> Steps[KernelDescriptor]:
        old = kernel.kernel.version == 2
        size = descriptors.SIZE_V2 if old else descriptors.SIZE
        data = yield from self._control.load(kernel.object_address, size)
        return descriptors.read_header_v2(data) if old else descriptors.read_descriptor(data)

    def _queue_fields(self, link: Connection) -> Steps[dict[str, int]]:
        """The queue object's fields about scratch."""
        first, end = scratch.FIRST_FIELD, scratch.END_FIELD
        data = yield from self._control.load(link.queue + first, end - first)
        return AMD_QUEUE.unpack(bytes(first) + data + bytes(AMD_QUEUE.size - end))

    def _room_for_copy(self, link: Connection) -> int:
        if not link.free_copies:
            made = self._space.allocate(
                COPIES * PACKET_BYTES, memory_type="cc", name=f"packets of {link.name}"
            )
            places = range(made.start, made.start + COPIES * PACKET_BYTES, PACKET_BYTES)
            link.free_copies.extend(reversed(places))
        return link.free_copies.pop()

    def _surroundings(self, link: Connection, queue: dict[str, int], copy: int) -> Surroundings:
        first, second, third, fourth = (
            queue[f"scratch_resource_descriptor_{word}"] for word in range(4)
        )
        return Surroundings(
            queue=link.queue,
            packet_id=link.read_id,
            dispatch_pointer=copy,
            vmid=link.vmid,
            resource=(first, second, third, fourth),
            hidden_base=self._apertures.hidden_base,
            shared_aperture=self._apertures.shared,
            private_aperture=self._apertures.private,
        )

    # ------------------------------------------------------------------ scratch

    def _pool(
        self,
        link: Connection,
        packet: KernelDispatch,
        kernel: LoadedKernel,
        queue: dict[str, int],
    ) -> Steps[dict[str, int]]:
        """The queue's scratch fields, once they suffice for the packet."""
        if packet.private_bytes > queue["scratch_workitem_byte_size"]:
            queue = yield from self._grow(link, packet.private_bytes)
        if packet.private_bytes > queue["scratch_workitem_byte_size"]:
            raise PacketError(
                "the runtime can make the queue's scratch as large as the packet's",
                f"{packet.private_bytes} bytes a work-item",
                kernel.name,
            )
        if not link.pool.waves:
            link.pool = scratch.ScratchPool.read(queue, self._apertures.hidden_base)
        return queue

    def _grow(self, link: Connection, item_bytes: int) -> Steps[dict[str, int]]:
        """A larger pool, once no wave has a slot of the old one."""
        while any(run.scratch and not run.finished for run in link.runs):
            why = f"{link.name}, packet {link.read_id} waits until its scratch pool is free to grow"
            yield Pause(None, link.changed, link.changed.count, why=why)
        waves = scratch.pool_waves(item_bytes, self._limits.resident, self._limits.largest_pool)
        size = scratch.wave_bytes(item_bytes) * waves
        made = self._space.allocate(size, name=f"scratch of {link.name}")
        if link.pool.base:
            self._space.free(link.pool.base)
        fields = scratch.queue_fields(made.start, self._apertures.hidden_base, item_bytes, waves)
        where = link.queue + scratch.FIRST_FIELD
        yield from self._control.store(where, scratch.field_bytes(fields))
        link.pool = scratch.ScratchPool()
        return (yield from self._queue_fields(link))
