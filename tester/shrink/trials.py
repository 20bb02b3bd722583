"""Runs candidates of a search: one after the other in this process, or side by side in several.

This is the one place where candidates are run in batches. Invariant: what a candidate ends with
depends on it alone, so the number of processes changes nothing but the time.

Helpers are forks: they share the compiled protocol with their parent.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Final

from protocols.loader import LoadedProtocol
from tester import forks
from tester.campaign.campaign import AnyRun, Campaign, kind_of
from tester.campaign.engine_diff import Steps, traced_in_python, traced_natively
from tester.campaign.workers import WorkerDied
from tester.engines.selection import CANNOT, Chosen
from tester.errors import ConfigError
from tester.execution.events import Finding, Verdict
from tester.program.access_rules import access_errors
from tester.program.array_validation import shape_errors
from tester.program.replay_file import Leg, with_expectations

_IN_A_BATCH: Final = 32
"""Candidates, at most, in one call of the engine."""
_AT_A_TIME: Final = 8
"""Candidates for each helper."""


def ending_of(run: AnyRun) -> str:
    """How a run that is over has failed; empty: it passed.

    As `tester.campaign.campaign.kind_of`; a hang also keeps what is stuck: ``hang store``.
    """
    finding = run.outcome.finding
    if finding is None:
        return ""
    kind = kind_of(run, finding)
    return f"{kind} {finding.stuck}".rstrip() if finding.verdict is Verdict.HANG else kind


def derived(leg: Leg) -> Leg:
    """The leg with what its program must observe. Raises ValueError if it is no program."""
    return replace(leg, program=with_expectations(leg.program))


def _is_program(leg: Leg) -> bool:
    return not (shape_errors(leg.program) or access_errors(leg.program))


class Trials:
    """Runs them in this process. ``most``: so many at a time are worth while."""

    def __init__(self, campaign: Campaign) -> None:
        self._campaign = campaign
        self.most = _IN_A_BATCH

    def endings(self, legs: Sequence[Leg], sound: bool = False) -> list[str]:
        """How each of the candidates ends; what is not a leg passes. ``sound``: their programs
        are known to be ones."""
        ready = [(place, leg) for place, leg in enumerate(legs) if sound or _is_program(leg)]
        try:
            failures = self._campaign.failures_of([leg for _, leg in ready])
        except ConfigError:  # one of them has agents that its system has not
            return [self.ending(leg) for leg in legs]
        found = [""] * len(legs)
        for (place, leg), failure in zip(ready, failures, strict=True):
            # What is stuck is seen in a run of its own.
            found[place] = self.ending(leg) if failure == Verdict.HANG.value else failure
        return found

    def ending(self, leg: Leg) -> str:
        try:
            return ending_of(self._campaign.tried(derived(leg)))
        except (ConfigError, ValueError):  # nothing that a program or a system may be
            return ""

    @property
    def protocol(self) -> LoadedProtocol:
        return self._campaign.protocol

    @property
    def engine(self) -> Chosen:
        return self._campaign.engine

    def machines_of(self, leg: Leg) -> list[tuple[str, int]]:
        """Machine and number there of each controller, in the order of their own numbers."""
        return [
            (machine.MACHINE, number)
            for machine in self.protocol.info.machines
            for number in range(len(leg.description.instances_of(machine.MACHINE)))
        ]

    def traced(self, leg: Leg) -> tuple[Steps, Finding | None]:
        """The transitions of a leg, and what it ends with."""
        native = self._campaign.engine.native
        if native is not None:
            with suppress(*CANNOT):
                steps, outcome = traced_natively(native, leg)
                return steps, outcome.finding
        steps, outcome = traced_in_python(self.protocol, leg)
        return steps, outcome.finding

    def last_transition(self, leg: Leg) -> str:
        """``TCP.V.Load``: the last one on the line that a failure is about; empty: none is."""
        steps, finding = self.traced(leg)
        if finding is None or finding.address < 0:
            return ""
        here = steps[steps[:, 2] == finding.address & -leg.program.line_size]
        if not len(here):
            return ""
        controller, state, event = here[-1, [1, 3, 4]].tolist()
        machine = self.protocol.info.machine(self.machines_of(leg)[controller][0])
        return ".".join(
            (machine.MACHINE, machine.STATES.name_of(state), machine.EVENTS.name_of(event))
        )

    def traced_if_possible(self, leg: Leg) -> tuple[Steps, Finding | None] | None:
        """The same for a candidate; None: it is no leg."""
        try:
            return self.traced(derived(leg))
        except (ConfigError, ValueError):
            return None

    def __enter__(self) -> Trials:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        """End what was started."""


class ParallelTrials(Trials):
    """Runs them in several processes; a context manager."""

    def __init__(self, campaign: Campaign, jobs: int) -> None:
        forks.require_forks("--jobs")
        super().__init__(campaign)
        self.most = jobs * _AT_A_TIME
        self._jobs = jobs
        self._helpers: dict[Connection, BaseProcess] = {}

    def __enter__(self) -> Trials:
        for _ in range(self._jobs):
            connection, process = forks.start(partial(_serve, self), self._helpers)
            self._helpers[connection] = process
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        forks.end(self._helpers)
        self._helpers.clear()

    def endings(self, legs: Sequence[Leg], sound: bool = False) -> list[str]:
        """The same; raises WorkerDied."""
        if len(legs) == 1:
            return super().endings(legs, sound)
        asked = [
            (connection, range(first, len(legs), self._jobs))
            for first, connection in enumerate(self._helpers)
        ]
        found = [""] * len(legs)
        try:
            for connection, places in asked:
                connection.send(([legs[place] for place in places], sound))
            for connection, places in asked:
                answer = connection.recv()
                if isinstance(answer, Exception):
                    raise answer
                for place, ending in zip(places, answer, strict=True):
                    found[place] = ending
        except (EOFError, ConnectionError):
            raise WorkerDied("a process that ran candidates has died") from None
        return found


def _serve(trials: Trials, connection: Connection) -> None:
    """The main loop of a helper."""
    while True:
        try:
            legs, sound = connection.recv()
        except (EOFError, ConnectionError):
            return  # the parent has ended
        try:
            answer: object = Trials.endings(trials, legs, sound)
        except Exception as error:
            answer = error
        try:
            connection.send(answer)
        except (BrokenPipeError, ConnectionError):
            return
