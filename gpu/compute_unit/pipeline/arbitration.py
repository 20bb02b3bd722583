"""The order in which waves of a SIMD are considered for issue.

Invariant: a policy only orders; every ready wave is in the order once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from gpu.compute_unit.pipeline.wave_state import PipelinedWave

Ready = list[PipelinedWave]

Policy = Callable[[Ready, int], Ready]
"""The ready waves of a SIMD, oldest first, and the age of the wave that issued last there (-1:
none yet) -> the order in which they may issue."""


def oldest_first(ready: Ready, last: int) -> Ready:
    """The wave that started first, among those of the highest priority."""
    for wave in ready:
        if wave.priority:
            return sorted(ready, key=_priority)
    return ready


def round_robin(ready: Ready, last: int) -> Ready:
    """The wave behind the last one that issued, among those of the highest priority."""
    behind = [wave for wave in ready if wave.age > last]
    return oldest_first(behind + ready[: len(ready) - len(behind)], last)


def _priority(wave: PipelinedWave) -> int:
    return -wave.priority


POLICIES: Final[dict[str, Policy]] = {"oldest-first": oldest_first, "round-robin": round_robin}
