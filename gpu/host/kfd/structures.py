"""The structures of the calls, as they lie in a process's memory, and the numbers in them.

Invariant: sizes and offsets are those of the public header ``kfd_ioctl.h``, version 1.11.
"""

from __future__ import annotations

from enum import IntFlag
from typing import Final

from gpu.hsa.struct_layout import Field, Layout


class Direction(IntFlag):
    """Whether a structure is read, written or both, as a command says."""

    IN = 1
    OUT = 2
    BOTH = 3


class MemoryFlags(IntFlag):
    """What memory is asked for."""

    VRAM = 1 << 0
    GTT = 1 << 1
    USERPTR = 1 << 2
    DOORBELL = 1 << 3
    MMIO_REMAP = 1 << 4
    UNCACHED = 1 << 25
    COHERENT = 1 << 26
    AQL_QUEUE_MEM = 1 << 27
    NO_SUBSTITUTE = 1 << 28
    PUBLIC = 1 << 29
    EXECUTABLE = 1 << 30
    WRITABLE = 1 << 31


def _structure(name: str, total: int, /, **sizes: int) -> Layout:
    """Fields one behind the other, each aligned to its size; padding at the end is reserved."""
    fields, offset = [], 0
    for field, width in sizes.items():
        offset += -offset % width
        fields.append(Field(field, offset, width))
        offset += width
    assert offset <= total, f"{name} has more than {total} bytes"
    return Layout(name, total, tuple(fields))


VERSION: Final = _structure("get_version", 8, major=4, minor=4)
CREATE_QUEUE: Final = _structure(
    "create_queue",
    88,
    ring_base_address=8,
    write_pointer_address=8,
    read_pointer_address=8,
    doorbell_offset=8,
    ring_size=4,
    gpu_id=4,
    queue_type=4,
    queue_percentage=4,
    queue_priority=4,
    queue_id=4,
    eop_buffer_address=8,
    eop_buffer_size=8,
    ctx_save_restore_address=8,
    ctx_save_restore_size=4,
    ctl_stack_size=4,
)
DESTROY_QUEUE: Final = _structure("destroy_queue", 8, queue_id=4)
CLOCK_COUNTERS: Final = _structure(
    "get_clock_counters",
    40,
    gpu_clock_counter=8,
    cpu_clock_counter=8,
    system_clock_counter=8,
    system_clock_freq=8,
    gpu_id=4,
)
APERTURES: Final = _structure(
    "process_device_apertures",
    56,
    lds_base=8,
    lds_limit=8,
    scratch_base=8,
    scratch_limit=8,
    gpuvm_base=8,
    gpuvm_limit=8,
    gpu_id=4,
)
MOST_OLD_NODES: Final = 7
"""For which there is room in the structure of call 0x06."""
PROCESS_APERTURES: Final = Layout(
    "get_process_apertures",
    400,
    (
        *(
            Field(f"{name}_{node}", node * APERTURES.size + offset, size)
            for node in range(MOST_OLD_NODES)
            for name, offset, size, _ in APERTURES.fields
        ),
        Field("num_of_nodes", MOST_OLD_NODES * APERTURES.size, 4),
    ),
)
PROCESS_APERTURES_NEW: Final = _structure(
    "get_process_apertures_new", 16, process_device_apertures_ptr=8, num_of_nodes=4
)
UPDATE_QUEUE: Final = _structure(
    "update_queue",
    24,
    ring_base_address=8,
    queue_id=4,
    ring_size=4,
    queue_percentage=4,
    queue_priority=4,
)
CREATE_EVENT: Final = _structure(
    "create_event",
    32,
    event_page_offset=8,
    event_trigger_data=4,
    event_type=4,
    auto_reset=4,
    node_id=4,
    event_id=4,
    event_slot_index=4,
)
EVENT: Final = _structure("event", 8, event_id=4)
WAIT_EVENTS: Final = _structure(
    "wait_events", 24, events_ptr=8, num_events=4, wait_for_all=4, timeout=4, wait_result=4
)
EVENT_DATA: Final = Layout("event_data", 48, (Field("event_id", 40, 4),))
ACQUIRE_VM: Final = _structure("acquire_vm", 8, drm_fd=4, gpu_id=4)
ALLOC_MEMORY: Final = _structure(
    "alloc_memory_of_gpu", 40, va_addr=8, size=8, handle=8, mmap_offset=8, gpu_id=4, flags=4
)
FREE_MEMORY: Final = _structure("free_memory_of_gpu", 8, handle=8)
MAP_MEMORY: Final = _structure(
    "map_memory_to_gpu", 24, handle=8, device_ids_array_ptr=8, n_devices=4, n_success=4
)
CU_MASK: Final = _structure("set_cu_mask", 16, queue_id=4, num_cu_mask=4, cu_mask_ptr=8)
WAVE_STATE: Final = _structure(
    "get_queue_wave_state",
    24,
    ctl_stack_address=8,
    ctl_stack_used_size=4,
    save_area_used_size=4,
    queue_id=4,
)
GWS: Final = _structure("alloc_queue_gws", 16, queue_id=4, num_gws=4, first_gws=4)
