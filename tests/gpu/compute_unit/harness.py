"""Groups of small programs, started without queues and packets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gpu.compute_unit.functional_unit import FunctionalUnit
from gpu.dispatch.launch import ComputeUnit, Demand, Fault, GroupStart, WaveStart
from gpu.generation import Generation
from gpu.memory.flat_memory import FlatMemory
from gpu.memory.interface import Memory
from tests.gpu.compute_unit.machine_code import code

SHARED_APERTURE = 0x10000
PRIVATE_APERTURE = 0x20000
MODE = 0x2F0
"""IEEE mode, all denormals kept: what most tests do not care about."""


class Listener:
    """Records what units report."""

    def __init__(self) -> None:
        self.ended: list[GroupStart] = []
        self.faults: list[Fault] = []
        self.interrupts: list[int] = []

    def group_ended(self, group: GroupStart) -> None:
        self.ended.append(group)

    def group_failed(self, group: GroupStart, fault: Fault) -> None:
        self.faults.append(fault)

    def interrupt(self, group: GroupStart, message: int) -> None:
        self.interrupts.append(message)


class Bench:
    """Memory with one program in it, and buffers."""

    def __init__(self, program: bytes | str, memory: FlatMemory | None = None) -> None:
        self.memory = memory or FlatMemory()
        self.listener = Listener()
        machine_code = code(program) if isinstance(program, str) else program
        place = self.memory.space.allocate(len(machine_code), name="code", writable=False)
        self.entry = place.start
        self.memory.write(self.entry, machine_code)

    def buffer(self, content: np.ndarray | int, name: str = "buffer") -> int:
        """Address of new memory with this content, or of that many zero bytes."""
        data = bytes(content) if isinstance(content, int) else content.tobytes()
        place = self.memory.space.allocate(len(data), name=name)
        self.memory.write(place.start, data)
        return place.start

    def array(self, address: int, count: int, dtype: type = np.uint32) -> np.ndarray:
        """What memory holds."""
        return np.frombuffer(self.memory.read(address, count * np.dtype(dtype).itemsize), dtype)

    def group(
        self,
        sgprs: Sequence[int] = (),
        *,
        items: int = 64,
        lds: int = 0,
        vgprs: int = 32,
        number: int = 0,
        private_bytes: int = 0,
        private_base: int = 0,
        packet: int = 0,
        generation: Generation = Generation.GFX8,
    ) -> GroupStart:
        """A group of ``items`` work-items; v0 is the work-item id, s0 ... as given."""
        waves = []
        for first in range(0, items, 64):
            bits = (1 << min(64, items - first)) - 1
            ids = np.arange(first, first + 64, dtype=np.uint32)[None]
            start = WaveStart(self.entry, list(sgprs), ids, bits, MODE, first // 64)
            start.private_base = private_base
            waves.append(start)
        demand = Demand(len(waves), vgprs, 32, lds, private_bytes > 0)
        made = GroupStart("test", packet, 0x1000, (number, 0, 0), demand, waves, self.listener)
        made.generation = generation
        made.private_bytes = private_bytes
        made.shared_aperture = SHARED_APERTURE
        made.private_aperture = PRIVATE_APERTURE
        made.hidden_private_base = private_base
        return made

    def run(self, *groups: GroupStart, turns: int = 10_000) -> FunctionalUnit:
        """Run groups on one functional unit to their end."""
        unit = FunctionalUnit(0, self.memory)
        for group in groups:
            unit.start(group)
        run_units(unit, turns=turns)
        return unit


def run_units(*units: ComputeUnit, turns: int = 10_000) -> int:
    """Let functional units run until all are idle; the number of turns. Fails if they are not."""
    for now in range(turns):
        if all(unit.idle for unit in units):
            return now
        for unit in units:
            unit.run(now)
    raise AssertionError(f"not idle after {turns} turns")


def split(address: int) -> list[int]:
    """A pointer as two scalar registers."""
    return [address & 0xFFFF_FFFF, address >> 32]


@np.errstate(all="ignore")
def run_timed(memory: Memory, *units: ComputeUnit, ticks: int = 1_000_000) -> int:
    """Drive units and memory until all are idle; the tick. Fails if they are not in time."""
    while memory.now < ticks:
        now = memory.now
        for unit in units:
            tick = unit.next_tick
            if tick is not None and tick <= now:
                unit.run(now)
        if all(unit.idle for unit in units) and not memory.busy:
            return now
        due = [tick for unit in units if (tick := unit.next_tick) is not None]
        if not due and not memory.busy:
            raise AssertionError(f"tick {now}: nothing is under way and waves are left")
        until = max(min(due), now + 1) if due else None
        for answer in memory.run(until):
            if answer.request.listener is not None:
                answer.request.listener(answer)
    raise AssertionError(f"not idle at tick {ticks}")
