"""Which resources of a compute unit are taken, and how many groups of a kernel fit it.

One calculation serves the dispatcher, the compute units and the table that ``gcn occupancy``
prints. Invariant: a group's resources are released exactly as they were taken, per SIMD.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from gpu.dispatch.launch import Demand
from gpu.wave_size import round_up

LDS_GRANULE: Final = 512
SGPR_GRANULE: Final = 16


@dataclass(frozen=True, slots=True)
class Limits:
    """Resources of one compute unit; the defaults are gfx803's.

    ``vgprs``: rows of 64 lanes per SIMD. ``sgprs``: per SIMD. ``lds``: bytes. ``barriers``: groups
    of more than one wave that can be resident.
    """

    simds: int = 4
    waves_per_simd: int = 10
    vgprs: int = 256
    sgprs: int = 800
    lds: int = 64 * 1024
    barriers: int = 16


@dataclass(frozen=True, slots=True)
class Occupancy:
    """How many groups of one demand fit an empty compute unit, and which resource limits them."""

    groups: int
    waves: int
    limit: str
    """``waves``, ``VGPRs``, ``SGPRs``, ``LDS`` or ``barriers``."""


def occupancy(limits: Limits, demand: Demand) -> Occupancy:
    """Groups of ``demand`` on one compute unit that runs nothing else."""
    simds = limits.simds
    bounds = [("waves", simds * limits.waves_per_simd // demand.waves)]
    if demand.vgprs:
        per_simd = min(limits.waves_per_simd, limits.vgprs // demand.vgprs)
        bounds.append(("VGPRs", simds * per_simd // demand.waves))
    if demand.sgprs:
        per_simd = min(limits.waves_per_simd, limits.sgprs // demand.sgprs)
        bounds.append(("SGPRs", simds * per_simd // demand.waves))
    if demand.lds:
        bounds.append(("LDS", limits.lds // round_up(demand.lds, LDS_GRANULE)))
    if demand.barrier:
        bounds.append(("barriers", limits.barriers))
    limit, groups = min(bounds, key=lambda bound: bound[1])
    return Occupancy(groups, groups * demand.waves, limit)


@dataclass(frozen=True, slots=True, eq=False)
class Taken:
    """What one group holds. ``simds``: of each wave, in wave order."""

    demand: Demand
    simds: tuple[int, ...]


class Resources:
    """The free resources of one compute unit.

    Waves of a group go to the SIMD with the most free slots that has the registers; the first
    one after the last used wins a tie.
    """

    def __init__(self, limits: Limits = Limits()) -> None:
        self.limits = limits
        self._slots = [limits.waves_per_simd] * limits.simds
        self._vgprs = [limits.vgprs] * limits.simds
        self._sgprs = [limits.sgprs] * limits.simds
        self._lds = limits.lds
        self._barriers = limits.barriers
        self._next = 0

    @property
    def idle(self) -> bool:
        """Nothing is taken."""
        return sum(self._slots) == self.limits.simds * self.limits.waves_per_simd

    def could_ever_fit(self, demand: Demand) -> bool:
        """Whether the group would fit an empty unit."""
        return occupancy(self.limits, demand).groups > 0

    def fits(self, demand: Demand) -> bool:
        """Whether everything the group takes is free."""
        if round_up(demand.lds, LDS_GRANULE) > self._lds:
            return False
        if demand.barrier and not self._barriers:
            return False
        waves = 0
        for simd in range(self.limits.simds):
            waves += self._room(simd, demand)
            if waves >= demand.waves:
                return True
        return False

    def take(self, demand: Demand) -> Taken:
        """Take what fits; waves are spread over the SIMDs. Raises ValueError if it does not fit."""
        if not self.fits(demand):
            raise ValueError(f"{demand} does not fit what is free of the compute unit")
        self._lds -= round_up(demand.lds, LDS_GRANULE)
        self._barriers -= demand.barrier
        simds = tuple(self._place(demand) for _ in range(demand.waves))
        return Taken(demand, simds)

    def give_back(self, taken: Taken) -> None:
        """The group has ended."""
        demand = taken.demand
        self._lds += round_up(demand.lds, LDS_GRANULE)
        self._barriers += demand.barrier
        for simd in taken.simds:
            self._slots[simd] += 1
            self._vgprs[simd] += demand.vgprs
            self._sgprs[simd] += demand.sgprs

    def _place(self, demand: Demand) -> int:
        """Take a slot for one wave; which SIMD."""
        count = self.limits.simds
        order = [(self._next + step) % count for step in range(count)]
        simd = max(
            (candidate for candidate in order if self._room(candidate, demand)),
            key=lambda candidate: self._slots[candidate],
        )
        self._slots[simd] -= 1
        self._vgprs[simd] -= demand.vgprs
        self._sgprs[simd] -= demand.sgprs
        self._next = (simd + 1) % count
        return simd

    def _room(self, simd: int, demand: Demand) -> int:
        """How many waves of this demand the SIMD can take now."""
        room = self._slots[simd]
        if demand.vgprs:
            room = min(room, self._vgprs[simd] // demand.vgprs)
        if demand.sgprs:
            room = min(room, self._sgprs[simd] // demand.sgprs)
        return room
