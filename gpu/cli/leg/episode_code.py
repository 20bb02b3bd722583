"""An episode of a GPU thread as code and initial registers of waves.

Addresses and values are in vector registers when a wave starts, and what it has loaded is in
registers when it stops for a debugger, by a trap at its end: so its code makes the episode's
accesses and no others. An episode that needs more registers than there are becomes several waves,
one after the other.

A wave's accesses to one address stay in order without waits, as in compiled code.

Invariant: the fetch-adds, the acquire, the accesses and the release of an episode are carried out
in its order, each once, and a plain episode makes the accesses alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Final

import numpy as np
import numpy.typing as npt

from gpu.isa.encoding.kernel_code import EVERYTHING, Code
from gpu.wave_size import LANES
from runtime.types.atomic_op import AtomicKind
from slicc.text.lazy_dataclass import dataclass
from tester.program.atomics import comparands
from tester.program.program import ATOMIC, FAILS, GLC, LOAD, PLAIN, QUIET, SLC, Program

REGISTERS: Final = 256
STOP: Final = 1
"""The trap at the end of a wave, which a debugger sees."""

_ONE, _WORD, _OPENED, _CLOSED, _FIRST = 0, 2, 4, 5, 6
"""Registers: the number 1, the address of the group's word (a pair), old values of both fetch-adds,
and the first that actions use."""

_LOADS: Final = {1: "load_ubyte", 2: "load_ushort", 4: "load_dword", 8: "load_dwordx2"}
_STORES: Final = {1: "store_byte", 2: "store_short", 4: "store_dword", 8: "store_dwordx2"}
_ATOMICS: Final = {
    AtomicKind.ADD: "add",
    AtomicKind.SUB: "sub",
    AtomicKind.MIN: "smin",
    AtomicKind.MAX: "smax",
    AtomicKind.UMIN: "umin",
    AtomicKind.UMAX: "umax",
    AtomicKind.AND: "and",
    AtomicKind.OR: "or",
    AtomicKind.XOR: "xor",
    AtomicKind.EXCHANGE: "swap",
    AtomicKind.CAS: "cmpswap",
    AtomicKind.INC: "inc",
    AtomicKind.DEC: "dec",
}

OPEN: Final = -1
CLOSE: Final = -2
"""Beside rows of actions: which fetch-add a result is of."""


@dataclass(frozen=True, slots=True)
class Result:
    """Where the values are that one instruction has returned, at the end of its wave. ``row``: of
    the action, or `OPEN`, `CLOSE`. ``register``: the first of one, or of two for ``size`` 8."""

    episode: int
    row: int
    register: int
    size: int

    def values(self, registers: npt.NDArray[np.uint32]) -> npt.NDArray[np.uint64]:
        """A word a lane, of the wave's registers (registers, 64)."""
        words: npt.NDArray[np.uint64] = registers[self.register].astype(np.uint64)
        if self.size > 4:
            words |= registers[self.register + 1].astype(np.uint64) << np.uint64(32)
        return words


@dataclass(frozen=True, slots=True)
class WaveCode:
    """One wave. ``registers``: initial values, a row a register, a column a lane."""

    episode: int
    code: bytes
    registers: npt.NDArray[np.uint32]
    results: tuple[Result, ...]
    last: bool
    """The episode is complete with it."""


@dataclass(slots=True)
class _Wave:
    """A wave in the making."""

    episode: int
    code: Code = field(default_factory=Code)
    registers: list[npt.NDArray[np.uint32]] = field(default_factory=list)
    results: list[Result] = field(default_factory=list)
    mask: int = -1

    def exec(self, mask: int) -> None:
        if mask != self.mask:
            self.mask = mask
            self.code.activate(mask)

    def add(self, words: npt.NDArray[np.uint64], registers: int) -> int:
        """Put 64 numbers into the next registers, low words first; the first of them."""
        first = len(self.registers)
        for number in range(registers):
            part = words >> np.uint64(32 * number) & np.uint64(0xFFFF_FFFF)
            self.registers.append(part.astype(np.uint32))
        return first

    def flat(
        self, name: str, address: int, *, data: int = 0, result: int = 0, scope: int = 0
    ) -> None:
        """``address``: the first register of a pair. ``scope``: 1 for glc, 2 for slc."""
        registers = {"addr": address, "data": data, "vdst": result}
        self.code.emit("FLAT", f"flat_{name}", **registers, glc=scope & 1, slc=scope >> 1)

    def returns(self, row: int, register: int, size: int) -> None:
        self.results.append(Result(self.episode, row, register, size))

    def finish(self, last: bool) -> WaveCode:
        """Stop, which waits until everything has returned, and end."""
        self.code.emit("SOPP", "s_trap", simm16=STOP)
        self.code.emit("SOPP", "s_endpgm")
        code, registers = self.code.finished(), np.array(self.registers)
        return WaveCode(self.episode, code, registers, tuple(self.results), last)


