"""Whether two operations of a scenario race, by what it says alone.

Rows of different threads are ordered by `after` and by nothing else. Invariant: if nothing is
raised, any two operations that touch a byte, one of them storing, are in one thread or one of them
is complete before the other begins; then every load has one value to return.
"""

from __future__ import annotations

from collections.abc import Sequence

from slicc.scenario_text import syntax
from slicc.scenario_text.errors import ScenarioError
from tester.scenario_text.episodes import AnyAccess, ScenarioEpisode
from tester.scenario_text.placement import Addresses, Cast

_Use = tuple[int, syntax.Step, AnyAccess]
"""Number of the episode, and what uses a byte."""


class _Uses:
    """The uses of one byte that a later use must be ordered behind."""

    def __init__(self) -> None:
        self.stores: list[_Use] = []
        self.loads: list[_Use] = []

    def before(self, access: AnyAccess) -> list[_Use]:
        """The uses that an access conflicts with."""
        return self.stores if isinstance(access, syntax.Load) else self.stores + self.loads

    def add(self, use: _Use) -> None:
        """What a store is ordered behind need not be compared any more: it is complete."""
        if isinstance(use[2], syntax.Load):
            self.loads.append(use)
            return
        self.stores = [*(each for each in self.stores if each[0] == use[0]), use]
        self.loads = [each for each in self.loads if each[0] == use[0]]


def check_races(episodes: Sequence[ScenarioEpisode], addresses: Addresses, cast: Cast) -> None:
    """Raises ScenarioError for the first race, with both operations and the byte."""
    before = _complete_before(episodes)
    uses: dict[int, _Uses] = {}
    for number, episode in enumerate(episodes):
        for instruction in episode.instructions:
            for step, access in instruction.accesses:
                start = addresses.of(access.place)
                for byte in range(start, start + access.bytes):
                    of_byte = uses.setdefault(byte, _Uses())
                    for other in of_byte.before(access):
                        _compare(other, (number, step, access), byte, episodes, before, cast)
                    of_byte.add((number, step, access))


def _complete_before(episodes: Sequence[ScenarioEpisode]) -> list[int]:
    """For each episode, the set of those that are complete when it begins, as bits."""
    result: list[int] = []
    of_column: dict[int, list[int]] = {}
    for number, episode in enumerate(episodes):
        own = of_column.setdefault(episode.column, [])
        causes = own[-1:] + [of_column[column][count - 1] for column, count in episode.waits]
        known = 0
        for cause in causes:
            known |= result[cause] | 1 << cause
        result.append(known)
        own.append(number)
    return result


def _compare(
    one: _Use,
    other: _Use,
    byte: int,
    episodes: Sequence[ScenarioEpisode],
    before: Sequence[int],
    cast: Cast,
) -> None:
    (first, first_step, first_access), (second, second_step, second_access) = one, other
    if first == second:
        if first_access.lane == second_access.lane:
            return
        what = f"lanes {first_access.lane} and {second_access.lane} of an episode race"
        hint = "bytes that a lane stores are for no other lane of the episode"
    else:
        agents = episodes[first].agent, episodes[second].agent
        groups = [cast.isolation_groups[agent] for agent in agents if cast.isolation_groups]
        names = [cast.agents[agent].name for agent in agents]
        if len(set(groups)) > 1:
            raise ScenarioError(
                "race",
                f"byte {byte:#x} ({second_access.place}) passes from {names[0]} to {names[1]}, "
                "which the system has no way for",
                second_step.span,
                secondary=[(first_step.span, f"used by {names[0]} here")],
            )
        if before[second] >> first & 1:
            return
        what = "two operations race"
        hint = "order them with `after THREAD`, or judge the outcome: exists, forbidden, forall"
    raise ScenarioError(
        "race",
        f"{what} for byte {byte:#x} ({second_access.place})",
        second_step.span,
        "and this one",
        secondary=[(first_step.span, "this one")],
        help=hint,
    )
