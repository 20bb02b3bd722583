"""Groups of one program on units that run ahead, and on those that do not."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from gpu.compute_unit.hang_detector import PATIENCE, HangDetector
from gpu.compute_unit.native.ctypes_api import issue_engine_library
from gpu.compute_unit.native.issue_engine import IssueEngine, can_steer
from gpu.compute_unit.pipeline.arbitration import POLICIES
from gpu.compute_unit.pipeline.timing_parameters import Timing
from gpu.compute_unit.timed_unit import TimedUnit
from gpu.dispatch.device_loop import Mover, OneByOne
from gpu.dispatch.launch import Fault, GroupStart
from gpu.dispatch.occupancy import Limits
from gpu.generation import Generation
from gpu.memory.coherent.coherent_memory import CoherentMemory
from gpu.memory.coherent.native_backend import NativeBackend
from tests.compiling import compiler
from tests.gpu.compute_unit.harness import Bench, Listener, split

MOST_RUNS = 200_000
RESULTS = 1 << 12
"""Where in the buffer programs leave their registers."""


@dataclass
class Setup:
    """The parameters of a run. ``stops``: the loop returns after so many ticks; what the host
    does ``meanwhile``; ``patience`` and ``limit`` of the hang detector."""

    code: bytes
    generation: Generation = Generation.GFX8
    groups: int = 3
    items: int = 128
    lds: int = 1024
    timing: Timing = field(default_factory=Timing)
    policy: str = "oldest-first"
    stops: int | None = None
    buffer: int = 1 << 16
    meanwhile: Callable[[CoherentMemory], None] = lambda memory: None
    patience: int = PATIENCE
    limit: int | None = None


@dataclass
class Outcome:
    """Everything that can be seen of a run. ``tick``: the last one in which caches did anything."""

    tick: int
    trace: int
    transitions: int
    contents: bytes
    statistics: list[dict[str, object]]
    faults: list[str]
    interrupts: list[int]


class Places(Listener):
    """Runs as soon as a group has left room for another one, as a dispatcher does."""

    def __init__(self, memory: CoherentMemory) -> None:
        super().__init__()
        self.memory = memory
        self.due: int | None = None

    def group_ended(self, group: GroupStart) -> None:
        super().group_ended(group)
        self.due = self.memory.now

    def group_failed(self, group: GroupStart, fault: Fault) -> None:
        super().group_failed(group, fault)
        self.due = self.memory.now


def library() -> Any:
    """Skips where there is no compiler; one that does not take our sources is a failure."""
    compiler()
    found = issue_engine_library()
    assert found is not None
    return found


@np.errstate(all="ignore")
def run(setup: Setup, memory: CoherentMemory, ahead: bool) -> Outcome:
    """All groups to their end, one after the other into the first unit that has room."""
    bench = Bench(setup.code, memory)  # type: ignore[arg-type]
    bench.listener = places = Places(memory)
    words = np.arange(setup.buffer // 4, dtype=np.uint32) * np.uint32(2654435761)
    buffer = bench.buffer(words)
    limits, policy = Limits(), POLICIES[setup.policy]
    hang_detector = HangDetector(setup.patience, limit=setup.limit)
    units: Any
    mover: Mover
    if ahead:
        assert can_steer(memory, setup.timing, policy, limits)
        mover = IssueEngine(library(), memory, setup.timing, limits, policy, hang_detector)
        units = mover.units
    else:
        units = [
            TimedUnit(cu, memory, setup.timing, limits, policy, hang_detector)
            for cu in range(memory.ports.cus)
        ]
        mover = OneByOne(memory, units)
    waiting = [
        bench.group(
            [*split(buffer), *split(buffer + RESULTS)],
            items=setup.items,
            lds=setup.lds,
            number=number,
            generation=setup.generation,
        )
        for number in range(setup.groups)
    ]
    for _ in range(MOST_RUNS):
        while waiting:
            free = [unit for unit in units if unit.fits(waiting[0].demand)]
            if not free:
                break
            free[len(waiting) % len(free)].start(waiting.pop(0))
        if not waiting and all(unit.idle for unit in units) and not memory.busy:
            break
        setup.meanwhile(memory)
        places.due = None if setup.stops is None else memory.now + setup.stops
        mover.run(lambda: places.due)
        assert (
            any(unit.next_tick is not None for unit in units)
            or memory.busy
            or not (any(not unit.idle for unit in units))
        ), "waves are left and none can proceed"
    else:
        raise AssertionError("it does not end")
    backend = memory.backend
    assert isinstance(backend, NativeBackend)
    return Outcome(
        backend.tick,
        backend.system.trace_hash,
        backend.system.transitions,
        memory.read(buffer, setup.buffer),
        [unit.statistics.as_dict() for unit in units],
        [str(fault) for fault in bench.listener.faults],
        bench.listener.interrupts,
    )
