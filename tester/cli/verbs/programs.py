"""``gpu-tester generate`` and ``verify``: programs in files, which are not run."""

from __future__ import annotations

import sys

from slicc.text.command.exit_status import FINE, OURS
from tester.campaign.campaign import Campaign
from tester.cli.checks import check_files, check_includes
from tester.cli.leg_files import is_text, load_any
from tester.cli.options.legs import GenerateOptions, VerifyOptions
from tester.cli.program_check import ProgramWrong, require_right
from tester.cli.verbs.run import drawn_options, load_drawn
from tester.engines.choice import Choice
from tester.program.replay_file import load_leg, save_leg


def generate(options: GenerateOptions) -> None:
    """Draw the leg that a run would begin with, and write it."""
    check_includes(options)
    check_files({"FILE": options.file}, options)
    protocol = load_drawn(options, native=False)
    plan = Campaign(protocol, drawn_options(options, protocol)).plan(0)
    save_leg(plan.leg, options.file)
    if not options.quiet:
        print(f"{options.file}: {protocol.identity.name}, seed {plan.leg.seed}")
        print(f"leg 0: {plan.summary.line}")


def verify(options: VerifyOptions) -> int:
    """Judge a program by the slow verifier; returns the exit status."""
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
