"""A compute unit whose groups take some ticks and may do something to memory when they end."""

from __future__ import annotations

from collections.abc import Callable

from gpu.dispatch.launch import Demand, Fault, GroupStart
from gpu.dispatch.occupancy import Limits, Resources, Taken
from gpu.memory.flat_memory import FlatMemory

Ticks = Callable[[GroupStart], int]
Action = Callable[[GroupStart], None]


class FakeUnit:
    """Implements `gpu.dispatch.launch.ComputeUnit`. ``log``: (event, tick, group), shared by all
    units.
    """

    def __init__(
        self,
        index: int,
        memory: FlatMemory,
        log: list[tuple[str, int, GroupStart]],
        ticks: Ticks = lambda group: 10,
        action: Action = lambda group: None,
        limits: Limits | None = None,
    ) -> None:
        self.index = index
        self.resources = Resources(limits or Limits())
        self.where: dict[GroupStart, int] = {}
        self._memory = memory
        self._log = log
        self._ticks = ticks
        self._action = action
        self._running: dict[GroupStart, tuple[int, Taken]] = {}

    @property
    def idle(self) -> bool:
        return not self._running

    @property
    def next_tick(self) -> int | None:
        return min((end for end, _ in self._running.values()), default=None)

    def fits(self, demand: Demand) -> bool:
        return self.resources.fits(demand)

    def could_ever_fit(self, demand: Demand) -> bool:
        return self.resources.could_ever_fit(demand)

    def start(self, group: GroupStart) -> None:
        taken = self.resources.take(group.demand)
        self._running[group] = (self._memory.now + self._ticks(group), taken)
        self._log.append(("start", self._memory.now, group))
        self.where[group] = self.index

    def kill(self, queue: int, packet: int | None = None) -> None:
        for group in list(self._running):
            if group.queue == queue and packet in (None, group.packet):
                self.resources.give_back(self._running.pop(group)[1])
                self._log.append(("kill", self._memory.now, group))

    def run(self, now: int) -> None:
        for group, (end, taken) in list(self._running.items()):
            if end > now or group not in self._running:
                continue
            try:
                self._action(group)
            except Fault as fault:
                group.listener.group_failed(group, fault)
                continue
            del self._running[group]
            self.resources.give_back(taken)
            self._log.append(("end", now, group))
            group.listener.group_ended(group)
