"""One invocation of ``gpu-tester``: legs, live progress, verdict, files.

Results go to stdout and are the same for the same command, but for the last line of rates;
progress and complaints go to stderr. Invariant: whatever happens, what was completed is reported.
"""

from __future__ import annotations

import gc
import os
import secrets
import shlex
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from runtime.description import MAX_ENTRIES, load_description, parse_assignment
from runtime.system import build_system
from tester.campaign import AnyRun, Campaign, Options
from tester.engine_choice import Choice
from tester.engines import EngineDisagreement, choose
from tester.errors import ConfigError
from tester.events import Finding
from tester.files import why_not_writable
from tester.leg import DEADLOCK_LIMIT, LegRun
from tester.limits import LIMITS
from tester.parallel import LegResult, Tell, WorkerDied, Workers
from tester.progress import Progress
from tester.protocols import LoadedProtocol, load_protocol
from tester.replay import Leg, ReplayError, load_leg, save_leg
from tester.report import render
from tester.words import defects_words

DEFAULT_PROTOCOL: Final = "GPU_VIPER"
_EXIT_PASSED: Final = 0
_EXIT_FOUND: Final = 1
_EXIT_DISAGREE: Final = 3
_EXIT_BROKEN: Final = 70
_EXIT_INTERRUPTED: Final = 130
_EXIT_NO_READER: Final = 141
_NO_END: Final = 1 << 40
"""Episodes that no run has."""
_WORDS: Final = {
    _EXIT_PASSED: "PASSED",
    _EXIT_FOUND: "FAILED",
    _EXIT_DISAGREE: "BROKEN: the engines disagree",
    _EXIT_BROKEN: "BROKEN: a process died",
}


@dataclass(frozen=True)
class Request:
    """What the command line asked for; None: not given."""

    episodes: int = 1000
    seed: int | None = None
    protocol: str | None = None
    profile: str = "default"
    replay: Path | None = None
    include: tuple[Path, ...] = ()
    preludes: tuple[Path, ...] = ()
    system: Path | None = None
    leg_episodes: int | None = None
    fixed: Mapping[str, object] = field(default_factory=dict)
    cache_sizes: Mapping[str, tuple[int | None, int | None, int | None]] = field(
        default_factory=dict
    )
    """``l1``, ``l2`` -> (bytes, sets, ways)."""
    one_request_per_lane: bool | None = None
    known_defects: bool = False
    assignments: tuple[str, ...] = ()
    deadlock_limit: int | None = None
    max_seconds: float | None = None
    save_program: Path | None = None
    output: Path = Path()
    coverage: Path | None = None
    trace: str | None = None
    quiet: bool = False
    readable: bool = False
    engine: Choice = Choice.auto
    diff_engines: bool = False
    jobs: int = 1
    progress: bool = True


def installed_version() -> str:
    """The version of the installed package."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("slicc")
    except PackageNotFoundError:
        return "source"


def tune_collector() -> None:
    """Runs make much garbage and few cycles: let the collector look less often."""
    gc.set_threshold(100_000, 50, 100)


def run(request: Request) -> int:
    """Do it; returns the exit status. Errors in the user's input are raised."""
    tune_collector()
    leg = None if request.replay is None else load_leg(request.replay)
    if leg is not None:
        _refuse_what_a_leg_fixes(request)
    _refuse_what_needs_one_process(request)
    _check_places(request)
    for directory in request.include:
        if not directory.is_dir():
            raise ConfigError(f"--include {directory}: it is not a directory")
    if request.protocol is not None:
        name = request.protocol
    elif leg is not None:
        name = leg.protocol.path or leg.protocol.name
    else:
        name = _described_protocol(request.system) or DEFAULT_PROTOCOL
    engine = _engine_for(request)
    native = engine is not Choice.python
    protocol = load_protocol(name, request.include, request.system, native, request.preludes)
    if request.readable:
        protocol = protocol.readable()
    try:
        return Session(request, protocol, engine).run(leg)
    except BrokenPipeError:
        # Whoever read the output went away: not worth a word, nor must Python flush at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _EXIT_NO_READER


def _engine_for(request: Request) -> Choice:
    """The engine to ask for: what looks at single transitions is made for the Python one."""
    looking = "--trace" if request.trace is not None else "--form readable"
    if request.trace is None and not request.readable:
        return Choice.native if request.diff_engines else request.engine
    if request.engine is Choice.native or request.diff_engines:
        raise ConfigError(f"{looking} needs the Python engine: leave --engine native away")
    return Choice.python


def _refuse_what_needs_one_process(request: Request) -> None:
    if request.jobs == 1:
        return
    for option, given in (
        ("--replay", request.replay is not None),
        ("--trace", request.trace is not None),
        ("--diff-engines", request.diff_engines),
    ):
        if given:
            raise ConfigError(f"--jobs {request.jobs} has no effect with {option}")


def _described_protocol(system: Path | None) -> str | None:
    """The protocol that a system description names, as a path from here."""
    written = None if system is None else load_description(system).protocol
    return str(system.parent / written) if system is not None and written else None


def _refuse_what_a_leg_fixes(request: Request) -> None:
    """A replayed leg runs as it was; an option that could not have its effect is a mistake."""
    given = {
        "--episodes": request.episodes != Request.episodes,
        "--seed": request.seed is not None,
        "--profile": request.profile != Request.profile,
        "--system": request.system is not None,
        "--leg-episodes": request.leg_episodes is not None,
        "--set": bool(request.assignments),
        "--known-defects": request.known_defects,
        "--deadlock-limit": request.deadlock_limit is not None,
        "--save-program": request.save_program is not None,
        "an option of shape or size": bool(request.fixed)
        or request.one_request_per_lane is not None
        or any(size != (None, None, None) for size in request.cache_sizes.values()),
    }
    wrong = [option for option, is_given in given.items() if is_given]
    if wrong:
        raise ConfigError(f"--replay runs a leg as it is, so {wrong[0]} has no effect with it")


