"""Copies of a DMA engine, through its port into memory.

Invariant: bytes are stored only after they were loaded, and a copy is over when every observer sees
all of it.
"""

from __future__ import annotations

from typing import Final

from gpu.hsa.activities import Steps
from gpu.packet_processor.control_port import ControlPort

WINDOW: Final = 1024
"""Bytes that an engine has under way at once."""


def copy(engine: ControlPort, destination: int, source: int, size: int) -> Steps[None]:
    """Copy a range that does not overlap the other one. ``engine``: accesses through the port of a
    DMA engine. Raises `Unmapped` at the first part that is not mapped or may not be written."""
    for first in range(0, size, WINDOW):
        part = min(WINDOW, size - first)
        data = yield from engine.load(source + first, part)
        yield from engine.store(destination + first, data)
