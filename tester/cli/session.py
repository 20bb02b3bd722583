"""One invocation of ``gpu-tester``: legs, live progress, verdict, files.

Results go to stdout and are the same for the same command, but for the last line of rates;
progress and complaints go to stderr. Invariant: whatever happens, what was completed is reported.
"""

from __future__ import annotations

import gc
import secrets
import shlex
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final

from protocols.loader import LoadedProtocol, load_protocol, reachable
from runtime.description import load_description, parse_assignment
from runtime.system.system import build_system
from slicc.cli.exit_status import DISAGREE, FINE, FOUND, INTERRUPTED, OURS, Ended
from slicc.cli.version import installed_version
from slicc.text.terminal import printable_lines
from tester.campaign.campaign import AnyRun, Campaign, Options
from tester.campaign.engine_choice import Choice
from tester.campaign.engine_selection import EngineDisagreement, choose
from tester.campaign.leg_summary import defects_words
from tester.campaign.replay_protocol import fitted, named_protocol
from tester.campaign.workers import LegResult, Tell, WorkerDied, Workers
from tester.cli.options import Request, check, fixed_options
from tester.cli.progress import Progress
from tester.diagnosis.failure_report import render
from tester.errors import ConfigError
from tester.execution.events import Finding
from tester.execution.leg import DEADLOCK_LIMIT, LegRun
from tester.program.replay_file import Leg, ReplayError, load_leg, save_leg

DEFAULT_PROTOCOL: Final = "GPU_VIPER"
_NO_END: Final = 1 << 40
"""Episodes that no run has."""
_WORDS: Final = {
    FINE: "PASSED",
    FOUND: "FAILED",
    DISAGREE: "BROKEN: the engines disagree",
    OURS: "BROKEN: a process died",
}


def tune_collector() -> None:
    """Runs make much garbage and few cycles: let the collector look less often."""
    gc.set_threshold(100_000, 50, 100)


def run(request: Request) -> int:
    """Do it; returns the exit status. Errors in the user's input are raised."""
    tune_collector()
    leg = None if request.replay is None else load_leg(request.replay)
    check(request)
    if request.protocol is not None:
        name = request.protocol
    elif leg is not None:
        assert request.replay is not None, "a leg comes from a file"
        name = named_protocol(leg, request.replay, request.include)
    else:
        name = _described_protocol(request.system) or DEFAULT_PROTOCOL
    engine = _engine_for(request)
    native = engine is not Choice.python
    protocol = load_protocol(name, request.include, request.system, native, request.preludes)
    return Session(request, protocol, engine).run(leg)


def _engine_for(request: Request) -> Choice:
    """The engine to ask for: what looks at single transitions is made for the Python one."""
    if request.trace is None:
        return Choice.native if request.diff_engines else request.engine
    if request.engine is Choice.native or request.diff_engines:
        raise ConfigError("--trace needs the Python engine: leave --engine native away")
    return Choice.python


def _described_protocol(system: Path | None) -> str | None:
    """The protocol that a system description names, as a path from here."""
    written = None if system is None else load_description(system).protocol
    return str(system.parent / written) if system is not None and written else None


