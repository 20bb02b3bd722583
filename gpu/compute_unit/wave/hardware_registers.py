"""What a wave reads of itself by ``s_getreg_b32``: where it runs, and what it holds.

GCN3 instruction set architecture, "Hardware registers". Registers and LDS are allocated by amount
here, not by position, so the fields of their bases are 0. On GFX9, SH_MEM_BASES holds the upper
quarters of the flat addresses that mean scratch and LDS. Invariant: among the resident waves of a
device no two have equal HW_ID.
"""

from __future__ import annotations

from typing import Final

from gpu.dispatch.launch import GroupStart
from gpu.dispatch.occupancy import LDS_GRANULE
from gpu.generation import Generation
from gpu.wave_size import round_up

TRAPSTS: Final = 3
MEM_VIOL: Final = 1 << 8
"""In TRAPSTS: an access of the wave was refused."""
HW_ID: Final = 4
GPR_ALLOC: Final = 5
LDS_ALLOC: Final = 6
SH_MEM_BASES: Final = 15


def hardware_registers(
    cu: int, simd: int, slot: int, number: int, group: GroupStart
) -> dict[int, int]:
    """By number. ``slot``: of the wave on its SIMD; ``number``: of the work-group in its unit.

    Compute units are numbered through: 16 of an array, 2 arrays of an engine.
    """
    place = slot | simd << 4 | (cu & 15) << 8 | (cu >> 4 & 1) << 12 | (cu >> 5 & 3) << 13
    demand = group.demand
    vgprs = max(0, -(-demand.vgprs // 4) - 1)
    sgprs = max(0, -(-demand.sgprs // 8) - 1)
    found = {
        HW_ID: place | (number & 15) << 16,
        GPR_ALLOC: (vgprs & 63) << 8 | (sgprs & 15) << 24,
        LDS_ALLOC: round_up(demand.lds, LDS_GRANULE) // LDS_GRANULE << 12,
    }
    if group.generation is Generation.GFX9:
        bases = group.private_aperture >> 16 | group.shared_aperture >> 16 << 16
        found[SH_MEM_BASES] = bases
    return found
