"""The memory of a queue that the runtime makes: object, ring, doorbell signal.

Invariant: the memory written here describes a queue completely to producers and to the packet
processor.
"""

from __future__ import annotations

from typing import Final

from gpu.host.suballocator import Arena
from gpu.hsa import queue_layout
from gpu.hsa.aql import PACKET_BYTES
from gpu.hsa.queue import empty_ring, object_bytes
from gpu.hsa.queue_state import Connection, SaveArea
from gpu.hsa.signal import SIGNAL, SignalKind
from gpu.memory.interface import Memory
from gpu.packet_processor.command_processor import Apertures

DOORBELL_BYTES: Final = 8
DOORBELLS: Final = 1024


class QueueMemory:
    """``doorbells``: address of the page of doorbells. ``cus``, ``waves_per_unit``: what queue
    objects say of the device."""

    def __init__(
        self,
        memory: Memory,
        signals: Arena,
        doorbells: int,
        apertures: Apertures,
        cus: int,
        waves_per_unit: int,
    ) -> None:
        self._memory = memory
        self._signals = signals
        self._doorbells = doorbells
        self._device_fields = {
            "group_segment_aperture_base_hi": apertures.shared,
            "private_segment_aperture_base_hi": apertures.private,
            "max_cu_id": cus - 1,
            "max_wave_id": waves_per_unit - 1,
        }

    def allocate(self, number: int) -> int:
        """Address of room for the object of a queue."""
        size = queue_layout.AMD_QUEUE.size
        return self._memory.space.allocate(size, memory_type="cc", name=f"queue {number}").start

    def save_area(self, number: int, control: int, size: int) -> SaveArea:
        """Room for a queue's waves while they are off the units."""
        made = self._memory.space.allocate(
            size, memory_type="cc", name=f"context save area of queue {number}"
        )
        return SaveArea(made.start, size, control)

    def write(
        self, link: Connection, size: int, kind: int, features: int, profiled: bool, inactive: int
    ) -> None:
        """Write object, ring and doorbell. ``inactive``: handle of the inactive signal."""
        properties = queue_layout.PROPERTY_POINTERS_64
        if profiled:
            properties |= queue_layout.PROPERTY_PROFILING
        fields = self._device_fields | {
            "type": kind,
            "features": features,
            "base_address": self._ring(size, link),
            "doorbell_signal": self._doorbell(link),
            "size": size,
            "id": link.id,
            "read_dispatch_id_field_base_byte_offset": queue_layout.AMD_QUEUE.field(
                "read_dispatch_id"
            ).offset,
            "queue_properties": properties,
            "queue_inactive_signal": inactive,
        }
        self._memory.write(link.queue, object_bytes(fields, link.queue))

    def _ring(self, size: int, link: Connection) -> int:
        ring = self._memory.space.allocate(
            size * PACKET_BYTES, memory_type="cc", name=f"packets of {link.name}"
        )
        self._memory.write(ring.start, empty_ring(size, link.invalid_header))
        return ring.start

    def _doorbell(self, link: Connection) -> int:
        handle = self._signals.allocate(SIGNAL.size)
        kind = SignalKind.LEGACY_DOORBELL if link.doorbell_is_index else SignalKind.DOORBELL
        where = self._doorbells + link.id * DOORBELL_BYTES
        fields = {"kind": kind, "value": where, "queue_ptr": link.queue}
        self._memory.write(handle, SIGNAL.pack(fields))
        return handle
