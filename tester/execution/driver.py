"""Drives a program through the ports of a system: issues, waits and reports, and checks nothing.

The rules of one agent are in :mod:`tester.execution.agent`; here is what the agents share: the
stream of episodes, the hand-overs between them, and how much ran concurrently. Invariant: a
hand-over wakes exactly the agents that wait for it, when it happens; nothing is polled.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from runtime.requesters.port import Requester
from runtime.sim.engine import Engine
from tester.execution.agent import Agent, HandoverSteps
from tester.execution.episode_stream import Episode, EpisodeStream
from tester.execution.events import RequestObserver, Role
from tester.program.program import Program


class Concurrency:
    """How much ran concurrently. Times in ticks."""

    def __init__(self) -> None:
        self.live = 0
        self.live_time = 0
        """Sum over all live episodes of the time they were live."""
        self.handover_time = 0
        """Sum over all agents of the time they waited for hand-overs."""
        self.agent_time = 0
        """Sum over all agents of the time until their last episode was complete."""
        self.end = 0
        self._since = 0

    def change(self, by: int, tick: int) -> None:
        """``by`` more episodes are live from ``tick`` on."""
        self.live_time += self.live * (tick - self._since)
        self._since = tick
        self.live += by
        assert self.live >= 0
        self.end = tick

    @property
    def mean_live(self) -> float:
        """Live episodes, averaged over time."""
        return self.live_time / self.end if self.end else 0.0

    @property
    def handover_share(self) -> float:
        """Share of all agents' time that was spent waiting for hand-overs."""
        return self.handover_time / self.agent_time if self.agent_time else 0.0


class Driver:
    """All agents of a program on one system.

    ``requesters`` are the system's; ``ports[i]`` is the index of the one that agent i uses.
    ``steps[i]`` is what agent i does at hand-overs besides acquire and release.
    ``observer`` is notified of every issue and every answer. Call :meth:`start`, then run the
    engine until :attr:`finished` or until nothing moves any more.
    """

    def __init__(
        self,
        engine: Engine,
        requesters: Sequence[Requester],
        ports: Sequence[int],
        chunks: Iterable[Program],
        line_size: int,
        observer: RequestObserver,
        action_role: int = Role.ACTION,
        first_identity: int = 0,
        steps: Sequence[HandoverSteps] = (),
    ) -> None:
        self.engine = engine
        self.observer = observer
        self.line_size = line_size

        self.concurrency = Concurrency()
        self.completed = 0
        """Episodes complete, over all agents."""
        self._steps = steps or [HandoverSteps()] * len(ports)
        self._episodes = EpisodeStream(chunks, action_role)
        self._identity = first_identity
        self._running = len(ports)
        self._waiting: list[dict[int, list[Agent]]] = [{} for _ in ports]
        """By agent: number of complete episodes -> the agents that wait for that many."""
        self.agents = [Agent(self, number, requesters[index]) for number, index in enumerate(ports)]

    @property
    def finished(self) -> bool:
        """Whether every agent has run all of its episodes to completion."""
        return not self._running

    def start(self) -> None:
        """Let every agent begin in the next tick."""
        for agent in self.agents:
            self.engine.schedule(agent, self.engine.now + 1)

    # ------------------------------------------------------------------ AgentDriver

    def steps_of(self, number: int) -> HandoverSteps:
        return self._steps[number]

    def next_identity(self) -> int:
        self._identity += 1
        return self._identity

    def next_episode(self, number: int) -> Episode | None:
        return self._episodes.next_episode(number)

    def episodes_completed(self, number: int) -> int:
        return self.agents[number].completed

    def await_episodes(self, agent: Agent, waits: list[tuple[int, int]]) -> int:
        ahead = 0
        for other, count in waits:
            if self.agents[other].completed < count:
                self._waiting[other].setdefault(count, []).append(agent)
                ahead += 1
        return ahead

    def episode_started(self, waited: int) -> None:
        self.concurrency.handover_time += waited
        self.concurrency.change(1, self.engine.now)

    def last_access(self, agent: Agent) -> None:
        for waiter in self._waiting[agent.number].get(agent.completed + 1, ()):
            waiter.racing_load()

    def episode_completed(self, agent: Agent) -> None:
        now = self.engine.now
        self.completed += 1
        self.concurrency.change(-1, now)
        for waiter in self._waiting[agent.number].pop(agent.completed, ()):
            waiter.waits -= 1
            if not waiter.waits:
                self.engine.schedule(waiter, now + 1)

    def agent_ended(self) -> None:
        assert self._running > 0
        self._running -= 1
        self.concurrency.agent_time += self.engine.now
