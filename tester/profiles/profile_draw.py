"""One draw from a profile: a system in general terms, and what to run on it.

Invariant: a draw is a plain value that knows neither protocol nor seed, so that it can be
printed before the first tick and applied to whatever system the protocol allows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from slicc.text.lazy_dataclass import dataclass
from tester.errors import ConfigError
from tester.generator.generator import GeneratorConfig
from tester.limits import SHAPE
from tester.program.program import AgentSpec


@dataclass(frozen=True, slots=True)
class Shape:
    """A system in terms that all protocols share; `tester.profiles.machine_roles` maps them to a
    protocol's machines.
    """

    units: int = 4
    """First-level caches with a requester."""
    wavefronts: int = 1
    """Agents per unit."""
    lanes: int = 4
    processor_threads: int = 1
    """Agents per unit where units are processors."""
    cpus: int = 1
    """Processor machines beside a GPU; without meaning elsewhere."""
    dmas: int = 1
    """DMA engines that load and store like other agents; 0: they stay idle."""
    fetchers: int = 1
    """Instruction caches that are read through; 0: they stay idle."""
    scalars: int = 0
    """Caches for plain loads of readers, emptied by their acquires; 0: there are none."""
    fetch_waves: int = 1
    """Agents that read through each of both."""
    l1_sets: int = 16
    l1_ways: int = 4
    l2_sets: int = 32
    l2_ways: int = 4
    """Geometry of the second level, per bank."""
    banks: int = 1
    directories: int = 1
    l3_sets: int = 32
    l3_ways: int = 4
    """Geometry of the directories' own caches."""
    l3_writes: bool = False
    """Whether what is written through stays in the directories' caches."""
    write_back: bool = False
    """Whether the second level keeps dirty data."""
    entries: int = 0
    """Transactions that a first-level or second-level cache has room for; 0: as described."""
    directory_entries: int = 0
    """The same of directories."""
    dma_entries: int = 0
    """The same of DMA engines."""
    busy_cycles: int = 0
    """How long an access occupies a bank of data, or an atomic unit; 0: nothing is ever busy."""
    array_banks: int = 1
    """Banks of each array of a cache, and its atomic units, where accesses occupy them."""
    send_slots: int = 0
    """Slots of each buffer towards the network or memory, for every one that a single transition
    may fill; 0: as described."""
    transitions: int = 0
    """Transitions of a controller in a cycle; 0: as described."""
    outstanding: int = 0
    """Requests that the port of a one-lane agent has room for; 0: as described."""
    atomics: str = "line"
    """How processors do atomic operations, as in a system description, where their machine knows
    that way; else the nearest one that it knows."""
    replacement: str = "tree_plru"
    delays: str = "gem5"
    """Name of the policy of random message delays."""

    @property
    def agents(self) -> int:
        return self.units * self.wavefronts

    @property
    def limited(self) -> bool:
        """Whether anything but the frames of caches is scarce."""
        tables = self.entries or self.directory_entries or self.dma_entries
        return bool(tables or self.busy_cycles or self.send_slots or self.transitions)

    @property
    def l2_lines(self) -> int:
        return self.l2_sets * self.l2_ways * self.banks

    def check(self) -> None:
        """Raises ConfigError for impossible values."""
        for name, limit in SHAPE.items():
            refusal = limit.refusal(getattr(self, name))
            if refusal is not None:
                raise ConfigError(f"{name} is {getattr(self, name)}, {refusal}")


@dataclass(frozen=True, slots=True)
class ProfileDraw:
    """One draw from a profile. `program` holds stand-ins for agents; see `config`."""

    profile: str
    shape: Shape
    program: GeneratorConfig
    crowding: int | None = None
    """Locations in percent of the accesses under way; None: the map has a size of its own."""

    def config(
        self,
        agents: tuple[AgentSpec, ...],
        episodes: int | None,
        line_size: int = 64,
        isolation_groups: tuple[int, ...] = (),
        **changes: Any,
    ) -> GeneratorConfig:
        """What to generate for the agents of the system that was actually built.

        `isolation_groups` as in GeneratorConfig; the map gets as many groups as they need.
        `changes`: other fields of it.
        """
        groups = max(self.program.map.groups, max(isolation_groups, default=0) + 1)
        places = self.program.map
        # Clusters are for lanes that fill a line together.
        alone = max(agent.lanes for agent in agents) == 1
        cluster_bytes = 1 if alone else places.cluster_bytes
        locations = places.locations
        if self.crowding is not None:
            # A protocol may have narrower agents than the profile asked for, or fewer.
            accesses = under_way(sum(agent.lanes for agent in agents), self.program.lengths)
            locations = max(locations_for(accesses, self.crowding, groups), cluster_bytes)
        layout = replace(
            places,
            line_size=line_size,
            groups=groups,
            cluster_bytes=cluster_bytes,
            locations=locations,
        )
        return replace(
            self.program,
            agents=agents,
            episodes=episodes,
            map=layout,
            isolation_groups=isolation_groups,
            **changes,
        )


def under_way(lanes: int, lengths: tuple[int, ...]) -> int:
    """Accesses of the episodes that are alive at a time, with that many lanes in all."""
    return lanes * sum(lengths) // max(len(lengths), 1)


def locations_for(accesses: int, percent: int, groups: int) -> int:
    """Locations per group so that there are `percent` / 100 for every access under way."""
    return max(8, accesses * percent // 100 // max(groups, 1))
