"""What the verbs share that run legs: live progress, verdict, reports, files.

Results go to stdout and are the same for the same command, except for the last line of rates;
progress and errors go to stderr. What only failures need is imported when there is one: most runs
pass, and are short. Invariant: whatever happens, what was completed is reported.
"""

from __future__ import annotations

import math
import shlex
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from protocols.loader import LoadedProtocol, reachable
from slicc.text.command.exit_status import (
    DISAGREE,
    FINE,
    FOUND,
    INTERRUPTED,
    OURS,
    Ended,
    side_file,
)
from slicc.text.command.progress import Progress
from slicc.text.lazy_dataclass import dataclass
from slicc.text.terminal import printable_lines
from slicc.text.wording import counted, duration, listed
from tester.campaign.campaign import AnyRun, Campaign, kind_of
from tester.campaign.drawing.leg_summary import NO_SUMMARY, LegSummary
from tester.campaign.drawing.options import Options
from tester.campaign.workers import OutOfTime, WorkerDied
from tester.cli.endings import status_of, verdict_word
from tester.cli.finds import Finds
from tester.cli.options.common import LegsOptions
from tester.cli.program_check import ProgramWrong
from tester.engines.choice import Choice
from tester.engines.selection import EngineDisagreement, choose
from tester.errors import ConfigError
from tester.execution.events import Finding, Verdict
from tester.execution.leg import LegRun
from tester.formats.run_record import FailureRecord, RunEnd, RunRecord
from tester.profiles.machine_roles import undriven
from tester.program.replay_file import Leg, ReplayError, save_leg
from tester.statistics.formats import StatsFormat

if TYPE_CHECKING:
    from slicc.coverage.cells import Cells
    from tester.blame.small_leg import Small
    from tester.campaign.left_out import Rounds as _Rounds
    from tester.cli.trace_output import Tracer
    from tester.diagnosis.failure_report import Failure
    from tester.program.program import Program

Failed = tuple[Leg, LegRun, Finding]

LONG: Final = 10_000
"""Episodes after which a run names what it has not hit."""


@dataclass(frozen=True, slots=True)
class Shrink:
    """How failing legs are brought down to the least that fails."""

    budget: int
    jobs: int


