"""Places work-groups on compute units as their resources become free.

Invariant: groups of one dispatch start x fastest; a younger dispatch only gets resources that no
older one can use.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from enum import Enum

from gpu.dispatch.kernel_run import KernelRun
from gpu.dispatch.launch import ComputeUnit, Demand, Fault, PreemptableUnit, SavedGroup


class Placement(Enum):
    """Which compute unit is tried first."""

    ROUND_ROBIN = "round robin"
    """The one after the last that was given a group."""
    FIRST_FIT = "first fit"


class Dispatcher:
    """All active dispatches of a device, oldest first.

    ``rate``: groups that can start in one tick; None: no limit.
    """

    def __init__(
        self,
        units: Sequence[ComputeUnit],
        now: Callable[[], int],
        placement: Placement = Placement.ROUND_ROBIN,
        rate: int | None = None,
    ) -> None:
        self.units = units
        self.active: list[KernelRun] = []
        self._now = now
        self._placement = placement
        self._rate = rate
        self._next = 0
        self._due: int | None = None
        self._held: set[int] = set()
        self._saved: dict[int, deque[SavedGroup]] = {}
        """Of queues, groups that are to be put back."""

    @property
    def next_tick(self) -> int | None:
        """When a group might be placed; None until something changes."""
        return self._due

    def why_never(self, run: KernelRun) -> str | None:
        """Why the largest group of a dispatch can never start, as text; None if it can."""
        demand = run.demand((0, 0, 0))  # the first group is whole: only the last ones are clipped
        if not any(self.units[cu].could_ever_fit(demand) for cu in run.cus):
            return (
                f"{demand.waves} waves of {demand.vgprs} VGPRs and {demand.sgprs} SGPRs "
                f"with {demand.lds} bytes of LDS"
            )
        if run.scratch and demand.waves > run.pool.waves:
            return f"{demand.waves} waves with scratch for {run.pool.waves}"
        return None

    def submit(self, run: KernelRun) -> None:
        """Begin a dispatch whose groups can fit."""
        assert run not in self.active, "a dispatch begins once"
        self.active.append(run)
        self.changed()

    def changed(self) -> None:
        """Resources were released, or there is more to place: try at the next tick."""
        if self._due is None:
            self._due = self._now()

    def hold(self, queue: int) -> None:
        """Start no further group of a queue."""
        self._held.add(queue)

    def put_back(self, queue: int, saved: Sequence[SavedGroup]) -> None:
        """Let a held queue go on, with groups that were taken off their units; before others."""
        self._held.discard(queue)
        if any(run.around.queue == queue for run in self.active):  # else they were ended
            assert queue not in self._saved, "a queue is put back once"
            self._saved[queue] = deque(saved)
            self.changed()

    def waiting(self, queue: int) -> list[SavedGroup]:
        """Groups of a queue that are to be put back and have found no room yet."""
        return list(self._saved.get(queue, ()))

    def take_back(self, queue: int) -> list[SavedGroup]:
        """The groups of a queue that `waiting` gives; they are no longer put back."""
        return list(self._saved.pop(queue, ()))

    def kill(self, queue: int, fault: Fault) -> None:
        """End all waves and all dispatches of a queue."""
        self._saved.pop(queue, None)
        self._held.discard(queue)
        for unit in self.units:
            unit.kill(queue)
        for run in [each for each in self.active if each.around.queue == queue]:
            self.active.remove(run)
            if run.fault is None:
                run.stop(fault)

    def run(self, now: int) -> None:
        """Start what fits at tick ``now``."""
        if self._due is None or self._due > now:
            return
        self._due = None
        left = self._rate
        for run in self.active:
            queue = run.around.queue
            if queue in self._held or (queue in self._saved and not self._place_saved(queue, run)):
                continue
            while run.next_group is not None:
                if left == 0:
                    self._due = now + 1
                    break
                if not self._place(run):
                    break
                left = None if left is None else left - 1
        self.active = [run for run in self.active if not run.finished]

    def _place_saved(self, queue: int, run: KernelRun) -> bool:
        """Put groups of a queue back where they fit; whether none is left."""
        saved = self._saved[queue]
        while saved:
            unit = self._unit_for(saved[0].start.demand, run.cus)
            if unit is None:
                return False
            assert isinstance(unit, PreemptableUnit), "groups were taken off units like it"
            unit.put_back(saved.popleft())
        del self._saved[queue]
        return True

    def _unit_for(self, demand: Demand, cus: Sequence[int]) -> ComputeUnit | None:
        """The next unit that has room."""
        count = len(self.units)
        first = self._next if self._placement is Placement.ROUND_ROBIN else 0
        for step in range(count):
            cu = (first + step) % count
            if cu in cus and self.units[cu].fits(demand):
                self._next = (cu + 1) % count
                return self.units[cu]
        return None

    def _place(self, run: KernelRun) -> bool:
        assert run.next_group is not None, "called although no group is left"
        demand = run.demand(run.next_group)
        if run.scratch and run.pool.free < demand.waves:
            return False
        unit = self._unit_for(demand, run.cus)
        if unit is None:
            return False
        unit.start(run.start_next())
        return True
