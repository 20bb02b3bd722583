"""``gpu-tester shrink``: the least of a failing leg that still fails in the same way."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path

from protocols.loader import LoadedProtocol
from slicc.text.command.exit_status import FINE, INTERRUPTED
from slicc.text.command.progress import Progress
from slicc.text.command.version import installed_version
from slicc.text.files import write_whole
from slicc.text.terminal import printable_lines
from tester.blame.report import as_table
from tester.blame.small_leg import Small, small
from tester.campaign.campaign import Campaign
from tester.campaign.drawing.options import Options
from tester.cli.checks import check_files, check_includes
from tester.cli.leg_files import is_text, load_any, protocol_from, require_name
from tester.cli.options.common import Format
from tester.cli.options.shrink import ShrinkOptions
from tester.engines.selection import choose
from tester.errors import ConfigError
from tester.litmus.binding import text_of_leg
from tester.program.program import Program
from tester.program.replay_file import ReplayError
from tester.scenario_text.from_program import NotText
from tester.shrink.measure import Size
from tester.shrink.search import DoesNotFail
from tester.shrink.shrink_report import as_json, is_other, small_file


def shrink(options: ShrinkOptions) -> int:
    """Returns the exit status. Errors in the user's input are raised."""
    require_name(options.file)
    path = options.output or small_file(options.file)
    text = path if is_text(path) else None
    path = path.with_suffix(".leg") if is_text(path) else path
    check_includes(options)
    # Without --output, a leg that was shrunk before is shrunk further in its place.
    read = None if options.output is None else ("the replay file", options.file)
    for each in (text, path):
        check_files({"--output": each}, options, read)
    if is_other(options.file, path):
        raise ConfigError(
            f"--output {path}: legs that fail otherwise go beside it, and one of them would "
            f"overwrite {options.file}, the replay file"
        )
    leg, protocol = load_any(options, options.file, options.engine)
    tried, now = 0, leg.program

    def show(candidates: int, program: Program) -> None:
        nonlocal tried, now
        tried, now = candidates, program

    engine = choose(options.engine, protocol, _note)
    drawn = Options(leg.seed, leg.program.episodes, version=installed_version())
    campaign = Campaign(protocol, drawn, engine)
    try:
        with Progress(lambda: f"{tried:,} candidates: {Size.of(now)}", True):
            found = small(
                leg,
                campaign,
                path,
                budget=options.budget,
                jobs=options.jobs,
                on_candidate=show,
            )
    except DoesNotFail as error:
        raise ReplayError(options.file, f"{error} ({protocol.identity.name})") from None
    finally:
        engine.close()
    if text is not None:
        _write_text(text, found, protocol)
    if options.format is Format.json:
        blamed = as_table(found.blame)
        print(as_json(found.shrunk, protocol, path, found.others, blamed))
    else:
        _print(options, found, campaign)
    return INTERRUPTED if found.shrunk.interrupted else FINE


def _write_text(file: Path, found: Small, protocol: LoadedProtocol) -> None:
    """Save the small leg as a scenario as well. Raises ReplayError."""
    try:
        text = text_of_leg(
            found.shrunk.leg,
            protocol,
            f"{found.shrunk.kind}, shrunk",
            protocol_from(file.parent, protocol),
        )
    except NotText as error:
        raise ReplayError(file, f"{error}, which no scenario says; see {found.path}") from None
    write_whole(file, text.encode())


def _print(options: ShrinkOptions, found: Small, campaign: Campaign) -> None:
    command = ["gpu-tester", "replay", str(found.path), *options.protocol_words()]
    print(found.shrunk.kind)
    for line in found.lines(campaign, shlex.join(command)):
        print(printable_lines(f"  {line}".rstrip()))
    if found.suspects():
        print("suspect")
        for line in found.suspects():
            print(printable_lines(f"  {line}"))
    print(f"{found.shrunk.seconds:.1f} s")


def _note(text: str) -> None:
    print(f"gpu-tester: {printable_lines(text)}", file=sys.stderr)
