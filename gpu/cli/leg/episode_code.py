"""An episode of a GPU thread as code and initial registers of waves.

Addresses and values are in vector registers when a wave starts, so that no memory access but those
of the episode takes place inside of it; the values that were loaded are stored behind its end, to
memory that no cache keeps. An episode that needs more registers than there are becomes several
waves, one after the other.

A wave's accesses to one address stay in order without waits, as in compiled code.

Invariant: the fetch-adds, the acquire, the accesses and the release of an episode are carried out
in its order, each once.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import numpy as np
import numpy.typing as npt

from gpu.isa.encoding.formats import SRC_LITERAL
from gpu.isa.encoding.kernel_code import EVERYTHING, Code
from gpu.wave_size import LANES
from runtime.types.atomic_op import AtomicKind
from tester.program.atomics import comparands
from tester.program.program import ATOMIC, FAILS, GLC, LOAD, QUIET, SLC, Program

REGISTERS: Final = 256
RESULT_BYTES: Final = 8 * LANES
"""Of one instruction's results."""

_POINTER, _BASE, _ONE, _WORD, _OPENED, _CLOSED, _FIRST = 0, 2, 3, 4, 6, 7, 8
"""Registers: pointer to results (a pair), its start, the number 1, the address of the group's word
(a pair), old values of both fetch-adds, and the first that actions use."""

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
    """Where the values are that one instruction has returned. ``row``: of the action, or `OPEN`,
    `CLOSE`. ``address``: of lane 0's, 8 bytes a lane."""

    episode: int
    row: int
    address: int


@dataclass(frozen=True, slots=True)
class WaveCode:
    """One wave. ``registers``: initial values, a row a register, a column a lane."""

    episode: int
    code: bytes
    registers: npt.NDArray[np.uint32]
    results: tuple[Result, ...]
    last: bool
    """The episode is complete with it."""


@dataclass
class _Wave:
    """A wave in the making."""

    results_at: int
    code: Code = field(default_factory=Code)
    registers: list[npt.NDArray[np.uint32]] = field(default_factory=list)
    results: list[tuple[int, int, int, int]] = field(default_factory=list)
    """Row, register, bytes, lanes."""
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

    def finish(self, episode: int, last: bool) -> WaveCode:
        """Store the results and end."""
        self.code.wait(EVERYTHING)
        found = []
        for number, (row, register, size, mask) in enumerate(self.results):
            self.exec(mask)
            offset = number * RESULT_BYTES
            self.code.emit(
                "VOP2", "v_add_u32", offset, vdst=_POINTER, vsrc1=_BASE, src0=SRC_LITERAL
            )
            self.flat(_STORES[max(4, size)], _POINTER, data=register)
            found.append(Result(episode, row, self.results_at + offset))
        self.code.emit("SOPP", "s_endpgm")
        return WaveCode(episode, self.code.finished(), np.array(self.registers), tuple(found), last)


class EpisodeCoder:
    """Codes the episodes of a derived program in ascending order.

    ``offset``: what is added to the program's addresses. ``results_at``: where results go, with
    room for those of all episodes below a multiple of 4 GiB.
    """

    def __init__(self, program: Program, offset: int, results_at: int) -> None:
        self._program = program
        self._offset = offset
        self._results_at = results_at

    def waves(self, episode: int) -> list[WaveCode]:
        """The episode as waves that run one after the other."""
        program, adds = self._program, bool(self._adds[episode])
        wave = self._new(episode)
        if adds:
            self._fetch_add(wave, episode, OPEN, _OPENED, quiet=False)
        wave.code.emit("MUBUF", "buffer_wbinvl1_vol")
        wave.code.wait(EVERYTHING)
        done = []
        for row in program.actions_of(episode):
            if len(wave.registers) + self._registers(row) > REGISTERS:
                done.append(self._finished(wave, episode, last=False))
                wave = self._new(episode)
            self._action(wave, row)
        wave.code.wait(EVERYTHING)
        if adds:
            quiet = bool(program.episode_scope[episode] & QUIET)
            self._fetch_add(wave, episode, CLOSE, _CLOSED, quiet)
        done.append(self._finished(wave, episode, last=True))
        return done

    @property
    def _adds(self) -> npt.NDArray[np.bool_]:
        return self._program.adds()

    def _new(self, episode: int) -> _Wave:
        """A wave with the registers that all have."""
        wave, lanes = _Wave(self._results_at), np.arange(LANES, dtype=np.uint64)
        places = np.uint64(self._results_at) + np.uint64(8) * lanes
        words = np.zeros(LANES, np.uint64)
        for lane, group in self._program.groups_of(episode):
            words[lane] = int(self._program.group_word[group]) + self._offset
        wave.add(places, 2)
        wave.add(places, 1)
        wave.add(np.ones(LANES, np.uint64), 1)
        wave.add(words, 2)
        wave.add(np.zeros(LANES, np.uint64), _FIRST - _OPENED)
        return wave

    def _finished(self, wave: _Wave, episode: int, last: bool) -> WaveCode:
        made = wave.finish(episode, last)
        self._results_at += RESULT_BYTES * len(made.results)
        return made

    def _fetch_add(self, wave: _Wave, episode: int, row: int, register: int, quiet: bool) -> None:
        mask = sum(1 << lane for lane, _ in self._program.groups_of(episode))
        if not mask:
            return
        scope = int(self._program.episode_scope[episode]) & SLC
        wave.exec(mask)
        wave.flat(
            "atomic_add",
            _WORD,
            data=_ONE,
            result=0 if quiet else register,
            scope=_scope(scope) | (not quiet),
        )
        wave.code.wait(EVERYTHING)
        if not quiet:
            wave.results.append((row, register, 4, mask))

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
            wave.results.append((row, address, size, mask))
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
            wave.results.append((row, address, size, mask))


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
