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
from itertools import islice
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from types import TracebackType
from typing import Final

from protocols.loader import LoadedProtocol
from runtime.description import DescriptionError
from slicc.text.lazy_dataclass import dataclass
from tester import forks
from tester.campaign.campaign import AnyRun, Campaign, ending_of
from tester.campaign.engine_diff import Steps, traced_in_python, traced_natively
from tester.campaign.workers import WorkerDied
from tester.engines.selection import CANNOT, Chosen
from tester.errors import ConfigError
from tester.native.leg import sizes_of
from tester.native.transition_log import TransitionLog
from tester.program.access_rules import access_errors
from tester.program.array_validation import shape_errors
from tester.program.replay_file import Leg, with_derived, with_expectations

_IN_A_BATCH: Final = 32
"""Candidates, at most, in one call of the engine."""
_AT_A_TIME: Final = 8
"""Candidates for each helper."""
_DRAWN: Final = 40
"""Legs that are drawn, at most, to find small ones."""
_SMALL: Final = 8
"""Episodes of those, and"""
_MOST_LANES: Final = 1 << 14
"""lanes of all their actions, at most."""


def derived(leg: Leg) -> Leg:
    """The leg with what its program must observe. Raises ValueError if it is no program."""
    return replace(leg, program=with_expectations(leg.program))


def _is_program(leg: Leg) -> bool:
    return not (shape_errors(leg.program) or access_errors(leg.program))


@dataclass(frozen=True, slots=True)
class Traced:
    """A run: its transitions, how it failed (see `Campaign.endings_of`), and the address that the
    failure is about; -1: none."""

    steps: Steps
    ending: str
    address: int


def _traced(steps: Steps, run: AnyRun) -> Traced:
    finding = run.outcome.finding
    return Traced(steps, ending_of(run), -1 if finding is None else finding.address)


class Trials:
    """Runs them in this process. ``most``: so many at a time are worth while."""

    def __init__(self, campaign: Campaign) -> None:
        self._campaign = campaign
        self.most = _IN_A_BATCH
        self._log = TransitionLog()

    def endings(self, legs: Sequence[Leg], sound: bool = False) -> list[str]:
        """How each of the candidates ends; what is not a leg passes. ``sound``: their programs
        are known to be ones."""
        ready = [(place, leg) for place, leg in enumerate(legs) if sound or _is_program(leg)]
        try:
            endings = self._campaign.endings_of([leg for _, leg in ready])
        except ConfigError:  # one of them has agents that its system has not
            return [self.ending(leg) for leg in legs]
        found = [""] * len(legs)
        for (place, _), ending in zip(ready, endings, strict=True):
            found[place] = ending
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

    def drawn_legs(self, like: Leg, most: int) -> list[Leg]:
        """Small legs of the campaign, for which what ``like`` runs on is compiled."""
        options = replace(self._campaign.options, episodes=_DRAWN * _SMALL, leg_episodes=_SMALL)
        campaign = Campaign(self.protocol, options, self.engine)
        sizes = sizes_of(like.description)
        drawn = (campaign.plan(number).leg for number in range(_DRAWN))
        fitting = (
            leg
            for leg in drawn
            if sizes_of(leg.description) == sizes and leg.program.lane_address.size <= _MOST_LANES
        )
        try:
            return list(islice(fitting, most))
        except (ConfigError, DescriptionError):  # the leg is of another campaign
            return []

    def machines_of(self, leg: Leg) -> list[tuple[str, int]]:
        """Machine and number there of each controller, in the order of their own numbers."""
        return [
            (machine.MACHINE, number)
            for machine in self.protocol.info.machines
            for number in range(len(leg.description.instances_of(machine.MACHINE)))
        ]

    def traced(self, leg: Leg) -> Traced:
        """The transitions of a leg, and what it ends with."""
        engine = self._campaign.engine
        if engine.batch is not None:
            with suppress(*CANNOT):
                [result] = engine.batch.run([leg], log=self._log)
                if result.transitions < len(self._log.rows):
                    steps = self._log.transitions.copy()
                    return Traced(steps, result.ending, result.address)
        return self._traced_alone(with_derived(leg))

    def _traced_alone(self, leg: Leg) -> Traced:
        native = self._campaign.engine.native
        if native is not None:
            with suppress(*CANNOT):
                return _traced(*traced_natively(native, leg))
        return _traced(*traced_in_python(self.protocol, leg))

    def last_transition(self, leg: Leg) -> str:
        """``TCP.V.Load``: the last one on the line that a failure is about; empty: none is."""
        traced = self.traced(leg)
        if traced.address < 0:
            return ""
        here = traced.steps[traced.steps[:, 2] == traced.address & -leg.program.line_size]
        if not len(here):
            return ""
        controller, state, event = here[-1, [1, 3, 4]].tolist()
        machine = self.protocol.info.machine(self.machines_of(leg)[controller][0])
        return ".".join(
            (machine.MACHINE, machine.STATES.name_of(state), machine.EVENTS.name_of(event))
        )

    def traced_if_possible(self, leg: Leg) -> Traced | None:
        """As `traced`, for a candidate; None: it is no leg."""
        try:
            return self.traced(leg) if _is_program(leg) else None
        except ConfigError:
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
        """As `Trials.endings`, side by side; raises WorkerDied."""
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
