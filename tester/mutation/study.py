"""The legs of a campaign as a series that every mutant goes through.

Invariant: what happens to a mutant depends on the protocol, the options and the mutant alone, not
on who runs it, nor on which others there are.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from protocols.mutated import MutatedProtocol
from tester.campaign.campaign import Campaign
from tester.execution.events import Verdict
from tester.mutation.engines import Engine, LegEnd
from tester.mutation.relevance import Cells, cells_of
from tester.program.replay_file import Leg

EPISODES: Final = 20_000
"""What a mutant has to survive, unless the user says otherwise."""
_KEPT: Final = 16
"""Legs that are kept in memory: those of an epoch."""


class OriginalFails(Exception):
    """The protocol itself fails a leg: its mutants say nothing about its tests."""

    def __init__(self, number: int, end: LegEnd) -> None:
        verdict = "" if end.verdict is None else end.verdict.value
        where = f" in {end.place}" if end.place else ""
        super().__init__(f"the protocol itself fails leg {number}: {verdict}{where}")


@dataclass(frozen=True, slots=True)
class Case:
    """A leg, and how the original goes through it."""

    leg: Leg
    end: LegEnd


@dataclass(frozen=True, slots=True)
class Attempt:
    """A mutant's way through some legs, until the first that it fails.

    ``leg``, ``verdict``, ``place``: of that one; ``episodes``: completed in it. ``reached``: legs
    in which its mistake could run; ``changed``: those that went otherwise than the original.
    """

    reached: int = 0
    changed: int = 0
    leg: int = -1
    episodes: int = 0
    verdict: Verdict | None = None
    place: str = ""


class Study:
    """Runs mutants. ``campaign``: draws the legs, without an end."""

    def __init__(self, mutated: MutatedProtocol, campaign: Campaign, engine: Engine) -> None:
        self.mutated = mutated
        self._campaign = campaign
        self._engine = engine
        self._cases: dict[int, Case] = {}

    def case(self, number: int) -> Case:
        """Leg ``number``. Raises OriginalFails."""
        found = self._cases.get(number)
        if found is None:
            leg = self._campaign.plan(number).leg
            end = self._engine.run(0, leg)
            if end.verdict is not None:
                raise OriginalFails(number, end)
            while len(self._cases) >= _KEPT:
                del self._cases[next(iter(self._cases))]
            found = self._cases[number] = Case(leg, end)
        return found

    def attempt(
        self, mutant: int, legs: range, begin: Callable[[], None] = lambda: None
    ) -> Attempt:
        """Mutant ``mutant``, counted from 1, through some legs.

        ``begin``: called before each leg that it runs.
        """
        cells = cells_of(self.mutated.ir, self.mutated.mutants[mutant - 1])
        reached = changed = 0
        for number in legs:
            case = self.case(number)
            if not _relevant(cells, case.end.cells):
                continue
            begin()
            reached += 1
            end = self._engine.run(mutant, case.leg)
            if end.verdict is not None:
                return Attempt(reached, changed, number, end.episodes, end.verdict, end.place)
            changed += end.trace != case.end.trace
        return Attempt(reached, changed)


def _relevant(cells: Cells | None, executed: Cells) -> bool:
    return cells is None or not cells.isdisjoint(executed)
