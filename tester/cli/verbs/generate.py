"""``gpu-tester generate``: the leg that a run would begin with, as a file."""

from __future__ import annotations

from tester.campaign.campaign import Campaign
from tester.cli.checks import check_files, check_includes
from tester.cli.options.legs import GenerateOptions
from tester.cli.verbs.run import drawn_options, load_drawn
from tester.program.replay_file import save_leg


def generate(options: GenerateOptions) -> None:
    """Draw it and write it. Errors in the user's input are raised."""
    check_includes(options)
    check_files({"FILE": options.file})
    protocol = load_drawn(options, native=False)
    plan = Campaign(protocol, drawn_options(options, protocol)).plan(0)
    save_leg(plan.leg, options.file)
    if not options.quiet:
        print(f"{options.file}: {protocol.identity.name}, seed {plan.leg.seed}")
        print(f"leg 0: {plan.summary.line}")
