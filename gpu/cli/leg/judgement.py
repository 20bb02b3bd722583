"""What waves have returned, compared with a program's expectations.

Loads and atomic actions have one right value each. Fetch-adds of a group's word return each number
once, and larger ones than those that waves had returned when the wave was started.

Invariant: waves are judged in the order in which they stop, each at its own tick.
"""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import numpy.typing as npt

from gpu.cli.leg.episode_code import CLOSE, OPEN, Result, WaveCode
from runtime.prng import initial_byte
from tester.execution.events import Finding, Verdict
from tester.program.final_memory import FinalContents
from tester.program.program import ATOMIC_BYTES, Program

Words = npt.NDArray[np.uint64]
Bytes = npt.NDArray[np.uint8]


class Judge:
    """``title``: of each episode, before the name of its agent."""

    def __init__(self, program: Program, title: str = "agent") -> None:
        self._program = program
        self._title = title
        self._seen: dict[int, set[int]] = defaultdict(set)
        """By group: the numbers of increments that fetch-adds have found."""
        self._latest: dict[int, int] = {}
        """By group: the largest of them."""
        self._lowest: dict[int, dict[int, int]] = {}
        """By episode: what was the largest when its running wave was started."""
        self._increments = program.increments()

    def started(self, wave: WaveCode) -> None:
        groups = {group for _, group in self._program.groups_of(wave.episode)}
        self._lowest[wave.episode] = {group: self._latest.get(group, -1) for group in groups}

    def stopped(
        self, wave: WaveCode, registers: npt.NDArray[np.uint32], tick: int
    ) -> Finding | None:
        """The first wrong value in the registers (R, 64) of a wave at its end."""
        for result in wave.results:
            judge = self._fetch_add if result.row in (OPEN, CLOSE) else self._action
            finding = judge(result, result.values(registers), tick)
            if finding is not None:
                return finding
        return None

    def _action(self, result: Result, values: Words, tick: int) -> Finding | None:
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
                    tick,
                    headline,
                    address=address,
                    size=size,
                    expected=wanted,
                    got=got,
                )
        return None

    def _who(self, episode: int) -> str:
        agent = self._program.agents[self._program.episode_thread[episode]]
        return f"{self._title} {agent.name}, episode {episode}"

    def _fetch_add(self, result: Result, values: Words, tick: int) -> Finding | None:
        """What is wrong with the fetch-adds of an instruction; later ones of a wave come after."""
        program, lowest = self._program, self._lowest[result.episode]
        found: dict[int, int] = {}
        for lane, group in program.groups_of(result.episode):
            word = int(program.group_word[group])
            rank = (int(values[lane]) & 0xFFFF_FFFF) - self._initial(word) & 0xFFFF_FFFF
            verdict, why = None, ""
            if rank >= int(self._increments[group]):
                verdict = Verdict.ATOMIC_FOREIGN
            elif rank in self._seen[group]:
                verdict, why = Verdict.ATOMIC_REPEATED, ", as another fetch-add"
            elif rank <= lowest[group]:
                verdict, why = Verdict.ATOMIC_ORDER, f", after {lowest[group]:,}"
            if verdict is not None:
                who = self._who(result.episode)
                headline = f"the word at {word:#x}, {who}, lane {lane}: {rank:,} adds{why}"
                return Finding(verdict, tick, headline, address=word)
            self._seen[group].add(rank)
            found[group] = max(found.get(group, -1), rank)
        lowest.update(found)
        self._latest |= {group: max(self._latest.get(group, -1), found[group]) for group in found}
        return None

    def _initial(self, address: int) -> int:
        key = self._program.run_key
        return sum(initial_byte(key, address + i) << 8 * i for i in range(ATOMIC_BYTES))


def wrong_memory(held: Bytes, final: FinalContents, tick: int) -> Finding | None:
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
        tick,
        headline,
        address=address,
        size=1,
        expected=wanted,
        got=got,
    )
