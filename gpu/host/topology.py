"""What a host program can query of the system it runs on: agents, memories, caches.

The table of D2, section 2.3, without values that a model does not have (bandwidths, physical
addresses, look-aside buffers). Invariant: every value is taken from the device; none is a default
of this module.

Source: HSA Core API Programmer's Reference Manual, draft 0.170, "HSA Topology and Component".
"""

from __future__ import annotations

from enum import Flag
from typing import Final

from gpu.dispatch.occupancy import Limits
from gpu.hsa.aql import PACKET_BYTES
from gpu.hsa.queue import MOST_PACKETS
from gpu.hsa.scratch import LARGEST_ITEM
from gpu.memory.address_space import FIRST_ADDRESS, LAST_ADDRESS
from gpu.memory.coherent.system_selection import KernelSystem
from gpu.wave_size import LANES
from runtime.description import SystemDescription
from slicc.text.lazy_dataclass import dataclass

NODE: Final = 0
"""The only one: host and GPU share one memory."""


class AgentType(Flag):
    """What an agent is; bits of ``agent_type``."""

    HOST = 1
    COMPONENT = 2
    AGENT_DISPATCH = 4


class Segment(Flag):
    """What a memory can be used as; bits of ``supported_segment_type_mask``."""

    GLOBAL = 1
    PRIVATE = 2
    GROUP = 4
    KERNARG = 8
    READONLY = 16


@dataclass(frozen=True, slots=True)
class CacheLevel:
    """One level: bytes of it, of a line, and in how many frames a line can be."""

    size: int
    line_size: int
    associativity: int


@dataclass(frozen=True, slots=True)
class CacheDescriptor:
    """Caches of one kind. ``use``: what they are for. ``count``: how many, or banks of one.

    ``levels``: the first one is nearest; a bank's size, where there are banks.
    """

    id: int
    use: str
    count: int
    levels: tuple[CacheLevel, ...]
    node: int = NODE


@dataclass(frozen=True, slots=True)
class MemoryDescriptor:
    """``base``: first address, 0 where a segment has addresses of its own. ``size``: bytes, of a
    group's or a work-item's memory those of one."""

    id: int
    segments: Segment
    base: int
    size: int
    node: int = NODE


@dataclass(frozen=True, slots=True)
class Agent:
    """``memories`` and ``caches``: by id. Of a host the numbers of a component are 0.

    ``queue_size``: bytes of the largest ring.
    """

    id: int
    type: AgentType
    vendor: str
    name: str
    memories: tuple[int, ...]
    caches: tuple[int, ...] = ()
    position_independent_code: bool = False
    wavefront_size: int = 0
    queue_size: int = 0
    group_memory_size: int = 0
    compute_units: int = 0
    simds: int = 0
    waves: int = 0
    node: int = NODE


@dataclass(frozen=True, slots=True)
class Topology:
    """The whole table. Time stamps are ticks, and a tick has no length: there is no frequency."""

    nodes: tuple[int, ...]
    agents: tuple[Agent, ...]
    memories: tuple[MemoryDescriptor, ...]
    caches: tuple[CacheDescriptor, ...]

    @property
    def components(self) -> tuple[Agent, ...]:
        """Agents that run kernels."""
        return tuple(agent for agent in self.agents if AgentType.COMPONENT in agent.type)


def topology(cus: int, limits: Limits, system: KernelSystem | None, processor: str) -> Topology:
    """The topology of a device with so many units. ``system``: None for one without caches.
    ``processor``: the name of the component."""
    caches = () if system is None else _caches(system)
    memories = (
        MemoryDescriptor(
            0,
            Segment.GLOBAL | Segment.KERNARG | Segment.READONLY,
            FIRST_ADDRESS,
            LAST_ADDRESS - FIRST_ADDRESS,
        ),
        MemoryDescriptor(1, Segment.GROUP, 0, limits.lds),
        MemoryDescriptor(2, Segment.PRIVATE, 0, LARGEST_ITEM),
    )
    host = Agent(0, AgentType.HOST | AgentType.AGENT_DISPATCH, "", "host", (0,))
    component = Agent(
        1,
        AgentType.COMPONENT,
        "model",
        processor,
        memories=(0, 1, 2),
        caches=tuple(cache.id for cache in caches),
        position_independent_code=True,
        wavefront_size=LANES,
        queue_size=MOST_PACKETS * PACKET_BYTES,
        group_memory_size=limits.lds,
        compute_units=cus,
        simds=limits.simds,
        waves=limits.simds * limits.waves_per_simd,
    )
    return Topology((NODE,), (host, component), memories, caches)


def _caches(system: KernelSystem) -> tuple[CacheDescriptor, ...]:
    described, roles = system.description, system.roles
    groups = {
        "vector": described.requesters[roles.vector].machine,
        "scalar": described.requesters[roles.scalar].machine,
        "instruction": described.requesters[roles.fetch].machine,
        "shared": roles.banks,
    }
    return tuple(
        CacheDescriptor(
            number, use, described.machines[group].count or 0, _levels(described, group)
        )
        for number, (use, group) in enumerate(groups.items())
        if group is not None
    )


def _levels(described: SystemDescription, group: str) -> tuple[CacheLevel, ...]:
    line = described.line_size
    return tuple(
        CacheLevel(cache.sets * cache.ways * line, line, cache.ways)
        for cache in described.machines[group].caches.values()
    )
