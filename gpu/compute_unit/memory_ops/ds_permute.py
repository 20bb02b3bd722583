"""DS instructions that only exchange values of lanes: no storage, no bound, no address space.

GCN3 instruction set architecture, "LDS lane-permute operations" and ``DS_SWIZZLE_B32``.
Invariant: an inactive lane gives zero and keeps its own register.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from gpu.compute_unit.memory_ops.access import DirectMemory
from gpu.compute_unit.wave.lane_values import Lanes, Registers, Values, lanes_of
from gpu.compute_unit.wave.wavefront import Wavefront
from gpu.isa.instruction import Instruction
from gpu.wave_size import LANES

QUAD_MODE = 1 << 15


@lru_cache(maxsize=256)
def swizzle_sources(pattern: int) -> Lanes:
    """From which lane each lane reads; ``pattern``: the instruction's 16-bit offset.

    Bit 15: two bits per lane of a quad name the source within it. Else, within 32 lanes:
    source = ((lane & bits 4:0) | bits 9:5) ^ bits 14:10.
    """
    lane = np.arange(LANES)
    if pattern & QUAD_MODE:
        return (lane & ~3) + (pattern >> 2 * (lane & 3) & 3)
    within = (lane & 31 & pattern | pattern >> 5 & 31) ^ (pattern >> 10 & 31)
    return (lane & 32) + within


class ExchangeAccess:
    """Values exchanged between the lanes of one wave."""

    __slots__ = ("arrived", "lanes", "register", "wave")

    def __init__(self, wave: Wavefront, register: int, lanes: Lanes, arrived: Values) -> None:
        self.wave = wave
        self.register = register
        self.lanes = lanes
        self.arrived = arrived

    def perform(self, memory: DirectMemory) -> None:
        """The values were read at execution; nothing is stored anywhere."""

    def complete(self) -> None:
        self.wave.vgprs[self.register][self.lanes] = self.arrived

    def text(self) -> str:
        return "exchange of lanes"


class Exchange:
    """A bound ``ds_swizzle_b32``, ``ds_permute_b32`` or ``ds_bpermute_b32``."""

    __slots__ = ("_address", "_data", "_offset", "_register", "_registers", "instruction")

    def __init__(self, instruction: Instruction) -> None:
        fields = instruction.fields
        self.instruction = instruction
        self._registers = Registers(instruction)
        self._address = fields["addr"]
        self._data = fields["data0"]
        self._register = fields["vdst"]
        self._offset = fields["offset1"] << 8 | fields["offset0"]

    def execute(self, wave: Wavefront) -> ExchangeAccess | None:
        if not wave.exec:
            return None
        self._registers.check(wave)
        lanes = lanes_of(wave.exec)
        name = self.instruction.name
        if name == "ds_swizzle_b32":
            values = np.where(wave.mask, wave.vgprs[self._address], np.uint32(0))
            arrived = values[swizzle_sources(self._offset)]
        else:
            other = (wave.vgprs[self._address].astype(np.int64) + self._offset >> 2) & LANES - 1
            values = np.where(wave.mask, wave.vgprs[self._data], np.uint32(0))
            if name == "ds_bpermute_b32":
                arrived = values[other]
            else:
                arrived = np.zeros(LANES, np.uint32)
                arrived[other[lanes]] = values[lanes]
        return ExchangeAccess(wave, self._register, lanes, arrived[lanes])
