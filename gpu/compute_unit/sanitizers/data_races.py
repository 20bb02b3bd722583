"""Accesses of different waves to the same bytes that nothing orders.

Every access is compared with the last ones to each dword it touches, by the clocks of
`gpu.compute_unit.sanitizers.vector_clocks`. Which instructions synchronise is decided by their kind
alone: atomics and loads with ``glc`` do; a store does when such a load or an atomic finds its
value. A plain load never does, so a flag that waves of one group read with plain loads counts as a
race; but a load that begins a compare-and-swap loop is classified by
`gpu.compute_unit.sanitizers.cas_loops`.

A kernel whose waves have all ended happens before waves that start later, unless other waves of
that packet are still resident. Invariant: an access is forgotten only when one that happens after
it covers its bytes.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from functools import partial
from typing import Any

from gpu.compute_unit.memory_ops.access import MemoryAccess, VectorAccess
from gpu.compute_unit.memory_ops.ds_instructions import LocalAccess, PairAccess
from gpu.compute_unit.memory_ops.scalar_memory import ScalarAccess, ScalarKind
from gpu.compute_unit.program.decoded_program import Control, DecodedInstruction
from gpu.compute_unit.sanitizers.cas_loops import CasLoops, Guess
from gpu.compute_unit.sanitizers.findings import Findings, instruction_text
from gpu.compute_unit.sanitizers.vector_clocks import Clock, Knowledge, Release, join, same_group
from gpu.compute_unit.wave.wavefront import Group, Wavefront
from gpu.isa.encoding.immediates import split_wait
from runtime.requesters.port import AccessKind


class _Touch:
    """One access to a dword. ``bits``: its bytes. ``synchronises``: atomic or glc load. ``guess``:
    of a plain load that may be a guess.
    """

    __slots__ = ("bits", "decoded", "guess", "lane", "released", "synchronises", "time", "wave")

    def __init__(
        self,
        wave: int,
        time: int,
        bits: int,
        decoded: DecodedInstruction,
        lane: int,
        synchronises: bool,
        guess: Guess | None,
    ) -> None:
        self.wave = wave
        self.time = time
        self.bits = bits
        self.decoded = decoded
        self.lane = lane
        self.synchronises = synchronises
        self.guess = guess
        self.released: Release | None = None


class _Cell:
    """A dword: its last writes, and the reads since. ``flag``: something synchronised on it."""

    __slots__ = ("flag", "reads", "writes")

    def __init__(self) -> None:
        self.flag = False
        self.writes: list[_Touch] = []
        self.reads: list[_Touch] = []


class Races:
    """Finds the data races of all waves of a device."""

    def __init__(self, findings: Findings) -> None:
        self._findings = findings
        self._cas_loops = CasLoops()
        self._cells: dict[Hashable, _Cell] = {}
        self._waves: dict[Wavefront, Knowledge] = {}
        self._numbers: list[Knowledge] = []
        self._groups = 0
        self._ended: dict[tuple[int, int], Clock] = {}
        self._resident: dict[tuple[int, int], int] = {}

    # ------------------------------------------------------------------ waves

    def entered(self, group: Group[Any]) -> None:
        """A group is resident: its waves are ordered after all kernels that have ended."""
        packet = (group.start.queue, group.start.packet)
        start: Clock = {}
        for other, clock in self._ended.items():
            if other != packet and not self._resident.get(other):
                join(start, clock)
        self._resident[packet] = self._resident.get(packet, 0) + 1
        for wave in group.waves:
            knowledge = Knowledge(len(self._numbers), wave, self._groups, start)
            self._numbers.append(knowledge)
            self._waves[wave] = knowledge
        self._groups += 1

    def left(self, group: Group[Any]) -> None:
        """A group has left: its waves have ended, and all that they did is performed."""
        packet = (group.start.queue, group.start.packet)
        self._resident[packet] -= 1
        ended = self._ended.setdefault(packet, {})
        for wave in group.waves:
            knowledge = self._waves.pop(wave)
            self._cas_loops.left(wave)
            join(ended, knowledge.seen)
            ended[knowledge.number] = knowledge.time

    def issue(self, wave: Wavefront, decoded: DecodedInstruction) -> None:
        """An instruction is about to be executed: a wait or an invalidation, or any other."""
        self._cas_loops.issue(wave, decoded)
        if decoded.control is None:
            return
        knowledge = self._waves[wave]
        if decoded.control is Control.WAIT:
            vm, _, lgkm = split_wait(decoded.value, decoded.instruction.generation)
            if vm == 0:
                knowledge.waited(stores=True)
            elif lgkm == 0:
                knowledge.waited(stores=False)
        elif decoded.control is Control.INVALIDATE:
            knowledge.invalidated()

    def barrier(self, group: Group[Any]) -> None:
        """All waves of the group are ordered after what each did; only what was waited for is
        performed."""
        live = [self._waves[wave] for wave in group.waves if wave in self._waves]
        seen: Clock = {}
        performed: Clock = {}
        for each in live:
            join(seen, each.seen)
            seen[each.number] = each.time
            join(performed, each.performed)
        for each in live:
            join(each.seen, seen)
            join(each.performed, performed)
            each.time += 1

    # ------------------------------------------------------------------ accesses

    def access(self, wave: Wavefront, decoded: DecodedInstruction, access: MemoryAccess) -> None:
        """Compare an access with those before it, and remember it."""
        knowledge = self._waves[wave]
        reads, writes, synchronises = _nature(access)
        if not (reads or writes):
            return
        self._cas_loops.access(wave, access)
        released = knowledge.publish() if writes else None
        plain = not (writes or synchronises)
        guess = self._cas_loops.load(wave, decoded, access) if plain else None
        for key, bits, lane, only_read in _dwords(access):
            cell = self._cells.get(key)
            if cell is None:
                cell = self._cells[key] = _Cell()
            touch = _Touch(
                knowledge.number, knowledge.time, bits, decoded, lane, synchronises, guess
            )
            written = writes and not only_read
            cell.flag |= synchronises
            if not (written and cell.flag):  # stores to a flag are atomic ones
                self._compare(knowledge, touch, cell.writes, key, written)
            if not written:
                _remember(knowledge, cell.reads, touch)
                continue
            self._compare(knowledge, touch, cell.reads, key, written)
            touch.released = _chain(released, cell) if synchronises else released
            cell.reads = [each for each in cell.reads if each.bits & ~bits]
            _remember(knowledge, cell.writes, touch)
        if synchronises and writes:
            knowledge.time += 1

    def returned(self, access: MemoryAccess) -> None:
        """A load that synchronises has its value: it learns what was published with it."""
        self._cas_loops.returned(access)
        knowledge = self._waves.get(access.wave)
        if knowledge is None or not _synchronises(access):
            return
        known: dict[int, Release] = {}  # by identity; one instruction finds many, each often
        for key, bits, _, _ in _dwords(access):
            cell = self._cells.get(key)
            for write in cell.writes if cell is not None else ():
                release = write.released
                if release is not None and write.wave != knowledge.number and write.bits & bits:
                    known[id(release)] = release
        for release in known.values():
            knowledge.read(release)

    def _compare(
        self,
        knowledge: Knowledge,
        touch: _Touch,
        others: list[_Touch],
        key: Hashable,
        written: bool,
    ) -> None:
        for other in others:
            if other.wave == touch.wave or not other.bits & touch.bits:
                continue
            if other.time <= knowledge.seen.get(other.wave, 0):
                continue
            if other.synchronises and touch.synchronises:
                continue
            if _may_be_flag(other, touch, written):
                continue
            guess = (
                touch.guess if other.synchronises else other.guess if touch.synchronises else None
            )
            if guess is None or guess.right is False:
                self._report(knowledge, touch, other, key)
            elif guess.right is None:
                report = partial(self._report, knowledge, touch, other, key)
                guess.conflicts.append(report)

    def _report(self, knowledge: Knowledge, touch: _Touch, other: _Touch, key: Hashable) -> None:
        places = (touch.decoded.instruction.address, other.decoded.instruction.address)
        if self._findings.known("races", *sorted(places)):
            return
        where = f"address {key * 4:#x}" if isinstance(key, int) else _lds_text(key)
        owner = self._numbers[other.wave]
        why = knowledge.missing(other.wave, other.time, owner)
        self._findings.add(
            "races",
            f"{instruction_text(owner.group.start, other.decoded)}, lane {other.lane} of "
            f"{owner.name}, and then {instruction_text(knowledge.group.start, touch.decoded)}, "
            f"lane {touch.lane} of {knowledge.name}, use "
            f"{where}: {why}",
            "races",
            *sorted(places),
        )


def _may_be_flag(other: _Touch, touch: _Touch, written: bool) -> bool:
    """A plain store and an atomic or a glc load: that is how flags are set and polled."""
    other_wrote = other.released is not None
    return (other.synchronises and written) or (touch.synchronises and other_wrote)


def _remember(knowledge: Knowledge, touches: list[_Touch], touch: _Touch) -> None:
    """Record an access; those that happen before it and are covered by it are dropped."""
    touches[:] = [
        each
        for each in touches
        if each.bits & ~touch.bits
        or (each.wave != touch.wave and each.time > knowledge.seen.get(each.wave, 0))
    ]
    touches.append(touch)


def _chain(released: Release | None, cell: _Cell) -> Release | None:
    """A read-modify-write passes on what the write that it found had published."""
    before = cell.writes[-1].released if cell.writes else None
    if released is None or before is None:
        return released
    beyond, within = dict(released.beyond), dict(released.within)
    join(beyond, before.beyond)
    if same_group(before.writer, released.writer):
        join(within, before.within)
    return Release(released.writer, within, beyond)


def _nature(access: MemoryAccess) -> tuple[bool, bool, bool]:
    """Whether an access reads, writes, synchronises."""
    if isinstance(access, VectorAccess):
        kind = access.movement.kind
        return kind != AccessKind.STORE, kind != AccessKind.LOAD, _synchronises(access)
    if isinstance(access, ScalarAccess):
        return access.kind is ScalarKind.LOAD, access.kind is ScalarKind.STORE, False
    if isinstance(access, LocalAccess):
        changes = access.change is not None
        return changes or not access.values, changes or bool(access.values), changes
    return False, False, False


def _synchronises(access: MemoryAccess) -> bool:
    if isinstance(access, VectorAccess):
        kind = access.movement.kind
        return kind == AccessKind.ATOMIC or (kind == AccessKind.LOAD and access.glc)
    return isinstance(access, LocalAccess) and access.change is not None


def _dwords(access: MemoryAccess) -> Iterator[tuple[Hashable, int, int, bool]]:
    """Key of each dword, which of its bytes, the lane, whether it is only read."""
    if isinstance(access, VectorAccess):
        group = access.wave.group
        for part in access.parts:
            lanes = access.lanes if part.rows is None else access.lanes[part.rows]
            for lane, address in zip(lanes.tolist(), part.addresses.tolist()):
                for word, bits in _split(address, part.size):
                    yield (group, word) if part.local else word, bits, lane, False
    elif isinstance(access, ScalarAccess):
        for number in range(access.count):
            yield (access.address >> 2) + number, 15, 0, False
    elif isinstance(access, LocalAccess):
        group = access.wave.group
        limit = min(access.bound, group.lds.size)
        for number, place in enumerate(access.places):
            source = isinstance(access, PairAccess) and number == 1
            for lane, offset in zip(access.lanes.tolist(), place.offsets.tolist()):
                if offset + access.size <= limit:
                    for word, bits in _split(offset, access.size):
                        yield (group, word), bits, lane, source


def _split(address: int, size: int) -> Iterator[tuple[int, int]]:
    """The dwords that some bytes lie in, with a bit for each byte used."""
    end = address + size
    while address < end:
        word, first = address >> 2, address & 3
        last = min(4, first + end - address)
        yield word, (1 << last) - (1 << first)
        address += last - first


def _lds_text(key: Hashable) -> str:
    assert isinstance(key, tuple), "a group and a dword"
    return f"LDS offset {key[1] * 4:#x}"
