"""When episodes would run if no agent had to wait.

Each agent gets a sequence of episodes with random durations and gaps on a clock that only the
generator knows. Their starts give the total order, and their overlap decides which locations they
may reserve (see `tester.generator.reservation`). Invariant: the times of an episode depend on the
seed, its agent and its number within the agent, never on how many episodes were asked for at once.
"""

from __future__ import annotations

from typing import Final

import numpy as np

from slicc.text.lazy_dataclass import dataclass
from tester.arrays import IntArray
from tester.counter_rng import CounterRng

ORDINAL_BITS: Final = 32
_SYNCHRONISATION: Final = 60
_PER_ACTION: Final = 12
"""Rough cost of an episode in ticks: only its growth with the length matters."""


@dataclass(frozen=True, slots=True)
class Pace:
    """How long episodes last and keep what they reserved."""

    lengths: tuple[int, ...]
    """Actions of an episode: one of these, each as likely as another."""
    slack_percent: int
    """Reservations outlast an episode by up to this share of a mean duration."""
    tight_percent: int
    """Share of episodes whose reservations end with them: a hand-over without any slack."""


@dataclass(frozen=True, slots=True)
class Timetable:
    """Consecutive episodes in the total order; times in ticks of the virtual clock."""

    agent: IntArray
    identity: IntArray  # agent << ORDINAL_BITS | number within the agent
    length: IntArray
    start: IntArray
    hold: IntArray  # until when the episode keeps what it reserved


class VirtualClock:
    """Yields episodes in the order of their starts (ties: lower agent first)."""

    def __init__(self, agents: int, pace: Pace, rng: CounterRng) -> None:
        self._pace = pace
        self._rng = rng
        self._lengths: IntArray = np.array(pace.lengths, np.int64)
        self._mean = _SYNCHRONISATION + _PER_ACTION * sum(pace.lengths) // len(pace.lengths)
        self._next_ordinal: IntArray = np.zeros(agents, np.int64)
        self._next_start: IntArray = rng.below(np.arange(agents), self._mean)

    def take(self, count: int) -> Timetable:
        """The next `count` episodes."""
        agents = len(self._next_start)
        each = count // agents + count // (4 * agents) + 8
        while True:
            ordinal = self._next_ordinal[:, None] + np.arange(each)
            identity = (np.arange(agents)[:, None] << ORDINAL_BITS) | ordinal
            length, duration, gap = self._episode(identity)
            after = np.cumsum(duration + gap, axis=1) + self._next_start[:, None]
            start = after - duration - gap
            order = np.argsort(start.ravel(), kind="stable")[:count]
            if count == 0 or start.ravel()[order[-1]] < after[:, -1].min():
                break
            each *= 2  # some agent might start even more episodes in that time
        agent = order // each
        taken = np.bincount(agent, minlength=agents)
        used = np.flatnonzero(taken)
        self._next_start[used] = after[used, taken[used] - 1]
        self._next_ordinal += taken
        identity = identity.ravel()[order]
        begin = start.ravel()[order]
        return Timetable(
            agent=agent,
            identity=identity,
            length=length.ravel()[order],
            start=begin,
            hold=begin + duration.ravel()[order] + self._slack(identity),
        )

    def _episode(self, identity: IntArray) -> tuple[IntArray, IntArray, IntArray]:
        """Length in actions, duration and following gap in ticks."""
        base = identity * 4
        length = self._lengths[self._rng.below(base + 1, len(self._lengths))]
        work = _SYNCHRONISATION + _PER_ACTION * length
        duration = work * (60 + self._rng.below(base + 2, 81)) // 100
        return length, duration, self._rng.below(base + 3, 8)

    def _slack(self, identity: IntArray) -> IntArray:
        rng = self._rng
        limit = self._mean * self._pace.slack_percent // 100
        slack = rng.below(-1 - identity * 2, limit + 1)
        return np.where(rng.percent(-2 - identity * 2, self._pace.tight_percent), 0, slack)
