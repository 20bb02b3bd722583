"""``gpu-tester run``: legs drawn from a seed, one after the other or several at once."""

from __future__ import annotations

import secrets
import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

from protocols.loader import LoadedProtocol, load_protocol
from runtime.description import load_description, parse_assignment
from slicc.text.command.version import installed_version
from tester.campaign.campaign import AnyRun, Campaign
from tester.campaign.drawing.leg import Legs
from tester.campaign.drawing.leg_summary import defects_summary
from tester.campaign.drawing.options import NO_END, Options
from tester.campaign.drawing.usable_options import check_usable
from tester.campaign.workers import LegResult, OnProgress, OutOfTime, Workers
from tester.cli.checks import check_includes, check_run, fixed_options, given_options
from tester.cli.endings import input_error
from tester.cli.options.common import LegOptions
from tester.cli.options.run import RunOptions
from tester.cli.program_check import ProgramWrong, require_right
from tester.cli.session import Failed, Session, Shrink, ending, engine_for
from tester.engines.choice import Choice
from tester.execution.leg import DEADLOCK_LIMIT
from tester.formats.formats import ResultFormat, text_beside
from tester.formats.run_record import RunEnd
from tester.profiles import profiles
from tester.program.replay_file import Leg, save_leg

if TYPE_CHECKING:
    from tester.cli.options.campaign import CampaignOptions
    from tester.cli.options.legs import DiffOptions, GenerateOptions

DEFAULT_PROTOCOL: Final = "GPU_VIPER"
_SHOW_AFTER: Final = 0.2
"""Seconds between two reports of a worker's progress."""


def run(options: RunOptions) -> int:
    """Returns the exit status. Errors in the user's input are raised."""
    try:
        with text_beside(options.format):
            end = _run(options)
    except Exception as error:
        _print_unfinished(options.format, error)
        raise
    if options.format is not ResultFormat.text:
        from tester.formats.documents import document

        print(document(options.format, end), end="")
    return end.status


def _print_unfinished(format: ResultFormat, error: Exception) -> None:
    """The document of a run that an error in the user's input ends."""
    stop = None if format is ResultFormat.text else input_error(error)
    if stop is not None:
        from tester.formats.documents import unfinished_document

        print(unfinished_document(format, installed_version(), str(stop), stop.status), end="")


def _run(options: RunOptions) -> RunEnd:
    check_includes(options)
    check_run(options)
    engine = engine_for(options.engine, options.trace)
    protocol = load_drawn(options, engine is not Choice.python)
    session = Session(
        options,
        protocol,
        drawn_options(options, protocol),
        engine,
        output=options.output,
        trace=options.trace,
        before=_verify if options.verify else None,
        shrink=None if options.no_shrink else Shrink(options.shrink_budget, options.jobs),
        counts=options.stats is not None,
    )
    series = Series(options.max_seconds, options.save_program, options.jobs, options.go_on)
    status = session.run(series.run)
    session.write_statistics(options.stats, options.stats_format, status)
    return session.end(status)


def load_drawn(
    options: RunOptions | DiffOptions | GenerateOptions | CampaignOptions, native: bool
) -> LoadedProtocol:
    """The protocol that was asked for; else the one of a description, or the default."""
    system, wanted = options.system, options.protocol
    if wanted is None:
        wanted = _described_protocol(system) or DEFAULT_PROTOCOL
    return load_protocol(
        wanted, options.include, system, native, options.prelude, assignments_of(options)
    )


def assignments_of(options: LegOptions) -> dict[str, object]:
    """Fields of the description that the command line sets. Raises DescriptionError."""
    return dict(map(parse_assignment, options.assignments))


def _described_protocol(system: Path | None) -> str | None:
    """The protocol that a system description names, as a path from here."""
    written = None if system is None else load_description(system).protocol
    return str(system.parent / written) if system is not None and written else None


def drawn_options(options: LegOptions, protocol: LoadedProtocol) -> Options:
    """What legs are drawn from; a seed is chosen if none is given.

    Raises ConfigError, DescriptionError.
    """
    fixed = fixed_options(options, protocol.description.line_size)
    assignments = assignments_of(options)
    chosen = options.known_defects, options.attack, options.avoid
    check_usable(protocol, given_options(options), *chosen, assignments)
    profiles.check_name(options.profile)
    protocol.description.override(assignments)  # an error is not kept for after the engine's build
    drawn = Options(
        seed=secrets.randbelow(1 << 32) if options.seed is None else options.seed,
        episodes=options.episodes,
        profile=options.profile,
        fixed=fixed,
        assignments=assignments,
        one_request_per_lane=options.one_request_per_lane,
        known_defects=options.known_defects,
        attack=options.attack,
        avoid=options.avoid,
        leg_episodes=options.leg_episodes,
        deadlock_limit=options.deadlock_limit or DEADLOCK_LIMIT,
        version=installed_version(),
    )
    legs = Legs(protocol, drawn)
    legs.draft(0, legs.turn(0), 0)  # what is wrong with its system is said before anything else
    return drawn


def _verify(session: Session, leg: Leg) -> None:
    require_right(leg)


