"""How far the numbers of a run may go: what the command line accepts, and what a shape may be.

Invariant: a number within its limit is refused later only together with another one, in a message
that names both. Nothing heavy is imported here: ``gpu-tester --help`` reads this table.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from slicc.scenario_text.bounds import LONGEST_LIMIT, MOST_EPISODES
from slicc.text.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Limit:
    """The integers from `low` to `high`."""

    low: int
    high: int
    power_of_two: bool = False

    def refusal(self, value: int) -> str | None:
        """What is wrong with a value, as the end of a sentence that names it; None: nothing.

        Programs may pass what is no integer at all.
        """
        if not hasattr(value, "__index__"):
            return "an integer is needed"
        if not self.low <= value <= self.high:
            return f"{self.low} to {self.high} are possible"
        if self.power_of_two and value & (value - 1):
            return "a power of two is needed"
        return None


_COUNT: Final = Limit(1, 64)
_SETS: Final = Limit(1, 1 << 17, power_of_two=True)
_WAYS: Final = Limit(1, 1 << 10)

SHAPE: Final[Mapping[str, Limit]] = MappingProxyType(
    {
        "units": _COUNT,
        "wavefronts": Limit(1, 256),
        "lanes": _COUNT,
        "processor_threads": _COUNT,
        "cpus": Limit(0, 64),
        "banks": _COUNT,
        "directories": _COUNT,
        "dmas": Limit(0, 64),
        "fetchers": Limit(0, 64),
        "scalars": Limit(0, 64),
        "fetch_waves": _COUNT,
        "l1_sets": _SETS,
        "l1_ways": _WAYS,
        "l2_sets": _SETS,
        "l2_ways": _WAYS,
        "l3_sets": _SETS,
        "l3_ways": _WAYS,
        "entries": Limit(0, 1 << 16),
        "directory_entries": Limit(0, 1 << 16),
        "dma_entries": Limit(0, 1 << 16),
        "busy_cycles": Limit(0, 1 << 10),
        "array_banks": Limit(1, 1 << 10),
        "send_slots": Limit(0, 1 << 10),
        "transitions": Limit(0, 1 << 10),
        "outstanding": Limit(0, 1 << 16),
    }
)
"""Fields of `tester.profiles.profile_draw.Shape`."""

MAX_GROUPS: Final = 1 << 16
MAX_LOCATIONS: Final = 1 << 22
MAX_LENGTH: Final = 1 << 12
"""Actions of an episode."""

PROGRAM: Final[Mapping[str, Limit]] = MappingProxyType(
    {
        "length": Limit(1, MAX_LENGTH),
        "groups": Limit(1, MAX_GROUPS),
        "locations": Limit(1, MAX_LOCATIONS),
        "lines": Limit(1, MAX_LOCATIONS // 8),
        "scope_percent": Limit(0, 100),
    }
)

HISTORY_ROWS: Final = 4000
"""Of the history of a line; older ones are dropped."""
RECORDED_ROWS: Final = 200_000
"""Events of a recorded run; earlier ones are dropped."""
SHOWN_ROWS: Final = 64
"""Those that a report shows unless the user says otherwise: about a screen."""
CANDIDATES: Final = 3000
"""Legs that are tried, at most, to make a failing one small, unless the user says otherwise."""

RUN: Final[Mapping[str, Limit]] = MappingProxyType(
    {
        "episodes": Limit(1, 1 << 40),
        "seed": Limit(0, (1 << 64) - 1),
        "leg_episodes": Limit(1, MOST_EPISODES),
        "deadlock_limit": Limit(100, LONGEST_LIMIT),
        "jobs": Limit(1, 256),
        "history": Limit(1, HISTORY_ROWS),
        "shrink_budget": Limit(1, 1 << 30),
        "litmus_runs": Limit(1, 1 << 30),
        "mutants": Limit(1, 1 << 30),
    }
)

EXPLORED: Final[Mapping[str, Limit]] = MappingProxyType(
    {
        "explored_caches": Limit(1, 8),
        "explored_lines": Limit(1, 8),
        "explored_locations": Limit(1, 3),
        "explored_agents": Limit(1, 8),
        "increments": Limit(1, 8),
        "bound": Limit(1, 1 << 16),
        "max_states": Limit(1, 1 << 32),
    }
)

LIMITS: Final[Mapping[str, Limit]] = MappingProxyType({**SHAPE, **PROGRAM, **RUN, **EXPLORED})
