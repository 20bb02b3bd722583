"""Packets with the header of the draft runtime: 32 bits, which hold the dimensions too.

From byte 4 on they are those of HSA 1.0, so a packet is translated when it is taken out of its
queue, and no later stage sees the draft format. Invariant: a draft packet that is translated and
translated back is the same, its two invalidation bits and scopes of 3 left out.

Source: D2 section 2.6; its table of formats holds where its example differs.
"""

from __future__ import annotations

from typing import ClassVar, Final

from gpu.errors import HostError, QueueError
from gpu.hsa.aql import FenceScope, Header, PacketType
from slicc.text.lazy_dataclass import dataclass

INVALID_HEADER: Final = bytes(4)


@dataclass(frozen=True, slots=True)
class DraftHeader:
    """D2's 32-bit header, which holds the dimensions too. Types: 0 invalid, 1 dispatch,
    2 barrier. Scopes: 0 none, 1 component, 2 system, 3 system with invalidation (acquire) or
    cleaning and invalidation (release)."""

    type: int
    barrier: bool = False
    acquire: int = 0
    release: int = 0
    invalidate_instructions: bool = False
    invalidate_images: bool = False
    dimensions: int = 0

    TYPES: ClassVar[dict[int, PacketType]] = {
        0: PacketType.INVALID,
        1: PacketType.KERNEL_DISPATCH,
        2: PacketType.BARRIER_AND,
    }

    @classmethod
    def unpack(cls, bits: int) -> DraftHeader:
        return cls(
            bits & 0xFF,
            bool(bits >> 8 & 1),
            bits >> 9 & 3,
            bits >> 11 & 3,
            bool(bits >> 13 & 1),
            bool(bits >> 14 & 1),
            bits >> 15 & 3,
        )

    def pack(self) -> int:
        return (
            self.type
            | self.barrier << 8
            | self.acquire << 9
            | self.release << 11
            | self.invalidate_instructions << 13
            | self.invalidate_images << 14
            | self.dimensions << 15
        )

    def modern(self) -> tuple[Header, int]:
        """The 1.0 header and setup word that mean the same. Raises QueueError for another type."""
        kind = self.TYPES.get(self.type)
        if kind is None:
            raise QueueError("a draft packet's format is 0, 1 or 2", self.type)
        system = FenceScope.SYSTEM
        header = Header(kind, self.barrier, min(self.acquire, system), min(self.release, system))
        return header, self.dimensions


def from_draft(data: bytes) -> tuple[bytes, bool]:
    """A packet of the draft as one of HSA 1.0, and whether instruction caches are to be
    invalidated.

    Raises QueueError for another format and for reserved bits.
    """
    bits = int.from_bytes(data[:4], "little")
    if bits >> 17:
        raise QueueError("bits 31:17 of a draft header are reserved and 0", f"{bits:#x}")
    draft = DraftHeader.unpack(bits)
    header, dimensions = draft.modern()
    first = header.pack() | dimensions << 16
    return first.to_bytes(4, "little") + data[4:], draft.invalidate_instructions


def to_draft(data: bytes) -> bytes:
    """The draft packet that means what this one of HSA 1.0 does. Raises HostError if none does."""
    header = Header.unpack(int.from_bytes(data[:2], "little"))
    numbers = {kind: number for number, kind in DraftHeader.TYPES.items()}
    if header.type not in numbers:
        kind = PacketType(header.type).name.lower().replace("_", " ")
        raise HostError(f"a queue of draft packets takes no {kind} packet")
    dimensions = int.from_bytes(data[2:4], "little")
    draft = DraftHeader(
        numbers[PacketType(header.type)],
        header.barrier,
        header.acquire,
        header.release,
        dimensions=dimensions,
    )
    return draft.pack().to_bytes(4, "little") + data[4:]
