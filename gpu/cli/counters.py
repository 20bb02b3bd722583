"""What the compute units of a device did, summed up."""

from __future__ import annotations

from dataclasses import dataclass

from gpu.bare_device import BareDevice
from gpu.compute_unit.functional import FunctionalUnit
from gpu.compute_unit.residents import Residents
from gpu.compute_unit.timed import TimedUnit


@dataclass(frozen=True, slots=True)
class Work:
    """Groups and waves that were started, and wave instructions."""

    groups: int
    waves: int
    instructions: int

    def __str__(self) -> str:
        return (
            f"{self.groups:,} groups, {self.waves:,} waves, {self.instructions:,} wave instructions"
        )


def work_of(device: BareDevice) -> Work:
    """Of all units together."""
    groups = waves = instructions = 0
    for unit in device.units:
        if isinstance(unit, Residents):
            groups += unit.groups_started
            waves += unit.waves_started
        if isinstance(unit, FunctionalUnit):
            instructions += unit.executed
        elif isinstance(unit, TimedUnit):
            instructions += unit.statistics.executed
    return Work(groups, waves, instructions)
