"""Detection of compare-and-swap loops, which may begin with a plain load as a guess.

Compilers load the word plainly, compute a new one, and swap it in if memory still holds what was
loaded. The swap finds out whether the guess was right, so it is no race that other waves' atomics
change the word meanwhile, as long as nothing else depends on the value. The value is tracked
through the registers: copies and arithmetic propagate it; a compare-and-swap at the same address
may use it as its comparand; the result of that swap may be compared with it. Any other use (an
address, stored data, a branch, EXEC), or none at all, makes it an ordinary load.

Invariant: a load is classified once; the conflicts that it was in until then are reported or
dropped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import numpy as np

from gpu.compute_unit.memory_ops.access import MemoryAccess, VectorAccess
from gpu.compute_unit.memory_ops.scalar_memory import ScalarAccess, ScalarKind
from gpu.compute_unit.memory_ops.vector_memory import VectorOperation
from gpu.compute_unit.program.decoded_program import Control, DecodedInstruction
from gpu.compute_unit.sanitizers.m0_relative import Ranges, used
from gpu.compute_unit.wave.wavefront import Wavefront
from gpu.isa.instruction import Instruction, RegisterRange, Unit
from gpu.isa.wave_registers import EXEC
from gpu.wave_size import LANES
from runtime.requesters.port import AccessKind

Register = tuple[str, int]
Held = dict[Register, dict["Guess", int]]
"""Registers that depend on loads not judged yet, each with the lanes that do."""

_ALL: Final = (1 << LANES) - 1
_SIZES: Final = (4, 8)
_EQUALS: Final = frozenset(
    f"v_cmp_{how}_{letter}{bits}" for how in ("eq", "ne") for letter in "iu" for bits in (32, 64)
)
_OTHER_LANES: Final = ("v_readlane", "v_readfirstlane", "v_writelane")


class Guess:
    """One load. ``addresses``, ``values``: by lane, those of a scalar load under -1. ``right``:
    None until it is judged. ``conflicts``: what is to be reported if it is an ordinary load.
    """

    __slots__ = (
        "addresses",
        "conflicts",
        "registers",
        "right",
        "size",
        "swapped",
        "values",
        "wave",
    )

    def __init__(self, wave: Wavefront, addresses: dict[int, int], size: int) -> None:
        self.wave = wave
        self.addresses = addresses
        self.size = size
        self.values: dict[int, int] = {}
        self.registers = 0
        self.swapped = False
        self.right: bool | None = None
        self.conflicts: list[Callable[[], None]] = []

    @property
    def scalar(self) -> bool:
        return -1 in self.addresses

    def matches(self, lane: int, address: int, compare: int) -> bool:
        """Whether the outcome of a swap there depends on what this load found."""
        own = -1 if self.scalar else lane
        return self.addresses.get(own) == address and self.values.get(own) == compare


class _Swapped:
    """The last compare-and-swap of a wave: its lanes, where its result is, and what it compared
    with."""

    __slots__ = ("compare", "lanes", "result")

    def __init__(self, lanes: int, result: RegisterRange, compare: RegisterRange) -> None:
        self.lanes = lanes
        self.result = result
        self.compare = compare

    def in_the_way(self, number: int) -> bool:
        """Whether a vector register is one of them."""
        return any(
            each.first <= number < each.first + each.size for each in (self.result, self.compare)
        )


class CasLoops:
    """Finds the loops around compare-and-swap of all waves of a device."""

    def __init__(self) -> None:
        self._held: dict[Wavefront, Held] = {}
        self._loads: dict[MemoryAccess, Guess] = {}
        self._taken: dict[Guess, int] = {}
        self._swapped: dict[Wavefront, _Swapped] = {}

    def load(
        self, wave: Wavefront, decoded: DecodedInstruction, access: MemoryAccess
    ) -> Guess | None:
        """A plain load has been issued; None if it cannot be a guess."""
        addresses, size = _plain_load(access)
        if size not in _SIZES or not addresses:
            return None
        guess = self._loads[access] = Guess(wave, addresses, size)
        held = self._held.setdefault(wave, {})
        for register in _registers(decoded.instruction.writes):
            _hold(held, register, guess, _ALL if register[0] == "s" else wave.exec)
        return guess

    def returned(self, access: MemoryAccess) -> None:
        """A load knows its values."""
        guess = self._loads.pop(access, None)
        if guess is None:
            return
        if isinstance(access, ScalarAccess):
            guess.values[-1] = sum(word << 32 * at for at, word in enumerate(access.dwords))
        elif isinstance(access, VectorAccess):
            guess.values = dict(_results(access))

    def left(self, wave: Wavefront) -> None:
        """A wave has ended; loads that were never used were not guesses."""
        held = self._held.pop(wave, {})
        for guess in {guess: None for found in held.values() for guess in found}:
            _judge(guess, guess.swapped)
        self._swapped.pop(wave, None)

    # ------------------------------------------------------------------ instructions

    def issue(self, wave: Wavefront, decoded: DecodedInstruction) -> None:
        """Follow the values through an instruction that is about to be executed."""
        self._taken = {}
        held = self._held.get(wave)
        if not held:
            return
        instruction = decoded.instruction
        reads, writes = used(wave, instruction)
        met = _met(held, instruction, wave.exec, reads)
        if decoded.control is Control.END:
            self.left(wave)
            return
        if decoded.control is not None:
            self._deny(held, met)
            return
        if decoded.operation is not None:
            self._memory(wave, decoded, held, met)
            met = {}
        elif met and self._asks_a_swap(wave, instruction):
            met = {}
        elif met and not _only_computes(instruction):
            self._deny(held, met)
            met = {}
        self._write(wave, instruction, writes, held, met)
        self._remember_swap(wave, decoded)

    def access(self, wave: Wavefront, access: MemoryAccess) -> None:
        """The addresses of a compare-and-swap that takes guesses are known."""
        taken = self._taken
        held = self._held.get(wave)
        if not taken or held is None:
            return
        assert isinstance(access, VectorAccess), "only vector memory swaps"
        swaps = list(_swaps(access))
        for guess, lanes in taken.items():
            right = guess.size == access.movement.bytes and all(
                guess.matches(lane, address, compare)
                for lane, address, compare in swaps
                if lanes >> lane & 1
            )
            if right:
                guess.swapped = True
            else:
                self._deny(held, {guess: lanes})

    def _memory(
        self, wave: Wavefront, decoded: DecodedInstruction, held: Held, met: dict[Guess, int]
    ) -> None:
        """Judge operands of a memory instruction: only the comparand of a swap may be a guess."""
        operation, instruction = decoded.operation, decoded.instruction
        if not (isinstance(operation, VectorOperation) and operation.move.compares):
            self._deny(held, met)
            return
        operands = ("v", _data(instruction.fields), operation.move.bytes // 2)
        others = tuple(each for each in instruction.reads if each != operands)
        self._deny(held, _met(held, instruction, wave.exec, others))
        self._taken = {guess: lanes for guess, lanes in met.items() if guess.right is None}

    def _remember_swap(self, wave: Wavefront, decoded: DecodedInstruction) -> None:
        operation = decoded.operation
        if isinstance(operation, VectorOperation) and operation.move.compares:
            words, fields = operation.move.bytes // 4, decoded.instruction.fields
            for each in decoded.instruction.writes:
                compare = RegisterRange("v", _data(fields) + words, words)
                self._swapped[wave] = _Swapped(wave.exec, each, compare)

    def _asks_a_swap(self, wave: Wavefront, instruction: Instruction) -> bool:
        """Whether it compares the result of a swap with the comparand of that swap."""
        last = self._swapped.get(wave)
        if last is None or instruction.name not in _EQUALS or wave.exec & ~last.lanes:
            return False
        vectors = [each for each in instruction.reads if each.file == "v"]
        return len(vectors) == 2 and last.result in vectors and last.compare in vectors

    # ------------------------------------------------------------------ registers

    def _write(
        self,
        wave: Wavefront,
        instruction: Instruction,
        writes: Ranges,
        held: Held,
        met: dict[Guess, int],
    ) -> None:
        """The written registers depend on those read, and no longer on their old values."""
        crossing = _crosses(instruction)
        for register in _registers(writes):
            found, vector = held.get(register), register[0] == "v"
            if found and not crossing:
                lanes = wave.exec if vector else _ALL
                self._let_go(held, register, dict.fromkeys(found, lanes))
            for guess, lanes in met.items():
                if guess.right is None:
                    wide = _ALL if crossing or not vector else lanes & wave.exec
                    _hold(held, register, guess, wide)
            last = self._swapped.get(wave)
            if vector and last is not None and last.in_the_way(register[1]):
                del self._swapped[wave]

    def _let_go(self, held: Held, register: Register, lanes: dict[Guess, int]) -> None:
        found = held.get(register, {})
        for guess, overwritten in lanes.items():
            if guess not in found:
                continue
            found[guess] &= ~overwritten
            if not found[guess]:
                del found[guess]
                guess.registers -= 1
                if not guess.registers:
                    _judge(guess, guess.swapped)
        if not found:
            held.pop(register, None)

    def _deny(self, held: Held, guesses: dict[Guess, int]) -> None:
        """Note that guesses are used as something else than the comparand of a swap."""
        for guess in guesses:
            _judge(guess, right=False)
            for register in [each for each, found in held.items() if guess in found]:
                del held[register][guess]
                if not held[register]:
                    del held[register]


def _data(fields: dict[str, int]) -> int:
    """The first register of an atomic's operands."""
    return fields["data"] if "data" in fields else fields["vdata"]


