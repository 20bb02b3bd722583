"""Private memory: the pool of a queue, its description for kernels, and how it grows.

Invariant: a slot of the pool belongs to one wave from the start of its group to the group's end.
Source: LLVM "User Guide for AMDGPU Backend", "Private Segment Buffer", "Flat Scratch".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

from gpu.hsa.queue_layout import AMD_QUEUE
from gpu.wave_size import LANES, round_up

WAVE_GRANULE: Final = 1024
LARGEST_ITEM: Final = 0x1FFF * WAVE_GRANULE // LANES
"""Bytes of one work-item: the register that holds a wave's size has 13 bits of KiB."""
_MOST_WAVES: Final = 0xFFF
_LARGEST_GROUP: Final = 16
"""Waves of a group of 1024 work-items, all of which need their slots at once."""
_SWIZZLE: Final = 1 << 31
_FORMAT: Final = (
    4 | 5 << 3 | 6 << 6 | 7 << 9  # x, y, z, w
    | 4 << 12  # unsigned numbers
    | 1 << 19  # elements of 4 bytes
    | 3 << 21  # 64 lanes side by side
    | 1 << 23  # the lane's number is part of the index; then bits 18:15 are no format
)  # fmt: skip


def wave_bytes(item_bytes: int) -> int:
    """Scratch of one wave."""
    return round_up(item_bytes * LANES, WAVE_GRANULE)


def pool_waves(item_bytes: int, resident: int, largest_pool: int) -> int:
    """How many waves a pool should serve: all that can be resident, if that is not too large."""
    wanted = min(resident, largest_pool // wave_bytes(item_bytes), _MOST_WAVES)
    return max(wanted, _LARGEST_GROUP)


def queue_fields(pool: int, hidden_base: int, item_bytes: int, waves: int) -> dict[str, int]:
    """The queue object's fields for a pool at address ``pool`` (gfx8).

    ``hidden_base``: what the offset in FLAT_SCRATCH counts from.
    """
    per_wave = wave_bytes(item_bytes)
    size = per_wave * waves
    return {
        "compute_tmpring_size": waves | per_wave // WAVE_GRANULE << 12,
        "scratch_resource_descriptor_0": pool & 0xFFFF_FFFF,
        "scratch_resource_descriptor_1": pool >> 32 & 0xFFFF | _SWIZZLE,
        "scratch_resource_descriptor_2": min(size, 0xFFFF_FFFF),
        "scratch_resource_descriptor_3": _FORMAT,
        "scratch_backing_memory_location": pool - hidden_base,
        "scratch_backing_memory_byte_size": size,
        "scratch_workitem_byte_size": per_wave // LANES,
    }


FIRST_FIELD: Final = AMD_QUEUE.field("compute_tmpring_size").offset
END_FIELD: Final = AMD_QUEUE.field("scratch_workitem_byte_size").offset + 4


def field_bytes(fields: Mapping[str, int]) -> bytes:
    """Fields as they lie in the queue object, from `FIRST_FIELD` to `END_FIELD`."""
    return AMD_QUEUE.pack(fields)[FIRST_FIELD:END_FIELD]


@dataclass(slots=True, eq=False)
class ScratchPool:
    """The slots of one queue's pool. ``base``: address; ``wave_bytes``: of a slot."""

    base: int = 0
    wave_bytes: int = 0
    item_bytes: int = 0
    waves: int = 0
    _free: list[int] = field(default_factory=list)

    @classmethod
    def read(cls, queue: Mapping[str, int], hidden_base: int) -> ScratchPool:
        """As the queue object describes it."""
        tmpring = queue["compute_tmpring_size"]
        waves = tmpring & _MOST_WAVES
        return cls(
            base=hidden_base + queue["scratch_backing_memory_location"],
            wave_bytes=(tmpring >> 12 & 0x1FFF) * WAVE_GRANULE,
            item_bytes=queue["scratch_workitem_byte_size"],
            waves=waves,
            _free=list(range(waves))[::-1],
        )

    @property
    def free(self) -> int:
        """Slots that no wave uses."""
        return len(self._free)

    @property
    def idle(self) -> bool:
        """No wave has a slot."""
        return len(self._free) == self.waves

    def take(self, waves: int) -> list[int]:
        """Slots for the waves of one group; the caller has checked `free`."""
        assert waves <= self.free, "the caller has checked"
        return [self._free.pop() for _ in range(waves)]

    def give_back(self, slots: list[int]) -> None:
        """The group has ended."""
        self._free.extend(reversed(slots))
        assert len(self._free) <= self.waves, "a slot is given back once"
