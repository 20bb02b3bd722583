"""The work-groups of a grid and the work-items of their waves.

Invariant: work-items are numbered x fastest within the part of the group that lies in the grid;
lane l of wave w is work-item 64 w + l.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

import numpy as np

from gpu.dispatch.launch import WorkItemIds
from gpu.wave_size import LANES

Size = tuple[int, int, int]


def group_counts(grid: Size, group: Size) -> Size:
    """Groups in each dimension, partial ones included."""
    x, y, z = (-(-items // size) for items, size in zip(grid, group, strict=True))
    return x, y, z


def group_ids(grid: Size, group: Size) -> Iterator[Size]:
    """All groups, x fastest."""
    counts = group_counts(grid, group)
    for z in range(counts[2]):
        for y in range(counts[1]):
            for x in range(counts[0]):
                yield x, y, z


def clipped(grid: Size, group: Size, group_id: Size) -> Size:
    """How much of a group lies in the grid."""
    x, y, z = (
        min(size, items - size * place)
        for items, size, place in zip(grid, group, group_id, strict=True)
    )
    return x, y, z


def wave_count(items: Size) -> int:
    """Waves of a group of so many work-items."""
    return -(-items[0] * items[1] * items[2] // LANES)


@lru_cache(maxsize=64)
def work_items(items: Size, dimensions: int) -> tuple[tuple[WorkItemIds, int], ...]:
    """For each wave the ids (uint32, shape (dimensions, 64), read-only) and EXEC.

    Lanes without a work-item have ids 0.
    """
    total = items[0] * items[1] * items[2]
    waves = wave_count(items)
    flat = np.arange(waves * LANES)
    x, rest = flat % items[0], flat // items[0]
    ids = np.stack((x, rest % items[1], rest // items[1])).astype(np.uint32)
    ids[:, total:] = 0
    made = []
    for wave in range(waves):
        part = np.ascontiguousarray(ids[:dimensions, wave * LANES : (wave + 1) * LANES])
        part.flags.writeable = False
        lanes = min(LANES, total - wave * LANES)
        made.append((part, (1 << lanes) - 1))
    return tuple(made)
