"""``gpu-tester replay``: the one leg in a file, run as it was."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from slicc.text.command.exit_status import FINE, FOUND, side_file
from slicc.text.command.version import installed_version
from tester.campaign.drawing.options import Options
from tester.campaign.recording import record
from tester.cli.break_at import break_at
from tester.cli.checks import check_files, check_includes, check_shown
from tester.cli.leg_files import is_text, load_any, load_bound, read_text
from tester.cli.options.common import LegsOptions
from tester.cli.options.legs import ReplayOptions
from tester.cli.outcomes import replay_outcomes
from tester.cli.session import Failed, Session, engine_for
from tester.diagnosis.perfetto.trace_events import write_trace
from tester.engines.choice import Choice
from tester.errors import ConfigError
from tester.program.replay_file import Leg
from tester.shrink.search import finding_of


def replay(options: ReplayOptions) -> int:
    """Returns the exit status. Errors in the user's input are raised."""
    check_shown(options)
    if options.pdb and options.break_ is None:
        raise ConfigError("--pdb has no effect without --break")
    written = {"--trace-out": options.trace_out, "--coverage": options.coverage}
    check_files(written, options, ("the replay file", options.file))
    if options.break_ is not None:
        return _stop(options)
    if is_text(options.file):
        scenario = read_text(options.file)
        if scenario.racy:
            check_includes(options)
            bound = load_bound(options, scenario, options.file, options.engine)
            return replay_outcomes(bound, options)
    status = run_file(options, options.file, options.engine, trace=options.trace)
    if options.trace_out is not None and status in (FINE, FOUND):
        leg, protocol = load_any(options, options.file, Choice.python)
        with side_file("gpu-tester", status):
            write_trace(options.trace_out, record(leg, protocol, finding_of(leg, protocol)))
    return status


def _stop(options: ReplayOptions) -> int:
    """Replay with breakpoints, which only the Python engine has."""
    for name, value in (("--trace", options.trace), ("--trace-out", options.trace_out)):
        if value is not None:
            raise ConfigError(f"{name} has no effect with --break")
    if options.engine is Choice.native:
        raise ConfigError("--break needs the Python engine: leave --engine native away")
    check_includes(options)
    leg, protocol = load_any(options, options.file, Choice.python)
    return break_at(options, leg, protocol)


def run_file(
    options: LegsOptions,
    file: Path,
    engine: Choice,
    *,
    trace: str | None = None,
    before: Callable[[Session, Leg], None] | None = None,
) -> int:
    """Run the leg in a file; ``before``: see `Session`."""
    check_includes(options)
    check_files({"--coverage": options.coverage}, options, ("the replay file", file))
    engine = engine_for(engine, trace)
    leg, protocol = load_any(options, file, engine)
    drawn = Options(leg.seed, leg.program.episodes, version=installed_version())
    session = Session(options, protocol, drawn, engine, file=file, trace=trace, before=before)
    return session.run(lambda session: _run(session, leg, file))


def _run(session: Session, leg: Leg, file: Path) -> Failed | None:
    identity = session.protocol.identity
    which = f"leg {leg.number} of seed {leg.seed} from {file}"
    if is_text(file):
        which = f"{file}, key {leg.run_key}"
    session.say(
        f"gpu-tester {session.drawn.version}: {identity.name}, {which}: "
        f"{leg.program.episodes:,} episodes"
    )
    session.say(session.engine.summary)
    if leg.protocol.digest != identity.digest:
        session.say(
            f"note: {identity.name} is not the text that the file was made with "
            f"({identity.digest}, then {leg.protocol.digest})"
        )
    return session.leg(leg)
