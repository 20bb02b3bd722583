"""Classes of the runtime, by the name protocols use.

Invariant: ``value`` classes are copied on assignment, all others are references to one object;
``immutable`` value classes never change, so sharing them is copying them.
"""

from __future__ import annotations

from slicc.prelude.requester_classes import REQUESTER_CLASSES
from slicc.prelude.rows import ClassRow
from slicc.prelude.storage_classes import STORAGE_CLASSES
from slicc.prelude.transaction_classes import TRANSACTION_CLASSES
from slicc.prelude.value_classes import DATA_CLASSES
from slicc.text.lazy_dataclass import dataclass

__all__ = ["CLASSES", "OPAQUE_CLASSES", "SCALARS", "ClassRow", "OpaqueRow"]


@dataclass(frozen=True, slots=True)
class OpaqueRow:
    """A type that protocols only pass around. ``parameter``: allowed as machine parameter."""

    parameter: bool = False


SCALARS: tuple[str, ...] = (
    "int",
    "uint32_t",
    "uint64_t",
    "Addr",
    "Tick",
    "Cycles",
    "NodeID",
    "RequestorID",
    "Scalar",
    "bool",
    "std::string",
)

OPAQUE_CLASSES: dict[str, OpaqueRow] = {
    "Packet": OpaqueRow(),
    "PacketPtr": OpaqueRow(),
    "RequestPtr": OpaqueRow(),
    "prefetch::Base": OpaqueRow(parameter=True),
    "MemoryControl": OpaqueRow(parameter=True),
}

CLASSES: dict[str, ClassRow] = {
    **DATA_CLASSES,
    **STORAGE_CLASSES,
    **REQUESTER_CLASSES,
    **TRANSACTION_CLASSES,
}
