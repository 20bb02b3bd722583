"""The queue object in memory: the part that the HSA specification defines, and AMD's around it.

Offsets up to 127 are D0's. Those of the packet processor's fields, from 128 on, follow the public
runtime's header: D0 names their cache lines and not the fields.

Invariant: what a producer writes, what kernels read and what the packet processor writes lie in
cache lines of their own.
"""

from __future__ import annotations

from typing import Final

from gpu.hsa.struct_layout import Field, Layout

HSA_QUEUE_FIELDS: Final = (
    Field("type", 0, 4),
    Field("features", 4, 4),
    Field("base_address", 8, 8),
    Field("doorbell_signal", 16, 8),
    Field("size", 24, 4),
    Field("id", 32, 8),
)
HSA_QUEUE: Final = Layout("hsa_queue_t", 40, HSA_QUEUE_FIELDS)

AMD_QUEUE: Final = Layout(
    "amd_queue_t",
    256,
    (
        *HSA_QUEUE_FIELDS,
        Field("write_dispatch_id", 56, 8),
        Field("group_segment_aperture_base_hi", 64, 4),
        Field("private_segment_aperture_base_hi", 68, 4),
        Field("max_cu_id", 72, 4),
        Field("max_wave_id", 76, 4),
        Field("max_legacy_doorbell_dispatch_id_plus_1", 80, 8),
        Field("legacy_doorbell_lock", 88, 4),
        Field("read_dispatch_id", 128, 8),
        Field("read_dispatch_id_field_base_byte_offset", 136, 4),
        Field("compute_tmpring_size", 140, 4),
        Field("scratch_resource_descriptor_0", 144, 4),
        Field("scratch_resource_descriptor_1", 148, 4),
        Field("scratch_resource_descriptor_2", 152, 4),
        Field("scratch_resource_descriptor_3", 156, 4),
        Field("scratch_backing_memory_location", 160, 8),
        Field("scratch_backing_memory_byte_size", 168, 8),
        Field("scratch_workitem_byte_size", 176, 4),
        Field("queue_properties", 180, 4),
        Field("queue_inactive_signal", 192, 8),
    ),
)

DWORDS_OF_PACKET: Final = 16
"""What GFX7 counts by."""

ALIGNMENT: Final = 64
BOUNDARY: Final = 1 << 32
"""The object must not cross a multiple of this."""

FEATURE_KERNEL_DISPATCH: Final = 1
FEATURE_AGENT_DISPATCH: Final = 2
TYPE_MULTI: Final = 0
TYPE_SINGLE: Final = 1
PROPERTY_POINTERS_64: Final = 1 << 1
PROPERTY_PROFILING: Final = 1 << 3
