"""What waves have returned, compared with a program's expectations.

Loads and atomic actions have one right value each. Fetch-adds of a group's word return each number
once, and later ones of a thread larger numbers than earlier ones.

Invariant: of several errors the first in the program's total order is reported.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import numpy.typing as npt

from gpu.cli.leg.episode_code import CLOSE, OPEN, Result
from runtime.prng import initial_byte
from tester.execution.events import Finding, Verdict
from tester.program.final_memory import FinalContents
from tester.program.program import ATOMIC_BYTES, Program

Words = npt.NDArray[np.uint64]
Bytes = npt.NDArray[np.uint8]


class Judge:
    """``tick``: of findings."""

    def __init__(self, program: Program, tick: int) -> None:
        self._program = program
        self._tick = tick
        self._ranks: dict[int, list[tuple[int, int]]] = defaultdict(list)
        """By group: the thread and the number of increments that each fetch-add has found."""
        self._increments = program.increments()

    def result(self, result: Result, values: Words) -> Finding | None:
        """What one instruction has returned, 64 words."""
        if result.row in (OPEN, CLOSE):
            return self._fetch_add(result, values)
        program, row = self._program, result.row
        size = int(program.action_size[row])
        ones = (1 << 8 * size) - 1
        for lane in np.flatnonzero(program.lane_address[row] >= 0).tolist():
            got, wanted = int(values[lane]) & ones, int(program.expected[row, lane])
            if got != wanted:
                address = int(program.lane_address[row, lane])
                width = 2 + 2 * size
                headline = (
                    f"{self._who(result.episode)}, lane {lane}: {size} bytes at {address:#x} are "
                    f"{got:#0{width}x}, expected {wanted:#0{width}x}"
                )
                return Finding(
                    Verdict.WRONG_VALUE,
                    self._tick,
                    headline,
                    address=address,
                    size=size,
                    expected=wanted,
                    got=got,
                )
        return None

    def _who(self, episode: int) -> str:
        return f"agent {self._program.episode_thread[episode]}, episode {episode}"

    # ------------------------------------------------------------------ fetch-adds

    def _fetch_add(self, result: Result, values: Words) -> Finding | None:
        program, thread = self._program, int(self._program.episode_thread[result.episode])
        found: dict[int, list[int]] = defaultdict(list)
        for lane, group in program.groups_of(result.episode):
            word = int(program.group_word[group])
            rank = (int(values[lane]) & 0xFFFF_FFFF) - self._initial(word) & 0xFFFF_FFFF
            if rank >= int(self._increments[group]):
                return self._increment(
                    Verdict.ATOMIC_FOREIGN, word, f"{self._who(result.episode)}: {rank:,} adds"
                )
            found[group].append(rank)
        for group, ranks in found.items():
            earlier = [rank for other, rank in self._ranks[group] if other == thread]
            if earlier and min(ranks) < max(earlier):
                what = f"{self._who(result.episode)}: {min(ranks):,} adds, after {max(earlier):,}"
                return self._increment(Verdict.ATOMIC_ORDER, int(program.group_word[group]), what)
            self._ranks[group] += [(thread, rank) for rank in ranks]
        return None

    def increments(self) -> Finding | None:
        """Whether no number was returned twice."""
        for group, ranks in sorted(self._ranks.items()):
            numbers = [rank for _, rank in ranks]
            if len(set(numbers)) < len(numbers):
                word = int(self._program.group_word[group])
                twice = next(rank for rank in numbers if numbers.count(rank) > 1)
                return self._increment(
                    Verdict.ATOMIC_REPEATED, word, f"two fetch-adds have found {twice:,} adds"
                )
        return None

    def _initial(self, address: int) -> int:
        key = self._program.run_key
        return sum(initial_byte(key, address + i) << 8 * i for i in range(ATOMIC_BYTES))

    def _increment(self, verdict: Verdict, word: int, what: str) -> Finding:
        return Finding(verdict, self._tick, f"the word at {word:#x}, {what}", address=word)

    # ------------------------------------------------------------------ memory

    def memory(self, held: Bytes, final: FinalContents) -> Finding | None:
        """Memory at the end, byte by byte."""
        wrong = held != final.contents
        if not wrong.any():
            return None
        first = int(np.argmax(wrong))
        address, got, wanted = (
            int(final.addresses[first]),
            int(held[first]),
            int(final.contents[first]),
        )
        headline = (
            f"memory holds {got:#04x} at {address:#x} at the end, expected {wanted:#04x} "
            f"({np.count_nonzero(wrong)} wrong bytes in all)"
        )
        return Finding(
            Verdict.LOST_WRITE,
            self._tick,
            headline,
            address=address,
            size=1,
            expected=wanted,
            got=got,
        )
