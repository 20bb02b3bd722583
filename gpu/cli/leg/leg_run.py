"""A leg's GPU threads as waves of compute units, on the system of the leg.

Every thread has its waves on the unit whose vector cache it used in the tester. Threads of other
kinds are left out: what remains is derived again, so that it is a program of its own. At the end
every byte under test is read once more, by a unit behind another cache than its writer's, as the
tester does, and then in memory.

Invariant: what is compared is what waves have loaded, and memory at the end.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Final

import numpy as np

from gpu.cli.leg.judgement import Judge, wrong_memory
from gpu.cli.leg.program_run import ProgramRun
from gpu.compute_unit.hang_detector import TIMED_STILL_LIMIT, HangDetector
from gpu.compute_unit.pipeline.timing_parameters import Timing
from gpu.compute_unit.timed_unit import TimedUnit
from gpu.dispatch.occupancy import Limits
from gpu.memory.coherent.coherent_memory import CoherentMemory, MemoryStuck
from gpu.memory.coherent.python_backend import PythonBackend
from runtime.description import SystemDescription
from runtime.description.inference import COALESCERS
from runtime.errors import ProtocolError
from runtime.prng import initial_bytes
from slicc.text.lazy_dataclass import dataclass
from tester.errors import ConfigError
from tester.execution.events import Finding, Verdict
from tester.execution.handover import HandoverRules, handover_rules_of
from tester.execution.leg import ERROR_VERDICTS
from tester.program.final_memory import final_contents
from tester.program.program import AgentSpec, Program
from tester.program.read_back import read_back_program
from tester.program.replay_file import Leg, with_expectations

GPU: Final = "gpu"
_PROMPT: Final = Timing(
    vector_cycles=1,
    scalar_cycles=1,
    branch_cycles=1,
    fetch_bytes=64,
    buffer_bytes=256,
    lines_per_cycle=64,
    memory_queue=64,
)
"""As little time between accesses as units can take, because the tester's agents take none."""
_ROOM: Final = Limits(vgprs=256 * 10, sgprs=102 * 10)
"""Of a unit: registers for as many waves as it has slots."""
_LARGEST_SPAN: Final = 1 << 40


class CannotRun(ValueError):
    """The leg has nothing that compute units could run."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the run ended. ``finding``: None if nothing is wrong. ``episodes`` and ``waves``: those
    of the program itself, without what reads it back."""

    finding: Finding | None
    episodes: int
    waves: int
    ticks: int


@dataclass(frozen=True, slots=True)
class GpuLeg:
    """What is left of a leg without agents that are no GPU threads."""

    program: Program
    rules: HandoverRules
    description: SystemDescription
    deadlock_limit: int
    first_port: int
    """The requester of the first compute unit."""
    units: int

    def unit_of(self, agent: AgentSpec) -> int:
        """Raises CannotRun for a port that no unit has."""
        unit = agent.requester - self.first_port
        if not 0 <= unit < self.units:
            raise CannotRun(f"{agent.name} is at port {agent.requester}, which no compute unit has")
        return unit


def gpu_leg(leg: Leg) -> GpuLeg:
    """What the leg's GPU threads do, numbered and derived again. Raises CannotRun for none, and
    for agents that are not of the leg's system."""
    program = leg.program
    try:
        rules = handover_rules_of(leg)
    except ConfigError as error:
        raise CannotRun(str(error)) from None
    keep = np.array([agent.kind == GPU for agent in program.agents], np.bool_)
    if not keep[program.episode_thread].any():
        raise CannotRun("no episode of the leg is one of a GPU thread")
    first, units = _vector_ports(leg.description)
    threads = np.flatnonzero(keep).tolist()
    few = program.keep_agents(keep)
    few = replace(
        few,
        agents=tuple(program.agents[thread] for thread in threads),
        episode_thread=(np.cumsum(keep) - 1)[few.episode_thread],
        thread_base=few.thread_base[threads],
    )
    rules = replace(
        rules,
        isolation_groups=tuple(rules.isolation_groups[thread] for thread in threads),
        steps=tuple(rules.steps[thread] for thread in threads),
    )
    program = with_expectations(few)
    return GpuLeg(program, rules, leg.description, leg.deadlock_limit, first, units)


