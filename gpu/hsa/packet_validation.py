"""The rules that a packet has to obey, each with the error for a violation.

A `QueueError` means that the bytes are no packet: the queue stops and nothing is completed. A
`PacketError` completes the packet with an error before the queue stops.

Invariant: a packet that passes can be started, as soon as there is room for its groups.
Source: HSA Platform System Architecture 1.0, "AQL packet format"; LLVM "User Guide for AMDGPU
Backend", "Kernel Dispatch".
"""

from __future__ import annotations

from typing import Final

from gpu.code_object import KernelDescriptor, LoadedKernel
from gpu.errors import PacketError, QueueError
from gpu.hsa.aql import LAYOUTS, FenceScope, Header, KernelDispatch, PacketType
from gpu.hsa.queue_layout import FEATURE_AGENT_DISPATCH, FEATURE_KERNEL_DISPATCH
from gpu.hsa.scratch import LARGEST_ITEM
from gpu.hsa.signal import ALIGNMENT as SIGNAL_ALIGNMENT

LARGEST_GROUP: Final = 1024
LARGEST_LDS: Final = 64 * 1024
KERNEL_OBJECT_ALIGNMENT: Final = 64
KERNARG_ALIGNMENT: Final = 16
_DIMENSIONS_BITS: Final = 3
_FEATURES: Final = {
    PacketType.KERNEL_DISPATCH: (FEATURE_KERNEL_DISPATCH, "kernel dispatch"),
    PacketType.AGENT_DISPATCH: (FEATURE_AGENT_DISPATCH, "agent dispatch"),
}


def check_format(data: bytes) -> PacketType:
    """That the bytes are a packet, by type and reserved bits. Raises QueueError."""
    header = Header.unpack(int.from_bytes(data[:2], "little"))
    if header.type == PacketType.VENDOR_SPECIFIC:
        raise QueueError(
            "vendor-specific packets (type 0) have no meaning here: types are 2 to 5", 0
        )
    if header.type not in LAYOUTS:
        raise QueueError("the packet's type is one of 2, 3, 4 and 5", header.type)
    kind = PacketType(header.type)
    if header.reserved:
        raise QueueError("bits 15:13 of the header are reserved and 0", f"{header.reserved:#x}")
    for name, scope in (("acquire", header.acquire), ("release", header.release)):
        if scope > FenceScope.SYSTEM:
            raise QueueError(f"the scope of the {name} fence is 0, 1 or 2", scope)
    layout = LAYOUTS[kind]
    for offset, value in layout.reserved(data).items():
        raise QueueError(f"byte {offset} of a {layout.name} is reserved and 0", f"{value:#x}")
    if kind is PacketType.KERNEL_DISPATCH and data[3] | data[2] & ~_DIMENSIONS_BITS:
        setup = int.from_bytes(data[2:4], "little")
        raise QueueError("bits 15:2 of the setup word are reserved and 0", f"{setup:#x}")
    return kind


def check_feature(kind: PacketType, features: int) -> None:
    """That the queue was made for such packets. Raises PacketError."""
    needed, name = _FEATURES.get(kind, (0, ""))
    if needed & ~features:
        raise PacketError(f"the queue takes {name} packets", f"features {features:#x}")


def check_signal(address: int, what: str) -> None:
    """That a signal can lie there; 0 is none. Raises PacketError."""
    if address % SIGNAL_ALIGNMENT:
        raise PacketError(f"{what} is {SIGNAL_ALIGNMENT}-byte aligned", f"{address:#x}")


def check_kernel_object(address: int, kernel: LoadedKernel | None) -> LoadedKernel:
    """That the packet points at a kernel that can run here. Raises PacketError."""
    if address % KERNEL_OBJECT_ALIGNMENT:
        raise PacketError(
            f"the kernel object is {KERNEL_OBJECT_ALIGNMENT}-byte aligned", f"{address:#x}"
        )
    if kernel is None:
        raise PacketError("the kernel object lies in a loaded code object", f"{address:#x}")
    for why in kernel.kernel.refusals():
        raise PacketError("the kernel is one that this device runs", why, kernel.name)
    return kernel


def check_dispatch(
    packet: KernelDispatch, kernel: LoadedKernel, descriptor: KernelDescriptor
) -> None:
    """All rules that need nothing but packet and kernel. Raises PacketError."""
    _check_sizes(packet, kernel)
    name = kernel.name
    if packet.group_bytes < descriptor.group_size:
        raise PacketError(
            f"a group's LDS is at least the kernel's {descriptor.group_size} bytes",
            packet.group_bytes,
            name,
        )
    if packet.group_bytes > LARGEST_LDS:
        raise PacketError(f"a group's LDS is at most {LARGEST_LDS} bytes", packet.group_bytes, name)
    if packet.private_bytes < descriptor.private_size:
        raise PacketError(
            f"a work-item has at least the kernel's {descriptor.private_size} private bytes",
            packet.private_bytes,
            name,
        )
    if packet.private_bytes > LARGEST_ITEM:
        raise PacketError(
            f"a work-item has at most {LARGEST_ITEM} private bytes",
            packet.private_bytes,
            name,
        )
    _check_kernarg(packet, kernel)


def _check_sizes(packet: KernelDispatch, kernel: LoadedKernel) -> None:
    name, metadata = kernel.name, kernel.kernel.metadata
    if not packet.dimensions:
        raise PacketError("a dispatch has 1, 2 or 3 dimensions", packet.dimensions, name)
    for axis, group, grid in zip("xyz", packet.group, packet.grid, strict=True):
        if not group:
            raise PacketError(f"the group's size in {axis} is at least 1", group, name)
        if not grid:
            raise PacketError(f"the grid's size in {axis} is at least 1", grid, name)
        if "xyz".index(axis) >= packet.dimensions and (group, grid) != (1, 1):
            rule = f"group and grid in {axis} are 1 in {packet.dimensions} dimensions"
            raise PacketError(rule, f"{group} and {grid}", name)
    items = packet.group[0] * packet.group[1] * packet.group[2]
    largest = min(LARGEST_GROUP, metadata.max_group_items or LARGEST_GROUP)
    if items > largest:
        raise PacketError(f"a group has at most {largest} work-items", items, name)
    required = metadata.required_group
    if required is not None and packet.group != required:
        raise PacketError(f"the kernel's groups are {_by(required)}", _by(packet.group), name)


def _check_kernarg(packet: KernelDispatch, kernel: LoadedKernel) -> None:
    if packet.kernarg % KERNARG_ALIGNMENT:
        raise PacketError(
            f"the argument segment is {KERNARG_ALIGNMENT}-byte aligned",
            f"{packet.kernarg:#x}",
            kernel.name,
        )
    if not packet.kernarg and kernel.kernel.metadata.arguments:
        count = len(kernel.kernel.metadata.arguments)
        raise PacketError(
            "a kernel with arguments has an argument segment", f"{count}, and none", kernel.name
        )


def _by(size: tuple[int, int, int]) -> str:
    return " by ".join(map(str, size))