class Session:
    """One command that runs legs.

    ``file``: the replay file that its leg is from; None: legs are drawn, and the file of one that
    fails goes into ``output``. ``trace``: of which line transitions are printed. ``before``: see
    `prepare`. ``shrink``: None: legs that fail are reported as they are. ``counts``: whether the
    campaign has statistics.
    """

    def __init__(
        self,
        options: LegsOptions,
        protocol: LoadedProtocol,
        drawn: Options,
        engine: Choice,
        *,
        file: Path | None = None,
        output: Path = Path(),
        trace: str | None = None,
        before: Callable[[Session, Leg], None] | None = None,
        shrink: Shrink | None = None,
        counts: bool = False,
    ) -> None:
        self.options = options
        self.protocol = protocol
        self.drawn = drawn
        self.seed_given = file is not None or getattr(options, "seed", 0) is not None
        self.file = file
        self._output = output
        self._before = before
        self._shrink = shrink
        self.counts = counts
        self.max_seconds: float | None = None
        """The time that there is for legs; one that takes longer is cut."""
        self._started = time.monotonic()
        self._live_episodes = 0
        self._shrinking = ""
        wanted = not (options.no_progress or options.quiet or trace is not None)
        self._progress = Progress(self._line, wanted)
        choice = engine_for(engine, trace)
        self.engine = choose(
            choice, protocol, self.say, warn=_warn, counts=counts, python_meanwhile=True
        )
        self.campaign = Campaign(protocol, drawn, self.engine, counts=counts)
        self.finds = Finds()
        """What a run has gone on behind."""
        self.record = RunRecord()
        self._earlier: list[Campaign] = []
        self._rounds: _Rounds | None = None
        self._failing: dict[str, list[int]] = {}
        """Legs of the first campaign, by how they failed."""
        self._alone = 0
        """Legs that were run without things of their own."""
        self._tracer: Tracer | None = None
        if trace is not None:
            from tester.cli.trace_output import Tracer

            self._tracer = Tracer(trace, protocol.description.line_size)

    @property
    def seconds(self) -> float:
        """How long it runs."""
        return max(1e-9, time.monotonic() - self._started)

    @property
    def seconds_left(self) -> float | None:
        """Until the end of `max_seconds`, if there is one."""
        return None if self.max_seconds is None else max(0.0, self.max_seconds - self.seconds)

    def check_time(self, _: AnyRun | None = None) -> None:
        """For what takes long. Raises OutOfTime."""
        if self.seconds_left == 0.0:
            raise OutOfTime

    def run(self, legs: Callable[[Session], Failed | None]) -> int:
        """Run legs until they are done or one fails. Returns the exit status."""
        self._started = time.monotonic()
        try:
            with self._progress:
                failed = legs(self)
            if failed is not None:
                self._report(*failed)
            passed = failed is None and not self.finds
            status = status_of(self.campaign.totals.episodes) if passed else FOUND
        except KeyboardInterrupt:
            status = INTERRUPTED
        except Ended as end:
            status = end.status
        except EngineDisagreement as error:
            self._our_bug(error, error.leg, "diff", "shows where they part")
            print("  --engine python continues without the native one", file=sys.stderr)
            status = DISAGREE
        except ProgramWrong as error:
            self._our_bug(error, error.leg, "verify", "shows it again")
            status = OURS
        except WorkerDied as error:
            print(f"gpu-tester: {error}; was there too little memory for --jobs?", file=sys.stderr)
            status = OURS
        finally:
            self.engine.close()
        if self._tracer is not None and self._tracer.missed():
            _warn(f"--trace: {self._tracer.missed()}")
        self._list_finds()
        for campaign in self._earlier:
            self.campaign.totals.merge(campaign.totals)
            self.campaign.coverage.merge(campaign.coverage)
            self.campaign.merge_statistics(campaign.statistics)
        long = self.campaign.totals.episodes >= LONG and not self.options.quiet
        cells = self._cells() if long or self.options.coverage is not None else None
        self._summary(status, cells if long else None)
        if cells is not None and self.options.coverage is not None:
            from slicc.coverage.file import write_cells

            with side_file("gpu-tester", status):
                write_cells(cells, self.options.coverage)
        return status

    def _cells(self) -> Cells:
        """What was hit so far, and what cannot be."""
        from protocols.unsent import unsent_cells

        coverage, options = self.campaign.coverage, self.options
        unsent = unsent_cells(self.protocol, coverage.machines, options.include, options.prelude)
        return coverage.cells(self.protocol.identity.digest, unsent)

    def prepare(self, leg: Leg) -> None:
        """What comes before each leg. Raises what ends the command."""
        if self._before is not None:
            self._before(self, leg)

    def leg(self, leg: Leg, summary: LegSummary = NO_SUMMARY) -> Failed | None:
        """Run one leg and print its result. Raises OutOfTime, with the leg counted as far as it is
        complete."""
        self.prepare(leg)
        done = self.campaign.totals.episodes

        def progress(run: AnyRun) -> None:
            self.show(done + run.driver.completed)
            self.check_time()

        run, finding = self.campaign.run_leg(leg, progress, self._tracer)
        if finding is not None:
            assert isinstance(run, LegRun), "findings are confirmed by the Python engine"
            self.say_leg(leg.number, summary, "FAILED")
            self.record.add_leg(leg.profile, kind_of(run, finding))
            return leg, run, finding
        self.say_passed(leg.number, summary, ending(run))
        self.show(self.campaign.totals.episodes)
        return None

    @property
    def episodes_left(self) -> int:
        """How many episodes are left to run; what failing legs left undone is not made up for."""
        return self.drawn.episodes - self.campaign.totals.episodes - self.finds.lost

    def go_on(self, leg: Leg, run: LegRun, finding: Finding) -> None:
        """Report a failure if it is the first of its kind, and count it."""
        if not self.finds.count(leg, run, finding):
            path = self._report(leg, run, finding)
            self.finds.add(leg, run, finding, path)

    def look_behind(self) -> bool:
        """Whether there is another campaign to run, without what made this one fail.

        Raises OutOfTime.
        """
        from tester.campaign.left_out import Rounds

        failing = self.finds.take_legs()
        if self._rounds is None:
            self._rounds = Rounds()
            self._failing = failing
        without = self._rounds.next(self.campaign, failing, self.check_time)
        if without:
            self._earlier.append(self.campaign)
            drawn = self._earlier[0].options
            for each in self._rounds.left_out:
                drawn = each.of(drawn)
            self.drawn = drawn
            self.campaign = Campaign(self.protocol, drawn, self.campaign.engine, counts=self.counts)
            names = ", ".join(each.what for each in without)
            self.say(f"\nbehind these failures, without {names}")
        return bool(without)

    def look_behind_legs(self) -> None:
        """Run failing legs again, each without what makes it fail, and report what is new.

        Raises OutOfTime.
        """
        from tester.campaign.left_out import apart

        first = (*self._earlier, self.campaign)[0]
        for each in apart(first, self._failing, self.check_time):
            if each.kind and each.kind not in self.finds:
                names = ", ".join(one.what for one in each.left_out)
                self.say(f"\nbehind the failure of leg {each.number}, without {names}")
                self._alone += 1
                failed = self.leg(each.leg(first))
                if failed is not None:
                    self.go_on(*failed)

    # ------------------------------------------------------------------ output

    def say(self, text: str) -> None:
        """A line of results."""
        if not self.options.quiet:
            self._progress.say(text)

    def say_leg(self, number: int, summary: LegSummary, result: str, ending: str = "") -> None:
        """A leg that has ended, in a line; with --verbose, how it was and how it went."""
        self.say(f"leg {number:>3}  {f'{summary.line}  ' if summary.line else ''}{result}")
        if self.options.verbose:
            for line in (*summary.details, ending):
                self.say(f"  {line}")

    def say_passed(self, number: int, summary: LegSummary, ending: str) -> None:
        """A leg that has passed, here or in another process."""
        self.say_leg(number, summary, "passed", ending)
        self.record.add_leg(summary.profile)

    def show(self, episodes: int) -> None:
        """How far the run is, for the live progress."""
        self._live_episodes = episodes

    def _line(self) -> str:
        """``412/1,000 episodes  41 %  0:03, 0:05 left  1,390 episodes/s``."""
        if self._shrinking:
            return self._shrinking
        episodes, seconds = self._live_episodes, self.seconds
        rate = f"{episodes / seconds:,.0f} episodes/s"
        if self.file is not None:
            return f"{episodes:,} episodes  {duration(seconds)}  {rate}"
        wanted = self.drawn.episodes
        left = seconds * (wanted - episodes) / episodes if episodes else math.inf
        coming = f", {duration(left)} left" if left < math.inf else ""
        return (
            f"{episodes:,}/{wanted:,} episodes  {100 * episodes // wanted} %  "
            f"{duration(seconds)}{coming}  {rate}"
        )

    def _list_finds(self) -> None:
        if self.finds:
            print("different failures")
            for line in self.finds.lines():
                print(f"  {line}")
            print()

    def _report(self, leg: Leg, run: LegRun, finding: Finding) -> Path:
        """Print a failure; where its replay file is."""
        from tester.diagnosis.failure_report import render

        path = self._file_of(leg)
        failure = self.campaign.explain(leg, run, finding)
        failure.reproduce = self._command("replay", path)
        found = None if self._shrink is None else self._shrunk(self._shrink, leg, path, failure)
        report = render(failure, self.options.history)
        self._progress.say(f"\n{report}")
        files = {"leg": path}
        if found is not None:
            files |= {"least": found.path, "page": found.path.with_suffix(".html")}
        blame = None if found is None else found.blame
        kind = kind_of(run, finding)
        self.record.failures.append(FailureRecord.of(failure, kind, report, blame, files))
        if found is not None and found.shrunk.interrupted:
            raise KeyboardInterrupt
        return path

    def _shrunk(self, shrink: Shrink, leg: Leg, path: Path, failure: Failure) -> Small | None:
        """Add the least that fails in the same way to a report.

        Runaways take so long that they are left as they are.
        """
        if failure.finding.verdict is Verdict.RUNAWAY or not failure.repeated:
            return None
        from tester.blame.small_leg import small
        from tester.shrink.measure import Size
        from tester.shrink.search import DoesNotFail
        from tester.shrink.shrink_report import small_file

        def show(candidates: int, program: Program) -> None:
            self._shrinking = f"shrinking: {candidates:,} candidates, {Size.of(program)}"
            self.check_time()

        try:
            found = small(
                leg,
                self.campaign,
                small_file(path),
                budget=shrink.budget,
                jobs=shrink.jobs,
                on_candidate=show,
            )
        except (DoesNotFail, ReplayError) as error:
            print(f"gpu-tester: not shrunk: {error}", file=sys.stderr)
            return None
        finally:
            self._shrinking = ""
        command = self._command("replay", found.path)
        found.describe(failure, self.campaign, command, self._page(found, command))
        return found

    def _page(self, found: Small, command: str) -> str:
        """Write the page beside a shrunk leg; its name, empty where it could not be written."""
        from tester.shrink.leg_page import write_leg_page
        from tester.shrink.search import finding_of

        path = found.path.with_suffix(".html")
        leg, protocol = found.shrunk.leg, self.protocol
        try:
            write_leg_page(
                path,
                leg,
                protocol,
                finding_of(leg, protocol),
                include=self.options.include,
                preludes=self.options.prelude,
                command=command,
            )
        except OSError as error:
            print(f"gpu-tester: no page: {path}: {error.strerror or error}", file=sys.stderr)
            return ""
        return str(path)

    def _our_bug(self, error: Exception, leg: Leg, verb: str, use: str) -> None:
        """Report a bug of the tester, and the command that shows it."""
        path = self._file_of(leg)
        command = f"gpu-tester verify {path}" if verb == "verify" else self._command(verb, path)
        print(f"\ngpu-tester: BUG OF THE TESTER: {error}\n  {command} {use}", file=sys.stderr)

    def _file_of(self, leg: Leg) -> Path:
        """Where the leg is; written there unless it came from a file.

        A full disk must not cost the report as well.
        """
        if self.file is not None:
            return self.file
        round_ = f"-round{len(self._earlier) + 1}" if self._earlier else ""
        if self._alone:
            round_ = f"-alone{self._alone}"
        name = f"{self.protocol.identity.name}-seed{leg.seed}{round_}-leg{leg.number}.leg"
        path = self._output / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            save_leg(leg, path)
        except (OSError, ReplayError) as error:
            print(f"gpu-tester: no replay file: {error}", file=sys.stderr)
        return path

    def _command(self, verb: str, path: Path) -> str:
        command = ["gpu-tester", verb, str(path)]
        protocol = self._protocol_to_name()
        if protocol is not None:
            command += ["--protocol", protocol]
        for directory in self.options.include:
            command += ["--include", str(directory)]
        for prelude in self.options.prelude:
            command += ["--prelude", str(prelude)]
        return shlex.join(command)

    def _protocol_to_name(self) -> str | None:
        """What a command must name, because the file alone would not lead to this protocol."""
        path = self.protocol.identity.path
        if self.file is not None:
            return self.options.protocol
        if not path or reachable(path, self.options.include):
            return None
        return path

    def end(self, status: int) -> RunEnd:
        """What there is to say of a run that ended with a status."""
        return RunEnd(
            record=self.record,
            protocol=self.protocol,
            totals=self.campaign.totals,
            coverage=self.campaign.coverage,
            seed=self.drawn.seed,
            version=self.drawn.version,
            engine=self.engine.summary,
            status=status,
            word=verdict_word(status),
            seconds=self.seconds,
        )

    def write_statistics(self, path: Path | None, format: StatsFormat | None, status: int) -> None:
        """Write the statistics of all legs, where a session counts; after the last one. Raises
        OSError if nothing was found."""
        statistics, totals = self.campaign.statistics, self.campaign.totals
        if path is None or statistics is None:
            return
        from tester.statistics.documents import write as write_document

        name, seed = self.protocol.identity.name, self.drawn.seed
        title = f"{name}: {totals.episodes:,} episodes, seed {seed}"
        with side_file("gpu-tester", status):
            write_document(statistics, path, format, title)

    def _summary(self, status: int, cells: Cells | None) -> None:
        """``cells``: of a run so long that what it has not hit is of interest."""
        totals, campaign = self.campaign.totals, self.campaign
        verdict = verdict_word(status)
        seed = "" if self.seed_given else f", seed {self.drawn.seed}"
        rest = (
            f"{counted(totals.episodes, 'episode')} in {counted(totals.legs, 'leg')}, "
            f"{totals.lane_accesses:,} lane accesses, {campaign.transitions:,} transitions, "
            f"{totals.ticks:,} ticks{seed}"
        )
        if self.file is None:
            undone = undriven(self.protocol.info, self.protocol.description)
            if undone:
                rest += f"; without {listed(undone)}: the description has no agents there"
            idle = [name for name in campaign.coverage.idle() if name not in undone]
            if idle:
                rest += f"; without {listed(idle)}: no transition was executed there"
        self._progress.verdict(verdict, rest, good=status == FINE)
        if self.options.quiet:
            return
        print(
            f"  {totals.mean_live:.1f} live episodes on average, "
            f"{100 * totals.handover_share:.0f} % of agent time waiting for hand-overs"
        )
        if campaign.coverage.machines:
            print("coverage (executed / defined transitions)")
            for line in campaign.coverage.summary():
                print(f"  {line}")
            if cells is not None:
                _print_never_hit(cells)
        seconds = self.seconds
        code = "; not yet optimised at first" if self.engine.began_on_tier0 else ""
        print(
            f"{seconds:.1f} s: {totals.episodes / seconds:,.0f} episodes/s, "
            f"{totals.lane_accesses / seconds:,.0f} lane accesses/s, "
            f"{campaign.transitions / seconds:,.0f} transitions/s{code}",
            flush=True,
        )


def _print_never_hit(cells: Cells) -> None:
    from slicc.coverage.report import never_hit

    for line in never_hit(cells):
        print(printable_lines(f"  {line}"))


def engine_for(choice: Choice, trace: str | None) -> Choice:
    """Options that print transitions need the Python engine. Raises ConfigError."""
    if trace is None:
        return choice
    if choice is Choice.native:
        raise ConfigError("--trace needs the Python engine: leave --engine native away")
    return Choice.python


def ending(run: AnyRun) -> str:
    """How a leg that passed went."""
    outcome, concurrency = run.outcome, run.outcome.concurrency
    return (
        f"{outcome.lane_accesses:,} lane accesses in {outcome.ticks:,} ticks, "
        f"{concurrency.mean_live:.1f} of {len(run.driver.agents)} agents live, "
        f"{100 * concurrency.handover_share:.0f} % of their time waiting"
    )


def _warn(text: str) -> None:
    """Print a problem that only costs time."""
    print(f"gpu-tester: {printable_lines(text)}", file=sys.stderr)
