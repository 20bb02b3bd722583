"""The waves of one program on compute units, started when what they wait for is complete.

Every thread has its waves on one unit, one after the other. Whether an episode may begin is decided
here, as in the tester, and causes no access to memory.

Invariant: a wave is judged once, by its registers, when all that it has issued has returned.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from gpu.cli.leg.episode_code import EpisodeCoder, WaveCode, coded
from gpu.cli.leg.judgement import Judge
from gpu.compute_unit.timed_unit import TimedUnit
from gpu.dispatch.device_loop import OneByOne
from gpu.dispatch.launch import Demand, Fault, GroupStart, StoppedWave, WaveStart
from gpu.memory.coherent.coherent_memory import CoherentMemory, MemoryStuck
from gpu.memory.interface import hand_out
from tester.execution.events import Finding, Verdict
from tester.program.program import Program

SGPRS: Final = 16
_MODE: Final = 0xC0
"""Round to nearest, keep denormal numbers; no instruction here depends on it."""


@dataclass(eq=False)
class _Thread:
    """One GPU thread. ``waves``: of its episodes, those that have not been started."""

    unit: TimedUnit
    number: int
    waves: deque[WaveCode] = field(default_factory=deque)
    running: WaveCode | None = None
    completed: int = 0


class ProgramRun:
    """``units``: all that there are, in the order in which they act; ``unit_of``: that of each
    agent. ``offset``: what is added to the program's addresses."""

    def __init__(
        self,
        program: Program,
        judge: Judge,
        memory: CoherentMemory,
        units: list[TimedUnit],
        unit_of: list[TimedUnit],
        offset: int,
    ) -> None:
        self._program = program
        self._judge = judge
        self._memory = memory
        self._units = units
        self._mover = OneByOne(memory, units)
        self._threads = [_Thread(unit, number) for number, unit in enumerate(unit_of)]
        self._entries: dict[int, int] = {}
        self._stopped: list[Callable[[], None]] = []
        """What resumes the waves that have stopped."""
        self.finding: Finding | None = None
        self.waves = 0
        """Started so far."""
        self._code(offset)

    @property
    def episodes(self) -> int:
        """Complete so far."""
        return sum(thread.completed for thread in self._threads)

    def _code(self, offset: int) -> None:
        """Write all code, and note what each wave begins with."""
        program = self._program
        waves = list(coded(EpisodeCoder(program, offset), range(program.episodes)))
        size = sum(len(wave.code) + 64 for wave in waves)
        place = self._memory.space.allocate(size, writable=False, name="code").start
        for wave in waves:
            self._memory.write(place, wave.code)
            self._entries[id(wave)] = place
            place += len(wave.code) + 63 & -64
            self._threads[int(program.episode_thread[wave.episode])].waves.append(wave)

    # ------------------------------------------------------------------ running

    def run(self) -> Finding | None:
        """Until all waves have ended and memory is at rest, or to the first wrong value.

        Raises ProtocolError, MemoryStuck.
        """
        with np.errstate(all="ignore"):
            while self.finding is None:
                for thread in self._threads:
                    self._start(thread)
                if all(unit.idle for unit in self._units):
                    break
                due = any(unit.next_tick is not None for unit in self._units)
                if not (due or self._memory.busy):
                    raise MemoryStuck("no wave can proceed, and memory is quiet")
                self._mover.run(lambda: None)
                while self._stopped:
                    self._stopped.pop()()
            while self.finding is None and self._memory.busy:
                hand_out(self._memory.run(None))
        return self.finding

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
        self.waves += 1
        self._judge.started(wave)
        start = WaveStart(self._entries[id(wave)], [], wave.registers, (1 << 64) - 1, _MODE, 0)
        name = f"agent {self._program.agents[thread.number].name}, episode {wave.episode}"
        group = GroupStart(name, wave.episode, thread.number, (0, 0, 0), demand, [start], self)
        group.on_stop = self._has_stopped
        thread.unit.start(group)

    def _has_stopped(
        self, group: GroupStart, wave: StoppedWave, trap: int, resume: Callable[[], None]
    ) -> None:
        self._stopped.append(resume)
        running = self._threads[group.queue].running
        assert running is not None, "a wave has stopped that was not started"
        if self.finding is None:
            self.finding = self._judge.stopped(running, wave.vgprs, self._memory.now)

    # ------------------------------------------------------------------ GroupListener

    def group_ended(self, group: GroupStart) -> None:
        thread = self._threads[group.queue]
        assert thread.running is not None, "a wave has ended that was not started"
        thread.completed += thread.running.last
        thread.running = None

    def group_failed(self, group: GroupStart, fault: Fault) -> None:
        if self.finding is None:
            what = f"a wave ran other code: {fault}"
            self.finding = Finding(Verdict.WRONG_VALUE, self._memory.now, what)

    def interrupt(self, group: GroupStart, message: int) -> None:
        """No code here sends any."""
