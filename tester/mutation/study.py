"""The legs of a campaign as a series that every mutant goes through.

Invariant: what happens to a mutant depends on the protocol, the options and the mutant alone, not
on who runs it, nor on which others there are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from protocols.mutated import MutatedProtocol
from slicc.text.lazy_dataclass import dataclass
from tester.campaign.campaign import Campaign
from tester.execution.events import Verdict
from tester.mutation.engines import Engine, LegEnd
from tester.mutation.relevance import Cells, cells_of
from tester.program.replay_file import Leg

EPISODES: Final = 20_000
"""What a mutant has to survive, unless the user says otherwise."""
Watch = Callable[[bool], None]
"""Called with True before a mutant runs a leg, and with False behind it."""
_KEPT: Final = 16
"""Legs that are kept in memory: those of an epoch."""


class OriginalFails(Exception):
    """The protocol itself fails a leg: its mutants say nothing about its tests."""


@dataclass(frozen=True, slots=True)
class Case:
    """A leg, and how the original goes through it."""

    leg: Leg
    end: LegEnd


@dataclass(frozen=True, slots=True)
class Attempt:
    """A mutant's way through some legs, until the first that it fails.

    ``legs``: how many, the failing one included; ``episodes``: completed in them. ``reached``:
    legs in which its mistake could run; ``changed``: those that went otherwise than the original.
    ``verdict``, ``place``: of the failure.
    """

    legs: int = 0
    episodes: int = 0
    reached: int = 0
    changed: int = 0
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
                where = f" in {end.place}" if end.place else ""
                raise OriginalFails(
                    f"the protocol itself fails leg {number}: {end.verdict.value}{where}"
                )
            while len(self._cases) >= _KEPT:
                del self._cases[next(iter(self._cases))]
            found = self._cases[number] = Case(leg, end)
        return found

    def attempt(
        self, mutant: int, legs: range, most: int, watch: Watch = lambda runs: None
    ) -> Attempt:
        """Mutant ``mutant``, counted from 1, through some legs, or fewer with ``most`` episodes."""
        cells = cells_of(self.mutated.ir, self.mutated.mutants[mutant - 1])
        done = episodes = reached = changed = 0
        for number in legs:
            if episodes >= most:
                break
            case = self.case(number)
            done += 1
            if _relevant(cells, case.end.cells):
                watch(True)
                end = self._engine.run(mutant, case.leg)
                watch(False)
                reached += 1
                if end.verdict is not None:
                    episodes += end.episodes
                    return Attempt(done, episodes, reached, changed, end.verdict, end.place)
                changed += end.trace != case.end.trace
            episodes += case.end.episodes
        return Attempt(done, episodes, reached, changed)


def _relevant(cells: Cells | None, executed: Cells) -> bool:
    return cells is None or not cells.isdisjoint(executed)