class EpisodeCoder:
    """Codes the episodes of a derived program. ``offset``: what is added to its addresses."""

    def __init__(self, program: Program, offset: int) -> None:
        self._program = program
        self._offset = offset
        self._adds = program.adds()

    def waves(self, episode: int) -> list[WaveCode]:
        """The episode as waves that run one after the other."""
        program, adds = self._program, bool(self._adds[episode])
        scope = int(program.episode_scope[episode])
        wave = self._new(episode)
        if adds:
            self._fetch_add(wave, OPEN, _OPENED, scope & ~QUIET)
        if not scope & PLAIN:
            wave.code.emit("MUBUF", "buffer_wbinvl1_vol")
            wave.code.wait(EVERYTHING)
        done = []
        for row in program.actions_of(episode):
            if len(wave.registers) + self._registers(row) > REGISTERS:
                done.append(wave.finish(last=False))
                wave = self._new(episode)
            self._action(wave, row)
        wave.code.wait(EVERYTHING)
        if adds:
            self._fetch_add(wave, CLOSE, _CLOSED, scope)
        done.append(wave.finish(last=True))
        return done

    def _new(self, episode: int) -> _Wave:
        """A wave with the registers that all have."""
        wave, words = _Wave(episode), np.zeros(LANES, np.uint64)
        for lane, group in self._program.groups_of(episode):
            words[lane] = int(self._program.group_word[group]) + self._offset
        wave.add(np.ones(LANES, np.uint64), _WORD - _ONE)
        wave.add(words, 2)
        wave.add(np.zeros(LANES, np.uint64), _FIRST - _OPENED)
        return wave

    def _fetch_add(self, wave: _Wave, row: int, register: int, scope: int) -> None:
        mask = sum(1 << lane for lane, _ in self._program.groups_of(wave.episode))
        if not mask:
            return
        quiet = bool(scope & QUIET)
        wave.exec(mask)
        wave.flat(
            "atomic_add",
            _WORD,
            data=_ONE,
            result=0 if quiet else register,
            scope=_scope(scope & SLC) | (not quiet),
        )
        wave.code.wait(EVERYTHING)
        if not quiet:
            wave.returns(row, register, 4)

    # ------------------------------------------------------------------ actions

    def _registers(self, row: int) -> int:
        program = self._program
        kind, size = program.action_kind[row], int(program.action_size[row])
        words = 0 if kind == LOAD else max(1, size // 4)
        cas = kind == ATOMIC and int(program.action_op[row]) & ~FAILS == AtomicKind.CAS
        return 2 + words * (2 if cas else 1)

    def _action(self, wave: _Wave, row: int) -> None:
        program = self._program
        kind, size = int(program.action_kind[row]), int(program.action_size[row])
        active = program.lane_address[row] >= 0
        mask = sum(1 << lane for lane in np.flatnonzero(active).tolist())
        words = max(1, size // 4)
        scope = _scope(int(program.action_scope[row]))
        address = wave.add(_lanes(np.where(active, program.lane_address[row] + self._offset, 0)), 2)
        wave.exec(mask)
        if kind == LOAD:
            wave.flat(_LOADS[size], address, result=address, scope=scope)
            wave.returns(row, address, size)
            return
        data = wave.add(_lanes(program.store_value[row]), words)
        if kind != ATOMIC:
            wave.flat(_STORES[size], address, data=data, scope=scope)
            return
        op = int(program.action_op[row])
        if op & ~FAILS == AtomicKind.CAS:
            compares = comparands(op, size, program.expected[row].tolist())
            wave.add(_lanes(np.array(compares, np.uint64)), words)
        quiet = bool(program.action_scope[row] & QUIET)
        name = f"atomic_{_ATOMICS[op & ~FAILS]}" + ("_x2" if size == 8 else "")
        wave.flat(
            name, address, data=data, result=0 if quiet else address, scope=scope & 2 | (not quiet)
        )
        if not quiet:
            wave.returns(row, address, size)


def _scope(bits: int) -> int:
    """The bits glc and slc of an instruction."""
    return bool(bits & GLC) | bool(bits & SLC) << 1


def _lanes(values: npt.NDArray[np.generic]) -> npt.NDArray[np.uint64]:
    """A value for each of the 64 lanes; a program may have fewer."""
    lanes = np.zeros(LANES, np.uint64)
    lanes[: len(values)] = values.astype(np.uint64)
    return lanes


def coded(coder: EpisodeCoder, episodes: range) -> Iterator[WaveCode]:
    """The waves of these episodes, in order."""
    for episode in episodes:
        yield from coder.waves(episode)
