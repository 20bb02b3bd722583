"""``gpu-tester replay``: the one leg in a file, run as it was."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from slicc.text.command.version import installed_version
from tester.campaign.campaign import Options
from tester.cli.checks import check_files, check_includes, check_shown
from tester.cli.leg_files import is_text, load_any, load_bound, read_text
from tester.cli.options.common import LegsOptions
from tester.cli.options.legs import ReplayOptions
from tester.cli.outcomes import replay_outcomes
from tester.cli.session import Failed, Session, engine_for, tune_collector
from tester.engines.choice import Choice
from tester.program.replay_file import Leg


def replay(options: ReplayOptions) -> int:
    """Returns the exit status. Errors in the user's input are raised."""
    check_shown(options)
    if is_text(options.file):
        scenario = read_text(options.file)
        if scenario.racy:
            check_includes(options)
            bound = load_bound(options, scenario, options.file, options.engine)
            return replay_outcomes(bound, options)
    return run_file(options, options.file, options.engine, trace=options.trace)


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
    check_includes(options)
    check_files({"--coverage": options.coverage})
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
