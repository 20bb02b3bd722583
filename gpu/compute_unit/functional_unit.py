"""A compute unit without time: its waves take turns on memory that answers at once.

It runs the same bound instructions as the timed unit and is the oracle of coherent runs. A turn is
a fixed number of wave instructions, so that waves that wait for each other make progress, in the
same order each time. Straight-line code runs as a *block*: a list of closures with no dispatch in
between.

Invariant: between turns every wave is at the start of a block.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from operator import length_hint
from typing import Final, Protocol

from gpu.compute_unit.hang_detector import HangDetector
from gpu.compute_unit.memory_ops.access import DirectMemory, MemoryAccess, VectorAccess
from gpu.compute_unit.memory_ops.native_moves import bind_move, lane_move_of
from gpu.compute_unit.memory_ops.scalar_memory import ScalarAccess, ScalarKind
from gpu.compute_unit.memory_ops.vector_memory import VectorOperation
from gpu.compute_unit.preemption import PreemptableResidents
from gpu.compute_unit.program import trap_handler
from gpu.compute_unit.program.decoded_program import (
    INTERRUPT,
    Control,
    DecodedInstruction,
    Program,
    failing,
    most_scalars,
)
from gpu.compute_unit.program.faults import IGNORED_TRAPS, WAVE_ERRORS, fault_of, trap_fault
from gpu.compute_unit.program.statistics import Statistics
from gpu.compute_unit.sanitizers.sanitizer import Checks
from gpu.compute_unit.wave.wavefront import Group, Wavefront
from gpu.dispatch.launch import Fault, GroupStart
from gpu.dispatch.occupancy import Limits
from gpu.isa.execution.instruction_writer import BoundInstruction
from gpu.isa.fp_environment import plain_afterwards
from gpu.isa.native.runs import HOT, BoundCode, native_runs
from gpu.isa.wave_registers import M0, Wave
from gpu.trace import Trace

TURN: Final = 256
"""Wave instructions after which the next wave has its turn (at the end of the block)."""
LONGEST_BLOCK: Final = 64

_FREE: Final = (Control.NOTHING, Control.WAIT, Control.PRIORITY, Control.INVALIDATE)
"""Controls that mean nothing without time."""


class CodeMemory(DirectMemory, Protocol):
    """What a functional unit needs of memory; `gpu.memory.flat_memory.FlatMemory` has it."""

    def read(self, address: int, size: int) -> bytes: ...


class Block:
    """Straight-line code. ``plain`` (with ``decoded`` beside it) omits instructions without effect,
    and has a function for each; ``code``: the same, or what is executed instead by waves that
    have the registers; ``all`` has every instruction; ``last`` is executed by the unit. ``runs``:
    begun so far. ``scalars``: scalar registers that a wave needs from s0 on.
    """

    __slots__ = ("all", "code", "count", "decoded", "end", "last", "plain", "runs", "scalars")

    def __init__(self) -> None:
        self.plain = self.code = BoundCode([], range(LONGEST_BLOCK), 0)
        self.decoded: list[DecodedInstruction] = []
        self.all: list[DecodedInstruction] = []
        self.count = 0
        self.runs = 0
        self.end = 0
        self.scalars = 0
        self.last: DecodedInstruction | None = None


class _Space:
    """The code of one address space."""

    __slots__ = ("blocks", "memory", "program")

    def __init__(self, memory: CodeMemory) -> None:
        self.memory = memory
        self.program = Program(memory.read)
        self.blocks: dict[int, Block] = {}
        """By address, plus 1 in GPR-index mode."""


class FunctionalUnit(PreemptableResidents[Wavefront]):
    """`gpu.dispatch.launch.ComputeUnit` on memory without time.

    ``executed``: wave instructions so far; they are also the clock that kernels read.
    """

    def __init__(
        self,
        index: int,
        memory: CodeMemory,
        limits: Limits | None = None,
        hang_detector: HangDetector | None = None,
        checks: Checks | None = None,
        trace: Trace | None = None,
    ) -> None:
        super().__init__(index, Wavefront, limits)
        self._checks = checks
        self._trace = trace
        self.executed = 0
        self.hang_detector = hang_detector or HangDetector()
        self.hang_detector.add(lambda: self._waves)
        self._spaces = {0: _Space(memory)}
        """By VMID."""
        self.memory_of: Callable[[int], CodeMemory] = _no_process
        """The memory of a process, by VMID."""
        self._waves: list[Wavefront] = []
        self._stopped = 0
        """How many of them wait for a debugger."""
        self._counted = Statistics()
        self._packet: tuple[int, int] | None = None
        self._now = -1

    def start(self, group: GroupStart) -> None:
        """Take a group that fits."""
        packet = (group.queue, group.packet)
        if packet != self._packet:  # the host may have loaded other code
            self._packet = packet
            self._forget()
        super().start(group)

    @property
    def statistics(self) -> Statistics:
        """Instructions by unit and mnemonic; no timing counters. A fault counts its whole
        block."""
        statistics = Statistics(waves=self.waves_started, groups=self.groups_started)
        statistics.add(self._counted)
        for block in self._all_blocks():
            _count(block, statistics)
        return statistics

    @property
    def next_tick(self) -> int | None:
        """The tick after the last one, while there are waves."""
        return self._now + 1 if self._groups and len(self._waves) > self._stopped else None

    def run(self, now: int) -> None:
        """Every resident wave has one turn."""
        self._now = now
        with plain_afterwards():
            for wave in list(self._waves):
                if wave.ended or wave.at_barrier or wave.stopped:
                    continue
                if self.halted and wave.group.start.queue in self.halted:
                    continue
                before = wave.executed
                try:
                    self.hang_detector.check_limit(
                        wave
                    )  # an earlier one may have ended as it reached it
                    self._turn(wave)
                    self.hang_detector.executed(wave, wave.executed - before)
                    if self.hang_detector.observing and not wave.ended:
                        self.hang_detector.state(wave)
                except Fault as fault:
                    self._fail(wave.group, fault)

    def _forget(self) -> None:
        """Memory may hold other code now."""
        for block in self._all_blocks():
            _count(block, self._counted)
        for space in self._spaces.values():
            space.blocks.clear()

    def _all_blocks(self) -> Iterator[Block]:
        return (block for space in self._spaces.values() for block in space.blocks.values())

    def _space_of(self, wave: Wavefront) -> _Space:
        vmid = wave.group.start.vmid
        space = self._spaces.get(vmid)
        if space is None:
            space = self._spaces[vmid] = _Space(self.memory_of(vmid))
        return space

    def _entered(self, group: Group[Wavefront]) -> None:
        self._waves += [wave for wave in group.waves if not wave.ended]
        self.hang_detector.progress()
        if self._checks is not None:
            self._checks.entered(group)

    def _left(self, group: Group[Wavefront]) -> None:
        self._counted.lds_out_of_range += group.lds.out_of_range
        self._waves = [wave for wave in self._waves if not wave.ended]
        self._stopped = sum(wave.stopped for wave in self._waves)
        self.hang_detector.progress()
        if self._checks is not None:
            self._checks.left(group)

    # ------------------------------------------------------------------ preemption

    @property
    def may_be_preempted(self) -> bool:
        return self._checks is None

    def _settled(self, wave: Wavefront) -> bool:
        return not wave.stopped

    # ------------------------------------------------------------------ one wave

    def _turn(self, wave: Wavefront) -> None:
        left = TURN
        space = self._space_of(wave)
        blocks = space.blocks
        # What the hang detector notes is Python's.
        rows = 0 if self.hang_detector.observing else len(wave.u32)
        while left > 0:
            pc = wave.pc
            block = blocks.get(pc | wave.indexed) or self._translated(wave, space, pc)
            if block is None:
                continue
            wave.pc = block.end
            block.runs += 1
            if block.runs == HOT:
                block.code = self._native(block, space.memory)
            code = block.code if block.code.rows <= rows else block.plain
            if block.scalars > wave.scalars:
                code = failing(block.plain, block.decoded, wave)
            instructions = iter(code.bound)
            try:
                for execute in instructions:
                    execute(wave)
            except WAVE_ERRORS as error:
                place = code.first[len(code.bound) - length_hint(instructions) - 1]
                decoded = block.decoded[place]
                address = decoded.instruction.address
                wave.pc = decoded.end
                if trap_handler.violate(wave, error):
                    left -= block.count
                    continue
                raise fault_of(wave, decoded, address, error) from error
            left -= block.count
            self.executed += block.count
            wave.executed += block.count
            if block.last is not None and not self._control(wave, block.last):
                return

    def _control(self, wave: Wavefront, decoded: DecodedInstruction) -> bool:
        """Execute the end of a block; returns whether the wave may continue at once."""
        control = decoded.control
        if control is Control.END:
            self._end(wave)
            return False
        if control is Control.BARRIER:
            if wave.group.arrive(wave) and self._checks is not None:
                self._checks.barrier(wave.group)
            return not wave.at_barrier
        if control is Control.SLEEP:
            return False
        if control is Control.TRAP:
            if wave.group.start.trap_handler[0]:
                trap_handler.enter(wave, decoded)
                return True
            if decoded.value not in IGNORED_TRAPS:
                raise trap_fault(wave, decoded)
            return not self._stop(wave, decoded.value)
        elif control is Control.MESSAGE:
            if decoded.value == INTERRUPT:
                wave.group.start.listener.interrupt(wave.group.start, wave.sgprs[M0])
        elif control is Control.RETURN:
            trap_handler.leave(wave, decoded)
        elif control is Control.FETCH_AGAIN:
            self._forget()
        return True

    def _stop(self, wave: Wavefront, trap: int) -> bool:
        """Stop a wave for the debugger, if one is attached."""
        start = wave.group.start
        if start.on_stop is None:
            return False
        wave.stopped = True
        self._stopped += 1
        start.on_stop(start, wave, trap, lambda: self._resume(wave))
        return True

    def _resume(self, wave: Wavefront) -> None:
        if wave.stopped and not wave.ended:
            wave.stopped = False
            self._stopped -= 1
            self.hang_detector.progress()

    def _end(self, wave: Wavefront) -> None:
        group = wave.group
        if group.end(wave) and self._checks is not None:
            self._checks.barrier(group)
        self._waves.remove(wave)
        self.hang_detector.progress()
        if not group.live:
            self._finish(group)

    # ------------------------------------------------------------------ code

    def _translated(self, wave: Wavefront, space: _Space, start: int) -> Block | None:
        """A new block; None if its code may not be read, and the wave's trap handler is next."""
        try:
            return self._translate(wave, space, start)
        except WAVE_ERRORS as error:
            if trap_handler.violate(wave, error):
                return None
            raise fault_of(wave, None, start, error) from error

    def _translate(self, wave: Wavefront, space: _Space, start: int) -> Block:
        """The block at an address, made and remembered."""
        block = Block()
        address = start
        while block.count < LONGEST_BLOCK:
            try:
                decoded = space.program.at(address, wave.generation, wave.indexed)
            except WAVE_ERRORS:
                if block.count:
                    break  # it fails when it is reached
                raise
            block.count += 1
            block.all.append(decoded)
            address = decoded.end
            if decoded.control is None or (self._observed and decoded.control in _FREE):
                block.decoded.append(decoded)
                block.plain.bound.append(self._bind(decoded, space.memory))
                if decoded.splits or decoded.instruction.name == "s_getpc_b64":
                    break
            elif decoded.control not in _FREE:
                block.last = decoded
                break
        block.end = address
        block.scalars = most_scalars(block.decoded)
        space.blocks[start | wave.indexed] = block
        return block

    def _native(self, block: Block, memory: CodeMemory) -> BoundCode:
        """The code of a block with what is native in place of what is not."""
        if self._observed or (self._trace is not None and self._trace.memory):
            return block.plain
        bound, rows = list(block.plain.bound), 0
        for place, decoded in enumerate(block.decoded):
            move = lane_move_of(decoded.operation)
            if move is not None:
                bound[place] = bind_move(move, bound[place], memory)
                rows = max(rows, move.rows)
        instructions = [decoded.instruction for decoded in block.decoded]
        return native_runs(instructions, BoundCode(bound, block.plain.first, rows))

    def _bind(self, decoded: DecodedInstruction, memory: DirectMemory) -> BoundInstruction:
        """The function that executes one instruction on a wave, checks included."""
        if not self._observed:
            return decoded.execute or self._bind_memory(decoded, memory)
        if decoded.control is not None:
            return lambda wave: self._observe(_wavefront(wave), decoded)
        inner = decoded.execute or self._bind_memory(decoded, memory)

        def execute(wave: Wave) -> None:
            self._observe(_wavefront(wave), decoded)
            inner(wave)

        return execute

    @property
    def _observed(self) -> bool:
        """Whether every instruction is reported to a trace or a check."""
        return self._checks is not None or (self._trace is not None and self._trace.waves)

    def _observe(self, wave: Wavefront, decoded: DecodedInstruction) -> None:
        if self._checks is not None:
            self._checks.issue(wave, decoded)
        if self._trace is not None and self._trace.waves:
            address = decoded.instruction.address
            text = f"{address:#x} {decoded}{wave.line_text(address)}"
            self._trace.line(self.executed, f"cu{self.index} {wave}", text)

    def _bind_memory(self, decoded: DecodedInstruction, memory: DirectMemory) -> BoundInstruction:
        operation = decoded.operation
        assert operation is not None, "neither bound nor a control"
        read: Callable[[Wavefront], MemoryAccess | None] = operation.execute
        hang_detector, checks, trace = self.hang_detector, self._checks, self._trace
        atomic = isinstance(operation, VectorOperation) and operation.move.atomic

        def execute(wave: Wave) -> None:
            access = read(_wavefront(wave))
            if checks is not None:
                checks.access(_wavefront(wave), decoded, access)
            if access is None:
                return
            if trace is not None and trace.memory:
                who = f"cu{self.index} {wave}"
                trace.line(self.executed, who, f"{decoded}: {access.text()}")
            access.perform(memory)
            if isinstance(access, ScalarAccess) and access.kind is ScalarKind.CLOCK:
                access.set_clock(self.executed)
            access.complete()
            if atomic:
                assert isinstance(access, VectorAccess)
                hang_detector.lock(access)
            if hang_detector.observing:
                hang_detector.note(decoded, access)
            if checks is not None:
                checks.returned(access)

        return execute


def _no_process(vmid: int) -> CodeMemory:
    raise ValueError(f"there is no process of VMID {vmid}")


def _count(block: Block, statistics: Statistics) -> None:
    """Add what the runs of a block have executed."""
    for decoded in block.all:
        statistics.by_unit[decoded.place] += block.runs
        if decoded.operation is not None and block.runs:
            statistics.memory[decoded.instruction.name] += block.runs


def _wavefront(wave: Wave) -> Wavefront:
    """Steps are functions of any wave; here all are resident ones."""
    assert isinstance(wave, Wavefront)
    return wave