def _vector_ports(description: SystemDescription) -> tuple[int, int]:
    """The first port that is one of compute units, and how many there are. Raises CannotRun."""
    first = 0
    for group in description.requesters.values():
        count = description.machines[group.machine].count or 0
        if group.class_name in COALESCERS:
            return first, count
        first += count
    raise CannotRun("its system has no port of compute units")


class LegRun:
    """One run. ``memory``: at rest and zero, of the leg's system; ``pace``: cycles from a memory
    instruction's issue to its requests. Raises CannotRun."""

    def __init__(self, leg: GpuLeg, memory: CoherentMemory, pace: int) -> None:
        self._leg = leg
        self._memory = memory
        detector = HangDetector(still_limit=TIMED_STILL_LIMIT)
        timing = replace(_PROMPT, address_cycles=pace)
        self._units = [
            TimedUnit(cu, memory, timing, _ROOM, hang_detector=detector)
            for cu in range(memory.ports.cus)
        ]
        program, rules = leg.program, leg.rules
        self._final = final_contents(program)
        self._line_size = program.line_size
        self._offset = self._map(program.run_key)
        self._program = self._coded(program, "agent")
        self._read_back: ProgramRun | None = None
        if not (rules.copies_stay or rules.blind):
            read_back = read_back_program(program, self._final, rules.isolation_groups)
            if read_back is not None:
                self._read_back = self._coded(read_back, "read-back by")

    def _map(self, run_key: int) -> int:
        """Map the lines under test, with what they hold at first; what their addresses are off."""
        final, size = self._final, self._line_size
        end = int(final.lines[-1]) + size
        if end > _LARGEST_SPAN:
            raise CannotRun(f"the leg's addresses reach {end:#x}, above {_LARGEST_SPAN:#x}")
        made = self._memory.space.allocate(
            end, alignment=1 << end.bit_length(), name="bytes under test"
        )
        start = initial_bytes(run_key, final.addresses).reshape(-1, size)
        for line, data in zip(final.lines.tolist(), start, strict=True):
            self._memory.write(made.start + line, data.tobytes())
        return made.start

    def _coded(self, program: Program, title: str) -> ProgramRun:
        judge, memory = Judge(program, title), self._memory
        units = [self._units[self._leg.unit_of(agent)] for agent in program.agents]
        return ProgramRun(program, judge, memory, self._units, units, self._offset)

    # ------------------------------------------------------------------ running

    def run(self) -> Outcome:
        """To the end, or to the first error."""
        try:
            finding = self._run()
        except ProtocolError as error:
            verdict = ERROR_VERDICTS.get(error.kind, Verdict.PROTOCOL_ERROR)
            finding = Finding(verdict, self._memory.now, error.message)
        except MemoryStuck as error:
            finding = Finding(Verdict.HANG, self._memory.now, str(error))
        program = self._program
        return Outcome(finding, program.episodes, program.waves, self._memory.now)

    def _run(self) -> Finding | None:
        finding = self._program.run() or self._leaks()
        if finding is None and self._read_back is not None:
            finding = self._read_back.run() or self._leaks()
        return finding or self._wrong_memory()

    def _leaks(self) -> Finding | None:
        backend = self._memory.backend
        leaks = backend.system.leaks() if isinstance(backend, PythonBackend) else []
        if not leaks:
            return None
        headline = f"after everything was answered {len(leaks)} things are left behind"
        return Finding(Verdict.LEAK, self._memory.now, headline, notes=leaks[:40])

    def _wrong_memory(self) -> Finding | None:
        held = [
            np.frombuffer(self._memory.read(self._offset + line, self._line_size), np.uint8)
            for line in self._final.lines.tolist()
        ]
        return wrong_memory(np.concatenate(held), self._final, self._memory.now)