def _crosses(instruction: Instruction) -> bool:
    """Whether lanes take others' values, or keep their own though they are active."""
    return instruction.form == "DPP" or instruction.name.startswith(_OTHER_LANES)


def _judge(guess: Guess, right: bool) -> None:
    if guess.right is not None:
        return
    guess.right = right
    if not right:
        for report in guess.conflicts:
            report()
    guess.conflicts.clear()


def _hold(held: Held, register: Register, guess: Guess, lanes: int) -> None:
    if not lanes:
        return
    found = held.setdefault(register, {})
    if guess not in found:
        guess.registers += 1
    found[guess] = found.get(guess, 0) | lanes


def _registers(ranges: Ranges) -> Iterator[Register]:
    for each in ranges:
        for number in range(each.first, each.first + each.size):
            yield each.file, number


def _met(held: Held, instruction: Instruction, exec: int, reads: Ranges) -> dict[Guess, int]:
    """The loads that the registers read depend on, and in which lanes."""
    met: dict[Guess, int] = {}
    crossing = _crosses(instruction)
    for register in _registers(reads):
        for guess, lanes in held.get(register, {}).items():
            lanes = lanes if register[0] != "v" or crossing else lanes & exec
            if lanes:
                met[guess] = met.get(guess, 0) | lanes
    return met


