"""Structures of the library: messages that requesters and memory exchange with controllers.

Invariant: the runtime defines a class of the same name with at least these fields.
"""

from __future__ import annotations

from slicc.text.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class StructureRow:
    """``fields``: lines of ``Type name [= default]``; ``methods``: signature lines."""

    fields: tuple[str, ...]
    methods: tuple[str, ...] = ()


_FUNCTIONAL = (
    "functionalRead(Packet) -> bool",
    "functionalRead(Packet, WriteMask!) -> bool = functionalReadMasked",
    "functionalWrite(Packet) -> bool",
)

STRUCTURES: dict[str, StructureRow] = {
    "RubyRequest": StructureRow(
        (
            "Addr LineAddress",
            "Addr PhysicalAddress",
            "RubyRequestType Type",
            "Addr ProgramCounter",
            "RubyAccessMode AccessMode",
            "int Size",
            "PrefetchBit Prefetch",
            "int contextId",
            "WriteMask writeMask",
            "DataBlock WTData",
            "int wfid",
            "uint64_t instSeqNum",
            "PacketPtr pkt",
            "bool htmFromTransaction",
            "int htmTransactionUid",
            "bool isTlbi",
            "Addr tlbiTransactionUid",
            "bool isGLCSet",
            "bool isSLCSet",
            "bool isSecure",
        ),
        ("getRequestPtr() -> RequestPtr", *_FUNCTIONAL),
    ),
    "SequencerMsg": StructureRow(
        (
            "Addr LineAddress",
            "Addr PhysicalAddress",
            "SequencerRequestType Type",
            "Addr ProgramCounter",
            "RubyAccessMode AccessMode",
            "WriteMask writeMask",
            "DataBlock DataBlk",
            "int Len",
            "PrefetchBit Prefetch",
            "MessageSizeType MessageSize = Request_Control",
        ),
        _FUNCTIONAL,
    ),
    "MemoryMsg": StructureRow(
        (
            "Addr addr",
            "MemoryRequestType Type",
            "MachineID Sender",
            "MachineID OriginalRequestorMachId",
            "DataBlock DataBlk",
            "MessageSizeType MessageSize",
            "int Len",
            "PrefetchBit Prefetch",
            "bool ReadX",
            "int Acks",
            "bool isGLCSet",
            "bool isSLCSet",
            "bool Echoed",
        ),
        _FUNCTIONAL,
    ),
}
