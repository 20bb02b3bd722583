"""``gpu-tester verify``: the program of a replay file, judged by the slow verifier."""

from __future__ import annotations

import sys

from slicc.text.command.exit_status import FINE, OURS
from tester.cli.checks import check_includes
from tester.cli.leg_files import is_text, load_any
from tester.cli.options.legs import VerifyOptions
from tester.cli.program_check import ProgramWrong, require_right
from tester.engines.choice import Choice
from tester.program.replay_file import load_leg


def verify(options: VerifyOptions) -> int:
    """Returns the exit status. Errors in the user's input are raised."""
    check_includes(options)
    if is_text(options.file):
        leg, _ = load_any(options, options.file, Choice.python)
    else:
        leg = load_leg(options.file)
    try:
        require_right(leg)
    except ProgramWrong as error:
        print(f"gpu-tester: BUG OF THE TESTER: {options.file}: {error}", file=sys.stderr)
        return OURS
    program = leg.program
    print(
        f"verified: {program.episodes:,} episodes of {program.agent_count} agents, "
        f"{program.actions:,} actions: no race, and every expected value is right"
    )
    return FINE
