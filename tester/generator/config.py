"""What kind of program to generate: the parameters, and what each agent is able to do.

Invariant: every configuration that exists can be generated; an impossible one is refused when it is
made, with the value and the possible range.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field, replace
from operator import attrgetter
from typing import Final

from slicc.scenario_text.bounds import MAX_LANES, MAX_PROGRAM_AGENTS, MAX_TRANSFER_BYTES
from slicc.text.lazy_dataclass import dataclass
from tester.errors import ConfigError
from tester.limits import MAX_LENGTH
from tester.program.address_map import MapConfig
from tester.program.program import DMA, MAX_ACCESS_BYTES, AgentSpec

EPISODES: Final = "episodes"
CHECKS: Final = "checks"
BYTES: Final = "bytes"
LONGEST_TRANSFER: Final = MAX_TRANSFER_BYTES // 2
"""Bytes of a DMA engine's longest access; rounded out to whole lines it may become longer."""
PATTERNS: Final = (EPISODES, CHECKS, BYTES)
_PERCENTAGES: Final = (
    "lane_percent",
    "shared_group_percent",
    "pattern_percent",
    "repeat_percent",
    "hot_percent",
    "scope_percent",
    "atomic_scope_percent",
    "quiet_percent",
    "atomic_percent",
    "bare_percent",
    "plain_percent",
    "instruction_percent",
    "unaligned_percent",
    "flush_percent",
    "peek_percent",
    "peek_bypass_percent",
    "chase_percent",
    "stream_percent",
    "tight_percent",
)
_percentages: Final = attrgetter(*_PERCENTAGES)


@dataclass(frozen=True, slots=True)
class Abilities:
    """What an agent of a system can do, according to its protocol."""

    flush: bool = False
    """Its machine has an event for flushes."""
    plain: bool = False
    """It is coherent without acquire and release."""
    instructions: bool = False
    """Its machine distinguishes instruction fetches from loads."""
    longest: int = 0
    """Bytes of its longest access at any place; 0: it keeps to aligned locations. If there are more
    than MAX_ACCESS_BYTES, it may reach over several lines."""
    whole_lines: bool = False
    """It stores nothing but whole lines, if it is an engine."""
    loads: bool = True
    """Not so of an engine or a processor that only stores."""
    streams: bool = False
    """Its machine has a prefetcher, which accesses of lines in order train."""

    @staticmethod
    def of_kind(kind: str) -> Abilities:
        """What agents of a kind usually can."""
        longest = {"gpu": 0, DMA: LONGEST_TRANSFER}.get(kind, MAX_ACCESS_BYTES)
        return Abilities(flush=kind == "gpu", plain=kind == "cpu", longest=longest)


