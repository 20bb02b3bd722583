"""``gpu-tester diff``: each leg on both engines, and the first transition in which they differ."""

from __future__ import annotations

from runtime.system.builder import build_system
from tester.campaign.engine_diff import describe, first_difference
from tester.cli.checks import (
    check_directory,
    check_files,
    check_includes,
    check_nothing_drawn,
    check_shown,
)
from tester.cli.options.legs import DiffOptions
from tester.cli.session import Session
from tester.cli.verbs.replay import run_file
from tester.cli.verbs.run import Series, drawn_options, load_drawn
from tester.engines.choice import Choice
from tester.engines.selection import EngineDisagreement
from tester.program.replay_file import Leg


def diff(options: DiffOptions) -> int:
    """Returns the exit status. Errors in the user's input are raised."""
    check_shown(options)
    if options.file is not None:
        check_nothing_drawn(options)
        return run_file(options, options.file, Choice.native, before=_compare)
    check_includes(options)
    check_directory(options.output)
    check_files({"--coverage": options.coverage}, options)
    protocol = load_drawn(options, native=True)
    drawn = drawn_options(options, protocol)
    session = Session(
        options, protocol, drawn, Choice.native, output=options.output, before=_compare
    )
    return session.run(Series(options.max_seconds).run)


def _compare(session: Session, leg: Leg) -> None:
    """Print where the engines diverge, if they do. Raises EngineDisagreement then."""
    native = session.engine.native
    assert native is not None, "asking for both engines asks for the native one"
    difference = first_difference(session.protocol, native, leg, session.check_time)
    if difference is None:
        session.say("  both engines make the same transitions")
        return
    system = build_system(session.protocol.info, leg.description, leg.run_key)
    for line in describe(difference, system):
        print(line)
    raise EngineDisagreement(leg, "another transition", "see above")
