"""``gpu-tester mutate``: which mistakes in a protocol its tests would find."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Final

from protocols.mutated import MutatedProtocol, load_mutated
from runtime.description.origin import MissingParameters
from runtime.native.toolchain.compiler import find_compiler
from runtime.native.toolchain.object_cache import user_cache
from runtime.prng import hash_name
from slicc.coverage.mutants import Fate
from slicc.mutation.mutant import Mutant
from slicc.text.command.exit_status import FINE, FOUND, INTERRUPTED, Ended
from slicc.text.command.progress import Progress
from slicc.text.command.version import installed_version
from slicc.text.terminal import printable_lines
from slicc.text.wording import duration
from tester.campaign.campaign import Campaign
from tester.campaign.drawing.options import NO_END, Options
from tester.cli.checks import check_directory, check_includes
from tester.cli.options.mutate import MutateOptions, ReportFormat
from tester.engines.choice import Choice
from tester.engines.selection import CANNOT, Chosen
from tester.errors import ConfigError
from tester.generator.native_loader import PendingLoops
from tester.mutation.engines import Engine, NativeEngine, PythonEngine
from tester.mutation.exhaustion import Exhaustion
from tester.mutation.html_report import html_report
from tester.mutation.journal import Head, Journal
from tester.mutation.outcome import MutantOutcome
from tester.mutation.pool import Pool
from tester.mutation.score import Score
from tester.mutation.scoring import Scoring
from tester.mutation.study import OriginalFails, Study
from tester.mutation.text_report import json_report, text_lines
from tester.native.mutants import mutant_protocol
from tester.profiles import profiles

DEFAULT_PROTOCOL: Final = "GPU_VIPER"


def mutate(options: MutateOptions) -> int:
    """Returns the exit status. Errors in the user's input are raised."""
    check_includes(options)
    if options.output is not None:
        check_directory(options.output)
    profiles.check_name(options.profile)
    started = time.monotonic()
    try:
        mutated = load_mutated(
            options.protocol or DEFAULT_PROTOCOL,
            lambda every: sampled(every, options.sample),
            options.include,
            options.system,
            options.prelude,
            native=options.engine is not Choice.python,
        )
    except MissingParameters as error:
        raise ConfigError(f"{error.stated} (--system, or the .toml beside the protocol)") from None
    if not mutated.mutants:
        raise ConfigError(f"{mutated.ir.name} has nothing that could be changed")
    head = _head(options, mutated)
    exhaustion = _exhaustion(options, mutated)
    with ExitStack() as stack:
        journal = None
        if options.output is not None:
            journal = stack.enter_context(Journal(options.output, head))
        study, summary = _study(options, mutated, stack)
        known = [] if journal is None else list(journal.outcomes.values())
        scoring = Scoring(study, options.episodes, known, lambda outcome: _keep(journal, outcome))
        status = _run(options, study, scoring, exhaustion, stack)
    if status == FOUND:
        return status
    score = Score(mutated.mutants, scoring.outcomes)
    _print(options, score, head, mutated, [summary, f"{time.monotonic() - started:.0f} s"])
    return status


def sampled(every: Sequence[Mutant], count: int | None) -> Sequence[Mutant]:
    """Some of the mutants in their order: a smaller sample is part of a larger one."""
    if count is None or count >= len(every):
        return every
    chosen = sorted(every, key=lambda mutant: (hash_name(mutant.name), mutant.name))[:count]
    names = {mutant.name for mutant in chosen}
    return [mutant for mutant in every if mutant.name in names]


def _head(options: MutateOptions, mutated: MutatedProtocol) -> Head:
    identity = mutated.loaded.identity
    return {
        "protocol": identity.name,
        "digest": identity.digest,
        "version": installed_version(),
        "seed": options.seed,
        "episodes": options.episodes,
        "explored_states": options.explore or 0,
        "profile": options.profile,
        "system": "" if options.system is None else str(options.system),
        "sample": len(mutated.mutants),
        "of": mutated.total,
    }


def _exhaustion(options: MutateOptions, mutated: MutatedProtocol) -> Exhaustion | None:
    """Raises ConfigError."""
    if options.explore is None:
        return None
    if options.engine is Choice.python:
        raise ConfigError("--explore needs the native engine")
    found = Exhaustion(mutated, options.explore)
    if found.obstacle:
        _note(f"exploration will not tell which survivors are equivalent: {found.obstacle}")
    return found


