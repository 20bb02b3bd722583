"""What a wave reads of itself by ``s_getreg_b32``: where it runs, and what it holds.

GCN3 instruction set architecture, "Hardware registers". Registers and LDS are allocated by amount
here, not by position, so the fields of their bases are 0. Invariant: among the resident waves of a
device no two have equal HW_ID.
"""

from __future__ import annotations

from typing import Final

from gpu.dispatch.launch import Demand
from gpu.dispatch.occupancy import LDS_GRANULE
from gpu.wave_size import round_up

HW_ID: Final = 4
GPR_ALLOC: Final = 5
LDS_ALLOC: Final = 6


def hardware_registers(cu: int, simd: int, slot: int, group: int, demand: Demand) -> dict[int, int]:
    """By number. ``slot``: of the wave on its SIMD; ``group``: of the work-group in its unit.

    Compute units are numbered through: 16 of an array, 2 arrays of an engine.
    """
    place = slot | simd << 4 | (cu & 15) << 8 | (cu >> 4 & 1) << 12 | (cu >> 5 & 3) << 13
    vgprs = max(0, -(-demand.vgprs // 4) - 1)
    sgprs = max(0, -(-demand.sgprs // 8) - 1)
    return {
        HW_ID: place | (group & 15) << 16,
        GPR_ALLOC: (vgprs & 63) << 8 | (sgprs & 15) << 24,
        LDS_ALLOC: round_up(demand.lds, LDS_GRANULE) // LDS_GRANULE << 12,
    }