def _only_computes(instruction: Instruction) -> bool:
    """Whether nothing but registers depends on what it reads, and not which lanes are active."""
    if instruction.unit is Unit.BRANCH or not instruction.writes:
        return False
    return not any(
        file == "s" and number in (EXEC, EXEC + 1)
        for file, number in _registers(instruction.writes)
    )


def _plain_load(access: MemoryAccess) -> tuple[dict[int, int], int]:
    """The address of each lane and the bytes there; nothing for what is no such load."""
    if isinstance(access, ScalarAccess):
        plain = access.kind is ScalarKind.LOAD and access.count == access.wanted
        return ({-1: access.address} if plain else {}), 4 * access.count
    if not isinstance(access, VectorAccess) or access.movement.kind != AccessKind.LOAD:
        return {}, 0
    if access.glc or access.local_base is not None or any(part.local for part in access.parts):
        return {}, 0
    size = access.movement.bytes
    addresses: dict[int, int] = {}
    for part in access.parts:
        lanes = access.lanes if part.rows is None else access.lanes[part.rows]
        if part.size != size:
            return {}, 0
        addresses.update(zip(lanes.tolist(), part.addresses.tolist()))
    return addresses, size


def _swaps(access: VectorAccess) -> Iterator[tuple[int, int, int]]:
    """Lane, address, what is compared with."""
    for part in access.parts:
        if part.local:
            continue
        lanes = access.lanes if part.rows is None else access.lanes[part.rows]
        compares = access.operands(part)[1]
        yield from zip(lanes.tolist(), part.addresses.tolist(), compares.tolist())


def _results(access: VectorAccess) -> Iterator[tuple[int, int]]:
    """Lane, what it has loaded."""
    for part in access.parts:
        if part.result is not None:
            lanes = access.lanes if part.rows is None else access.lanes[part.rows]
            kind = np.uint64 if access.movement.bytes == 8 else np.uint32
            found = np.ascontiguousarray(part.result).view(kind).reshape(-1)
            yield from zip(lanes.tolist(), found.tolist())
