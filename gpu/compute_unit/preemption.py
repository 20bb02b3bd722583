"""Groups that are taken off their unit and put back on any, with all their registers.

Units without time and with a clock have this in common. Invariant: a group is taken off once no
access of its waves is outstanding, and nothing issues from `halt` to `take_off`.
"""

from __future__ import annotations

from typing import TypeVar

from gpu.compute_unit.hang_detector import HangDetector
from gpu.compute_unit.wave.resident_groups import Residents
from gpu.compute_unit.wave.saved_state import (
    check_group,
    group_bytes,
    pack_group,
    unpack_group,
)
from gpu.compute_unit.wave.wavefront import Group, Wavefront
from gpu.dispatch.launch import Fault, SavedGroup
from gpu.errors import WaveRegisters

W = TypeVar("W", bound=Wavefront)


class PreemptableResidents(Residents[W]):
    """Base of units that implement `gpu.dispatch.launch.PreemptableUnit`."""

    hang_detector: HangDetector
    halted: frozenset[int] = frozenset()
    """Queues whose waves issue nothing."""

    def halt(self, queue: int) -> None:
        """Let the waves of a queue issue nothing more."""
        if self._of(queue):
            self.halted |= {queue}

    def drained(self, queue: int) -> bool:
        """Whether all that the queue's waves have issued has returned."""
        return all(
            self._settled(wave)
            for group in self._of(queue)
            for wave in group.waves
            if not wave.ended
        )

    def saved_bytes(self, queue: int) -> list[int]:
        """How much each group of the queue takes when it is saved."""
        return [group_bytes(each.start.demand, each.start.waves) for each in self._of(queue)]

    def take_off(self, queue: int) -> list[SavedGroup]:
        """Remove the queue's groups; they are drained."""
        saved = []
        for group in self._of(queue):
            saved.append(SavedGroup(group.start, pack_group(group)))
            with self.hang_detector.moving():
                self._drop(group)
        self.halted -= {queue}
        return saved

    def check(self, saved: SavedGroup) -> None:
        """Raises ValueError for bytes that no group can continue with."""
        check_group(saved.start.demand, saved.start.waves, saved.data)

    def put_back(self, saved: SavedGroup) -> None:
        """Continue a group that fits, with bytes that were checked."""
        resident = self._resident_group(saved.start)
        unpack_group(resident, saved.data)
        self._enter_again(resident)

    def _fail(self, group: Group[W], fault: Fault) -> None:
        if not fault.waves:
            fault.waves = tuple(_registers(wave) for wave in group.waves)
        super()._fail(group, fault)

    def _of(self, queue: int) -> list[Group[W]]:
        return [group for group in self._groups if group.start.queue == queue]

    def _settled(self, wave: W) -> bool:
        """Nothing that the wave has issued is outstanding."""
        raise NotImplementedError

    def _enter_again(self, group: Group[W]) -> None:
        """Let the waves of a group continue on this unit."""
        self._groups.append(group)
        with self.hang_detector.moving():
            self._entered(group)


def _registers(wave: Wavefront) -> WaveRegisters:
    return WaveRegisters(wave.number, wave.pc, tuple(wave.sgprs), wave.vgprs.tobytes())
