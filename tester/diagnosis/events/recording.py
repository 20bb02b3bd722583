"""A run with all that happened in it: what pictures and traces of it are drawn from.

Invariant: what is recorded is that of the Python engine, whose runs are those of the native one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from tester.diagnosis.events.failed_transition import failed_transition
from tester.diagnosis.events.history import History
from tester.diagnosis.events.line_events import Event, Transition
from tester.execution.events import Finding, Request, Role
from tester.execution.leg import LegRun
from tester.program.replay_file import Leg

FLUSHER = "flusher"
"""What flushes lines when all episodes are complete."""


@dataclass(frozen=True, eq=False)
class Recording:
    """``run``: of ``leg``, to its end; ``finding``: None if it passed.

    ``events``: the last ones, whose numbers follow each other; ``dropped``: how many came before.
    ``failed``: the last of them, if it is the transition in which a controller failed.
    """

    leg: Leg
    run: LegRun
    history: History
    finding: Finding | None
    events: Sequence[Event] = field(init=False)
    failed: Transition | None = field(init=False)

    def __post_init__(self) -> None:
        events = list(self.history.events)
        failed = None
        if self.finding is not None:
            failed = failed_transition(self.run, self.finding, self.history, events)
        object.__setattr__(self, "failed", failed)
        object.__setattr__(self, "events", events if failed is None else [*events, failed])

    @property
    def dropped(self) -> int:
        return self.events[0].number if self.events else 0

    def agent_of(self, request: Request) -> str:
        """The name of the agent that issued a request."""
        driver, said = self.run.driver, ""
        if request.role == Role.READ_BACK and self.run.read_back is not None:
            driver, said = self.run.read_back, "read-back "
        if not 0 <= request.agent < len(driver.agents):
            return FLUSHER
        if said:
            return f"{said}{request.agent}"
        return self.run.program.agents[request.agent].name or f"agent {request.agent}"

    def port_of(self, request: Request) -> str:
        """The controller whose port that agent has; empty for what has none of its own."""
        of_read_back = request.role == Role.READ_BACK and self.run.read_back is not None
        driver = self.run.read_back if of_read_back else self.run.driver
        assert driver is not None
        if not 0 <= request.agent < len(driver.agents):
            return ""
        queue = getattr(driver.agents[request.agent].requester, "queue", None)
        return repr(queue.consumer) if queue is not None else ""
