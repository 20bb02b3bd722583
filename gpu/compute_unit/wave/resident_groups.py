"""Groups that are resident in a compute unit: starting and removing them.

What timed and functional units have in common. Invariant: a group is resident from `start` until
its last wave ends, it fails or it is killed; its resources are released at that moment, once.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar

from gpu.compute_unit.wave.hardware_registers import hardware_registers
from gpu.compute_unit.wave.saved_state import ROW_BYTES, WAVE_BYTES
from gpu.compute_unit.wave.wavefront import Group, Wavefront
from gpu.dispatch.launch import Demand, Fault, GroupStart, WaveStart
from gpu.dispatch.occupancy import Limits, Resources

W = TypeVar("W", bound=Wavefront)
MakeWave = Callable[[WaveStart, Group[W], int, int], W]
"""Start values, group, SIMD, age."""


class Residents(Generic[W]):
    """Base of the units. ``index``: which compute unit of the device it is."""

    def __init__(self, index: int, make: MakeWave[W], limits: Limits | None = None) -> None:
        self.index = index
        self._make = make
        self._resources = Resources(limits or Limits())
        self._groups: list[Group[W]] = []
        self._slots = [0] * self._resources.limits.simds
        """By SIMD, a bit for each slot that a wave has."""
        self.waves_started = 0
        self._age = -1
        self.groups_started = 0

    def fits(self, demand: Demand) -> bool:
        """Whether all of it is free now."""
        return self._resources.fits(demand)

    def could_ever_fit(self, demand: Demand) -> bool:
        """Whether it would fit an empty unit."""
        return self._resources.could_ever_fit(demand)

    def start(self, group: GroupStart) -> None:
        """Take a group that fits."""
        resident = self._resident_group(group)
        self.waves_started += len(resident.waves)
        self.groups_started += 1
        resident.live = len(resident.waves)
        self._groups.append(resident)
        self._entered(resident)

    def _resident_group(self, group: GroupStart) -> Group[W]:
        """A group with its waves in their initial state and all that it takes of the unit."""
        resident: Group[W] = Group(group, self._resources.take(group.demand))
        for start in group.waves:
            simd = resident.taken.simds[start.number]
            self._age += 1
            wave = self._make(start, resident, simd, self._age)
            wave.slot = self._take_slot(simd)
            wave.hardware |= hardware_registers(
                self.index, simd, wave.slot, self.groups_started, group
            )
            resident.waves.append(wave)
        return resident

    def _take_slot(self, simd: int) -> int:
        """The lowest number that no wave of the SIMD has."""
        taken = self._slots[simd]
        lowest = ~taken & (taken + 1)
        self._slots[simd] = taken | lowest
        return lowest.bit_length() - 1

    def kill(self, queue: int, packet: int | None = None) -> None:
        """End all waves of a queue (or of one packet of it) without an answer."""
        for group in list(self._groups):
            start = group.start
            if start.queue == queue and packet in (None, start.packet):
                self._drop(group)

    @property
    def idle(self) -> bool:
        """No wave is resident."""
        return not self._groups

    @property
    def largest_state(self) -> tuple[int, int]:
        """The most groups that it holds, and the bytes of all their state."""
        limits = self._resources.limits
        waves = limits.simds * limits.waves_per_simd
        registers = limits.simds * limits.vgprs * ROW_BYTES
        return waves, waves * WAVE_BYTES + registers + limits.lds

    def continue_counts(self, other: Residents[Any]) -> None:
        """Number what starts here after what another unit, which is idle, has had."""
        self._age = other._age
        self.waves_started = other.waves_started
        self.groups_started = other.groups_started

    def _entered(self, group: Group[W]) -> None:
        """A group's waves have started."""

    def _left(self, group: Group[W]) -> None:
        """A group was removed, with all its waves."""

    def _drop(self, group: Group[W]) -> None:
        if group not in self._groups:
            return
        self._groups.remove(group)
        self._resources.give_back(group.taken)
        for wave in group.waves:
            wave.ended = True
            self._slots[wave.simd] &= ~(1 << wave.slot)
        self._left(group)

    def _finish(self, group: Group[W]) -> None:
        """The last wave has ended."""
        self._drop(group)
        group.start.listener.group_ended(group.start)

    def _fail(self, group: Group[W], fault: Fault) -> None:
        """A wave has done something that stops its queue."""
        if group not in self._groups:
            return
        self._drop(group)
        group.start.listener.group_failed(group.start, fault)
