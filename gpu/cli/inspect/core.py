"""The output of ``gcn core`` for a core file: what failed, queues, kernels, memory.

Invariant: texts that come from the file are printed without control characters.
"""

from __future__ import annotations

from typing import Final

from gpu.cli.options import CoreOptions
from gpu.errors import WaveRegisters
from gpu.host.core_files.layout import WAVE_ABORT
from gpu.host.core_files.reader import CoreFile, read_core
from gpu.wave_size import LANES
from slicc.text.terminal import printable

_ROW: Final = 8


def core(options: CoreOptions) -> None:
    """Print what a core file says of queues, kernels and memory. Raises CoreFileError, OSError."""
    found = read_core(options.file)
    major, minor = found.kfd_version
    print(
        f"{printable(str(options.file))}: state of {len(found.agents)} agent(s) and "
        f"{len(found.queues)} queue(s), driver {major}.{minor}"
    )
    if found.error:
        print(f"tick {found.tick:,}: {printable(found.error)}")
    for queue in found.queues:
        print(_queue(found, queue))
    for kernel in found.kernels:
        print(f"kernel {printable(kernel.name)}: {kernel.size} bytes at {kernel.address:#x}")
    for wave in found.waves:
        print(_wave(found, wave))
    total = sum(len(data) for _, data in found.loads)
    print(f"memory: {total:,} bytes in {len(found.loads)} part(s)")


def _queue(found: CoreFile, queue: dict[str, int]) -> str:
    indices = [found.read(queue[f"{name}_pointer_address"], 8) for name in ("read", "write")]
    read, write = ("?" if each is None else int.from_bytes(each, "little") for each in indices)
    failed = ", a wave has failed" if queue["exception_status"] & WAVE_ABORT else ""
    return (
        f"queue {queue['queue_id']}: ring of {queue['ring_size']:,} bytes at "
        f"{queue['ring_base_address']:#x}, read index {read}, write index {write}{failed}"
    )


def _wave(found: CoreFile, wave: WaveRegisters) -> str:
    """Where it was, and its scalar registers, 8 a line, as far as they are not 0."""
    place = found.where(wave.pc)
    where = f"{wave.pc:#x}" if place is None else f"{wave.pc:#x}, {printable(place)}"
    count = len(wave.vectors) // (4 * LANES)
    lines = [f"wave {wave.number}: at {where}, {count} vector register(s)"]
    for first in range(0, len(wave.scalars), _ROW):
        row = wave.scalars[first : first + _ROW]
        if any(row):
            lines.append(f"  s{first:<3} " + " ".join(f"{word:08x}" for word in row))
    return "\n".join(lines)
