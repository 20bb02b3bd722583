"""A leg's GPU threads as waves of compute units, on the system of the leg.

Every thread has its waves on the unit whose vector cache it used in the tester, one after the
other; an episode begins when those that it waits for are complete, which is decided here, as in
the tester, and causes no access to memory. Threads of other kinds are left out: what remains is
derived again, so that it is a program of its own.

Invariant: what is compared is what the waves themselves stored as results, and memory at the end.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from gpu.cli.leg.episode_code import RESULT_BYTES, EpisodeCoder, Result, WaveCode, coded
from gpu.cli.leg.judgement import Judge
from gpu.compute_unit.hang_detector import TIMED_STILL_LIMIT, HangDetector
from gpu.compute_unit.pipeline.timing_parameters import Timing
from gpu.compute_unit.timed_unit import TimedUnit
from gpu.dispatch.device_loop import OneByOne
from gpu.dispatch.launch import Demand, Fault, GroupStart, WaveStart
from gpu.dispatch.occupancy import Limits
from gpu.memory.coherent.coherent_memory import CoherentMemory, MemoryStuck
from gpu.memory.coherent.python_backend import PythonBackend
from gpu.memory.interface import hand_out
from runtime.errors import ProtocolError
from runtime.prng import initial_bytes
from tester.execution.events import Finding, Verdict
from tester.execution.leg import ERROR_VERDICTS
from tester.program.final_memory import FinalContents, final_contents
from tester.program.program import AgentSpec, Program
from tester.program.replay_file import Leg, with_expectations

GPU: Final = "gpu"
SGPRS: Final = 16
_ROOM: Final = Limits(vgprs=256 * 10, sgprs=102 * 10)
"""Of a unit: registers for as many waves as it has slots."""
_LARGEST_SPAN: Final = 1 << 40
_MODE: Final = 0xC0
"""Round to nearest, keep denormal numbers; no instruction here depends on it."""


class CannotRun(ValueError):
    """The leg has nothing that compute units could run."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """How the run ended. ``finding``: None if nothing is wrong."""

    finding: Finding | None
    episodes: int
    waves: int
    ticks: int


def gpu_program(leg: Leg) -> Program:
    """What the leg's GPU threads do, derived again. Raises CannotRun for none."""
    program = leg.program
    keep = np.array([agent.kind == GPU for agent in program.agents], np.bool_)
    if not keep[program.episode_thread].any():
        raise CannotRun("no episode of the leg is one of a GPU thread")
    return program if keep.all() else with_expectations(program.keep_agents(keep))


@dataclass(eq=False)
class _Thread:
    """One GPU thread. ``waves``: of its episodes, those that have not been started."""

    unit: TimedUnit
    number: int
    waves: deque[WaveCode] = field(default_factory=deque)
    running: WaveCode | None = None
    completed: int = 0


