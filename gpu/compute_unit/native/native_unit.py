"""One compute unit timed by the issue engine: Python has its groups, registers and pipelines.

Invariant: a wave is in `waves` of `IssueEngine` from the start of its group until the group is
removed; later events of the wave are dropped by the native code.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Protocol

from gpu.compute_unit.hang_detector import HangDetector
from gpu.compute_unit.memory_ops.access import MemoryAccess, VectorAccess
from gpu.compute_unit.native.held import Room
from gpu.compute_unit.native.layout import GROUP_ENDED
from gpu.compute_unit.native.run_ahead import Ahead, AheadWave
from gpu.compute_unit.pipeline.lds_and_scalar import ScalarPipeline
from gpu.compute_unit.pipeline.timing_parameters import Timing
from gpu.compute_unit.pipeline.vector_memory import PendingInstruction, VectorPipeline
from gpu.compute_unit.program.decoded_program import DecodedInstruction
from gpu.compute_unit.program.faults import fault_of
from gpu.compute_unit.program.statistics import Statistics
from gpu.compute_unit.wave.resident_groups import Residents
from gpu.compute_unit.wave.wavefront import Group
from gpu.dispatch.launch import Fault
from gpu.dispatch.occupancy import Limits
from gpu.memory.coherent.coherent_memory import CoherentMemory


class Clock(Protocol):
    """The issue engine, as its units see it."""

    def start(self, unit: int, waves: list[AheadWave]) -> int:
        """Start a group's waves; returns the number of the group."""

    def drop(self, number: int, waves: list[AheadWave]) -> None:
        """Remove a group."""

    def lower(self, wave: AheadWave, vm: int, lgkm: int) -> bool:
        """Lower counters; returns whether that has ended the group."""

    def retire(self, wave: AheadWave) -> int:
        """Let the next vector memory instruction of a wave return. 0: it is the issue engine's own;
        2: that has ended the group."""

    def later(self, unit: int, tick: int, action: Callable[[], None]) -> None:
        """Do something at a later tick."""

    def forget_code(self, unit: int) -> None:
        """Memory may hold other code now."""

    def next_tick(self, unit: int) -> int | None:
        """When the unit acts next."""

    def known(self, wave: AheadWave) -> list[int]:
        """The address of what issues next, whether it waits at a barrier, how many records it
        has."""

    def statistics(self, unit: int) -> Statistics:
        """What it did."""

    def name_of(self, mnemonic: str) -> int:
        """The number of a memory instruction."""


class AheadPipeline(VectorPipeline[AheadWave]):
    """The pipeline of the vector memory instructions that Python carries out: the issue engine
    knows when one of them may return, because it has the others."""

    def __init__(self, owner: NativeUnit, port: int, clock: Clock) -> None:
        super().__init__(owner, port)
        self._unit = owner
        self._clock = clock

    def send_now(
        self, wave: AheadWave, decoded: DecodedInstruction, access: VectorAccess, behind: int
    ) -> None:
        """Send an instruction that returns behind so many others of Python's."""
        pending = PendingInstruction(self, wave, decoded, access)
        wave.outstanding.insert(behind, pending)
        self.hand_over(pending)

    def returned(self, wave: AheadWave) -> None:
        line = wave.outstanding
        while line and line[0].done and not wave.ended:
            state = self._clock.retire(wave)
            if not state:
                break
            line.popleft().retire()
            if state == GROUP_ENDED:
                self._unit.finish(wave)


