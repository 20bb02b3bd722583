"""What a perfectly coherent reader would find in a system at rest.

Caches behind a coalescer are never asked: they may hold old values rightly.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from runtime.description.inference import COALESCERS
from runtime.system.system import System
from runtime.types.messages import AccessPermission


def coherent_line(system: System, line: int) -> int:
    """Memory, overlaid with what a cache holds with permission Read_Write, or as dirty with
    permission Read_Only; where an entry keeps a byte mask, only with those bytes. A directory's own
    cache is as good as memory: it comes below all others."""
    data = system.memory.read_line(line)
    owned: list[int] = []
    for controller in sorted(system.controllers, key=lambda c: c.MACHINE != "Directory"):
        if any(p.type in COALESCERS for p in controller.PARAMETERS if hasattr(p, "type")):
            continue
        for cache in controller.caches():
            entry: Any = cache.visible.get(line)
            block = getattr(entry, "DataBlk", None)
            if block is None:
                continue
            mask = getattr(entry, "writeMask", None)
            bits = -1 if mask is None else mask.bits
            if entry.permission == AccessPermission.Read_Write:
                owned.append(bits)
                owned.append(block.data)
            elif entry.permission == AccessPermission.Read_Only and (
                getattr(entry, "Dirty", False) or mask is not None
            ):
                data ^= (data ^ block.data) & bits
    for bits, block_data in zip(owned[::2], owned[1::2], strict=True):
        data ^= (data ^ block_data) & bits
    return data


def coherent_bytes(system: System, addresses: Iterable[int]) -> list[int]:
    """The bytes of :func:`coherent_line`."""
    size = system.topology.line_size
    return [coherent_line(system, a & -size) >> 8 * (a & size - 1) & 0xFF for a in addresses]
