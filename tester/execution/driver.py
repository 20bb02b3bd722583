"""Drives a program through the ports of a system: issues, waits and reports, and judges nothing.

The rules of one thread stand in :mod:`tester.execution.thread`; here is what the threads share: the
stream of episodes, the hand-overs between them, and how much really ran side by side. Invariant: a
hand-over wakes exactly the threads that wait for it, when it happens; nothing is polled.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from runtime.requesters.port import Requester
from runtime.sim.engine import Engine
from tester.execution.episode_stream import Script
from tester.execution.events import Role, Watcher
from tester.execution.thread import Steps, Thread
from tester.program.program import Program


class Statistics:
    """How much really ran side by side. Times in ticks."""

    def __init__(self) -> None:
        self.live = 0
        self.live_time = 0
        """Sum over all live episodes of the time they were live."""
        self.handover_time = 0
        """Sum over all threads of the time they waited for hand-overs."""
        self.thread_time = 0
        """Sum over all threads of the time until their last episode was complete."""
        self.end = 0
        self._since = 0

    def change(self, by: int, tick: int) -> None:
        """``by`` more episodes are live from ``tick`` on."""
        self.live_time += self.live * (tick - self._since)
        self._since = tick
        self.live += by
        self.end = tick

    @property
    def mean_live(self) -> float:
        """Live episodes, averaged over time."""
        return self.live_time / self.end if self.end else 0.0

    @property
    def handover_share(self) -> float:
        """Share of all threads' time that was spent waiting for hand-overs."""
        return self.handover_time / self.thread_time if self.thread_time else 0.0


class Driver:
    """All threads of a program on one system.

    ``requesters`` are the system's; ``agents[t]`` is the index of the one that thread t uses.
    ``steps[t]`` says what thread t does at hand-overs besides acquire and release.
    ``watcher`` hears every issue and every answer. Call :meth:`start`, then run the engine until
    :attr:`finished` or until nothing moves any more.
    """

    def __init__(
        self,
        engine: Engine,
        requesters: Sequence[Requester],
        agents: Sequence[int],
        chunks: Iterable[Program],
        line_size: int,
        watcher: Watcher,
        action_role: int = Role.ACTION,
        first_identity: int = 0,
        steps: Sequence[Steps] = (),
    ) -> None:
        self.engine = engine
        self.watcher = watcher
        self.line_size = line_size
        self.steps = steps or [Steps()] * len(agents)
        self.script = Script(chunks, action_role)
        self.statistics = Statistics()
        self.completed = 0
        """Episodes complete, over all threads."""
        self._identity = first_identity
        self._running = len(agents)
        self._waiting: list[dict[int, list[Thread]]] = [{} for _ in agents]
        """Per thread: number of complete episodes -> who waits for that many."""
        self.threads = [
            Thread(self, number, requesters[index]) for number, index in enumerate(agents)
        ]

    @property
    def finished(self) -> bool:
        """Whether every thread has run all of its episodes to completion."""
        return not self._running

    def start(self) -> None:
        """Let every thread begin in the next tick."""
        for thread in self.threads:
            self.engine.schedule(thread, self.engine.now + 1)

    # ------------------------------------------------------------------ for the threads

    def next_identity(self) -> int:
        self._identity += 1
        return self._identity

    def await_episodes(self, thread: Thread, waits: list[tuple[int, int]]) -> int:
        """Note that ``thread`` waits for (other thread, count of complete episodes).

        Returns how many of them are still ahead; the thread's ``waits`` is counted down, and it
        is woken when it reaches zero.
        """
        ahead = 0
        for other, count in waits:
            if self.threads[other].completed < count:
                self._waiting[other].setdefault(count, []).append(thread)
                ahead += 1
        return ahead

    def last_access(self, thread: Thread) -> None:
        """``thread`` issues the last access of its episode: whoever waits for that may peek."""
        for waiter in self._waiting[thread.number].get(thread.completed + 1, ()):
            waiter.peek()

    def episode_completed(self, thread: Thread) -> None:
        now = self.engine.now
        self.completed += 1
        self.statistics.change(-1, now)
        for waiter in self._waiting[thread.number].pop(thread.completed, ()):
            waiter.waits -= 1
            if not waiter.waits:
                self.engine.schedule(waiter, now + 1)

    def thread_ended(self, thread: Thread) -> None:
        self._running -= 1
        self.statistics.thread_time += self.engine.now