class NativeUnit(Residents[AheadWave]):
    """`gpu.dispatch.launch.ComputeUnit` that the issue engine runs; see
    `gpu.compute_unit.native.issue_engine`.
    """

    def __init__(
        self,
        index: int,
        memory: CoherentMemory,
        timing: Timing,
        limits: Limits | None,
        hang_detector: HangDetector,
        clock: Clock,
    ) -> None:
        super().__init__(index, AheadWave, limits)
        self.timing = timing
        self.memory = memory
        self.hang_detector = hang_detector
        self._clock = clock
        ports = memory.ports
        self.vector = AheadPipeline(self, ports.vector(index), clock)
        self.scalar: ScalarPipeline[AheadWave] = ScalarPipeline(self, ports.scalar(index))
        self.ahead = Ahead(timing, self.vector, clock.name_of, hang_detector, memory.notes_lines)
        self._counted = Statistics()
        self._numbers: dict[Group[AheadWave], int] = {}
        self._packet: tuple[int, int] | None = None
        hang_detector.add(self._resident)

    @property
    def statistics(self) -> Statistics:
        """The counters of the issue engine, and those kept here."""
        total = self._clock.statistics(self.index)
        total.add(self._counted)
        return total

    @property
    def next_tick(self) -> int | None:
        return self._clock.next_tick(self.index)

    # ------------------------------------------------------------------ waves start and end

    def _entered(self, group: Group[AheadWave]) -> None:
        packet = (group.start.queue, group.start.packet)
        if packet != self._packet:  # the host may have loaded other code
            self._packet = packet
            self.ahead.forget()
            self._clock.forget_code(self.index)
        self.hang_detector.progress()
        self._counted.groups += 1
        self._counted.waves += len(group.waves)
        self._numbers[group] = self._clock.start(self.index, group.waves)

    def _left(self, group: Group[AheadWave]) -> None:
        self.hang_detector.progress()
        for wave in group.waves:
            wave.take_returned()
        self._counted.lds_out_of_range += group.lds.out_of_range
        self._clock.drop(self._numbers.pop(group), group.waves)

    def _resident(self) -> Iterable[AheadWave]:
        waves = [wave for group in self._groups for wave in group.waves if not wave.ended]
        for wave in waves:
            address, at_barrier, records = self._clock.known(wave)
            wave.at_barrier = bool(at_barrier)
            wave.next_issue = (address, None if records else wave.exec)
        return sorted(waves, key=lambda wave: (wave.simd, wave.age))

    # ------------------------------------------------------------------ for the pipelines

    def later(self, tick: int, action: Callable[[], None]) -> None:
        """Do something at a later tick."""
        self._clock.later(self.index, tick, action)

    def returned(self, decoded: DecodedInstruction, access: MemoryAccess) -> None:
        """A memory instruction has its answers and its registers."""
        wave = access.wave
        assert isinstance(wave, AheadWave), "this unit has no others"
        fills = wave.fills.get(access, 0)
        if fills and any(room.fills & fills and room.words[0] for room in wave.rooms):
            wave.take_returned()
            access.complete()  # after those that have returned before it
        wave.filled(access)
        if isinstance(access, VectorAccess) and access.movement.atomic:
            self.hang_detector.lock(access)
        if self.hang_detector.observing:
            self.hang_detector.note(decoded, access)

    def carry_out(self, wave: AheadWave, room: Room, behind: int) -> None:
        """Send the requests of what was held for the issue engine. ``behind``: how many vector
        memory instructions of Python's return before it."""
        access = room.access(wave)
        wave.fill(access, room.fills)
        if isinstance(access, VectorAccess):
            self.vector.send_now(wave, room.decoded, access, behind)
        else:
            self.scalar.send(wave, room.decoded, access)

    def lower(self, wave: AheadWave, vm: int, lgkm: int) -> None:
        """The wave's counters go down by so much; it may wait for that."""
        if self._clock.lower(wave, vm, lgkm):
            self.finish(wave)

    def fail_wave(
        self, wave: AheadWave, decoded: DecodedInstruction | None, error: Exception
    ) -> None:
        """A wave has failed: its group is removed."""
        for each in wave.group.waves:
            each.take_returned()  # core files have its registers
        if not isinstance(error, Fault):
            address = wave.pc if decoded is None else decoded.instruction.address
            error = fault_of(wave, decoded, address, error)
        self._fail(wave.group, error)

    def finish(self, wave: AheadWave) -> None:
        """The last wave of a group has ended."""
        group: Group[Any] = wave.group
        self._finish(group)

    def deliver(self, wave: AheadWave, message: int | None) -> None:
        """``s_sendmsg`` has arrived; ``message``: for the host."""
        if message is not None:
            wave.group.start.listener.interrupt(wave.group.start, message)
        self.lower(wave, 0, 1)
