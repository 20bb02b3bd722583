"""``gpu-tester verify``, and ``run --verify``: programs judged by the slow verifier.

It shares nothing with the generator, nor with the derivation of expectations: an error that it
finds is a bug of ours, never of a protocol.
"""

from __future__ import annotations

import sys

from slicc.text.command.exit_status import FINE, OURS
from tester.cli.options import VerifyOptions
from tester.program import verifier
from tester.program.replay_file import Leg, load_leg


class ProgramWrong(Exception):
    """Our own bug: the program of ``leg`` has a race or a wrong expectation."""

    def __init__(self, leg: Leg, problems: list[str]) -> None:
        lines = "".join(f"\n  {problem}" for problem in problems)
        super().__init__(f"the program of leg {leg.number} of seed {leg.seed} is wrong:{lines}")
        self.leg = leg


def require_right(leg: Leg) -> None:
    """Raises ProgramWrong."""
    problems = verifier.verify(leg.program)
    if problems:
        raise ProgramWrong(leg, problems)


def verify(options: VerifyOptions) -> int:
    """Returns the exit status. Errors in the user's input are raised."""
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
