"""The end-of-pipe buffer of a queue: an entry for each kernel or RELEASE_MEM that has ended.

Invariant: an entry is written after the stores of what has ended, and before its signal or data.

Source: D3, "End Of Pipe (EOP) buffer"; the entries are this model's own.
"""

from __future__ import annotations

from typing import Final

from gpu.hsa.activities import Steps
from gpu.hsa.queue_state import Connection
from gpu.hsa.struct_layout import Field, Layout
from gpu.packet_processor.control_port import ControlPort

ENTRY: Final = Layout(
    "end_of_pipe",
    32,
    (Field("number", 0, 8), Field("tick", 8, 8), Field("packet", 16, 8), Field("address", 24, 8)),
)
"""``packet``: its id, or of a command the dword of the ring; ``address``: of signal or data."""


def write_entry(control: ControlPort, link: Connection, packet: int, address: int) -> Steps[None]:
    """Write the next entry; the oldest is overwritten. Raises Unmapped."""
    if link.eop_buffer is None:
        return
    base, size = link.eop_buffer
    where = base + link.ended % (size // ENTRY.size) * ENTRY.size
    link.ended += 1
    fields = {
        "number": link.ended,
        "tick": control.activities.memory.now,
        "packet": packet,
        "address": address,
    }
    yield from control.store(where, ENTRY.pack(fields))