@dataclass(frozen=True, slots=True)
class GeneratorConfig:
    """The parameters of a program. Percentages are integers from 0 to 100, else ConfigError."""

    agents: tuple[AgentSpec, ...]
    episodes: int | None
    """Exact number of episodes, or None for an endless run."""
    map: MapConfig = field(default_factory=MapConfig)
    abilities: tuple[Abilities, ...] = ()
    """What each agent can do besides loads and stores; empty: what its kind usually can."""
    isolation_groups: tuple[int, ...] = ()
    """A number per agent: bytes are handed over only within a group (empty: one group). Lines are
    still shared. For agents whose system cannot hand data to each other."""
    lengths: tuple[int, ...] = (10,)
    """Actions per episode: one of these, each equally likely."""
    load_percent: tuple[int, int] = (20, 80)
    """Each episode draws its share of loads from this range."""
    size_weights: tuple[int, int, int, int] = (1, 1, 4, 1)
    """How often an action moves 1, 2, 4 or 8 bytes per lane."""
    lane_percent: int = 100
    """Chance of a lane to take part in an episode (at least one does)."""
    shared_group_percent: int = 25
    """Episodes whose lanes all belong to one group, and so add to one word."""
    pattern_percent: int = 25
    """Actions whose lanes take neighbouring locations, strides of them, or (loads) the same one."""
    repeat_percent: int = 20
    """Accesses that return to a location the lane picked earlier in the episode."""
    hot_percent: int = 0
    """Accesses that go to the hot locations of a group."""
    hot_cells: int = 8
    """How many of its locations are hot; the name is an option's, and older than *location*."""
    scope_percent: int = 0
    """Actions that bypass caches (GLC or SLC)."""
    atomic_scope_percent: int = 0
    """Episodes whose fetch-adds bypass caches."""
    quiet_percent: int = 0
    """Episodes whose closing fetch-adds, and atomic actions that, ask for no old values."""
    atomic_percent: int = 0
    """Stores of 4 and 8 bytes that are made as atomic actions, of agents that make fetch-adds."""
    bare_percent: int = 0
    """Episodes without fetch-adds: acquire and release alone, and so a faster hand-over."""
    plain_percent: int = 0
    """Episodes of processors without fetch-adds and fences, handed over by completion alone."""
    instruction_percent: int = 0
    """Loads of processors that are made as instruction fetches."""
    unaligned_percent: int = 0
    """Accesses of processors, readers and engines that have any size and place: 1 to 16 bytes in a
    line, of an engine up to some lines."""
    flush_percent: int = 0
    """Episodes that flush what they have stored, of agents that can."""
    peek_percent: int = 0
    """Episodes that make racing loads of the lines they wait for."""
    peek_bypass_percent: int = 0
    """Racing loads of wavefronts that bypass the first level, and so return no old copy."""
    chase_percent: int = 0
    """Episodes half of whose accesses target the latest stores of other agents."""
    stream_percent: int = 0
    """Episodes that go from line to line, of agents whose machine has a prefetcher."""
    pattern: str = EPISODES
    """What the program looks like: EPISODES, or as in `tester.generator.access_patterns`, CHECKS or
    BYTES.
    """
    slack_percent: int = 100
    """Reservations outlast an episode by up to this share of a mean duration."""
    tight_percent: int = 15
    """Episodes whose hand-overs leave no slack."""

    def __post_init__(self) -> None:
        wrong = next(self._wrong(), None)
        if wrong is not None:
            raise ConfigError(wrong)

    def _wrong(self) -> Iterator[str]:
        """What is impossible; a leg makes several of these, so text is made for nothing else."""
        if not self.agents:
            yield "a program needs at least one agent"
        if len(self.agents) > MAX_PROGRAM_AGENTS:
            yield f"{len(self.agents)} agents, no more than {MAX_PROGRAM_AGENTS} are possible"
        for agent in self.agents:
            if not 1 <= agent.lanes <= MAX_LANES:
                yield f"agent {agent.name} has {agent.lanes} lanes, 1 to {MAX_LANES} are possible"
        if self.abilities and len(self.abilities) != len(self.agents):
            yield "abilities needs one entry per agent"
        if self.isolation_groups:
            if len(self.isolation_groups) != len(self.agents):
                yield "isolation_groups needs one number per agent"
            if min(self.isolation_groups) < 0 or max(self.isolation_groups) >= self.map.groups:
                yield (
                    f"{max(self.isolation_groups) + 1} isolation groups need as many groups, "
                    f"there are {self.map.groups}"
                )
        if self.episodes is not None and self.episodes < 0:
            yield "episodes must not be negative"
        if self.pattern not in PATTERNS:
            yield f"no pattern {self.pattern!r}; there are {', '.join(PATTERNS)}"
        if not self.lengths:
            yield "lengths must name at least one episode length"
        if not all(1 <= n <= MAX_LENGTH for n in self.lengths):
            yield f"an episode has 1 to {MAX_LENGTH} actions"
        low, high = self.load_percent
        if not 0 <= low <= high <= 100:
            yield "load_percent must be a range within 0 to 100"
        weights = self.size_weights
        if len(weights) != 4 or not all(0 <= w <= 10000 for w in weights) or not sum(weights):
            yield "size_weights needs four weights from 0 to 10000, one of them positive"
        for name, value in zip(_PERCENTAGES, _percentages(self)):
            if not 0 <= value <= 100:
                yield f"{name} is {value}, a percentage is needed"
        if not 0 <= self.slack_percent <= 10000:
            yield "slack_percent must lie between 0 and 10000"
        if self.hot_cells < 1:
            yield "hot_cells must be 1 or more"

    def all_abilities(self) -> tuple[Abilities, ...]:
        """One entry per agent."""
        return self.abilities or tuple(Abilities.of_kind(agent.kind) for agent in self.agents)

    def full_map(self) -> MapConfig:
        """The map's configuration with the sizes that actions will have."""
        smallest, largest = self.extremes()
        return replace(self.map, smallest=smallest, largest=largest)

    def extremes(self) -> tuple[int, int]:
        """The smallest and the largest size of an action's accesses."""
        used = [s for s, weight in zip((1, 2, 4, 8), self.size_weights) if weight]
        return used[0], used[-1]
