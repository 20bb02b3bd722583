"""``gpu-tester trace``: the requests of a file, run as one leg."""

from __future__ import annotations

from protocols.loader import load_protocol
from runtime.description import parse_assignment
from slicc.text.command.version import installed_version
from tester.campaign.drawing.options import Options
from tester.cli.checks import check_directory, check_files, check_includes, check_shown, check_stats
from tester.cli.options.trace import TraceOptions
from tester.cli.session import Failed, Session, engine_for
from tester.cli.verbs.run import DEFAULT_PROTOCOL
from tester.engines.choice import Choice
from tester.program.replay_file import Leg, save_leg
from tester.trace_file.leg import trace_leg
from tester.trace_file.reader import read_trace


def trace(options: TraceOptions) -> int:
    """Returns the exit status. Errors in the user's input are raised."""
    check_shown(options)
    check_includes(options)
    check_directory(options.output)
    check_stats(options)
    check_files(
        {
            "--coverage": options.coverage,
            "--save-program": options.save_program,
            "--stats": options.stats,
        },
        options,
        ("the trace", options.file),
    )
    engine = engine_for(options.engine, options.trace)
    values = dict(map(parse_assignment, options.assignments))
    protocol = load_protocol(
        options.protocol or DEFAULT_PROTOCOL,
        options.include,
        options.system,
        engine is not Choice.python,
        options.prelude,
        values,
    )
    rows = read_trace(options.file)
    leg = trace_leg(options.file, protocol, values, rows)
    if options.save_program is not None:
        save_leg(leg, options.save_program)
    drawn = Options(leg.seed, leg.program.episodes, version=installed_version())
    session = Session(
        options,
        protocol,
        drawn,
        engine,
        output=options.output,
        trace=options.trace,
        counts=options.stats is not None,
    )
    status = session.run(lambda session: _run(session, leg, options, len(rows)))
    session.write_statistics(options.stats, options.stats_format, status)
    return status


def _run(session: Session, leg: Leg, options: TraceOptions, requests: int) -> Failed | None:
    identity = session.protocol.identity
    session.say(
        f"gpu-tester {session.drawn.version}: {identity.name} ({identity.digest}), "
        f"{options.file}: {requests:,} requests in {leg.program.episodes:,} episodes"
    )
    session.say(session.engine.summary)
    return session.leg(leg)
