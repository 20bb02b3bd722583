"""The device that a host program asks for, by the way it is to compute.

Invariant: with the same arguments and the same calls, every run gives the same results in the
same ticks.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from gpu.bare_device import BareDevice, Options
from gpu.compute_unit.functional import FunctionalUnit
from gpu.compute_unit.timed import TimedUnit
from gpu.compute_unit.timing import Timing
from gpu.compute_unit.watch import Watch
from gpu.errors import HostError
from gpu.launch import ComputeUnit
from gpu.memory.flat import FlatMemory
from gpu.memory.interface import Memory
from gpu.occupancy import Limits

MOST_UNITS: Final = 64
UNITS_PER_SQC: Final = 4


class Device(BareDevice):
    """A GPU.

    ``Device(cus=4)`` has compute units without time on memory without caches: the results are
    right, the ticks mean nothing. With a ``memory`` that has a clock, units with pipelines run on
    it, one per vector port. ``limits``: what a compute unit has. ``timing``: of its pipelines.
    ``most_instructions``: wave instructions after which a kernel fails, as one does that can be
    seen to wait for ever. Raises HostError for a device that cannot be.
    """

    def __init__(
        self,
        *,
        cus: int = 4,
        memory: Memory | None = None,
        limits: Limits | None = None,
        timing: Timing | None = None,
        options: Options | None = None,
        most_instructions: int | None = None,
    ) -> None:
        if not 1 <= cus <= MOST_UNITS:
            raise HostError(f"a device has 1 to {MOST_UNITS} compute units, not {cus}")
        watch = Watch(limit=most_instructions)
        units: Sequence[ComputeUnit]
        if memory is None:
            flat = FlatMemory(cus=cus, sqcs=-(-cus // UNITS_PER_SQC))
            units = [FunctionalUnit(cu, flat, limits, watch) for cu in range(cus)]
            memory = flat
        else:
            units = [
                TimedUnit(cu, memory, timing, limits, watch=watch) for cu in range(memory.ports.cus)
            ]
        super().__init__(memory, units, options or Options(), watch.progress)
