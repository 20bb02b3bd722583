"""Small pieces of simulated memory: signals, argument segments, queue objects.

Invariant: pieces do not overlap, and none is reused while the device exists.
"""

from __future__ import annotations

from gpu.memory.address_space import AddressSpace

CHUNK = 64 * 1024


class Arena:
    """Allocates aligned pieces of larger allocations of one memory type."""

    def __init__(self, space: AddressSpace, memory_type: str, name: str) -> None:
        self._space = space
        self._memory_type = memory_type
        self._name = name
        self._next = 0
        self._end = 0

    def allocate(self, size: int, alignment: int = 64) -> int:
        """Address of ``size`` zeroed bytes."""
        start = self._next + alignment - 1 & -alignment
        if start + size > self._end:
            made = self._space.allocate(
                max(size, CHUNK), memory_type=self._memory_type, name=self._name
            )
            start, self._end = made.start, made.end
        self._next = start + size
        return start
