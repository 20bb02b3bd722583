"""One SIMD of a timed unit: its waves, its turns, and how long it is busy.

Invariant: ``waves`` are in the order of their start.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from gpu.compute_unit.pipeline.timing_parameters import Timing
from gpu.compute_unit.pipeline.wave_state import NEVER, PipelinedWave
from gpu.compute_unit.program.decoded_program import UNITS
from gpu.isa.instruction import Unit


@dataclass(slots=True, eq=False)
class Simd:
    """``place``: its turns are the ticks that leave this remainder, divided by the number of SIMDs.
    ``busy``: until when its vector lanes are. ``last``: age of the wave that issued last."""

    place: int
    waves: list[PipelinedWave] = field(default_factory=list)
    busy: int = 0
    last: int = -1

    def turn_after(self, following: int, count: int) -> int:
        """The first turn, from the following one on, in which a wave is ready; `NEVER` if none
        will be. ``count``: of SIMDs."""
        first = NEVER
        for wave in self.waves:
            if wave.ready <= following:
                return following
            if wave.ready < first:
                first = wave.ready
        return first if first == NEVER else first + (self.place - first) % count


def cycles_by_pace(timing: Timing) -> tuple[int, ...]:
    """Cycles until the wave's next instruction, by
    `gpu.compute_unit.program.decoded_program.DecodedInstruction.pace`."""
    cycles = [timing.scalar_cycles] * len(UNITS)
    cycles[UNITS.index(Unit.VECTOR_ALU)] = timing.vector_cycles
    cycles[UNITS.index(Unit.BRANCH)] = timing.branch_cycles
    return *cycles, timing.vector_cycles * timing.long_factor
