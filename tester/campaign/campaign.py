"""A run: a series of legs, each another kind of test, all drawn from one seed.

What a leg is stands in `tester.campaign.drawing`; here legs are run and counted. A leg starts from
fresh memory and ends with drain, flush, read-back and a check for leaks. Invariant: the same
command gives the same output, except for rates.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import fields
from typing import TYPE_CHECKING, Final

from protocols.loader import LoadedProtocol
from runtime.controller.shapes import TransitionObserver
from runtime.controller.trace import Observers
from runtime.description import DescriptionError
from runtime.statistics.counters import Counters
from runtime.system.builder import build_system
from runtime.system.system import System
from slicc.text.lazy_dataclass import dataclass
from tester.campaign.coverage import Coverage
from tester.campaign.drawing.known_defects import resembling
from tester.campaign.drawing.leg import Legs, PlannedLeg
from tester.campaign.drawing.options import Options
from tester.campaign.drawing.profile_schedule import Turn
from tester.campaign.watcher import Watcher, Watching
from tester.engines.selection import CANNOT, PYTHON, Chosen, confirm
from tester.errors import ConfigError
from tester.execution.events import Finding, RequestObserver, Verdict
from tester.execution.handover import handover_rules_of
from tester.execution.leg import LegRun, Outcome
from tester.native.batch import Counts, LegBatch, NativeLegResult
from tester.native.leg import NativeLegRun, NativeProtocol
from tester.native.transition_log import TransitionLog
from tester.program.replay_file import Leg, with_derived
from tester.statistics.answers import Answers
from tester.statistics.statistics import Statistics

if TYPE_CHECKING:
    from tester.diagnosis.failure_report import Failure

_AT_ONCE: Final = 8
"""Legs, at most, that are drawn at once."""
_ACCESSES_AT_ONCE: Final = 1 << 17
"""Further legs are drawn while those before have fewer lane accesses, which take 32 bytes each."""

AnyRun = LegRun | NativeLegRun
"""A leg while it runs, on either engine."""


@dataclass(slots=True)
class Totals:
    """Sums over the legs of a run."""

    legs: int = 0
    episodes: int = 0
    lane_accesses: int = 0
    ticks: int = 0
    live_time: int = 0
    episode_ticks: int = 0
    """Ticks until the last episode of each leg was complete, without what follows."""
    handover_time: int = 0
    agent_time: int = 0

    def add(self, outcome: Outcome) -> None:
        concurrency = outcome.concurrency
        self.legs += 1
        self.episodes += outcome.episodes
        self.lane_accesses += outcome.lane_accesses
        self.ticks += outcome.ticks
        self.live_time += concurrency.live_time
        self.episode_ticks += concurrency.end
        self.handover_time += concurrency.handover_time
        self.agent_time += concurrency.agent_time

    def merge(self, other: Totals) -> None:
        """Add the sums of other legs."""
        for each in fields(self):
            setattr(self, each.name, getattr(self, each.name) + getattr(other, each.name))

    @property
    def mean_live(self) -> float:
        return self.live_time / self.episode_ticks if self.episode_ticks else 0.0

    @property
    def handover_share(self) -> float:
        return self.handover_time / self.agent_time if self.agent_time else 0.0


class Campaign:
    """Legs until enough episodes are complete or one fails."""

    def __init__(
        self,
        protocol: LoadedProtocol,
        options: Options,
        engine: Chosen = PYTHON,
        watchers: Sequence[Watcher] = (),
        counts: bool = False,
        log: TransitionLog | None = None,
    ) -> None:
        """``counts``: `statistics` are wanted; an engine was chosen that counts. ``log``: has the
        transitions of the last leg that was run."""
        self.protocol = protocol
        self.options = options
        self.legs = Legs(protocol, options)
        self.totals = Totals()
        self._coverage = Coverage(protocol.identity.name)
        self._executed = Counts(protocol.info)
        """What native legs have executed and coverage does not have yet."""
        self._present: dict[str, None] = {}
        """Machines that they had."""
        self.statistics = Statistics(protocol.description.line_size) if counts else None
        self._ahead: deque[PlannedLeg] = deque()
        """Legs whose turn comes next, drawn in advance."""
        self._ended: deque[tuple[Leg, NativeLegResult, Counts]] = deque()
        """Those of them that have been run, in a batch, with the transitions of each."""
        self._at_once = 1
        """How many legs were last drawn at once."""
        self._next: tuple[int, int] | None = None
        """The leg behind the last one that was drawn, and the episodes before it, should that one
        have passed."""
        self.engine = engine
        """What runs the legs; another one from the leg on that this one cannot run."""
        self._watchers = watchers
        self._log = log

    def merge_statistics(self, other: Statistics | None) -> None:
        """Add those of other legs, where they are wanted."""
        if self.statistics is not None and other is not None:
            self.statistics.merge(other)

    @property
    def coverage(self) -> Coverage:
        """The coverage of the legs so far."""
        executed = self._executed.tables() if self._present else {}
        for name in self._present:
            table, stride = executed[name]
            self._coverage.add_counts(self.protocol.info.machine(name), table.tolist(), stride)
            table[:] = 0
        self._present.clear()
        return self._coverage

    @property
    def transitions(self) -> int:
        """Transitions that the legs so far have executed."""
        return self.coverage.transitions

    def plans(self) -> Iterator[PlannedLeg]:
        """Leg after leg until enough episodes are complete; each is run before the next one."""
        number = 0
        while self.totals.episodes < self.options.episodes:
            yield self.plan(number)
            number += 1

    def plan(self, number: int, turn: Turn | None = None) -> PlannedLeg:
        """Draw leg ``number``. Raises ConfigError, DescriptionError.

        Where leg after leg was drawn and run on the native engine, some of the next ones are drawn
        as well: what draws a leg is then still in the processor's caches, which a run empties.
        """
        done = self.totals.episodes
        if turn is not None:
            return self._plans(number, turn, done, 1)[0]
        ahead = self._ahead
        if not ahead or (ahead[0].leg.number, ahead[0].leg.first_episode) != (number, done):
            ahead.clear()
            in_turn = self._next == (number, done) and self.engine.batch is not None
            self._at_once = min(2 * self._at_once, _AT_ONCE) if in_turn else 1
            ahead.extend(self._plans(number, self.legs.turn(number), done, self._at_once))
        plan = ahead.popleft()
        self._next = number + 1, done + plan.leg.program.episodes
        return plan

    def _plans(self, number: int, turn: Turn, done: int, most: int) -> list[PlannedLeg]:
        """Legs from ``number`` on, of which ``turn`` is the first one's; ``done``: episodes before.

        What is wrong with a later one is raised when it is its turn."""
        drawn = [self.legs.draft(number, turn, done)]
        with suppress(ConfigError, DescriptionError):
            while len(drawn) < most and sum(each.accesses for each in drawn) < _ACCESSES_AT_ONCE:
                number += 1
                done += drawn[-1].config.episodes or 0
                if done >= self.options.episodes:
                    break
                drawn.append(self.legs.draft(number, self.legs.turn(number), done))
        plans = [drawn[0].plan(self.engine.loops)]
        with suppress(ConfigError):
            plans += (each.plan(self.engine.loops) for each in drawn[1:])
        if most > 1 and self.engine.batch is not None:
            with suppress(*CANNOT, ConfigError):
                self.engine.batch.prepare([plan.leg for plan in plans])
        return plans

    def run_leg(
        self,
        leg: Leg,
        on_progress: Callable[[AnyRun], None] | None = None,
        observer: TransitionObserver | None = None,
    ) -> tuple[AnyRun, Finding | None]:
        """Run a leg and add it to totals and coverage, also when it is interrupted.

        A leg with a finding has been run on the Python engine, whichever found it; so has one
        that is observed or watched. Raises EngineDisagreement.
        """
        native = None
        if self.engine.native is not None and observer is None and not self._watchers:
            native = self._run_natively(leg, self.engine.native, on_progress)
            if native is not None and native.outcome.finding is None:
                return native, None
        if native is None:
            run = self._run_in_python(leg, on_progress, observer)
        else:  # what was found is confirmed, however long it takes
            run = self._run_in_python(leg, None, observer)
            confirm(leg, native, run)
        finding = run.outcome.finding
        if finding is None:
            return run, None
        from tester.diagnosis.failure_report import refine

        return run, refine(finding, leg.program)

    def _run_natively(
        self,
        leg: Leg,
        native: NativeProtocol,
        on_progress: Callable[[AnyRun], None] | None,
    ) -> NativeLegRun | None:
        """Counted only if it passes or is interrupted; None: the Python engine is to run it."""
        try:
            if not self.engine.is_ready(leg):
                return None
        except CANNOT as error:
            self.engine = self.engine.without_native(error)
            return None
        counted = self.statistics is not None
        run = NativeLegRun(leg, native, handover_rules_of(leg), on_progress, counts=counted)
        run.steps = None if self._log is None else []
        counts = True
        failure: str | None = None
        try:
            if self.engine.batch is not None and self.engine.batch.takes(leg):
                counts = False
                failure = self._in_batch(self.engine.batch, run, on_progress)
                if not failure:
                    return run
            counts = True
            counts = run.run().finding is None
            if self._log is not None:
                self._log.take(run.steps or ())
            if failure not in (None, run.failure):
                raise AssertionError(f"our own bug: in a batch the leg ended with {failure!r}")
        except CANNOT as error:
            counts = False
            self.engine = self.engine.without_native(error)
            return None
        finally:
            if counts and run.started:
                executed = Counts(self.protocol.info)
                executed.add(run.counts())
                self._count(run, executed)
                self._add_counted(run)
        return run

    def _in_batch(
        self,
        batch: LegBatch,
        run: NativeLegRun,
        on_progress: Callable[[AnyRun], None] | None,
    ) -> str:
        """Run a small leg where running takes least. How it fails: it does so again, alone, for its
        report; if it passes, or is interrupted, it is counted."""
        if not self._ended or self._ended[0][0] is not run.leg:
            self._ended.clear()
            self._run_together(batch, run.leg)
        if self._ended:
            _, result, counts = self._ended.popleft()
            return self._add_ended(run, result, counts)
        counts = Counts(self.protocol.info)

        def progress(so_far: NativeLegResult) -> None:
            run.adopt(so_far.outcome, so_far.transitions)
            if on_progress is not None:
                on_progress(run)

        try:
            counted = self.statistics is not None
            (result,) = batch.run([run.leg], counts, progress, self._log, counted)
        except CANNOT:
            raise
        except BaseException:
            if run.transitions:
                batch.add_counts(counts)
                self._count(run, counts)
                self._add_counted(batch)
            raise
        if not result.failure:
            self._add_counted(batch)
        return self._add_ended(run, result, counts)

    def _add_ended(self, run: NativeLegRun, result: NativeLegResult, counts: Counts) -> str:
        """Count a leg that was run in a batch, if it has passed. How it fails."""
        if not result.failure:
            run.adopt(result.outcome, result.transitions)
            self._count(run, counts)
        return result.failure

    def _run_together(self, batch: LegBatch, leg: Leg) -> None:
        """Run it and those that were drawn in advance, as far as they are short: what runs legs is
        then still in the processor's caches. They are counted when it is their turn."""
        if self.statistics is not None or self._log is not None or not self._ahead:
            return
        legs = [leg, *(plan.leg for plan in self._ahead)]
        self._ended.extend((leg, *ended) for leg, ended in zip(legs, batch.run_short(legs)))

    def _add_counted(self, run: NativeLegRun | LegBatch) -> None:
        if self.statistics is not None:
            self.statistics.add(run.counted())

    def _count(self, run: NativeLegRun, counts: Counts) -> None:
        self.totals.add(run.outcome)
        self._executed.merge(counts)
        for name, group in run.leg.description.machines.items():
            if group.count:
                self._present.setdefault(group.of or name)

    def _run_in_python(
        self,
        leg: Leg,
        on_progress: Callable[[AnyRun], None] | None,
        observer: TransitionObserver | None,
    ) -> LegRun:
        system = build_system(self.protocol.info, leg.description, leg.run_key)
        if self._log is not None:
            self._log.clear()
            observer = self._log.note if observer is None else Observers(observer, self._log.note)
        watching = Watching(self._watchers, system)
        observers: tuple[RequestObserver, ...] = watching.attach(observer)
        counters = None
        if self.statistics is not None:
            counters = Counters(system)
            observers = (*observers, Answers(counters))
        stop = None if counters is None else counters.stop
        run = leg_run(leg, system, observers, on_progress, stop)
        try:
            watching.run(run)
        finally:
            run.take_stock()
            self.totals.add(run.outcome)
            if self.statistics is not None and counters is not None:
                self.statistics.add(counters.counted())
            self.coverage.add(system.controllers)
        return run

    def explain(self, leg: Leg, first: LegRun, finding: Finding) -> Failure:
        """Run a failed leg again, with its history recorded, and in easier systems."""
        from tester.campaign.relaxations import relaxed, snooped

        failure = self.with_history(leg, first, finding)
        undefined = finding.verdict is Verdict.UNDEFINED_TRANSITION
        failure.known = resembling(first.place, undefined, self.protocol, self.options.avoid)
        # A runaway takes so long that its verdict must not wait for five more.
        if finding.verdict is not Verdict.RUNAWAY:
            failure.easier = relaxed(leg, self.protocol, self.failure_of, finding.headline)
        failure.easier = [*failure.easier, *snooped(leg, failure.history.events)]
        return failure

    def with_history(self, leg: Leg, first: LegRun, finding: Finding) -> Failure:
        """Run a failed leg again and record its history."""
        from tester.diagnosis.events.history import History
        from tester.diagnosis.failure_report import Failure, in_question, refine
        from tester.diagnosis.line_history import lines_concerned

        program = leg.program
        system = build_system(self.protocol.info, leg.description, leg.run_key)
        about = in_question(finding, program)
        history = History(lines_concerned(first, finding), program.line_size, about)
        watching = Watching(self._watchers, system)
        if finding.verdict is not Verdict.RUNAWAY:
            history.watch(system)  # takes time for each message that there is
        run = leg_run(leg, system, (history, *watching.attach(history.transition)))
        watching.run(run)
        again = run.outcome.finding
        alike = again is not None and (again.tick, again.address, again.headline) == (
            finding.tick,
            finding.address,
            finding.headline,
        )
        shown = finding if again is None else refine(again, program)
        return Failure(leg, run, history, shown, alike)

    def failure_of(self, leg: Leg, on_progress: Callable[[AnyRun], None] | None = None) -> str:
        """What kind of failure a leg ends with; empty: it passes."""
        run = self.tried(leg, on_progress)
        finding = run.outcome.finding
        return "" if finding is None else kind_of(run, finding)

    def tried(self, leg: Leg, on_progress: Callable[[AnyRun], None] | None = None) -> AnyRun:
        """Run a leg to its end on the fastest engine; nothing is counted."""
        if self.engine.native is not None:
            with suppress(*CANNOT):
                rules = handover_rules_of(leg)
                run = NativeLegRun(leg, self.engine.native, rules, on_progress)
                run.run()
                return run
        system = build_system(self.protocol.info, leg.description, leg.run_key)
        python = leg_run(leg, system, on_progress=on_progress)
        python.run()
        return python

    def failures_of(self, legs: Sequence[Leg]) -> list[str]:
        """As `failure_of`, for many legs at once, which takes a fraction of the time for small
        ones.

        What their programs must observe is derived if it is not yet.
        """
        results = self._results_of(legs)
        if results is not None:
            return [result.failure for result in results]
        return [self.failure_of(with_derived(leg)) for leg in legs]

    def endings_of(self, legs: Sequence[Leg]) -> list[str]:
        """As `failures_of`; a hang also has what is stuck: ``hang store``."""
        results = self._results_of(legs)
        if results is not None:
            return [result.ending for result in results]
        return [ending_of(self.tried(with_derived(leg))) for leg in legs]

    def _results_of(self, legs: Sequence[Leg]) -> list[NativeLegResult] | None:
        """None: they cannot be run natively."""
        if self.engine.batch is not None:
            with suppress(*CANNOT):
                return self.engine.batch.run(legs)
        return None


def leg_run(
    leg: Leg,
    system: System,
    observers: Iterable[RequestObserver] = (),
    on_progress: Callable[[AnyRun], None] | None = None,
    on_episodes: Callable[[], None] | None = None,
) -> LegRun:
    """A leg ready to run on a system built for it."""
    rules, limit = handover_rules_of(leg), leg.deadlock_limit
    return LegRun(leg.program, system, limit, rules, observers, on_progress, on_episodes)


def kind_of(run: AnyRun, finding: Finding) -> str:
    """``undefined-transition L1Cache.SM.Inv``: the verdict, and where the protocol failed."""
    return " ".join(filter(None, (finding.verdict.value, run.place)))


def ending_of(run: AnyRun) -> str:
    """How a run that is over has failed; empty: it passed. A hang also has what is stuck."""
    finding = run.outcome.finding
    if finding is None:
        return ""
    kind = kind_of(run, finding)
    return f"{kind} {finding.stuck}".rstrip() if finding.verdict is Verdict.HANG else kind
