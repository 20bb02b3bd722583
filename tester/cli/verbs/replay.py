"""``gpu-tester replay``: the one leg in a file, run as it was."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from protocols.loader import LoadedProtocol, load_protocol
from slicc.text.command.exit_status import FINE, FOUND
from slicc.text.command.version import installed_version
from tester.campaign.campaign import Options
from tester.campaign.recording import record
from tester.campaign.replay_protocol import fitted, named_protocol, parameters_of
from tester.cli.break_at import break_at
from tester.cli.checks import check_files, check_includes, check_not_itself, check_shown
from tester.cli.options.common import LegsOptions, ProtocolOptions
from tester.cli.options.legs import ReplayOptions
from tester.cli.session import Failed, Session, engine_for, tune_collector
from tester.diagnosis.perfetto.trace_events import write_trace
from tester.engines.choice import Choice
from tester.errors import ConfigError
from tester.program.replay_file import Leg, load_leg
from tester.shrink.search import finding_of


def replay(options: ReplayOptions) -> int:
    """Returns the exit status. Errors in the user's input are raised."""
    check_shown(options)
    if options.pdb and options.break_ is None:
        raise ConfigError("--pdb has no effect without --break")
    check_files({"--trace-out": options.trace_out, "--coverage": options.coverage})
    check_not_itself("--trace-out", options.trace_out, options.file)
    if options.break_ is not None:
        return _stop(options)
    status = run_file(options, options.file, options.engine, trace=options.trace)
    if options.trace_out is not None and status in (FINE, FOUND):
        leg, protocol = _loaded(options)
        write_trace(options.trace_out, record(leg, protocol, finding_of(leg, protocol)))
    return status


def _stop(options: ReplayOptions) -> int:
    """Replay with breakpoints, which only the Python engine has."""
    for name, value in (("--trace", options.trace), ("--trace-out", options.trace_out)):
        if value is not None:
            raise ConfigError(f"{name} has no effect with --break")
    if options.engine is Choice.native:
        raise ConfigError("--break needs the Python engine: leave --engine native away")
    leg, protocol = _loaded(options)
    return break_at(options, leg, protocol)


def _loaded(options: ReplayOptions) -> tuple[Leg, LoadedProtocol]:
    """The leg of the file and its protocol, for the Python engine."""
    leg = load_leg(options.file)
    check_includes(options)
    protocol = load_for(options, leg, options.file, Choice.python)
    return fitted(leg, protocol, options.file), protocol


def run_file(
    options: LegsOptions,
    file: Path,
    engine: Choice,
    *,
    trace: str | None = None,
    before: Callable[[Session, Leg], None] | None = None,
) -> int:
    """Run the leg in a file; ``before``: see `Session`."""
    tune_collector()
    leg = load_leg(file)
    check_includes(options)
    check_files({"--coverage": options.coverage})
    engine = engine_for(engine, trace)
    protocol = load_for(options, leg, file, engine)
    drawn = Options(leg.seed, leg.program.episodes, version=installed_version())
    session = Session(options, protocol, drawn, engine, file=file, trace=trace, before=before)
    return session.run(lambda session: _run(session, leg, file))


def load_for(options: ProtocolOptions, leg: Leg, file: Path, engine: Choice) -> LoadedProtocol:
    """The protocol that is asked for, else the one of the file."""
    wanted = options.protocol
    if wanted is None:
        wanted = named_protocol(leg, file, options.include)
    native = engine is not Choice.python
    return load_protocol(wanted, options.include, None, native, options.prelude, parameters_of(leg))


def _run(session: Session, leg: Leg, file: Path) -> Failed | None:
    identity = session.protocol.identity
    leg = fitted(leg, session.protocol, file)
    session.say(
        f"gpu-tester {session.drawn.version}: {identity.name}, leg {leg.number} of seed "
        f"{leg.seed} from {file}: {leg.program.episodes:,} episodes"
    )
    session.say(session.engine.summary)
    if leg.protocol.digest != identity.digest:
        session.say(
            f"note: {identity.name} is not the text that the file was made with "
            f"({identity.digest}, then {leg.protocol.digest})"
        )
    return session.leg(leg)
