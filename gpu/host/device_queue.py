"""A user queue of a device, with dispatches in the terms of a kernel's source.

Invariant: the arguments of a dispatch are copied when it is submitted.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from operator import index
from typing import Final, Protocol, SupportsIndex

import numpy as np

from gpu.code_object import DispatchFacts, Kernel, LoadedKernel, pack_arguments
from gpu.errors import HostError
from gpu.host.buffer import Buffer
from gpu.host.printf import Printing
from gpu.hsa.aql import Header, KernelDispatch, PacketType
from gpu.hsa.host_memory import Host
from gpu.hsa.queue import UserQueue, scope
from gpu.hsa.queue_state import Connection
from gpu.hsa.signal import ERROR_VALUE, Signal, SignalKind
from gpu.memory.address_space import Unmapped

Size = tuple[int, int, int]

DYNAMIC_STACK: Final = 16 * 1024
"""Private bytes of a work-item whose kernel's stack has no bound that the compiler knows."""


def three(size: SupportsIndex | Sequence[int], what: str, other: int = 1) -> tuple[Size, int]:
    """A size with ``other`` in the dimensions that are not given, and how many are. Raises
    HostError."""
    several = size if isinstance(size, (Sequence, np.ndarray)) else (size,)
    try:
        sizes = tuple(index(each) for each in several)
    except TypeError:
        raise HostError(f"{what} has whole numbers of work-items, not {size!r}") from None
    if not 1 <= len(sizes) <= 3:
        raise HostError(f"{what} has 1 to 3 dimensions, not {len(sizes)}")
    x, y, z = sizes + (other,) * (3 - len(sizes))
    return (x, y, z), len(sizes)


def _private_bytes(kernel: Kernel) -> int:
    """Private bytes of a work-item: the kernel's own, and a stack where the call depth is
    unknown."""
    fixed = kernel.descriptor.private_size
    unknown = kernel.descriptor.dynamic_stack or kernel.metadata.uses_dynamic_stack
    return max(fixed, DYNAMIC_STACK) if unknown else fixed


class ServingDevice(Protocol):
    """As much of a device as its queues ask for."""

    @property
    def host(self) -> Host: ...

    @property
    def printing(self) -> Printing: ...

    def handle_of(self, signal: Signal) -> int: ...

    def loaded_kernel(self, kernel: Kernel | LoadedKernel) -> LoadedKernel: ...

    def arguments(self, data: bytes) -> int: ...


class DeviceQueue(UserQueue):
    """What `gpu.host.device_core.BareDevice.create_queue` returns.

    ``apertures``: upper 32 bits of the flat addresses that mean LDS, and of those of scratch.
    """

    def __init__(self, device: ServingDevice, link: Connection, apertures: tuple[int, int]) -> None:
        super().__init__(device.host, link, device.handle_of)
        self._device = device
        self._apertures = apertures

    def belongs_to(self, device: object) -> bool:
        """Whether this device, or process, has made it."""
        return self._device is device

    def dispatch(
        self,
        kernel: Kernel | LoadedKernel,
        grid: int | Sequence[int],
        group: int | Sequence[int],
        args: Sequence[object] = (),
        *,
        completion: Signal | None = None,
        barrier: bool = False,
        acquire: str = "system",
        release: str = "system",
        group_bytes: int | None = None,
        private_bytes: int | None = None,
        global_offset: int | Sequence[int] = 0,
    ) -> int:
        """Write a kernel-dispatch packet, without ringing; the packet's id.

        ``grid``/``group``: work-items in 1 to 3 dimensions. ``args``: as
        `gpu.code_object.pack_arguments` takes them; buffers of the device go as they are.
        ``barrier``: only after all earlier packets. ``acquire``/``release``: none, agent, system.
        ``group_bytes``/``private_bytes``: LDS of a group and private memory of a work-item in
        all; otherwise what kernel and arguments need.
        """
        loaded = self._device.loaded_kernel(kernel)
        self._need_own(args)
        grid3, dimensions = three(grid, "a grid")
        group3, group_dimensions = three(group, "a group")
        dimensions = max(dimensions, group_dimensions)
        facts = self._facts(grid3, group3, dimensions, global_offset)
        printing = self._device.printing
        facts = replace(facts, printf_buffer=printing.room(loaded.kernel))
        packed = pack_arguments(loaded.kernel, args, facts)
        packet = KernelDispatch(
            header=Header(PacketType.KERNEL_DISPATCH, barrier, scope(acquire), scope(release)),
            setup=dimensions,
            group=group3,
            grid=grid3,
            private_bytes=_private_bytes(loaded.kernel) if private_bytes is None else private_bytes,
            group_bytes=packed.group_size if group_bytes is None else group_bytes,
            kernel_object=loaded.object_address,
            kernarg=self._device.arguments(packed.data),
            completion=self._completion(completion),
        )
        number = self.submit(packet, f"kernel {loaded.name}: ")
        if facts.printf_buffer:
            printing.expect(facts.printf_buffer, loaded.kernel, self.link, number)
        return number

    def _need_own(self, args: Sequence[object]) -> None:
        for number, value in enumerate(args):
            if isinstance(value, Buffer) and value.host is not self._host:
                raise HostError(f"argument {number}: the buffer belongs to another device")

    def _facts(
        self, grid: Size, group: Size, dimensions: int, global_offset: int | Sequence[int]
    ) -> DispatchFacts:
        x, y, z = (max(1, size) for size in group)
        offset, _ = three(global_offset, "a global offset", 0)
        if not all(0 <= each < 1 << 64 for each in offset):
            raise HostError(f"a global offset has 64 bits in each dimension: not {global_offset!r}")
        shared, private = self._apertures
        return DispatchFacts(
            grid=grid,
            group=(x, y, z),
            dimensions=dimensions,
            global_offset=offset,
            queue=self.address,
            shared_aperture=shared,
            private_aperture=private,
            default_queue=self.address,
        )

    def fail_what_is_left(self) -> None:
        """Complete packets that were written and not taken, with an error."""
        size, base = self.size, self.field("base_address")
        for packet_id in range(self.read_index, min(self.write_index, self.read_index + size)):
            data = self._host.read(base + packet_id % size * 64, 64)
            completion = int.from_bytes(data[-8:], "little")
            if not self.link.is_invalid(data) and completion and not completion % 64:
                self._fail(Signal.at(self._host, completion))

    def _fail(self, signal: Signal) -> None:
        """Set the error value, if that is still the address of a user signal."""
        try:
            if signal.kind is SignalKind.USER:
                signal.store(ERROR_VALUE)
        except (HostError, Unmapped):
            pass
