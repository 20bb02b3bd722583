"""The parts of a core file: ELF headers, the snapshot note and its entries.

Invariant: sizes are those of the public header of version `KFD_VERSION`.
Source: LLVM "User Guide for AMDGPU Backend", "Core file format"; the public header kfd_ioctl.h.
"""

from __future__ import annotations

import struct
from typing import Final

from gpu.hsa.struct_layout import Field, Layout

KFD_VERSION: Final = (1, 16)
MACHINE: Final = 224
HSA: Final = 64
ABI_VERSION_5: Final = 3
CORE: Final = 4
LOAD, NOTE = 1, 4
OWNER: Final = b"AMDGPU\0"
SNAPSHOT: Final = 33
OUR_OWNER: Final = b"gcn\0"
FAULT: Final = 1
"""Our own note: what failed, and what the kernels are called, as MessagePack."""

HEADER: Final = struct.Struct("<16sHHIQQQIHHHHHH")
PROGRAM_HEADER: Final = struct.Struct("<IIQQQQQQ")
NOTE_HEADER: Final = struct.Struct("<III")
SNAPSHOT_HEADER: Final = struct.Struct("<IIQIIII")

RUNTIME_INFO: Final = Layout(
    "kfd_runtime_info",
    16,
    (Field("r_debug", 0, 8), Field("runtime_state", 8, 4), Field("ttmp_setup", 12, 4)),
)
_AGENT_LONGS: Final = (
    "exception_status", "lds_base", "lds_limit", "scratch_base", "scratch_limit", "gpuvm_base",
    "gpuvm_limit",
)  # fmt: skip
_AGENT_WORDS: Final = (
    "gpu_id", "location_id", "vendor_id", "device_id", "revision_id", "subsystem_vendor_id",
    "subsystem_device_id", "fw_version", "gfx_target_version", "simd_count", "max_waves_per_simd",
    "array_count", "simd_arrays_per_engine", "num_xcc", "capability", "debug_prop",
)  # fmt: skip
AGENT: Final = Layout(
    "kfd_dbg_device_info_entry",
    120,
    (
        *(Field(name, 8 * number, 8) for number, name in enumerate(_AGENT_LONGS)),
        *(Field(name, 56 + 4 * number, 4) for number, name in enumerate(_AGENT_WORDS)),
    ),
)
QUEUE: Final = Layout(
    "kfd_queue_snapshot_entry",
    64,
    (
        Field("exception_status", 0, 8),
        Field("ring_base_address", 8, 8),
        Field("write_pointer_address", 16, 8),
        Field("read_pointer_address", 24, 8),
        Field("ctx_save_restore_address", 32, 8),
        Field("queue_id", 40, 4),
        Field("gpu_id", 44, 4),
        Field("ring_size", 48, 4),
        Field("queue_type", 52, 4),
        Field("ctx_save_restore_area_size", 56, 4),
    ),
)
WAVE_ABORT: Final = 1
"""Of a queue's exception status: a wave of it has failed."""
AQL_QUEUE: Final = 2
"""The driver's number of the type."""


def target_version(processor: str) -> int:
    """As the driver writes a processor: major, minor, stepping in decimal (80003 for gfx803)."""
    digits = processor.removeprefix("gfx")
    return int(digits[:-2]) * 10_000 + int(digits[-2], 16) * 100 + int(digits[-1], 16)