class Session:
    """A run with its output."""

    def __init__(
        self, request: Request, protocol: LoadedProtocol, engine: Choice = Choice.python
    ) -> None:
        self.request = request
        self.protocol = protocol
        seed = secrets.randbelow(1 << 32) if request.seed is None else request.seed
        self.options = Options(
            seed=seed,
            episodes=request.episodes,
            profile=request.profile,
            fixed=fixed_options(request, protocol.description.line_size),
            assignments=dict(parse_assignment(text) for text in request.assignments),
            one_request_per_lane=request.one_request_per_lane,
            known_defects=request.known_defects,
            leg_episodes=request.leg_episodes,
            deadlock_limit=request.deadlock_limit or DEADLOCK_LIMIT,
            version=installed_version(),
        )
        self._started = time.monotonic()
        self._progress = Progress(
            request.episodes if request.replay is None else 0,
            request.progress and not request.quiet and request.trace is None,
        )
        self._engine = choose(engine, protocol, self._say, warn=self._warn)
        self.campaign = Campaign(protocol, self.options, self._engine)
        self._tracer: Callable[..., None] | None = None
        if request.trace is not None:
            from tester.cli.trace_output import tracer

            self._tracer = tracer(request.trace, protocol.description.line_size)

    def run(self, replayed: Leg | None) -> int:
        """All legs, or the one from a file. Returns the exit status."""
        status = FINE
        self._started = time.monotonic()
        try:
            with self._progress:
                failure = self._replay(replayed) if replayed is not None else self._legs()
            if failure is not None:
                self._report(*failure, replayed is not None)
                status = FOUND
        except KeyboardInterrupt:
            status = INTERRUPTED
        except Ended as end:
            status = end.status
        except EngineDisagreement as slip:
            self._disagreement(slip, replayed is not None)
            status = DISAGREE
        except WorkerDied as slip:
            print(f"gpu-tester: {slip}; was there too little memory for --jobs?", file=sys.stderr)
            status = OURS
        finally:
            self._engine.close()
        self._summary(status)
        if self.request.coverage is not None:
            try:
                self.campaign.coverage.write(self.request.coverage)
            except OSError as slip:
                slip.filename = self.request.coverage  # a full disk does not say where
                raise
        return status

    # ------------------------------------------------------------------ legs

    def _legs(self) -> tuple[Leg, LegRun, Finding] | None:
        options, campaign = self.options, self.campaign
        self._say(
            f"gpu-tester {options.version}: {self.protocol.identity.name} "
            f"({self.protocol.identity.digest}), {options.episodes:,} episodes, seed {options.seed}"
        )
        self._say(self._engine.words)
        if self.protocol.note:
            self._say(f"note: {self.protocol.note}")
        if not options.known_defects and self.protocol.written.defects:
            self._say(defects_words(self.protocol.written))
        if self.request.save_program is not None:
            save_leg(campaign.plan(0).leg, self.request.save_program)
        if self.request.jobs > 1:
            return self._legs_of_many()
        number = 0
        while campaign.totals.episodes < options.episodes:
            if number and self._out_of_time():
                return None
            failure = self._next_leg(number)
            if failure is not None:
                return failure
            number += 1
        return None

    def _legs_of_many(self) -> tuple[Leg, LegRun, Finding] | None:
        """The same legs, run ahead of time by several processes."""
        campaign, episodes = self.campaign, self.options.episodes

        def tell(ahead: int, transitions: int) -> None:
            self._progress.show(
                min(campaign.totals.episodes + ahead, episodes), campaign.transitions + transitions
            )

        with Workers(self.request.jobs, self._whole_leg, tell) as workers:
            for result in workers.results():
                self._engine.update()
                if result.number and self._out_of_time():
                    return None
                totals, coverage = result.totals, result.coverage
                if (
                    totals is None
                    or coverage is None
                    or campaign.totals.episodes + totals.episodes > episodes
                ):
                    failure = self._next_leg(result.number)
                    if failure is not None:
                        return failure
                else:
                    self._say(f"leg {result.number}: {_indent(result.words)}")
                    self._say(result.ending)
                    campaign.totals.merge(totals)
                    campaign.coverage.merge(coverage)
                if campaign.totals.episodes >= episodes:
                    break
        return None

    def _next_leg(self, number: int) -> tuple[Leg, LegRun, Finding] | None:
        plan = self.campaign.plan(number)
        self._say(f"leg {number}: {_indent(plan.words)}")
        finding = self._leg(plan.leg)
        return None if finding is None else (plan.leg, *finding)

    def _whole_leg(self, number: int, tell: Tell) -> LegResult:
        """Leg ``number`` as it is when nothing cuts it short; for worker processes."""
        notes: list[str] = []
        engine = self._engine if self._engine.say is None else self._engine.saying(notes.append)
        campaign = Campaign(self.protocol, replace(self.options, episodes=_NO_END), engine)
        plan = campaign.plan(number)
        last = time.monotonic()

        def progress(run: AnyRun) -> None:
            nonlocal last
            now = time.monotonic()
            if now - last >= 0.2:
                last = now
                tell(run.driver.completed, campaign.transitions)

        run, finding = campaign.run_leg(plan.leg, progress)
        if finding is not None or notes:
            return LegResult(number)
        return LegResult(number, plan.words, _ending(run), campaign.totals, campaign.coverage)

    def _out_of_time(self) -> bool:
        limit = self.request.max_seconds
        if limit is None or time.monotonic() - self._started <= limit:
            return False
        self._say(f"stopped after {limit:g} seconds, as asked")
        return True

    def _replay(self, leg: Leg) -> tuple[Leg, LegRun, Finding] | None:
        identity = self.protocol.identity
        assert self.request.replay is not None, "a leg comes from a file"
        leg = fitted(leg, self.protocol, self.request.replay)
        self._say(
            f"gpu-tester {self.options.version}: {identity.name}, leg {leg.number} of seed "
            f"{leg.seed} from {self.request.replay}: {leg.program.episodes:,} episodes"
        )
        self._say(self._engine.words)
        if leg.protocol.digest != identity.digest:
            self._say(
                f"note: {identity.name} is not the text that the file was made with "
                f"({identity.digest}, then {leg.protocol.digest})"
            )
        finding = self._leg(leg)
        return None if finding is None else (leg, *finding)

    def _leg(self, leg: Leg) -> tuple[LegRun, Finding] | None:
        if self.request.diff_engines:
            self._compare_engines(leg)
        done = self.campaign.totals.episodes
        last = 0.0

        def progress(run: AnyRun) -> None:
            nonlocal last
            now = time.monotonic()
            if now - last >= 0.2:
                last = now
                self._progress.show(done + run.driver.completed, self.campaign.transitions)

        run, finding = self.campaign.run_leg(leg, progress, self._tracer)
        if finding is not None:
            assert isinstance(run, LegRun), "findings are confirmed by the Python engine"
            return run, finding
        self._say(_ending(run))
        self._progress.show(self.campaign.totals.episodes, self.campaign.transitions)
        return None

    def _compare_engines(self, leg: Leg) -> None:
        """Say where the engines part, if they do. Raises EngineDisagreement then."""
        from tester.campaign.engine_diff import describe, first_difference

        native = self._engine.native
        assert native is not None, "asking for both engines asks for the native one"
        difference = first_difference(self.protocol, native, leg)
        if difference is None:
            self._say("  both engines make the same transitions")
            return
        system = build_system(self.protocol.info, leg.description, leg.run_key)
        for line in describe(difference, system):
            print(line)
        raise EngineDisagreement(leg, "another transition", "see above")

    # ------------------------------------------------------------------ words

    def _report(self, leg: Leg, run: LegRun, finding: Finding, replayed: bool) -> None:
        request = self.request
        if replayed:
            assert request.replay is not None
            path = request.replay
        else:
            path = self._save(leg)
        failure = self.campaign.explain(leg, run, finding)
        failure.reproduce = self._reproduce(path)
        print(f"\n{render(failure)}")

    def _disagreement(self, slip: EngineDisagreement, replayed: bool) -> None:
        """Our own bug, and what shows it."""
        path = self.request.replay if replayed else self._save(slip.leg)
        assert path is not None, "what is replayed comes from a file"
        print(
            f"\ngpu-tester: BUG OF THE TESTER: {slip}\n"
            f"  {self._reproduce(path)} --diff-engines shows where they part;\n"
            "  --engine python goes on without the native one",
            file=sys.stderr,
        )

    def _save(self, leg: Leg) -> Path:
        """A full disk must not cost the report as well."""
        name = f"{self.protocol.identity.name}-seed{leg.seed}-leg{leg.number}.leg"
        path = self.request.output / name
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            save_leg(leg, path)
        except (OSError, ReplayError) as slip:
            print(f"gpu-tester: no replay file: {slip}", file=sys.stderr)
        return path

    def _reproduce(self, path: Path) -> str:
        words = ["gpu-tester", "--replay", str(path)]
        protocol = self._protocol_to_name()
        if protocol is not None:
            words += ["--protocol", protocol]
        for directory in self.request.include:
            words += ["--include", str(directory)]
        for prelude in self.request.preludes:
            words += ["--prelude", str(prelude)]
        return shlex.join(words)

    def _protocol_to_name(self) -> str | None:
        """What a command must name, because the file alone would not lead to this protocol."""
        request, path = self.request, self.protocol.identity.path
        if request.replay is not None:
            return request.protocol
        if not path or reachable(path, request.include):
            return None
        return path

    def _summary(self, status: int) -> None:
        totals, campaign = self.campaign.totals, self.campaign
        word = _WORDS.get(status, "INTERRUPTED")
        legs = f"{totals.legs} leg{'s' if totals.legs != 1 else ''}"
        print(
            f"{word}: {totals.episodes:,} episodes in {legs}, {totals.lane_accesses:,} lane "
            f"accesses, {campaign.transitions:,} transitions, {totals.ticks:,} ticks"
        )
        if self.request.quiet:
            return
        print(
            f"  {totals.mean_live:.1f} live episodes on average, "
            f"{100 * totals.handover_share:.0f} % of thread time waiting for hand-overs"
        )
        if campaign.coverage.machines:
            print("coverage (executed / defined transitions)")
            for line in campaign.coverage.summary():
                print(f"  {line}")
        seconds = max(1e-9, time.monotonic() - self._started)
        code = "; not yet optimised at first" if self._engine.began_on_tier0 else ""
        print(
            f"{seconds:.1f} s: {totals.episodes / seconds:,.0f} episodes/s, "
            f"{totals.lane_accesses / seconds:,.0f} lane accesses/s, "
            f"{campaign.transitions / seconds:,.0f} transitions/s{code}",
            flush=True,
        )

    def _say(self, text: str) -> None:
        if not self.request.quiet:
            self._progress.say(text)

    def _warn(self, text: str) -> None:
        """What costs time only, and is no result."""
        print(f"gpu-tester: {printable_lines(text)}", file=sys.stderr)


def _ending(run: AnyRun) -> str:
    """How a passed leg went."""
    outcome, statistics = run.outcome, run.outcome.statistics
    return (
        f"  passed: {outcome.lane_accesses:,} lane accesses in {outcome.ticks:,} ticks, "
        f"{statistics.mean_live:.1f} of {len(run.driver.threads)} threads live, "
        f"{100 * statistics.handover_share:.0f} % of their time waiting"
    )


def _indent(words: str) -> str:
    return words.replace("\n", "\n  ")