class LegRun:
    """``memory``: at rest and zero, of the leg's system. Raises CannotRun."""

    def __init__(self, program: Program, units: list[int], memory: CoherentMemory) -> None:
        """``units``: for each agent of the program, its compute unit (-1: it is left out)."""
        self._program = program
        self._memory = memory
        detector = HangDetector(still_limit=TIMED_STILL_LIMIT)
        self._units = [
            TimedUnit(cu, memory, Timing(), _ROOM, hang_detector=detector)
            for cu in range(memory.ports.cus)
        ]
        self._mover = OneByOne(memory, self._units)
        self._final = final_contents(program)
        self._offset = self._map()
        self._threads = {
            number: _Thread(self._units[unit], number)
            for number, unit in enumerate(units)
            if unit >= 0
        }
        self._entries: dict[int, int] = {}
        self._results: list[Result] = []
        self._fault: Fault | None = None
        self._waves = 0
        self._code()

    # ------------------------------------------------------------------ memory

    def _map(self) -> int:
        """Map the lines under test, with what they hold at first; what their addresses are off."""
        final, size = self._final, self._program.line_size
        end = int(final.lines[-1]) + size
        if end > _LARGEST_SPAN:
            raise CannotRun(f"the leg's addresses reach {end:#x}, above {_LARGEST_SPAN:#x}")
        made = self._memory.space.allocate(
            end, alignment=1 << end.bit_length(), name="bytes under test"
        )
        start = initial_bytes(self._program.run_key, final.addresses).reshape(-1, size)
        for line, data in zip(final.lines.tolist(), start, strict=True):
            self._memory.write(made.start + line, data.tobytes())
        return made.start

    def _code(self) -> None:
        """Write all code, and note what each wave begins with."""
        program, space = self._program, self._memory.space
        room = RESULT_BYTES * (program.actions + 2 * program.episodes)
        results = space.allocate(
            room, memory_type="uc", name="results", alignment=1 << room.bit_length()
        )
        waves = list(
            coded(EpisodeCoder(program, self._offset, results.start), range(program.episodes))
        )
        place = space.allocate(
            sum(len(wave.code) + 64 for wave in waves), writable=False, name="code"
        ).start
        for wave in waves:
            self._memory.write(place, wave.code)
            self._entries[id(wave)] = place
            place += len(wave.code) + 63 & -64
            self._threads[int(program.episode_thread[wave.episode])].waves.append(wave)
            self._results += wave.results

    # ------------------------------------------------------------------ running

    def run(self) -> Outcome:
        """To the end, or to the first error of the protocol."""
        finding: Finding | None = None
        try:
            with np.errstate(all="ignore"):
                self._run_waves()
                while self._memory.busy:
                    hand_out(self._memory.run(None))
            if self._fault is None:
                finding = self._leaks()
        except ProtocolError as error:
            verdict = ERROR_VERDICTS.get(error.kind, Verdict.PROTOCOL_ERROR)
            finding = Finding(verdict, self._memory.now, error.message)
        except MemoryStuck as error:
            finding = Finding(Verdict.HANG, self._memory.now, str(error))
        if finding is None and self._fault is not None:
            finding = Finding(
                Verdict.WRONG_VALUE, self._memory.now, f"a wave ran other code: {self._fault}"
            )
        finding = self._values(finding)
        episodes = sum(thread.completed for thread in self._threads.values())
        return Outcome(finding, episodes, self._waves, self._memory.now)

    def _run_waves(self) -> None:
        while self._fault is None:
            for thread in self._threads.values():
                self._start(thread)
            if all(unit.idle for unit in self._units):
                break
            due = any(unit.next_tick is not None for unit in self._units)
            if not (due or self._memory.busy):
                raise MemoryStuck("no wave can proceed, and memory is quiet")
            self._mover.run(lambda: None)

    def _start(self, thread: _Thread) -> None:
        """Begin a thread's next wave, if nothing holds it up."""
        if thread.running is not None or not thread.waves:
            return
        wave = thread.waves[0]
        demand = Demand(1, len(wave.registers), SGPRS, 0)
        waits = self._program.waits_of(wave.episode)
        held = any(self._threads[other].completed < count for other, count in waits)
        if held or not thread.unit.fits(demand):
            return
        thread.running = thread.waves.popleft()
        self._waves += 1
        start = WaveStart(self._entries[id(wave)], [], wave.registers, (1 << 64) - 1, _MODE, 0)
        name = f"agent {thread.number}, episode {wave.episode}"
        thread.unit.start(
            GroupStart(name, wave.episode, thread.number, (0, 0, 0), demand, [start], self)
        )

    # ------------------------------------------------------------------ GroupListener

    def group_ended(self, group: GroupStart) -> None:
        thread = self._threads[group.queue]
        assert thread.running is not None, "a wave has ended that was not started"
        thread.completed += thread.running.last
        thread.running = None

    def group_failed(self, group: GroupStart, fault: Fault) -> None:
        if self._fault is None:
            self._fault = fault

    def interrupt(self, group: GroupStart, message: int) -> None:
        """No code here sends any."""

    # ------------------------------------------------------------------ judging

    def _leaks(self) -> Finding | None:
        backend = self._memory.backend
        leaks = backend.system.leaks() if isinstance(backend, PythonBackend) else []
        if not leaks:
            return None
        headline = f"after everything was answered {len(leaks)} things are left behind"
        return Finding(Verdict.LEAK, self._memory.now, headline, notes=leaks[:40])

    def _values(self, finding: Finding | None) -> Finding | None:
        """The first wrong value that a wave has seen; else the finding; else wrong memory."""
        judge = Judge(self._program, self._memory.now)
        if finding is not None and finding.verdict is not Verdict.LEAK:
            return finding
        for result in self._results:
            data = self._memory.read(result.address, RESULT_BYTES)
            wrong = judge.result(result, np.frombuffer(data, "<u8"))
            if wrong is not None:
                return wrong
        return judge.increments() or finding or self._final_memory(judge, self._final)

    def _final_memory(self, judge: Judge, final: FinalContents) -> Finding | None:
        size = self._program.line_size
        held = [
            np.frombuffer(self._memory.read(self._offset + line, size), np.uint8)
            for line in final.lines.tolist()
        ]
        return judge.memory(np.concatenate(held), final)


def unit_of(agent: AgentSpec, first: int, count: int) -> int:
    """The compute unit of a GPU thread whose port is one of ``count`` from ``first`` on; -1 for
    another agent. Raises CannotRun for a port that no unit has."""
    if agent.kind != GPU:
        return -1
    unit = agent.requester - first
    if not 0 <= unit < count:
        raise CannotRun(f"{agent.name} is at port {agent.requester}, which no compute unit has")
    return unit