class Series:
    """The legs of one run until its episodes are complete, its time is over or a leg fails."""

    def __init__(
        self,
        max_seconds: float | None = None,
        save_program: Path | None = None,
        jobs: int = 1,
        go_on: bool = False,
    ) -> None:
        self._max_seconds = max_seconds
        self._save_program = save_program
        self._jobs = jobs
        self._go_on = go_on
        self._stopped = False

    def run(self, session: Session) -> Failed | None:
        """For `Session.run`."""
        self._announce(session)
        session.max_seconds = self._max_seconds
        if self._save_program is not None:
            save_leg(session.campaign.plan(0).leg, self._save_program)
        failed = self._legs(session)
        while self._go_on and not self._stopped and self._look_behind(session):
            failed = self._legs(session)
        return failed

    def _look_behind(self, session: Session) -> bool:
        """Whether there is another campaign; after the last one, single legs are looked at."""
        try:
            if session.look_behind():
                return True
            session.look_behind_legs()
            return False
        except OutOfTime:
            self._say_stopped(session, "; what is behind these failures was not looked for")
            return False

    def _legs(self, session: Session) -> Failed | None:
        return self._several_at_once(session) if self._jobs > 1 else self._in_turn(session)

    def _announce(self, session: Session) -> None:
        drawn, protocol = session.drawn, session.protocol
        session.say(
            f"gpu-tester {drawn.version}: {protocol.identity.name} "
            f"({protocol.identity.digest}), {drawn.episodes:,} episodes, seed {drawn.seed}"
        )
        session.say(session.engine.summary)
        if protocol.note:
            session.say(f"note: {protocol.note}")
        if avoided := drawn.avoided(protocol):
            session.say(defects_summary(avoided))

    def _in_turn(self, session: Session) -> Failed | None:
        number = 0
        while session.episodes_left > 0:
            if number and self._out_of_time(session):
                return None
            before = session.campaign.totals.episodes
            try:
                failed = _next_leg(session, number)
            except OutOfTime:
                done = session.campaign.totals.episodes - before
                self._say_stopped(session, f"; leg {number} after {done:,} episodes, unchecked")
                return None
            if failed is not None and self._ends(session, failed):
                return failed
            number += 1
        return None

    def _ends(self, session: Session, failed: Failed) -> bool:
        """Whether a failure ends the run."""
        if self._go_on:
            session.go_on(*failed)
        return not self._go_on

    def _several_at_once(self, session: Session) -> Failed | None:
        """Run the legs of a series ahead of time in several processes."""
        campaign, episodes = session.campaign, session.drawn.episodes

        def show(ahead: int) -> None:
            session.show(min(campaign.totals.episodes + ahead, episodes))

        def work(number: int, on_progress: OnProgress) -> LegResult:
            return _whole_leg(session, number, on_progress)

        with Workers(self._jobs, work, show, lambda: session.seconds_left) as workers:
            try:
                for result in workers.results():
                    campaign.engine = campaign.engine.update()
                    if result.number and self._out_of_time(session):
                        return None
                    failed = _take(session, result)
                    if failed is not None and self._ends(session, failed):
                        return failed
                    if session.episodes_left <= 0:
                        break
            except OutOfTime:
                self._say_stopped(session, "; legs that were running do not count")
        return None

    def _out_of_time(self, session: Session) -> bool:
        limit = self._max_seconds
        if limit is None or session.seconds <= limit:
            return False
        self._say_stopped(session)
        return True

    def _say_stopped(self, session: Session, more: str = "") -> None:
        self._stopped = True
        session.say(f"stopped after {self._max_seconds:g} seconds, as asked{more}")


def _next_leg(session: Session, number: int) -> Failed | None:
    plan = session.campaign.plan(number)
    return session.leg(plan.leg, plan.summary)


def _take(session: Session, result: LegResult) -> Failed | None:
    """Count a worker's leg; run it here if it did not simply pass or has too many episodes."""
    campaign, totals = session.campaign, result.totals
    if (
        totals is None
        or result.coverage is None
        or campaign.totals.episodes + totals.episodes > session.drawn.episodes
    ):
        return _next_leg(session, result.number)
    session.say_passed(result.number, result.summary, result.ending)
    campaign.totals.merge(totals)
    campaign.coverage.merge(result.coverage)
    campaign.merge_statistics(result.statistics)
    return None


def _whole_leg(session: Session, number: int, on_progress: OnProgress) -> LegResult:
    """Leg ``number`` as it is when nothing cuts it short; for worker processes."""
    notes: list[str] = []
    engine = (
        session.engine if session.engine.notify is None else session.engine.notifying(notes.append)
    )
    drawn = replace(session.drawn, episodes=NO_END)
    campaign = Campaign(session.protocol, drawn, engine, counts=session.counts)
    plan = campaign.plan(number)
    last = time.monotonic()

    def progress(run: AnyRun) -> None:
        nonlocal last
        now = time.monotonic()
        if now - last >= _SHOW_AFTER:
            last = now
            on_progress(run.driver.completed)

    try:
        session.prepare(plan.leg)
    except ProgramWrong:
        return LegResult(number)
    run, finding = campaign.run_leg(plan.leg, progress)
    if finding is not None or notes:
        return LegResult(number)
    return LegResult(
        number,
        plan.summary,
        ending(run),
        campaign.totals,
        campaign.coverage,
        campaign.statistics,
    )
