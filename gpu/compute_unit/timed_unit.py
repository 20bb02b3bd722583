"""The compute unit with a clock: four SIMDs that take turns, three memory pipelines, one fetch.

Each cycle the waves of one SIMD are considered; from different waves at most one instruction of
each kind issues. Control instructions (waits, barriers, priorities) need no unit.
What an instruction computes is computed when it issues; what it loads is written when it returns,
so that a program that does not wait reads the old value, as it would on a GPU.

Invariant: outside of `run` every wave is ready at a known tick or waits for an answer, an event
or another wave; `next_tick` is the first tick in which anything can happen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import partial
from heapq import heappop, heappush
from typing import Final

from gpu.compute_unit.hang_detector import HangDetector
from gpu.compute_unit.memory_ops.access import MemoryAccess, VectorAccess
from gpu.compute_unit.memory_ops.scalar_memory import ScalarAccess
from gpu.compute_unit.pipeline.arbitration import Policy, oldest_first
from gpu.compute_unit.pipeline.fetch import Fetch
from gpu.compute_unit.pipeline.lds_and_scalar import LocalPipeline, ScalarPipeline
from gpu.compute_unit.pipeline.simd import Simd, cycles_by_pace
from gpu.compute_unit.pipeline.timing_parameters import Timing
from gpu.compute_unit.pipeline.vector_memory import VectorPipeline
from gpu.compute_unit.pipeline.wave_state import NEVER, PipelinedWave, Waiting
from gpu.compute_unit.preemption import PreemptableResidents
from gpu.compute_unit.program import trap_handler
from gpu.compute_unit.program.decoded_program import INTERRUPT, Control, DecodedInstruction
from gpu.compute_unit.program.faults import IGNORED_TRAPS, WAVE_ERRORS, fault_of, trap_fault
from gpu.compute_unit.program.profile import Profile
from gpu.compute_unit.program.statistics import Statistics
from gpu.compute_unit.sanitizers.sanitizer import Checks
from gpu.compute_unit.wave.wavefront import Group, Wavefront
from gpu.dispatch.launch import Fault
from gpu.dispatch.occupancy import Limits
from gpu.isa import fp_environment
from gpu.isa.encoding.immediates import split_wait
from gpu.isa.instruction import Unit
from gpu.isa.wave_registers import M0
from gpu.memory.interface import Memory
from gpu.trace import Trace

ALL_RETURNED: Final = (0, 0, 0)
BEHIND: Final = (Waiting.COUNTERS, Waiting.BARRIER, Waiting.END)
"""What a wave waits for behind the instruction that makes it wait."""
_INTERRUPTIBLE: Final = (Waiting.NOTHING, Waiting.FETCH, Waiting.COUNTERS, Waiting.FULL)
"""What a wave may wait for when it enters its trap handler."""
_RESTING: Final = (Waiting.NOTHING, Waiting.FETCH, Waiting.BARRIER)
"""What a wave may wait for when it is taken off its unit."""


class TimedUnit(PreemptableResidents[PipelinedWave]):
    """`gpu.dispatch.launch.ComputeUnit` on a memory with a clock."""

    def __init__(
        self,
        index: int,
        memory: Memory,
        timing: Timing | None = None,
        limits: Limits | None = None,
        policy: Policy = oldest_first,
        hang_detector: HangDetector | None = None,
        checks: Checks | None = None,
        trace: Trace | None = None,
        profile: Profile | None = None,
    ) -> None:
        super().__init__(index, PipelinedWave, limits)
        self.timing = timing or Timing()
        self.statistics = Statistics()
        self._by_unit = self.statistics.by_unit
        self.memory = memory
        ports = memory.ports
        self._fetch = Fetch(memory, ports.fetch(index), self.timing, self._arrived)
        watch = None if profile is None else profile.answered
        self._vector = VectorPipeline(self, ports.vector(index), watch)
        self._scalar = ScalarPipeline(self, ports.scalar(index), watch)
        self._local = LocalPipeline(self)
        self._simds = [Simd(place) for place in range(self._resources.limits.simds)]
        self._turns = [NEVER] * len(self._simds)
        """By SIMD: the first of its turns in which a wave may be ready; `NEVER` if none will be."""
        self._order = policy
        self._cycles = cycles_by_pace(self.timing)
        self._events: list[tuple[int, int, Callable[[], None]]] = []
        self._event_number = 0
        self._packet: tuple[int, int] | None = None
        self.next_tick: int | None = None
        """When something is to be done without an answer; None while only answers wake it."""
        self._checks = checks
        self._trace = trace
        self._profile = profile
        self.hang_detector = hang_detector or HangDetector()
        self.hang_detector.add(self._resident)

    # ------------------------------------------------------------------ time

    def run(self, now: int) -> None:
        """Do all that is due at tick ``now``.

        The caller has set numpy to ignore floating-point warnings.
        """
        events = self._events
        while events and events[0][0] <= now:
            heappop(events)[2]()
        sending = self._vector.queue
        if sending and sending[0][0] <= now:
            self._vector.send(now)
        if self._fetch.queue and self._fetch.cycle():
            self.statistics.fetches += 1
        turns = self._turns
        place = now % len(turns)
        if turns[place] <= now:
            turns[place] = self._turn(self._simds[place], now)
            if fp_environment.current != fp_environment.PLAIN:
                fp_environment.use(fp_environment.PLAIN)
        self.next_tick = now + 1 if self._fetch.queue else self._first_after(now + 1)

    def _first_after(self, tick: int) -> int | None:
        """The first tick from this one on in which something is to be done."""
        due = min(self._turns)
        if due <= tick:
            return tick
        if self._events and self._events[0][0] < due:
            due = self._events[0][0]
        if self._vector.queue and self._vector.queue[0][0] < due:
            due = self._vector.queue[0][0]
        return None if due == NEVER else max(due, tick)

    def _wanted(self, tick: int) -> None:
        """Something is to be done at a tick."""
        if self.next_tick is None or tick < self.next_tick:
            self.next_tick = tick

    def later(self, tick: int, action: Callable[[], None]) -> None:
        """Do something at a later tick."""
        self._event_number += 1
        heappush(self._events, (tick, self._event_number, action))
        self._wanted(tick)

    # ------------------------------------------------------------------ waves start and end

    def _entered(self, group: Group[PipelinedWave]) -> None:
        packet = (group.start.queue, group.start.packet)
        if packet != self._packet:  # the host may have loaded other code
            self._packet = packet
            self._fetch.forget()
        self.hang_detector.progress()
        self.statistics.groups += 1
        self.statistics.waves += len(group.waves)
        if self._checks is not None:
            self._checks.entered(group)
        now = self.memory.now
        for wave in group.waves:
            if wave.ended:
                continue
            self._simds[wave.simd].waves.append(wave)
            wave.block(Waiting.BARRIER if wave.at_barrier else Waiting.FETCH, now)
            self._fetch.flush(wave)
            if self._profile is not None:
                self._profile.entered(self.index, wave, now)
        self._wanted(now)

    def _resident(self) -> Iterable[PipelinedWave]:
        return (wave for simd in self._simds for wave in simd.waves)

    def _left(self, group: Group[PipelinedWave]) -> None:
        self.hang_detector.progress()
        if self._checks is not None:
            self._checks.left(group)
        self.statistics.lds_out_of_range += group.lds.out_of_range
        if self._profile is not None:
            for wave in group.waves:
                self._profile.left(wave, self.memory.now)
        for simd in self._simds:
            simd.waves = [wave for wave in simd.waves if not wave.ended]

    def continue_statistics(self, counted: Statistics) -> None:
        """Count on from what another unit has counted."""
        self.statistics.add(counted)
        self._by_unit = self.statistics.by_unit

    @property
    def may_be_preempted(self) -> bool:
        return self._checks is None and self._profile is None

    def _settled(self, wave: PipelinedWave) -> bool:
        return wave.within(ALL_RETURNED) and wave.waiting in _RESTING

    def _enter_again(self, group: Group[PipelinedWave]) -> None:
        super()._enter_again(group)
        self.statistics.groups -= 1
        self.statistics.waves -= len(group.waves)

    def _wake(self, wave: PipelinedWave, tick: int) -> None:
        """The condition that the wave waited for holds."""
        self._stalled(wave, wave.waiting, tick - wave.since, tick)
        wave.waiting = Waiting.NOTHING
        wave.ready = tick
        turn = tick + (wave.simd - tick) % len(self._turns)
        if turn < self._turns[wave.simd]:
            self._turns[wave.simd] = turn
            self._wanted(turn)

    def _stalled(self, wave: PipelinedWave, why: Waiting | str, cycles: int, now: int) -> None:
        """A wave has waited so many cycles; with `Waiting`, until now."""
        reason = why if isinstance(why, str) else why.value
        self.statistics.stalls[reason] += cycles
        if self._profile is not None:
            self._profile.stalled(wave, reason, cycles, now, behind=why in BEHIND)

    def _arrived(self, wave: PipelinedWave) -> None:
        if wave.waiting is Waiting.FETCH:
            self._wake(wave, self.memory.now)
        if self._fetch.queue:
            self._wanted(self.memory.now)

    def returned(self, decoded: DecodedInstruction, access: MemoryAccess) -> None:
        """A memory instruction has its answers and its registers."""
        if isinstance(access, VectorAccess) and access.movement.atomic:
            self.hang_detector.lock(access)
        if self.hang_detector.observing:
            self.hang_detector.note(decoded, access)
        if self._profile is not None:
            self._profile.returned(access.wave, access, self.memory.now)
        if self._checks is not None:
            self._checks.returned(access)
        if self._trace is not None and self._trace.memory:
            self._trace_line(access.wave, f"{decoded}: has returned")

    def lower(self, wave: PipelinedWave, vm: int, lgkm: int) -> None:
        """The wave's counters go down by so much; it may wait for that."""
        wave.vm -= vm
        wave.lgkm -= lgkm
        waiting = wave.waiting
        if waiting is Waiting.FULL:
            self._wake(wave, self.memory.now)
        elif waiting is Waiting.COUNTERS and wave.within(wave.limits):
            self._wake(wave, self.memory.now)
            self._waited(wave)
        elif waiting is Waiting.END and wave.within(ALL_RETURNED):
            self._end(wave)
        elif waiting is Waiting.DEBUGGER and wave.within(ALL_RETURNED):
            self._stop(wave)

    def _waited(self, wave: PipelinedWave) -> None:
        """An ``s_waitcnt`` lets its wave continue."""
        if self._checks is not None and wave.wait is not None:
            self._checks.issue(wave, wave.wait)

    def fail_wave(self, wave: PipelinedWave, decoded: DecodedInstruction, error: Exception) -> None:
        """A wave has failed: it continues in its trap handler, or its group is removed."""
        if wave.waiting in _INTERRUPTIBLE and trap_handler.violate(wave, error):
            self._abandon(wave)
            return
        address = decoded.instruction.address
        self._fail(wave.group, fault_of(wave, decoded, address, error))

    def _abandon(self, wave: PipelinedWave) -> None:
        """What the wave was to issue next is not what it continues with."""
        wave.next = None
        self._fetch.flush(wave)
        if wave.waiting in (Waiting.COUNTERS, Waiting.FULL):
            self._wake(wave, self.memory.now)
        if self._fetch.queue:
            self._wanted(self.memory.now)

    # ------------------------------------------------------------------ issue

    def _turn(self, simd: Simd, now: int) -> int:
        """Let waves of one SIMD issue, one instruction of each kind; returns its next turn."""
        ready = [wave for wave in simd.waves if wave.ready <= now]
        if self.halted:
            ready = [wave for wave in ready if wave.group.start.queue not in self.halted]
        if len(ready) > 1:
            ready = self._order(ready, simd.last)
        taken = 0
        for wave in ready:
            if wave.ready > now or wave.ended:
                continue  # an instruction of another wave has changed that
            decoded = wave.next
            try:
                if decoded is None:
                    decoded = self._fetch.lookup(wave)
                    if decoded is None:
                        wave.block(Waiting.FETCH, now)
                        self._fetch.want(wave)
                        continue
                if decoded.control is not None:
                    self._control(wave, decoded, decoded.control, now)
                elif taken >> decoded.place & 1:
                    wave.next = decoded
                    self._stalled(wave, "unit taken", len(self._simds), now)
                elif self._issue(simd, wave, decoded, now):
                    taken |= 1 << decoded.place
                    simd.last = wave.age
                else:
                    wave.next = decoded
            except WAVE_ERRORS as error:
                if trap_handler.violate(wave, error):
                    self._abandon(wave)
                else:
                    self._fail(wave.group, fault_of(wave, decoded, wave.pc, error))
            except Fault as fault:
                self._fail(wave.group, fault)
        return simd.turn_after(now + len(self._simds), len(self._simds))

    def _issue(
        self, simd: Simd, wave: PipelinedWave, decoded: DecodedInstruction, now: int
    ) -> bool:
        """Issue one instruction if its unit and its counters have room."""
        execute = decoded.execute
        if execute is None:
            return self._issue_memory(wave, decoded, now)
        ready = now + self._cycles[decoded.pace]
        if decoded.unit is Unit.VECTOR_ALU:
            if simd.busy > now:
                self._stalled(wave, "SIMD busy", len(self._simds), now)
                return False
            simd.busy = ready
        wave.ready = ready
        if self._checks is not None:
            self._checks.issue(wave, decoded)
        place = wave.pc
        end = wave.pc = decoded.end
        try:
            decoded.check_scalars(wave)
            execute(wave)
        except WAVE_ERRORS:
            wave.pc = place
            raise
        self._count(wave, decoded)
        if wave.pc != end:
            self._fetch.flush(wave)
            if wave.pc <= place:
                self._went_back(wave)
        elif wave.fetching < 0 and wave.fetched - end <= self._fetch.low:
            self._fetch.want(wave)
        return True

    def _went_back(self, wave: PipelinedWave) -> None:
        """A branch backwards or to itself: where a wave that waits for ever can be detected."""
        self._count_executed(wave)
        if self.hang_detector.observing and wave.within(ALL_RETURNED):
            self.hang_detector.state(wave)

    def _count_executed(self, wave: PipelinedWave) -> None:
        """Report the instructions since the last time to the hang detector."""
        count, wave.watched = wave.executed - wave.watched, wave.executed
        self.hang_detector.executed(wave, count)

    def _advance(self, wave: PipelinedWave, decoded: DecodedInstruction, now: int) -> None:
        wave.pc = decoded.end
        self._count(wave, decoded)
        self._fetch.want(wave)

    def _trace_line(self, wave: Wavefront, text: str) -> None:
        assert self._trace is not None, "the caller has checked"
        self._trace.line(self.memory.now, f"cu{self.index} {wave}", text)

    def _count(self, wave: PipelinedWave, decoded: DecodedInstruction) -> None:
        if self._trace is not None and self._trace.waves:
            address = decoded.instruction.address
            self._trace_line(wave, f"{address:#x} {decoded}{wave.line_text(address)}")
        if self._profile is not None:
            self._profile.issued(wave, decoded)
        wave.next = None
        wave.executed += 1
        self._by_unit[decoded.place] += 1

    # ------------------------------------------------------------------ memory

    def _has_room(self, wave: PipelinedWave, decoded: DecodedInstruction, now: int) -> bool:
        vector = decoded.unit is Unit.VECTOR_MEMORY
        if vector and self._vector.full:
            self._stalled(wave, "memory pipeline full", len(self._simds), now)
            return False
        flat = vector and decoded.instruction.form == "FLAT"
        most = wave.most
        if (vector and wave.vm >= most.vm) or ((flat or not vector) and wave.lgkm >= most.lgkm):
            wave.block(Waiting.FULL, now)
            return False
        return True

    def _issue_memory(self, wave: PipelinedWave, decoded: DecodedInstruction, now: int) -> bool:
        """Execute a memory instruction and pass it to its pipeline, if there is room."""
        if not self._has_room(wave, decoded, now):
            return False
        assert decoded.operation is not None, "neither bound nor a control"
        decoded.check_scalars(wave)
        access = decoded.operation.execute(wave)
        self._advance(wave, decoded, now)
        wave.ready = now + self.timing.scalar_cycles
        self.statistics.memory[decoded.instruction.name] += 1
        if self._checks is not None:
            self._checks.issue(wave, decoded)
            self._checks.access(wave, decoded, access)
        if access is None:
            return True  # no lane is active
        if self._trace is not None and self._trace.memory:
            self._trace_line(wave, f"{decoded}: {access.text()}")
        if self._profile is not None:
            self._profile.sent(access, decoded, now)
        if isinstance(access, VectorAccess):
            self._vector.issue(wave, decoded, access, now)
        elif isinstance(access, ScalarAccess):
            self._scalar.issue(wave, decoded, access, now)
        else:
            self._local.issue(wave, decoded, access, now)
        return True

    # ------------------------------------------------------------------ control instructions

    def _control(
        self, wave: PipelinedWave, decoded: DecodedInstruction, control: Control, now: int
    ) -> None:
        value = decoded.value
        wave.ready = now + 1
        if control is Control.WAIT:
            wave.limits = split_wait(value, wave.generation)
            wave.wait = decoded
            self._advance(wave, decoded, now)
            if wave.within(wave.limits):
                self._waited(wave)
            else:
                wave.block(Waiting.COUNTERS, now)
            return
        if self._checks is not None:
            self._checks.issue(wave, decoded)
        if control is Control.SLEEP:
            wave.ready = now + 1 + self.timing.sleep_cycles * (value & 0x7F)
            self._advance(wave, decoded, now)
        elif control is Control.END:
            self._count(wave, decoded)
            self._count_executed(wave)
            if wave.within(ALL_RETURNED):
                self._end(wave)
            else:
                wave.block(Waiting.END, now)
        elif control is Control.BARRIER:
            self._advance(wave, decoded, now)
            wave.block(Waiting.BARRIER, now)
            if wave.group.arrive(wave):
                self._open_barrier(wave.group, now)
        elif control is Control.INVALIDATE:
            if self._has_room(wave, decoded, now):
                self._advance(wave, decoded, now)
                self._vector.invalidate(wave, decoded, now)
        elif control is Control.MESSAGE:
            self._message(wave, decoded, now)
        else:
            self._steer(wave, decoded, control, now)

    def _steer(
        self, wave: PipelinedWave, decoded: DecodedInstruction, control: Control, now: int
    ) -> None:
        value = decoded.value
        if control is Control.RETURN or (
            control is Control.TRAP and wave.group.start.trap_handler[0]
        ):
            self._jump(wave, decoded, control)
            return
        if control is Control.TRAP:
            if value not in IGNORED_TRAPS:
                raise trap_fault(wave, decoded)
            if wave.group.start.on_stop is not None:
                wave.block(Waiting.DEBUGGER, now)
                wave.trap = value
        elif control is Control.PRIORITY:
            wave.priority = value & 3
        elif control is Control.NOTHING and decoded.instruction.name == "s_nop":
            wave.ready = now + 1 + (value & 0xF)
        self._advance(wave, decoded, now)
        if wave.waiting is Waiting.DEBUGGER and wave.within(ALL_RETURNED):
            self._stop(wave)
        if control is Control.FETCH_AGAIN:
            self._fetch.forget()
            self._fetch.flush(wave)

    def _jump(self, wave: PipelinedWave, decoded: DecodedInstruction, control: Control) -> None:
        """Into the trap handler, or out of it."""
        if control is Control.TRAP:
            trap_handler.enter(wave, decoded)
        else:
            trap_handler.leave(wave, decoded)
        self._count(wave, decoded)
        self._fetch.flush(wave)

    def _stop(self, wave: PipelinedWave) -> None:
        """Everything has returned that a wave has issued before a debugger's trap."""
        start = wave.group.start
        if start.on_stop is not None and not wave.stopped:
            wave.stopped = True
            start.on_stop(start, wave, wave.trap, lambda: self._resume(wave))

    def _resume(self, wave: PipelinedWave) -> None:
        if wave.stopped and not wave.ended:
            wave.stopped = False
            self.hang_detector.progress()
            self._wake(wave, self.memory.now)

    def _message(self, wave: PipelinedWave, decoded: DecodedInstruction, now: int) -> None:
        if not self._has_room(wave, decoded, now):
            return
        self._advance(wave, decoded, now)
        wave.lgkm += 1
        message = wave.sgprs[M0] if decoded.value == INTERRUPT else None
        self.later(now + self.timing.message_cycles, partial(self._deliver, wave, message))

    def _deliver(self, wave: PipelinedWave, message: int | None) -> None:
        if wave.ended:
            return
        if message is not None:
            wave.group.start.listener.interrupt(wave.group.start, message)
        self.lower(wave, 0, 1)

    def _open_barrier(self, group: Group[PipelinedWave], now: int) -> None:
        if self._checks is not None:
            self._checks.barrier(group)
        for wave in group.waves:
            if wave.waiting is Waiting.BARRIER:
                self._wake(wave, now + 1)

    def _end(self, wave: PipelinedWave) -> None:
        group = wave.group
        wave.ready = NEVER
        self.hang_detector.progress()
        simd = self._simds[wave.simd]
        simd.waves = [other for other in simd.waves if other is not wave]
        if group.end(wave):
            self._open_barrier(group, self.memory.now)
        if not group.live:
            self._finish(group)
