"""One session of a campaign that is kept in a directory: where legs run, and what is printed.

Invariant: whatever ends it, what was committed is there, and one message says how it goes on.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from protocols.loader import LoadedProtocol
from slicc.text.command.exit_status import DISAGREE, FINE, FOUND, INTERRUPTED, OURS, Ended
from slicc.text.command.progress import Progress
from slicc.text.terminal import printable_lines
from slicc.text.wording import counted, duration
from tester.campaign.drawing.leg_summary import defects_summary
from tester.campaign.drawing.options import Options
from tester.campaign.workers import OutOfTime, WorkerDied, Workers
from tester.campaign_directory.directory import CampaignDirectory
from tester.campaign_directory.failures import FailureLog, Files
from tester.campaign_directory.leg_task import LegRecord, LegRunner
from tester.campaign_directory.series import Crew, LegSeries
from tester.campaign_directory.status import read_status, text_lines
from tester.campaign_directory.store import FailureRow, Store, StoreError
from tester.cli.endings import status_of, verdict_word
from tester.cli.options.campaign import NO_END, CampaignOptions
from tester.engines.selection import Chosen, EngineDisagreement, choose
from tester.errors import ConfigError
from tester.program.program import Program
from tester.program.replay_file import Leg, ReplayError, save_leg
from tester.shrink.measure import Size

_TRIES: Final = 3
"""How often a leg is begun whose process dies."""


class CampaignSession:
    """One command that works in a directory."""

    def __init__(
        self,
        options: CampaignOptions,
        protocol: LoadedProtocol,
        drawn: Options,
        directory: CampaignDirectory,
        store: Store,
    ) -> None:
        self._options = options
        self._protocol = protocol
        self._drawn = drawn
        self._directory = directory
        self._store = store
        self._started = time.monotonic()
        self._shrinking = ""
        wanted = not (options.no_progress or options.quiet)
        self._progress = Progress(self._line, wanted)
        self._series: LegSeries

    def run(self) -> int:
        """Until the budget is spent. Returns the exit status. Raises ConfigError."""
        if avoided := self._drawn.avoided(self._protocol):
            self._say(defects_summary(avoided))
        engine = choose(self._options.engine, self._protocol, self._say, warn=_warn)
        self._series = self._new_series(engine)
        first = self._series.progress.legs
        goes_on = f", from leg {first:,} on" if first else ""
        self._say(f"{engine.summary}; seed {self._drawn.seed}{goes_on}")
        try:
            with self._progress, _words_for_full_disks(self._directory):
                status = self._legs(engine)
        finally:
            engine.close()
        self._summary(status)
        return status

    def _new_series(self, engine: Chosen) -> LegSeries:
        store, options = self._store, self._options
        legs = store.legs_of_failures()
        failures = FailureLog(
            Files(
                self._directory.root,
                self._directory.failures,
                options.include,
                options.prelude,
            ),
            [(row, legs.get(row.id, 0)) for row in store.failures()],
            budget=options.shrink_budget,
            jobs=options.jobs,
            shrinks=not options.no_shrink,
            on_candidate=self._show_candidate,
        )
        return LegSeries(
            store,
            self._protocol,
            self._drawn,
            engine,
            failures,
            guided=options.guide,
            on_failure=self._show_failure,
        )

    def _legs(self, engine: Chosen) -> int:
        try:
            with self._crew(engine) as crew:
                self._series.run(crew, self._goes_on)
        except OutOfTime:
            pass
        except KeyboardInterrupt:
            return INTERRUPTED
        except Ended as end:
            return end.status
        except EngineDisagreement as error:
            return self._disagreement(error)
        except WorkerDied as error:
            _warn(f"{error}, {_TRIES} times; was there too little memory for --jobs?")
            return OURS
        progress = self._series.progress
        return FOUND if progress.failing_legs else status_of(progress.episodes)

    @contextmanager
    def _crew(self, engine: Chosen) -> Iterator[Crew]:
        options = self._options
        if options.scheduler is None and options.local_cluster is None:
            runner = LegRunner(self._protocol, self._drawn, engine)
            with Workers(options.jobs, runner.run, lambda *_: None, self._left, _TRIES) as workers:
                yield workers
            return
        from tester.campaign_directory.cluster import Job, cluster_crew

        job = Job.of(self._protocol, self._drawn, options.engine)
        workers_here = options.local_cluster or 0
        with cluster_crew(options.scheduler, workers_here, job, self._left, _warn) as crew:
            yield crew

    def _left(self) -> float | None:
        """Seconds until the end, if there is one."""
        hours = self._options.hours
        return None if hours is None else max(0.0, 3600 * hours - self._seconds)

    @property
    def _seconds(self) -> float:
        return time.monotonic() - self._started

    def _goes_on(self) -> bool:
        return self._left() != 0.0 and self._series.progress.episodes < self._options.episodes

    # ------------------------------------------------------------------ output

    def _say(self, text: str) -> None:
        if not self._options.quiet:
            self._progress.say(printable_lines(text))

    def _show_failure(self, cause: FailureRow, record: LegRecord, new: bool) -> None:
        self._shrinking = ""
        if new:
            report = self._directory.root / cause.files["report"]
            least = f"\n  shrunk: {cause.least}" if cause.least else ""
            self._say(
                f"leg {record.number} ({record.profile}): {cause.cause}\n  {cause.headline}{least}"
                f"\n  {report}"
            )

    def _show_candidate(self, candidates: int, program: Program) -> None:
        self._shrinking = f"shrinking: {candidates:,} candidates, {Size.of(program)}"

    def _line(self) -> str:
        if self._shrinking:
            return self._shrinking
        progress, options = self._series.progress, self._options
        left = self._left()
        ends = [] if left is None else [f"{duration(left)} left"]
        wanted = "" if options.episodes == NO_END else f"/{options.episodes:,}"
        failing = (
            f"  {counted(progress.failing_legs, 'leg')} failed" if progress.failing_legs else ""
        )
        rate = progress.session_episodes / max(1e-9, self._seconds)
        return (
            f"{counted(progress.legs, 'leg')}, {progress.episodes:,}{wanted} episodes  "
            f"{', '.join([duration(self._seconds), *ends])}  {progress.cells:,} cells, "
            f"{progress.own:,} + {progress.line:,} pairs  {rate:,.0f} episodes/s{failing}"
        )

    def _disagreement(self, error: EngineDisagreement) -> int:
        path = self._directory.failures / f"engines-leg{error.leg.number}.leg"
        path.parent.mkdir(parents=True, exist_ok=True)
        _save(error.leg, path)
        _warn(f"BUG OF THE TESTER: {error}\n  gpu-tester diff {path} shows where they part")
        return DISAGREE

    def _summary(self, status: int) -> None:
        progress = self._series.progress
        if not self._options.quiet:
            for line in text_lines(read_status(self._directory, self._store)):
                print(printable_lines(line))
        verdict = verdict_word(status)
        rest = (
            f"{counted(progress.episodes, 'episode')} in {counted(progress.legs, 'leg')}, "
            f"{progress.session_legs:,} of them now, seed {self._drawn.seed}; "
            f"{progress.failing_legs:,} failed"
        )
        self._progress.verdict(verdict, rest, good=status == FINE)


@contextmanager
def _words_for_full_disks(directory: CampaignDirectory) -> Iterator[None]:
    """What cannot be written ends a session, and costs nothing that was committed."""
    try:
        yield
    except (OSError, ReplayError, StoreError) as error:
        if isinstance(error, BrokenPipeError):
            raise
        where = f"{error.filename}: " if isinstance(error, OSError) and error.filename else ""
        what = error.strerror if isinstance(error, OSError) and error.strerror else f"{error}"
        raise ConfigError(
            f"{where}{what}\n  what {directory.root} holds by now is kept; "
            f"gpu-tester campaign {directory.root} resumes there"
        ) from None


def _save(leg: Leg, path: Path) -> None:
    try:
        save_leg(leg, path)
    except ReplayError as error:
        _warn(f"no replay file: {error}")


def _warn(text: str) -> None:
    print(f"gpu-tester: {printable_lines(text)}", file=sys.stderr)
