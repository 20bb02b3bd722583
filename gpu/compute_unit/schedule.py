"""Which waves of a SIMD are looked at first.

Invariant: a policy only orders; every ready wave is in the order once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from gpu.compute_unit.pipelined_wave import PipelinedWave

Ready = list[PipelinedWave]


class Policy(Protocol):
    """One SIMD's scheduler."""

    def order(self, ready: Ready) -> Ready:
        """The ready waves, oldest first, in the order in which they may issue."""

    def issued(self, wave: PipelinedWave) -> None:
        """A wave has issued an instruction."""


def _priority(wave: PipelinedWave) -> int:
    return -wave.priority


class OldestFirst:
    """The wave that started first, among those of the highest priority."""

    def order(self, ready: Ready) -> Ready:
        for wave in ready:
            if wave.priority:
                return sorted(ready, key=_priority)
        return ready

    def issued(self, wave: PipelinedWave) -> None:
        """Nothing to remember."""


class RoundRobin:
    """The wave behind the last one that issued, among those of the highest priority."""

    def __init__(self) -> None:
        self._last = -1

    def order(self, ready: Ready) -> Ready:
        last = self._last
        behind = [wave for wave in ready if wave.age > last]
        turned = behind + ready[: len(ready) - len(behind)]
        for wave in ready:
            if wave.priority:
                return sorted(turned, key=_priority)
        return turned

    def issued(self, wave: PipelinedWave) -> None:
        self._last = wave.age


POLICIES: Final[dict[str, Callable[[], Policy]]] = {
    "oldest-first": OldestFirst,
    "round-robin": RoundRobin,
}
