"""Packets of the architected queuing language, to and from 64 bytes.

Invariant: packing what was unpacked gives the same bytes, reserved fields included only if they
were zero. Source: HSA Platform System Architecture 1.0, "AQL packet format" (D2's draft
header: `gpu.hsa.draft_packets`).
"""

from __future__ import annotations

from dataclasses import field
from enum import IntEnum
from typing import ClassVar, Final, Self

from gpu.hsa.struct_layout import Field, Layout
from slicc.text.lazy_dataclass import dataclass

PACKET_BYTES: Final = 64
DEPENDENCIES: Final = 5
AGENT_ARGUMENTS: Final = 4


class PacketType(IntEnum):
    """Bits 7:0 of the header."""

    VENDOR_SPECIFIC = 0
    INVALID = 1
    KERNEL_DISPATCH = 2
    BARRIER_AND = 3
    AGENT_DISPATCH = 4
    BARRIER_OR = 5


class FenceScope(IntEnum):
    """How far an acquire or release fence of a packet reaches."""

    NONE = 0
    AGENT = 1
    SYSTEM = 2


INVALID_HEADER: Final = int(PacketType.INVALID).to_bytes(2, "little")


@dataclass(frozen=True, slots=True)
class Header:
    """The first 16 bits of every packet. ``type``, ``acquire`` and ``release`` may be undefined
    numbers; `gpu.hsa.packet_validation` refuses them."""

    type: int
    barrier: bool = False
    acquire: int = FenceScope.NONE
    release: int = FenceScope.NONE
    reserved: int = 0

    @classmethod
    def unpack(cls, bits: int) -> Header:
        return cls(bits & 0xFF, bool(bits >> 8 & 1), bits >> 9 & 3, bits >> 11 & 3, bits >> 13 & 7)

    def pack(self) -> int:
        return (
            self.type
            | self.barrier << 8
            | self.acquire << 9
            | self.release << 11
            | self.reserved << 13
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class KernelDispatch:
    """Run a grid of work-items. Sizes are bytes; addresses 0 mean none."""

    header: Header = field(default_factory=lambda: Header(PacketType.KERNEL_DISPATCH))
    setup: int
    group: tuple[int, int, int]
    grid: tuple[int, int, int]
    private_bytes: int = 0
    group_bytes: int = 0
    kernel_object: int
    kernarg: int = 0
    completion: int = 0

    LAYOUT: ClassVar = Layout(
        "kernel dispatch packet",
        PACKET_BYTES,
        (
            Field("header", 0, 2),
            Field("setup", 2, 2),
            Field("group_x", 4, 2),
            Field("group_y", 6, 2),
            Field("group_z", 8, 2),
            Field("grid_x", 12, 4),
            Field("grid_y", 16, 4),
            Field("grid_z", 20, 4),
            Field("private_bytes", 24, 4),
            Field("group_bytes", 28, 4),
            Field("kernel_object", 32, 8),
            Field("kernarg", 40, 8),
            Field("completion", 56, 8),
        ),
    )

    @property
    def dimensions(self) -> int:
        return self.setup & 3

    @classmethod
    def unpack(cls, data: bytes) -> Self:
        values = cls.LAYOUT.unpack(data)
        return cls(
            header=Header.unpack(values["header"]),
            setup=values["setup"],
            group=(values["group_x"], values["group_y"], values["group_z"]),
            grid=(values["grid_x"], values["grid_y"], values["grid_z"]),
            private_bytes=values["private_bytes"],
            group_bytes=values["group_bytes"],
            kernel_object=values["kernel_object"],
            kernarg=values["kernarg"],
            completion=values["completion"],
        )

    def pack(self) -> bytes:
        """Raises ValueError for a field that does not fit its bits."""
        values = {f"group_{axis}": size for axis, size in zip("xyz", self.group, strict=True)}
        values |= {f"grid_{axis}": size for axis, size in zip("xyz", self.grid, strict=True)}
        values |= {
            "header": self.header.pack(),
            "setup": self.setup,
            "private_bytes": self.private_bytes,
            "group_bytes": self.group_bytes,
            "kernel_object": self.kernel_object,
            "kernarg": self.kernarg,
            "completion": self.completion,
        }
        return self.LAYOUT.pack(values)


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentDispatch:
    """Call a function of the host. ``type`` is the application's."""

    header: Header = field(default_factory=lambda: Header(PacketType.AGENT_DISPATCH))
    type: int
    return_address: int = 0
    arguments: tuple[int, int, int, int] = (0, 0, 0, 0)
    completion: int = 0

    LAYOUT: ClassVar = Layout(
        "agent dispatch packet",
        PACKET_BYTES,
        (
            Field("header", 0, 2),
            Field("type", 2, 2),
            Field("return_address", 8, 8),
            *(Field(f"argument_{i}", 16 + 8 * i, 8) for i in range(AGENT_ARGUMENTS)),
            Field("completion", 56, 8),
        ),
    )

    @classmethod
    def unpack(cls, data: bytes) -> Self:
        values = cls.LAYOUT.unpack(data)
        first, second, third, fourth = (values[f"argument_{i}"] for i in range(AGENT_ARGUMENTS))
        return cls(
            header=Header.unpack(values["header"]),
            type=values["type"],
            return_address=values["return_address"],
            arguments=(first, second, third, fourth),
            completion=values["completion"],
        )

    def pack(self) -> bytes:
        """Raises ValueError for a field that does not fit its bits."""
        values = {f"argument_{i}": value for i, value in enumerate(self.arguments)}
        values |= {
            "header": self.header.pack(),
            "type": self.type,
            "return_address": self.return_address,
            "completion": self.completion,
        }
        return self.LAYOUT.pack(values)


@dataclass(frozen=True, slots=True, kw_only=True)
class Barrier:
    """Wait for signals: all of them (BARRIER_AND) or one (BARRIER_OR). 0 means no signal."""

    header: Header = field(default_factory=lambda: Header(PacketType.BARRIER_AND))
    dependencies: tuple[int, ...] = ()
    completion: int = 0

    LAYOUT: ClassVar = Layout(
        "barrier packet",
        PACKET_BYTES,
        (
            Field("header", 0, 2),
            *(Field(f"dependency_{i}", 8 + 8 * i, 8) for i in range(DEPENDENCIES)),
            Field("completion", 56, 8),
        ),
    )

    @classmethod
    def unpack(cls, data: bytes) -> Self:
        values = cls.LAYOUT.unpack(data)
        return cls(
            header=Header.unpack(values["header"]),
            dependencies=tuple(values[f"dependency_{i}"] for i in range(DEPENDENCIES)),
            completion=values["completion"],
        )

    def pack(self) -> bytes:
        """Raises ValueError for more than five signals."""
        if len(self.dependencies) > DEPENDENCIES:
            raise ValueError(
                f"a barrier packet names up to {DEPENDENCIES} signals, not {len(self.dependencies)}"
            )
        values = {f"dependency_{i}": value for i, value in enumerate(self.dependencies)}
        values |= {"header": self.header.pack(), "completion": self.completion}
        return self.LAYOUT.pack(values)


LAYOUTS: Final = {
    PacketType.KERNEL_DISPATCH: KernelDispatch.LAYOUT,
    PacketType.BARRIER_AND: Barrier.LAYOUT,
    PacketType.AGENT_DISPATCH: AgentDispatch.LAYOUT,
    PacketType.BARRIER_OR: Barrier.LAYOUT,
}