def _keep(journal: Journal | None, outcome: MutantOutcome) -> None:
    if journal is not None:
        journal.add(outcome)


def _study(options: MutateOptions, mutated: MutatedProtocol, stack: ExitStack) -> tuple[Study, str]:
    """What runs the mutants, and a line that says so. Raises ConfigError."""
    engine: Engine = PythonEngine(mutated)
    summary = "Python engine"
    chosen = Chosen(None, summary)
    if options.engine is not Choice.python:
        try:
            compiler = find_compiler()
            cache = user_cache()
            engine = NativeEngine(mutant_protocol(mutated.loaded, compiler, cache))
            loops = PendingLoops(compiler, cache, _note, True)
            summary = f"native engine, compiled by {compiler.version}"
            chosen = Chosen(None, summary, pending_loops=loops)
            stack.callback(chosen.close)
        except CANNOT as error:
            if options.engine is Choice.native:
                raise ConfigError(f"--engine native: {error}") from None
            _note(f"Python engine, because {error}")
    drawn = Options(options.seed, NO_END, options.profile, version=installed_version())
    return Study(mutated, Campaign(mutated.loaded, drawn, chosen), engine), summary


def _run(
    options: MutateOptions,
    study: Study,
    scoring: Scoring,
    exhaustion: Exhaustion | None,
    stack: ExitStack,
) -> int:
    """FOUND: the protocol itself fails."""
    total = len(scoring.outcomes)
    started = time.monotonic()

    def line() -> str:
        left = scoring.open
        killed = sum(each.fate is Fate.KILLED for each in scoring.outcomes.values())
        episodes = min((each.episodes for each in left), default=options.episodes)
        return (
            f"{total - len(left):,}/{total:,} mutants judged, {killed:,} killed; the rest survived "
            f"{episodes:,}/{options.episodes:,} episodes  {duration(time.monotonic() - started)}"
        )

    try:
        if scoring.open:
            study.case(0)  # compiled before processes are made, which then share it
            pool = stack.enter_context(Pool(options.jobs, study.attempt))
            with Progress(line, not (options.no_progress or options.quiet)):
                scoring.run(pool)
        if exhaustion is not None:
            scoring.explore(exhaustion, options.jobs)
    except OriginalFails as error:
        print(f"gpu-tester: {error}; gpu-tester run shows it", file=sys.stderr)
        return FOUND
    except KeyboardInterrupt:
        return INTERRUPTED
    except Ended as end:
        return end.status
    return FINE


def _print(
    options: MutateOptions,
    score: Score,
    head: Head,
    mutated: MutatedProtocol,
    notes: Sequence[str],
) -> None:
    total = score.total
    share = "no mutant was judged" if total.score is None else f"{total.score:.1f} %"
    chosen = f"{total.mutants:,} of {mutated.total:,} mutants"
    what = f"{head['protocol']}, seed {head['seed']}, {head['episodes']:,} episodes, {chosen}"
    if options.explore is not None:
        what += f", survivors explored in up to {options.explore:,} states"
    match options.format:
        case ReportFormat.json:
            print(json_report(score, head))
        case ReportFormat.html:
            title = f"Mutation score of {head['protocol']}: {share}"
            print(html_report(score, title, [what, *notes]), end="")
        case ReportFormat.text:
            if not options.quiet:
                for row in text_lines(score):
                    print(printable_lines(row))
            killed, survived = (total.fates.get(f, 0) for f in (Fate.KILLED, Fate.SURVIVED))
            open_ = total.fates.get(Fate.OPEN, 0)
            rest = f", {open_:,} open" if open_ else ""
            print(
                printable_lines(
                    f"SCORE: {share}: {killed:,} killed, {survived:,} survived, "
                    f"{total.fates.get(Fate.EQUIVALENT, 0):,} equivalent{rest}; {what}"
                )
            )
            print(printable_lines("; ".join(notes)))


def _note(text: str) -> None:
    print(f"gpu-tester: {printable_lines(text)}", file=sys.stderr)
