"""Waves executed ahead of the clock: results are computed now, issue times are found later.

What an instruction computes depends on registers alone, and registers change with time in one way
only: loaded data arrives. So a wave may run ahead of the clock up to the first instruction that
uses a register whose load is in flight; its instructions become records, which the issue engine
issues when their turn comes. A program that does not wait for its loads is executed instruction by
instruction at those places, at the ticks at which they issue, so it reads the old value exactly
where `gpu.compute_unit.timed_unit` reads it.

Invariant: nothing here is visible to other waves: memory and LDS are accessed when the issue engine
says so, in the order of issue.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from operator import length_hint
from typing import Any, Final

from gpu.compute_unit.hang_detector import HangDetector
from gpu.compute_unit.memory_ops.access import MemoryAccess, VectorAccess
from gpu.compute_unit.memory_ops.ds_instructions import LocalAccess
from gpu.compute_unit.memory_ops.scalar_memory import ScalarAccess
from gpu.compute_unit.native.held import GlobalHold, Hold, LocalHold, Room, hold_of
from gpu.compute_unit.native.layout import HEAD, NO_PACE, RECORD, RecordKind
from gpu.compute_unit.pipeline.lds_and_scalar import bank_time
from gpu.compute_unit.pipeline.timing_parameters import Timing
from gpu.compute_unit.pipeline.vector_memory import PendingInstruction, VectorPipeline
from gpu.compute_unit.program.decoded_program import (
    INTERRUPT,
    LONGEST,
    Control,
    DecodedInstruction,
    bind_at,
    failing,
    most_scalars,
)
from gpu.compute_unit.program.faults import IGNORED_TRAPS, WAVE_ERRORS, trap_fault
from gpu.compute_unit.wave.wavefront import Group, Wavefront
from gpu.dispatch.launch import WaveStart
from gpu.isa.encoding.decoder import NotAnInstruction
from gpu.isa.encoding.immediates import ANY_COUNT, split_wait
from gpu.isa.instruction import Instruction, RegisterRange
from gpu.isa.native.runs import HOT, BoundCode, native_runs
from gpu.isa.wave_registers import M0, Wave

FAR: Final = 128
"""Records after which a wave stops."""
LONGEST_STRETCH: Final = 64

_VECTORS: Final = 256
_EVERYTHING: Final = (1 << 2 * _VECTORS) - 1


class AheadWave(Wavefront):
    """A wave timed by the issue engine whose registers are in Python.

    ``place``: its number in the issue engine; ``unit``: of its compute unit. ``fills``: by memory
    instruction in flight, the registers that it fills, a bit each; ``pending``: all of them.
    ``held``: by handle, what the issue engine will return. ``rooms``: of memory
    instructions that it carries out itself. ``unmapped``: why its next bytes cannot be fetched.
    ``next_issue``: what it was when a unit listed its waves.
    """

    __slots__ = (
        "_handle",
        "fills",
        "held",
        "next_issue",
        "pending",
        "place",
        "rooms",
        "unit",
        "unmapped",
    )
    next_issue: tuple[int, int | None]

    def __init__(self, start: WaveStart, group: Group[Any], simd: int, age: int) -> None:
        super().__init__(start, group, simd, age)
        self.place = -1
        self.unit = -1
        self.fills: dict[object, int] = {}
        self.pending = 0
        self.held: dict[int, Any] = {}
        self.rooms: list[Room] = []
        self.unmapped: Exception | None = None
        self._handle = 0

    def hold(self, what: object) -> int:
        """A handle that the issue engine will return with."""
        self._handle = self._handle + 1 & 0xFFFF_FFFF
        self.held[self._handle] = what
        return self._handle

    def fill(self, access: object, registers: int) -> None:
        """A memory instruction will write these registers."""
        if registers:
            self.fills[access] = registers
            self.pending |= registers

    def filled(self, access: object) -> None:
        """An access has written its registers."""
        if self.fills.pop(access, 0):
            self._add_up()

    def take_returned(self) -> None:
        """Finish those in `rooms` that have returned."""
        left = []
        for room in self.rooms:
            if room.words[0]:
                room.finish(self)
            else:
                left.append(room)
        self.rooms = left
        self._add_up()

    def taken_out(self, address: int) -> Room:
        """Python carries out what is in the room at this address."""
        room = next(room for room in self.rooms if room.address == address)
        self.rooms.remove(room)
        return room

    def _add_up(self) -> None:
        pending = 0
        for registers in self.fills.values():
            pending |= registers
        for room in self.rooms:
            pending |= room.fills
        self.pending = pending


def registers_of(ranges: tuple[RegisterRange, ...]) -> int:
    """A bit for each scalar and vector register."""
    bits = 0
    for each in ranges:
        if each.file in ("s", "v"):
            first = each.first + (_VECTORS if each.file == "v" else 0)
            bits |= (1 << each.size) - 1 << first
    return bits


def uses_of(instruction: Instruction) -> int:
    """The registers that an instruction reads or writes; all, if it computes which."""
    if instruction.indexed or "movrel" in instruction.name:
        return _EVERYTHING
    return registers_of((*instruction.reads, *instruction.writes))


class Stretch:
    """Instructions of registers alone, one behind the other; one that splits is the last of its
    stretch.

    ``plain``: a function for each; ``code``: the same, or what waves execute instead that have the
    registers. ``uses``: the registers of all of them. ``packed``: their records, if no branch is
    taken; ``taken``: the same by where the branch goes. ``scalars``: scalar registers that they
    need from s0 on. ``runs``: begun so far.
    """

    __slots__ = (
        "code", "count", "decoded", "each", "end", "packed", "plain", "runs", "scalars", "start",
        "taken", "uses",
    )  # fmt: skip

    def __init__(self, decoded: tuple[DecodedInstruction, ...]) -> None:
        self.decoded = decoded
        bound = [each.execute for each in decoded if each.execute is not None]
        self.plain = self.code = BoundCode(bound, range(len(decoded)), 0)
        self.runs = 0
        self.count = len(decoded)
        self.start = decoded[0].instruction.address
        self.end = decoded[-1].end
        self.each = [bound_record(each, each.end) for each in decoded]
        self.packed = b"".join(self.each)
        self.taken: dict[int, bytes] = {}
        self.scalars = most_scalars(decoded)
        self.uses = 0
        for each in decoded:
            self.uses |= uses_of(each.instruction)

    def code_for(self, wave: Wave) -> BoundCode:
        """What a wave executes that begins it."""
        if self.scalars > wave.scalars:
            return failing(self.plain, self.decoded, wave)
        self.runs += 1
        if self.runs == HOT:
            self.code = native_runs([each.instruction for each in self.decoded], self.plain)
        return self.code if self.code.rows <= len(wave.u32) else self.plain

    def records(self, goes_to: int) -> bytes:
        """The records, if the program continues there."""
        if goes_to == self.end:
            return self.packed
        packed = self.taken.get(goes_to)
        if packed is None:
            packed = b"".join((*self.each[:-1], bound_record(self.decoded[-1], goes_to)))
            self.taken[goes_to] = packed
        return packed


@lru_cache(maxsize=1 << 12)
def stretch_of(decoded: tuple[DecodedInstruction, ...]) -> Stretch:
    """The stretch of these instructions. All units share it: which waves have executed it makes no
    difference but for time."""
    return Stretch(decoded)


def bound_record(decoded: DecodedInstruction, goes_to: int) -> bytes:
    return RECORD.pack(
        decoded.end, goes_to, 0, 0, 0, 0, RecordKind.BOUND, decoded.place, decoded.pace, 0, 0, 0
    )


def most_vm(decoded: DecodedInstruction) -> int:
    """How many vector memory instructions of a wave may be outstanding."""
    return ANY_COUNT[decoded.instruction.generation].vm


def other_record(decoded: DecodedInstruction, kind: RecordKind, handle: int = 0) -> bytes:
    """The record of an instruction that is not executed yet, or has failed."""
    pace = NO_PACE if decoded.execute is None else decoded.pace
    flat = decoded.instruction.form == "FLAT"
    return RECORD.pack(
        decoded.end,
        decoded.end,
        0,
        handle,
        0,
        0,
        kind,
        decoded.place,
        pace,
        flat,
        False,
        most_vm(decoded),
    )


class Other:
    """A memory instruction, or one that the unit itself executes.

    ``uses``, ``fills``: registers, a bit each. ``hold``: what the issue engine can carry out.
    ``record``: what is the same for every wave; ``tail``: of one that is held, behind its `HEAD`.
    ``execute``: a memory instruction. ``waits``: for
    counters; ``stops``: the instructions after it are unknown.
    """

    __slots__ = (
        "_flat", "_name", "decoded", "execute", "fills", "hold", "record", "stops", "tail", "uses",
        "waits",
    )  # fmt: skip

    def __init__(
        self, decoded: DecodedInstruction, sleep_cycles: int, name: int, line_bits: int
    ) -> None:
        self.decoded = decoded
        self._name = name
        self._flat = decoded.instruction.form == "FLAT"
        self.uses = uses_of(decoded.instruction)
        self.fills = registers_of(decoded.instruction.writes)
        self.hold = hold_of(decoded.operation, line_bits)
        self.tail = b""
        if self.hold is not None:
            kind = self.hold.kind
            self.tail = self.packed(kind, banks=kind is RecordKind.LOCAL_HELD)[HEAD.size :]
        self.execute: Callable[[Wavefront], MemoryAccess | None] | None = None
        if decoded.operation is not None:
            gathers = self.hold if isinstance(self.hold, GlobalHold) else decoded.operation
            self.execute = gathers.execute
        self.waits = decoded.control is Control.WAIT
        trap = decoded.control is Control.RETURN or (
            decoded.control is Control.TRAP and decoded.value not in IGNORED_TRAPS
        )
        self.stops = trap or decoded.control in (Control.END, Control.FETCH_AGAIN)
        self.record: bytes | None = None
        if decoded.control is not None and not trap and decoded.control not in _EACH_ITS_OWN:
            self.record = self._same_for_all(decoded.control, decoded.value, sleep_cycles)

    def _same_for_all(self, control: Control, value: int, sleep_cycles: int) -> bytes:
        if control is Control.WAIT:
            vm, exp, lgkm = split_wait(value, self.decoded.instruction.generation)
            return self.packed(RecordKind.WAIT, vm | exp << 8 | lgkm << 16)
        if control is Control.SLEEP:
            return self.packed(RecordKind.NOTHING, sleep_cycles * (value & 0x7F))
        if control is Control.PRIORITY:
            return self.packed(RecordKind.PRIORITY, value & 3)
        pause = value & 0xF if self.decoded.instruction.name == "s_nop" else 0
        return self.packed(_KINDS.get(control, RecordKind.NOTHING), pause)

    def packed(
        self,
        kind: RecordKind,
        value: int = 0,
        handle: int = 0,
        amount: int = 0,
        banks: bool = False,
    ) -> bytes:
        """The record of this instruction, as the issue engine reads it."""
        end, place = self.decoded.end, self.decoded.place
        return RECORD.pack(
            end,
            end,
            value,
            handle,
            amount,
            self._name,
            kind,
            place,
            NO_PACE,
            self._flat,
            banks,
            most_vm(self.decoded),
        )


@lru_cache(maxsize=1 << 12)
def other_of(decoded: DecodedInstruction, sleep_cycles: int, name: int, line_bits: int) -> Other:
    """All units share it, as they do stretches."""
    return Other(decoded, sleep_cycles, name, line_bits)


_EACH_ITS_OWN: Final = (Control.INVALIDATE, Control.MESSAGE)
_KINDS: Final = {
    Control.END: RecordKind.END,
    Control.BARRIER: RecordKind.BARRIER,
    Control.FETCH_AGAIN: RecordKind.FETCH_AGAIN,
}


class Ahead:
    """The code that one unit has fetched, and its records.

    ``name_of``: numbers for mnemonics of memory instructions. ``hang_detector``: waves stop
    where they branch backwards while it observes. ``pushes``: all requests have to be pushed.
    """

    def __init__(
        self,
        timing: Timing,
        vector: VectorPipeline[AheadWave],
        name_of: Callable[[str], int],
        hang_detector: HangDetector,
        pushes: bool,
    ) -> None:
        self._timing = timing
        self._vector = vector
        self._name_of = name_of
        self._hang_detector = hang_detector
        self._pushes = pushes
        self._size = timing.fetch_bytes
        self._code: dict[int, bytes] = {}
        self._fresh: set[int] = set()
        self._stretches: dict[int, Stretch] = {}
        """By address, plus 1 in GPR-index mode."""
        self._others: dict[int, Other] = {}

    # ------------------------------------------------------------------ code

    def fetched(self, address: int, code: bytes) -> None:
        """Note the bytes that were fetched from an address."""
        if address not in self._fresh:  # what ended there may continue
            for start, stretch in list(self._stretches.items()):
                if address - LONGEST < stretch.end <= address:
                    del self._stretches[start]
        elif self._code[address] != code:
            self._stretches.clear()
            self._others.clear()
        self._code[address] = code
        self._fresh.add(address)

    def forget(self) -> None:
        """Memory may hold other code now; what waves have in their buffers stays what it was."""
        self._fresh.clear()
        self._stretches.clear()
        self._others.clear()

    def _decoded(self, wave: AheadWave, address: int, fetched: int) -> DecodedInstruction | None:
        """The instruction at an address, None if its bytes are not known. Raises
        `NotAnInstruction`."""
        first = address & -self._size
        data = self._bytes(first, fetched)
        if data is None:
            return None
        data = data[address - first : address - first + LONGEST]
        if len(data) < LONGEST:
            data += (self._bytes(first + self._size, fetched) or b"")[: LONGEST - len(data)]
        try:
            return bind_at(address, data, wave.generation, wave.indexed)
        except NotAnInstruction:
            if len(data) < LONGEST and wave.unmapped is None:
                return None  # its second word may be in flight
            raise

    def _bytes(self, first: int, fetched: int) -> bytes | None:
        """The result of one fetch; ``fetched``: the end of what the wave has in its buffer."""
        if first in self._fresh or first + self._size <= fetched:
            return self._code.get(first)
        return None

    def _stretch(self, wave: AheadWave, start: int, fetched: int) -> Stretch | None:
        """The stretch that begins at an address; None if something else does."""
        decoded: list[DecodedInstruction] = []
        address = start
        while len(decoded) < LONGEST_STRETCH:
            try:
                each = self._decoded(wave, address, fetched)
            except WAVE_ERRORS:
                break  # it fails when it is reached
            if each is None or each.execute is None:
                break
            decoded.append(each)
            address = each.end
            if each.splits:
                break
        if not decoded:
            return None
        stretch = stretch_of(tuple(decoded))
        last = stretch.end - 1 & -self._size
        if all(first in self._fresh for first in range(start & -self._size, last + 1, self._size)):
            self._stretches[start | wave.indexed] = stretch
        return stretch

    # ------------------------------------------------------------------ running ahead

    def run(self, wave: AheadWave, fetched: int) -> bytes:
        """Execute what can be known; returns its records."""
        out: list[bytes] = []
        left = FAR
        stretches = self._stretches
        while left > 0:
            start = wave.pc
            stretch = stretches.get(start | wave.indexed)
            if stretch is None and start not in self._others:
                stretch = self._stretch(wave, start, fetched)
            if stretch is None:
                if not self._execute_other(wave, fetched, out):
                    break
                left -= 1
                continue
            if wave.pending & stretch.uses:
                self._execute_until_pending(wave, stretch, out)
                break
            if not self._execute_stretch(wave, stretch, out):
                break
            left -= stretch.count
            if wave.pc != stretch.end:
                fetched = 0  # its buffer will be empty then
                if wave.pc <= start and self._hang_detector.observing:
                    break
        return b"".join(out)

    def _execute_stretch(self, wave: AheadWave, stretch: Stretch, out: list[bytes]) -> bool:
        """Execute all of a stretch; returns whether it succeeded."""
        wave.pc = stretch.end
        code = stretch.code_for(wave)
        instructions = iter(code.bound)
        try:
            for execute in instructions:
                execute(wave)
        except WAVE_ERRORS as error:
            place = code.first[len(code.bound) - length_hint(instructions) - 1]
            out += stretch.each[:place]
            out.append(self._failed(wave, stretch.decoded[place], error))
            return False
        out.append(stretch.records(wave.pc))
        return True

    def _execute_until_pending(self, wave: AheadWave, stretch: Stretch, out: list[bytes]) -> None:
        """Execute a stretch up to the instruction that uses data in flight."""
        for decoded in stretch.decoded:
            if wave.pending & uses_of(decoded.instruction):
                out.append(other_record(decoded, RecordKind.UNKNOWN))
                return
            record, well = self._execute_one(wave, decoded)
            out.append(record)
            if not well:
                return

    def _execute_one(self, wave: AheadWave, decoded: DecodedInstruction) -> tuple[bytes, bool]:
        assert decoded.execute is not None, "only such instructions make a stretch"
        wave.pc = decoded.end
        try:
            decoded.check_scalars(wave)
            decoded.execute(wave)
        except WAVE_ERRORS as error:
            return self._failed(wave, decoded, error), False
        return bound_record(decoded, wave.pc), True

    def execute(self, wave: AheadWave, fetched: int) -> bytes:
        """Execute the next instruction, whatever it uses, because it issues now; returns its
        record."""
        decoded = self._decoded(wave, wave.pc, fetched)
        assert decoded is not None, "it had a record"
        if decoded.execute is not None:
            return self._execute_one(wave, decoded)[0]
        other = self._others.get(wave.pc) or self._other(wave, fetched)
        assert other is not None, "it was known before"
        out: list[bytes] = []
        self._memory(wave, other, out)
        return out[0]

    def _failed(self, wave: AheadWave, decoded: DecodedInstruction, error: Exception) -> bytes:
        wave.pc = decoded.instruction.address
        return other_record(decoded, RecordKind.FAILS, handle=wave.hold((decoded, error)))

    # ------------------------------------------------------------------ memory and control

    def _other(self, wave: AheadWave, fetched: int) -> Other | None:
        """The next instruction, of memory or control; None if it is not known. Raises its decoding
        error."""
        decoded = self._decoded(wave, wave.pc, fetched)
        if decoded is None:
            return None
        name = self._name_of(decoded.instruction.name)
        other = other_of(decoded, self._timing.sleep_cycles, name, self._vector.line_bits)
        first, last = wave.pc & -self._size, decoded.end - 1 & -self._size
        if first in self._fresh and last in self._fresh:
            self._others[wave.pc] = other
        return other

    def _execute_other(self, wave: AheadWave, fetched: int, out: list[bytes]) -> bool:
        """Execute an instruction of memory or control; returns whether the wave may run further
        ahead."""
        other = self._others.get(wave.pc)
        if other is None:
            try:
                other = self._other(wave, fetched)
            except WAVE_ERRORS as error:
                out.append(self._unreadable(wave, error))
                return False
            if other is None:
                return False
        if other.decoded.operation is not None:
            if wave.pending & other.uses:
                out.append(other_record(other.decoded, RecordKind.UNKNOWN))
                return False
            return self._memory(wave, other, out)
        wave.pc = other.decoded.end
        out.append(self._control(wave, other) if other.record is None else other.record)
        if other.waits:
            return not wave.pending
        return not other.stops

    def _unreadable(self, wave: AheadWave, error: Exception) -> bytes:
        """Bytes that are no instruction fail when they are reached."""
        end = wave.pc + (LONGEST if wave.unmapped is None else LONGEST // 2)
        handle = wave.hold((None, error))
        return RECORD.pack(end, end, 0, handle, 0, 0, RecordKind.FAILS_NOW, 0, NO_PACE, 0, 0, 0)

    def _memory(self, wave: AheadWave, other: Other, out: list[bytes]) -> bool:
        decoded = other.decoded
        assert other.execute is not None, "the caller has checked"
        enough = decoded.scalars <= wave.scalars
        if enough and other.hold is not None and self._held(wave, other, other.hold, out):
            return True
        try:
            decoded.check_scalars(wave)
            access = other.execute(wave)
        except WAVE_ERRORS as error:
            out.append(self._failed(wave, decoded, error))
            return False
        wave.pc = decoded.end
        if access is None:
            out.append(other.packed(RecordKind.NO_ACCESS))
            return True
        wave.fill(access, other.fills)
        if isinstance(access, VectorAccess):
            handle = wave.hold(self._vector.begin(wave, decoded, access))
            out.append(other.packed(RecordKind.VECTOR, 0, handle, self._vector.lines(access)))
        elif isinstance(access, LocalAccess):
            cycles, conflicts = bank_time(access, self._timing)
            handle = wave.hold((decoded, access))
            out.append(other.packed(RecordKind.LOCAL_NOW, conflicts, handle, cycles, True))
        else:
            scalar = isinstance(access, ScalarAccess)
            handle = wave.hold((decoded, access))
            out.append(
                other.packed(RecordKind.SCALAR if scalar else RecordKind.LOCAL, 0, handle, 1)
            )
        return True

    def _held(self, wave: AheadWave, other: Other, hold: Hold, out: list[bytes]) -> bool:
        """Read the registers of an instruction that the issue engine carries out; returns whether
        it can.

        Python carries out what the hang detector wants to know, and what fills registers that
        another load in flight will fill as well: the later one of the two has to win.
        """
        fills = other.fills
        if wave.pending & fills or self._hang_detector.observing:
            return False
        if self._pushes and not isinstance(hold, LocalHold):
            return False
        room = hold.begin(wave)
        if room is None:
            return False
        room.decoded = decoded = other.decoded
        room.fills = fills
        wave.rooms.append(room)
        wave.pending |= fills
        wave.pc = end = decoded.end
        value, amount = hold.numbers(room, wave, self._timing)
        out.append(HEAD.pack(end, room.address, value, 0, amount) + other.tail)
        return True

    def _control(self, wave: AheadWave, other: Other) -> bytes:
        """The record of an instruction that differs between waves."""
        decoded = other.decoded
        if decoded.control is Control.INVALIDATE:
            pending: PendingInstruction[AheadWave] = self._vector.begin(wave, decoded, None)
            return other.packed(RecordKind.INVALIDATE, 0, wave.hold(pending))
        if decoded.control is Control.MESSAGE:
            message = wave.sgprs[M0] if decoded.value == INTERRUPT else None
            return other.packed(RecordKind.MESSAGE, 0, wave.hold(message))
        wave.pc = decoded.instruction.address
        return other.packed(
            RecordKind.FAILS_NOW, 0, wave.hold((decoded, trap_fault(wave, decoded)))
        )