def _check_places(request: Request) -> None:
    """Refuse places that cannot be written to before hours of running are lost there."""
    for option, path in (
        ("--output", request.output / "any.leg"),
        ("--coverage", request.coverage),
        ("--save-program", request.save_program),
    ):
        if path is None:
            continue
        reason = why_not_writable(path.parent)
        if reason is None and option != "--output" and not path.parent.is_dir():
            reason = f"{path.parent} does not exist"
        if reason is None and path.is_dir():
            reason = "it is a directory"
        if reason is not None:
            shown = path.parent if option == "--output" else path
            raise ConfigError(f"{option} {shown}: cannot be written: {reason}")
    files = [os.path.realpath(file) for file in (request.save_program, request.coverage) if file]
    if len(files) == 2 and files[0] == files[1]:
        raise ConfigError(f"--save-program and --coverage both write to {request.coverage}")


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
            fixed=_fixed(request, protocol.description.line_size),
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
        self._tracer = _tracer(request.trace, protocol.description.line_size)

    def run(self, replayed: Leg | None) -> int:
        """All legs, or the one from a file. Returns the exit status."""
        status = _EXIT_PASSED
        self._started = time.monotonic()
        try:
            with self._progress:
                failure = self._replay(replayed) if replayed is not None else self._legs()
            if failure is not None:
                self._report(*failure, replayed is not None)
                status = _EXIT_FOUND
        except KeyboardInterrupt:
            status = _EXIT_INTERRUPTED
        except EngineDisagreement as slip:
            self._disagreement(slip, replayed is not None)
            status = _EXIT_DISAGREE
        except WorkerDied as slip:
            print(f"gpu-tester: {slip}; was there too little memory for --jobs?", file=sys.stderr)
            status = _EXIT_BROKEN
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
                self._engine.look()
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
        then, now = (sorted(d.machines) for d in (leg.description, self.protocol.description))
        if then != now:
            raise ConfigError(
                f"{self.request.replay}: the leg was made for the machines of {leg.protocol.name} "
                f"({', '.join(then)}), {identity.name} has other ones ({', '.join(now)})"
            )
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
        from tester.diff_engines import describe, first_difference

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
        for directory in self.request.include:
            words += ["--include", str(directory)]
        for prelude in self.request.preludes:
            words += ["--prelude", str(prelude)]
        return shlex.join(words)

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
        quick = "; not yet optimised at first" if self._engine.began_quick else ""
        print(
            f"{seconds:.1f} s: {totals.episodes / seconds:,.0f} episodes/s, "
            f"{totals.lane_accesses / seconds:,.0f} lane accesses/s, "
            f"{campaign.transitions / seconds:,.0f} transitions/s{quick}",
            flush=True,
        )

    def _say(self, text: str) -> None:
        if not self.request.quiet:
            self._progress.say(text)

    def _warn(self, text: str) -> None:
        """What costs time only, and is no result."""
        print(f"gpu-tester: {text}", file=sys.stderr)


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


def _fixed(request: Request, line_size: int) -> dict[str, object]:
    """The profiles' options that the command line fixes, cache sizes turned into sets and ways."""
    fixed = dict(request.fixed)
    for level, (size, sets, ways) in request.cache_sizes.items():
        if size is not None:
            lines, rest = divmod(size, line_size)
            if rest or lines < 1:
                raise ConfigError(
                    f"--{level}-size {size} is not a number of {line_size}-byte lines"
                )
            if sets is not None and ways is not None:
                raise ConfigError(f"--{level}-size with both --{level}-sets and --{level}-ways")
            if sets is None:
                ways = ways or (2 if lines % 2 == 0 else 1)
                sets, rest = divmod(lines, ways)
            else:
                ways, rest = divmod(lines, sets)
            if rest or not sets or not ways:
                raise ConfigError(
                    f"--{level}-size {size}: {lines} lines are not whole sets of {ways} ways"
                )
            refusal = LIMITS[f"{level}_sets"].refusal(sets) or LIMITS[f"{level}_ways"].refusal(ways)
            if refusal:
                raise ConfigError(f"--{level}-size {size}: {sets} sets of {ways} ways: {refusal}")
        if (sets or 1) * (ways or 1) > MAX_ENTRIES:
            raise ConfigError(
                f"--{level}-sets {sets} with --{level}-ways {ways}: "
                f"{MAX_ENTRIES} lines are possible"
            )
        if sets is not None:
            fixed[f"{level}_sets"] = sets
        if ways is not None:
            fixed[f"{level}_ways"] = ways
    return fixed


def _tracer(text: str | None, line_size: int) -> Callable[..., None] | None:
    """An observer that prints transitions of all lines or of one."""
    if text is None:
        return None
    wanted = None
    if text != "all":
        try:
            wanted = int(text, 0) & -line_size
        except ValueError:
            raise ConfigError(f"--trace {text}: expected all or an address") from None
    from tester.introspect import controller_name, transition_location

    def observe(
        controller: Any, address: int, state: int, event: int, next_state: int, comment: str
    ) -> None:
        if wanted is not None and address & -line_size != wanted:
            return
        states = controller.STATES
        change = states.name_of(state)
        if next_state != state:
            change += f" -> {states.name_of(next_state)}"
        name = controller.EVENTS.name_of(event)
        where = transition_location(type(controller), state, event)
        sys.stdout.write(
            f"{controller.engine.now:>9,}  {controller_name(controller):<12} {address:#x}  "
            f"{name:<24} {change:<16} {where} {comment}".rstrip()
            + "\n"
        )

    return observe
