"""Kernel descriptors, bit by bit.

Objects of version 3 and later have 64 bytes a kernel; version 2 has a header of 256 bytes in
front of the code, which holds the same two resource registers and enables. Both become one
`KernelDescriptor`.

Source: LLVM "User Guide for AMDGPU Backend", "Kernel Descriptor" and "amd_kernel_code_t".
"""

from __future__ import annotations

import struct
from typing import Final, NamedTuple

from slicc.text.lazy_dataclass import dataclass

SIZE: Final = 64
SIZE_V2: Final = 256
ENTRY_ALIGNMENT: Final = 256
ADDRESS_ALIGNMENT: Final = 64

_LAYOUT: Final = struct.Struct("<IIIIq20sIIIHHI")
_ENTRY_V2: Final = struct.Struct("<q")
_RESOURCES_V2: Final = struct.Struct("<QIIIIQ")


class UserSgprs(NamedTuple):
    """Consecutive scalar registers that a wave finds filled, in the order of the ABI."""

    name: str
    size: int


USER_SGPRS: Final = (
    UserSgprs("private_segment_buffer", 4),
    UserSgprs("dispatch_ptr", 2),
    UserSgprs("queue_ptr", 2),
    UserSgprs("kernarg_segment_ptr", 2),
    UserSgprs("dispatch_id", 2),
    UserSgprs("flat_scratch_init", 2),
    UserSgprs("private_segment_size", 1),
)
"""By bit of ``properties``, from bit 0."""

_PROPERTIES_GFX8: Final = 0x7F | 1 << 11
_RSRC1_GFX8: Final = 0x00AF_FFFF & ~(3 << 10)
_RSRC2_GFX8: Final = 0x7F00_1FBF


@dataclass(frozen=True, slots=True)
class KernelDescriptor:
    """What the command processor needs to start waves of a kernel.

    Sizes are bytes. ``entry_offset``: from the descriptor (or header) to the first instruction.
    ``kernarg_size`` 0 means unknown. ``kernarg_preload``: dwords and offset as packed in the file.
    """

    group_size: int
    private_size: int
    kernarg_size: int
    entry_offset: int
    rsrc1: int
    rsrc2: int
    rsrc3: int
    properties: int
    kernarg_preload: int
    reserved: tuple[str, ...] = ()
    """Fields that have to be zero and are not, with their values."""

    # ------------------------------------------------------------ registers

    @property
    def vgprs(self) -> int:
        """Vector registers that a wave is given (units of 4)."""
        return ((self.rsrc1 & 0x3F) + 1) * 4

    @property
    def sgprs(self) -> int:
        """Scalar registers that the descriptor asks for (units of 8)."""
        return ((self.rsrc1 >> 6 & 0xF) + 1) * 8

    @property
    def mode(self) -> int:
        """The MODE register at the start: rounding 3:0, denormals 7:4, clamp 8, IEEE 9, exception
        enables 18:12."""
        return (
            self.rsrc1 >> 12 & 0xFF
            | (self.rsrc1 >> 21 & 1) << 8
            | (self.rsrc1 >> 23 & 1) << 9
            | self.exceptions << 12
        )

    @property
    def clamp_nan(self) -> bool:
        return bool(self.rsrc1 >> 21 & 1)

    @property
    def ieee(self) -> bool:
        return bool(self.rsrc1 >> 23 & 1)

    @property
    def exceptions(self) -> int:
        """Enables, 7 bits: invalid, denormal source, division by zero, overflow, underflow,
        inexact, integer division by zero."""
        return self.rsrc2 >> 24 & 0x7F

    @property
    def scratch(self) -> bool:
        """The kernel has a private segment: waves get a scratch wave offset."""
        return bool(self.rsrc2 & 1)

    @property
    def user_sgpr_count(self) -> int:
        return self.rsrc2 >> 1 & 0x1F

    @property
    def user_sgprs(self) -> tuple[UserSgprs, ...]:
        """The user SGPRs that are enabled, in order from s0."""
        return tuple(each for bit, each in enumerate(USER_SGPRS) if self.properties >> bit & 1)

    @property
    def work_group_ids(self) -> tuple[bool, bool, bool]:
        """Which of x, y, z a wave finds after the user SGPRs."""
        return bool(self.rsrc2 >> 7 & 1), bool(self.rsrc2 >> 8 & 1), bool(self.rsrc2 >> 9 & 1)

    @property
    def work_group_info(self) -> bool:
        return bool(self.rsrc2 >> 10 & 1)

    @property
    def work_item_ids(self) -> int:
        """How many of x, y, z are in v0, v1, v2: 1 to 3."""
        return min(3, (self.rsrc2 >> 11 & 3) + 1)

    @property
    def dynamic_stack(self) -> bool:
        return bool(self.properties >> 11 & 1)

    def problems(self) -> tuple[str, ...]:
        """Fields that gfx803 does not support, as text; empty for a descriptor that can run."""
        found = [f"reserved field {each}" for each in self.reserved]
        for name, value, known in (
            ("rsrc1", self.rsrc1, _RSRC1_GFX8),
            ("rsrc2", self.rsrc2, _RSRC2_GFX8),
            ("rsrc3", self.rsrc3, 0),
            ("properties", self.properties, _PROPERTIES_GFX8),
            ("kernarg preload", self.kernarg_preload, 0),
        ):
            if value & ~known:
                found.append(f"{name} {value:#x} has bits {value & ~known:#x}")
        if self.rsrc2 >> 11 & 3 == 3:
            found.append("work-item id enable is 3")
        needed = sum(each.size for each in self.user_sgprs)
        if not needed <= self.user_sgpr_count <= 16:
            found.append(f"{self.user_sgpr_count} user SGPRs, {needed} of them enabled by name")
        return tuple(found)


def read_descriptor(data: bytes) -> KernelDescriptor:
    """Decode the 64 bytes. Raises `struct.error` for another number of bytes."""
    (
        group_size,
        private_size,
        kernarg_size,
        reserved_12,
        entry_offset,
        reserved_24,
        rsrc3,
        rsrc1,
        rsrc2,
        properties,
        preload,
        reserved_60,
    ) = _LAYOUT.unpack(data)
    reserved = {"12": reserved_12, "24": int.from_bytes(reserved_24, "little"), "60": reserved_60}
    return KernelDescriptor(
        group_size,
        private_size,
        kernarg_size,
        entry_offset,
        rsrc1,
        rsrc2,
        rsrc3,
        properties,
        preload,
        tuple(f"{where} = {value:#x}" for where, value in reserved.items() if value),
    )


def read_header_v2(data: bytes) -> KernelDescriptor:
    """Decode the descriptor within the 256 bytes of a version 2 kernel. Raises `struct.error` if
    too short."""
    (entry_offset,) = _ENTRY_V2.unpack_from(data, 16)
    registers, enables, private_size, group_size, gds_size, kernarg_size = (
        _RESOURCES_V2.unpack_from(data, 48)
    )
    counts = enables >> 7 & 7
    reserved = {"grid work-group counts": counts, "GDS bytes": gds_size}
    return KernelDescriptor(
        group_size=group_size,
        private_size=private_size,
        kernarg_size=kernarg_size,
        entry_offset=entry_offset,
        rsrc1=registers & 0xFFFF_FFFF,
        rsrc2=registers >> 32,
        rsrc3=0,
        properties=enables & 0x7F | (enables >> 20 & 1) << 11,
        kernarg_preload=0,
        reserved=tuple(f"{where} = {value:#x}" for where, value in reserved.items() if value),
    )
