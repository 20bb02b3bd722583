"""How large a failing leg is, in what a person has to hold in mind."""

from __future__ import annotations

import numpy as np

from slicc.text.lazy_dataclass import dataclass
from tester.program.program import CONTINUES, Program


@dataclass(frozen=True, slots=True)
class Size:
    """``accesses``: loads, stores and atomics of one lane, and DMA transfers; those that begin and
    end episodes are among them, and are ``fetch_adds``. ``threads``: agents with episodes;
    ``lines``: with accesses."""

    accesses: int
    fetch_adds: int
    episodes: int
    threads: int
    lines: int

    @staticmethod
    def of(program: Program) -> Size:
        continued = program.action_scope & CONTINUES > 0
        addresses = program.lane_address[program.active()]
        whole = program.lane_address[~continued]
        group = program.episode_group[program.adds()]
        words = program.group_word[group[group >= 0]]
        adds = 2 * len(words)
        return Size(
            accesses=int((whole >= 0).sum()) + adds,
            fetch_adds=adds,
            episodes=program.episodes,
            threads=len(np.unique(program.episode_thread)),
            lines=len(np.unique(np.concatenate((addresses, words)) // program.line_size)),
        )

    def __str__(self) -> str:
        return (
            f"{_counted(self.accesses, 'access', 'accesses')} in "
            f"{_counted(self.episodes, 'episode')} of {_counted(self.threads, 'thread')} on "
            f"{_counted(self.lines, 'line')}"
        )


def _counted(number: int, one: str, many: str | None = None) -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"
