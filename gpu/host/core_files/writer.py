"""A core file of a device: queues, memory, and the error that stopped it.

Invariant: the device is at rest, and writing changes nothing of it.
"""

from __future__ import annotations

from pathlib import Path

import msgpack

from gpu.errors import GpuError, HostError, KernelError
from gpu.host.core_files import layout
from gpu.host.device import Device
from gpu.host.device_queue import DeviceQueue
from gpu.host.processes.context import Context
from gpu.host.processes.process import Process
from gpu.hsa.aql import PACKET_BYTES
from gpu.hsa.queue_layout import AMD_QUEUE
from gpu.hsa.queue_state import QueueKind, QueueState
from slicc.text.files import write_whole

_GPU_ID = 1


def write_core(
    device: Device, path: Path, error: GpuError | None = None, process: Process | None = None
) -> None:
    """Write what there is of a device, or what one of its processes has, as one file. ``error``:
    what was raised; else that of the first queue that has one. Raises HostError for more memory
    than a file may have, OSError."""
    device.settle()
    whose = device if process is None else process
    loads = [
        (each.start, whose.host.read(each.start, each.size))
        for each in whose.memory.space.allocations
        if each.on_store is None
    ]
    queues = [
        queue
        for queue in whose.queues
        if queue.state is not QueueState.DESTROYED and queue.link.kind is QueueKind.AQL
    ]
    if error is None:
        error = next((queue.error for queue in queues if queue.error is not None), None)
    notes = _note(layout.OWNER, layout.SNAPSHOT, _snapshot(device, queues))
    notes += _note(layout.OUR_OWNER, layout.FAULT, _fault(whose, error))
    write_whole(path, _file(notes, loads))


def _file(notes: bytes, loads: list[tuple[int, bytes]]) -> bytes:
    count = 1 + len(loads)
    if count >= 0xFFFF:
        raise HostError(f"a core file has fewer than 65,535 parts, not {count:,}")
    start = layout.HEADER.size + count * layout.PROGRAM_HEADER.size
    identification = bytes((0x7F, *b"ELF", 2, 1, 1, layout.HSA, layout.ABI_VERSION_5))
    header = layout.HEADER.pack(
        identification, layout.CORE, layout.MACHINE, 1, 0, layout.HEADER.size, 0, 0,
        layout.HEADER.size, layout.PROGRAM_HEADER.size, count, 0, 0, 0,
    )  # fmt: skip
    parts, bodies = [], [notes]
    parts.append(layout.PROGRAM_HEADER.pack(layout.NOTE, 4, start, 0, 0, len(notes), 0, 4))
    at = start + len(notes)
    for address, data in loads:
        size = len(data)
        parts.append(layout.PROGRAM_HEADER.pack(layout.LOAD, 6, at, address, 0, size, size, 1))
        bodies.append(data)
        at += size
    return b"".join((header, *parts, *bodies))


def _note(owner: bytes, kind: int, content: bytes) -> bytes:
    header = layout.NOTE_HEADER.pack(len(owner), len(content), kind)
    return (
        header
        + owner.ljust(len(owner) + 3 & ~3, b"\0")
        + content.ljust(len(content) + 3 & ~3, b"\0")
    )


def _snapshot(device: Device, queues: list[DeviceQueue]) -> bytes:
    header = layout.SNAPSHOT_HEADER.pack(
        *layout.KFD_VERSION, layout.RUNTIME_INFO.size, 1, layout.AGENT.size,
        len(queues), layout.QUEUE.size,
    )  # fmt: skip
    runtime = layout.RUNTIME_INFO.pack({"runtime_state": 1})
    return header + runtime + _agent(device) + b"".join(map(_queue, queues))


def _agent(device: Device) -> bytes:
    (agent,) = device.topology.components
    apertures = device.options.apertures
    return layout.AGENT.pack(
        {
            "gpu_id": _GPU_ID,
            "lds_base": apertures.shared << 32,
            "lds_limit": (apertures.shared + 1 << 32) - 1,
            "scratch_base": apertures.private << 32,
            "scratch_limit": (apertures.private + 1 << 32) - 1,
            "gfx_target_version": layout.target_version(device.processor),
            "simd_count": agent.compute_units * agent.simds,
            "max_waves_per_simd": agent.waves // agent.simds,
            "num_xcc": 1,
        }
    )


def _queue(queue: DeviceQueue) -> bytes:
    failed = isinstance(queue.error, KernelError)
    return layout.QUEUE.pack(
        {
            "exception_status": layout.WAVE_ABORT if failed else 0,
            "ring_base_address": queue.field("base_address"),
            "write_pointer_address": queue.address + AMD_QUEUE.field("write_dispatch_id").offset,
            "read_pointer_address": queue.address + AMD_QUEUE.field("read_dispatch_id").offset,
            "queue_id": queue.link.id,
            "gpu_id": _GPU_ID,
            "ring_size": queue.size * PACKET_BYTES,
            "queue_type": layout.AQL_QUEUE,
        }
    )


def _fault(whose: Context, error: GpuError | None) -> bytes:
    kernels = [
        {"name": kernel.name, "address": kernel.entry, "size": kernel.kernel.code_size}
        for kernel in whose.loaded_kernels
    ]
    waves = error.waves if isinstance(error, KernelError) else ()
    data: bytes = msgpack.packb(
        {
            "error": "" if error is None else str(error),
            "tick": whose.now,
            "kernels": kernels,
            "waves": [[each.number, each.pc, each.scalars, each.vectors] for each in waves],
        }
    )
    return data
