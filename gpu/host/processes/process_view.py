"""The memory of a device as one process sees it: its own addresses, through its page tables.

Invariant: every byte that the host reads or writes here is where the tables in memory say.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from gpu.host.processes.translator import AddressTranslation
from gpu.memory.address_space import PAGE
from gpu.memory.interface import Answer, Memory, MemoryRequest
from gpu.memory.virtual.process_space import ProcessSpace
from gpu.memory.virtual.translation import VirtualLanes


class ProcessView:
    """`gpu.memory.interface.Memory` of a process."""

    def __init__(
        self, memory: Memory, translation: AddressTranslation, space: ProcessSpace
    ) -> None:
        self._memory = memory
        self._translation = translation
        self.translator = memory.translator
        self.space = space
        self.ports = memory.ports
        self.line_size = memory.line_size

    @property
    def now(self) -> int:
        return self._memory.now

    @property
    def busy(self) -> bool:
        return self._memory.busy

    def push(self, request: MemoryRequest) -> None:
        request.vmid = self.space.vmid
        self._memory.push(request)

    def run(self, until: int | None) -> list[Answer]:
        return self._memory.run(until)

    def system_fence(self, kind: int) -> list[list[MemoryRequest]]:
        return self._memory.system_fence(kind)

    def read(self, address: int, size: int) -> bytes:
        """Raises Unmapped."""
        self.space.at(address, size, loads=True)
        runs = self._runs(address, size)
        return b"".join(self._memory.read(where, count) for where, count in runs)

    def write(self, address: int, data: bytes) -> None:
        """Raises Unmapped. The host may write what kernels may not."""
        self.space.at(address, len(data), loads=True)
        done = 0
        for where, size in self._runs(address, len(data)):
            self._memory.write(where, data[done : done + size])
            done += size

    def _runs(self, address: int, size: int) -> Iterator[tuple[int, int]]:
        """Address and size of what lies in memory, page by page."""
        end = address + size
        while address < end:
            count = min(end - address, PAGE - address % PAGE)
            yield self._where(address), count
            address += count

    def _where(self, address: int) -> int:
        lanes = VirtualLanes(self.space.vmid, np.array([address], np.uint64), 1, False, False)
        return self._translation.physical(lanes).item(0)
