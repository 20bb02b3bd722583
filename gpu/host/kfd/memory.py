"""Calls about memory and address ranges of one process.

Memory gets its address when it is allocated and can be accessed while it is mapped. Invariant: a
call that fails has no effect; a handle is never used again.

Source: D3; the public header ``kfd_ioctl.h``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Final

from gpu.host.kfd.refusals import Number, Refuse, refusal
from gpu.host.kfd.structures import MemoryFlags
from gpu.host.processes.context import Context
from gpu.memory.address_space import PAGE, Allocation, MemoryType
from slicc.text.lazy_dataclass import dataclass

KINDS: Final = MemoryFlags.VRAM | MemoryFlags.GTT
_OTHER_KINDS: Final = MemoryFlags.USERPTR | MemoryFlags.DOORBELL | MemoryFlags.MMIO_REMAP
_KNOWN: Final = sum(MemoryFlags)


@dataclass(frozen=True, slots=True)
class Node:
    """What the driver says about the GPU. Sizes are bytes; ``memory``: of all that is allocated.
    ``ticks_a_millisecond``: of its clock."""

    gpu_id: int = 1
    eop_size: int = PAGE
    save_size: int = 1 << 20
    control_stack_size: int = PAGE
    memory: int = 1 << 34
    ticks_a_millisecond: int = 1_000_000

    @classmethod
    def of(cls, device: Context) -> Node:
        """What a device's waves need."""
        control, size = device.save_area_bytes
        return cls(control_stack_size=control, save_size=size)


@dataclass(frozen=True, slots=True)
class NodeApertures:
    """Ranges of addresses, the last one included: of LDS, of scratch, of everything mapped."""

    gpu_id: int
    lds: tuple[int, int]
    scratch: tuple[int, int]
    gpuvm: tuple[int, int]


@dataclass(slots=True)
class _Memory:
    allocation: Allocation
    mapped: bool = field(default=False)


class DriverMemory:
    """The calls of one process on one device, which may be one of `Device.create_process`."""

    def __init__(self, device: Context, node: Node) -> None:
        self._device = device
        self._node = node
        self._render_node: int | None = None
        """The descriptor that the process has given its address space by."""
        self._held: dict[int, _Memory] = {}
        self._made = 0

    @property
    def used(self) -> int:
        """Bytes allocated, whole pages."""
        return sum(each.allocation.end - each.allocation.start for each in self._held.values())

    def acquire_vm(self, gpu_id: int, drm_fd: int) -> None:
        """Call 0x15: the address space is that of the open render node ``drm_fd``."""
        refuse = refusal(Number.ACQUIRE_VM)
        self.check_gpu(refuse, gpu_id)
        if self._render_node not in (None, drm_fd):
            raise refuse("EBUSY", f"the address space is that of descriptor {self._render_node}")
        self._render_node = drm_fd

    def alloc(self, gpu_id: int, size: int, flags: int, address: int = 0) -> tuple[int, int]:
        """Call 0x16: handle and address. The memory cannot be accessed before it is mapped."""
        refuse = refusal(Number.ALLOC_MEMORY)
        self.check_gpu(refuse, gpu_id)
        if self._render_node is None:
            raise refuse("EINVAL", "the process has not acquired its address space")
        wanted = _checked_flags(refuse, flags)
        if address:
            raise refuse("EINVAL", f"the driver selects the address; {address:#x} is not 0")
        if not size:
            raise refuse("EINVAL", "0 bytes cannot be allocated")
        if self.used + size > self._node.memory:
            raise refuse("ENOMEM", f"{size:,} bytes are more than is left")
        space = self._device.memory.space
        name = f"memory {self._made + 1} of the process"
        try:
            made = space.allocate(
                size,
                memory_type=_type_of(wanted),
                writable=MemoryFlags.WRITABLE in wanted,
                name=name,
            )
        except ValueError as error:
            raise refuse("ENOMEM", str(error)) from None
        space.free(made.start)
        self._made += 1
        handle = self._node.gpu_id << 32 | self._made
        self._held[handle] = _Memory(made)
        return handle, made.start

    def free(self, handle: int) -> None:
        """Call 0x17."""
        refuse = refusal(Number.FREE_MEMORY)
        if self._of(refuse, handle).mapped:
            raise refuse("EBUSY", f"memory {handle:#x} is mapped")
        del self._held[handle]

    def map(self, handle: int, gpu_ids: Sequence[int]) -> int:
        """Call 0x18: on how many GPUs it is mapped."""
        memory = self._checked(Number.MAP_MEMORY, handle, gpu_ids)
        if not memory.mapped:
            self._device.memory.space.restore(memory.allocation)
            memory.mapped = True
        return len(gpu_ids)

    def unmap(self, handle: int, gpu_ids: Sequence[int]) -> int:
        """Call 0x19: on how many GPUs it is mapped no more. A wave that still uses it fails."""
        memory = self._checked(Number.UNMAP_MEMORY, handle, gpu_ids)
        if memory.mapped:
            self._device.settle()
            self._device.memory.space.free(memory.allocation.start)
            memory.mapped = False
        return len(gpu_ids)

    @property
    def apertures(self) -> list[NodeApertures]:
        """Calls 0x06 and 0x14: of each node."""
        apertures = self._device.options.apertures
        addresses = self._device.memory.space.addresses
        lds, scratch = apertures.shared << 32, apertures.private << 32
        return [
            NodeApertures(
                self._node.gpu_id,
                lds=(lds, lds | 0xFFFF_FFFF),
                scratch=(scratch, scratch | 0xFFFF_FFFF),
                gpuvm=(addresses.start, addresses.stop - 1),
            )
        ]

    def check_gpu(self, refuse: Refuse, gpu_id: int) -> None:
        """Raises EINVAL unless there is such a GPU."""
        if gpu_id != self._node.gpu_id:
            raise refuse("EINVAL", f"no GPU has the id {gpu_id}")

    def _checked(self, call: int, handle: int, gpu_ids: Sequence[int]) -> _Memory:
        refuse = refusal(call)
        memory = self._of(refuse, handle)
        if not gpu_ids:
            raise refuse("EINVAL", "at least one GPU is named")
        for gpu_id in gpu_ids:
            self.check_gpu(refuse, gpu_id)
        return memory

    def _of(self, refuse: Refuse, handle: int) -> _Memory:
        found = self._held.get(handle)
        if found is None:
            raise refuse("EINVAL", f"there is no memory {handle:#x}")
        return found


def _checked_flags(refuse: Refuse, flags: int) -> MemoryFlags:
    """Raises EINVAL unless they ask for one kind of memory that there is."""
    if flags & ~_KNOWN:
        raise refuse("EINVAL", f"{flags & ~_KNOWN:#x} are no flags of memory")
    wanted = MemoryFlags(flags)
    if wanted & _OTHER_KINDS:
        raise refuse("EINVAL", f"memory of kind {wanted & _OTHER_KINDS!r} is not allocated so")
    if wanted & KINDS not in (MemoryFlags.VRAM, MemoryFlags.GTT):
        raise refuse("EINVAL", "memory is either VRAM or GTT")
    return wanted


def _type_of(flags: MemoryFlags) -> MemoryType:
    if MemoryFlags.UNCACHED in flags:
        return MemoryType.UC
    return MemoryType.CC if MemoryFlags.COHERENT in flags else MemoryType.RW
