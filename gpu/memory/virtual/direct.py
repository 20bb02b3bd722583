"""Memory without time, as the waves of one process see it.

Invariant: an access is refused or performed as a whole, as by `gpu.memory.flat_memory.FlatMemory`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

import numpy as np

from gpu.memory.address_space import Addresses, Unmapped
from gpu.memory.flat_memory import FlatMemory, Values
from gpu.memory.virtual.translation import VirtualLanes

T = TypeVar("T")


class Pages(Protocol):
    """What translates the addresses of processes."""

    def physical(self, lanes: VirtualLanes) -> Addresses:
        """Raises Unmapped."""

    def as_mapped(self, lanes: VirtualLanes, error: Unmapped) -> Unmapped:
        """A refusal of memory in terms of the process."""


class DirectMemory:
    """``memory``: to whose addresses ``pages`` translates those of a process."""

    def __init__(self, memory: FlatMemory, pages: Pages, vmid: int) -> None:
        self._memory = memory
        self._pages = pages
        self._vmid = vmid

    def load(self, addresses: Addresses, size: int) -> Values:
        """As all here: see `FlatMemory`."""
        lanes = VirtualLanes(self._vmid, addresses, size, writes=False, loads=True)
        return self._perform(lanes, lambda found: self._memory.load(found, size))

    def store(self, addresses: Addresses, values: Values) -> None:
        size = values.itemsize if values.ndim == 1 else 4 * values.shape[1]
        lanes = VirtualLanes(self._vmid, addresses, size, writes=True, loads=False)
        self._perform(lanes, lambda found: self._memory.store(found, values))

    def atomic(
        self, op: int, addresses: Addresses, operands: Values, compares: Values | None = None
    ) -> Values:
        size = operands.itemsize
        lanes = VirtualLanes(self._vmid, addresses, size, writes=True, loads=True)
        return self._perform(
            lanes, lambda found: self._memory.atomic(op, found, operands, compares)
        )

    def load_dwords(self, address: int, count: int) -> list[int]:
        lanes = self._one(address, 4 * count)
        return self._perform(lanes, lambda found: self._memory.load_dwords(found.item(0), count))

    def store_dwords(self, address: int, dwords: list[int]) -> None:
        lanes = self._one(address, 4 * len(dwords), writes=True)
        self._perform(lanes, lambda found: self._memory.store_dwords(found.item(0), dwords))

    def read(self, address: int, size: int) -> bytes:
        lanes = self._one(address, size)
        return self._perform(lanes, lambda found: self._memory.read(found.item(0), size))

    def _one(self, address: int, size: int, writes: bool = False) -> VirtualLanes:
        addresses = np.array([address], np.uint64)
        return VirtualLanes(self._vmid, addresses, size, writes, not writes)

    def _perform(self, lanes: VirtualLanes, access: Callable[[Addresses], T]) -> T:
        found = self._pages.physical(lanes)
        try:
            return access(found)
        except Unmapped as error:
            raise self._pages.as_mapped(lanes, error) from None
