"""Memory accesses as text, for traces."""

from __future__ import annotations

from gpu.compute_unit.memory_ops.access import Access, VectorAccess
from gpu.compute_unit.memory_ops.ds_instructions import LocalAccess
from gpu.compute_unit.memory_ops.scalar_memory import ScalarAccess


def access_text(access: Access) -> str:
    """What is accessed: how many lanes, how many bytes of each, at which first address."""
    if isinstance(access, VectorAccess):
        parts = [
            f"{len(part.addresses)} lanes x {part.size} bytes from "
            f"{'LDS offset ' if part.local else ''}{int(part.addresses[0]):#x}"
            for part in access.parts
        ]
        bits = "".join(f" {name}" for name in ("glc", "slc") if getattr(access, name))
        return f"{access.movement.kind.name.lower()}{bits} " + ", ".join(parts)
    if isinstance(access, ScalarAccess):
        if access.count and access.address:
            return f"scalar {access.kind.value} {4 * access.count} bytes at {access.address:#x}"
        return f"scalar {access.kind.value}"
    if isinstance(access, LocalAccess):
        places = ", ".join(f"{int(place.offsets[0]):#x}" for place in access.places)
        return f"LDS {len(access.lanes)} lanes x {access.size} bytes from offset {places}"
    return "exchange of lanes"
