"""Programs judged by the slow verifier, for ``gpu-tester verify`` and ``run --verify``.

It shares nothing with the generator, nor with the derivation of expectations: an error that it
finds is a bug of ours, never of a protocol.
"""

from __future__ import annotations

from tester.program.replay_file import Leg


class ProgramWrong(Exception):
    """Our own bug: the program of ``leg`` has a race or a wrong expectation."""

    def __init__(self, leg: Leg, problems: list[str]) -> None:
        lines = "".join(f"\n  {problem}" for problem in problems)
        super().__init__(f"the program of leg {leg.number} of seed {leg.seed} is wrong:{lines}")
        self.leg = leg


def require_right(leg: Leg) -> None:
    """Raises ProgramWrong."""
    from tester.program import verifier

    problems = verifier.verify(leg.program)
    if problems:
        raise ProgramWrong(leg, problems)
