"""A built system: its parts, and who is to issue accesses to it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from msgspec import Struct

from runtime.controller.protocol_info import ProtocolInfo
from runtime.controller.shapes import Controller
from runtime.description import SystemDescription
from runtime.network.network import Network, Topology
from runtime.requesters.coalescer import VIPERCoalescer
from runtime.requesters.dma_sequencer import DMASequencer
from runtime.requesters.sequencer import Sequencer
from runtime.sim.engine import Engine
from runtime.sim.message_buffer import MessageBuffer
from runtime.structures.cache_memory import AbstractCacheEntry, CacheMemory
from runtime.structures.main_memory import Memory
from runtime.system.inspection import Copy, copies, leaks

AnyRequester = VIPERCoalescer | Sequencer | DMASequencer
AnyCache = CacheMemory[AbstractCacheEntry]


class AgentPlace(Struct, frozen=True):
    """One thread that the description asks for. ``requester`` indexes ``System.requesters``."""

    group: str
    kind: str
    requester: int
    lanes: int
    name: str


@dataclass(eq=False)
class System:
    """A built system at tick 0. ``description`` is the completed one.

    ``buffers``: every buffer that can hold messages, by name (``TCP0.mandatoryQueue``).
    ``idle_requesters``: callback objects that no group of the description drives.
    """

    description: SystemDescription
    protocol: ProtocolInfo
    run_key: int
    engine: Engine
    topology: Topology
    network: Network
    memory: Memory
    controllers: list[Controller]
    requesters: list[AnyRequester]
    idle_requesters: list[AnyRequester]
    buffers: dict[str, MessageBuffer]

    def agents(self) -> list[AgentPlace]:
        """The threads of the description, group by group."""
        return agent_places(self.description)

    def run(self, until: int | None = None) -> int:
        """Run until nothing is pending, or to the end of a tick. Returns the last tick that ran.

        Accesses issued before or in between are answered on the way; call it as often as needed.
        """
        self.engine.run(until)
        return self.engine.now

    def leaks(self) -> list[str]:
        """What should be empty at rest and is not, as text. Empty for a clean system."""
        return [leak.text for leak in leaks(self)]

    def copies(self, address: int) -> list[Copy]:
        """Every place that has bytes of the address's line; memory comes last."""
        return copies(self, address)

    def memory_byte(self, address: int) -> int:
        """A byte of main memory, whatever caches hold."""
        line = address & -self.topology.line_size
        return self.memory.read_line(line) >> 8 * (address - line) & 0xFF

    @property
    def memory_echoes(self) -> bool:
        """Whether the protocol keeps memory's bytes in its directories, not in memory."""
        return self.memory.echoes

    def memory_bytes(self, addresses: Iterable[int]) -> list[int]:
        """Bytes of main memory, whatever caches hold."""
        size = self.topology.line_size
        mask = -size
        lines: dict[int, bytes] = {}
        found = []
        for address in addresses:
            line = address & mask
            data = lines.get(line)
            if data is None:
                data = lines[line] = self.memory.read_line(line).to_bytes(size, "little")
            found.append(data[address - line])
        return found


def agent_places(description: SystemDescription) -> list[AgentPlace]:
    """The threads that a completed description asks for, group by group, requester by requester."""
    first: dict[str, int] = {}
    total = 0
    for name, requester in description.requesters.items():
        first[name] = total
        total += description.machines[requester.machine].count or 0
    places = []
    for group, agents in description.agents.items():
        machine = description.requesters[agents.requester].machine
        for instance in range(description.machines[machine].count or 0):
            for wavefront in range(agents.wavefronts):
                name = instance_name(group, instance)
                if agents.wavefronts > 1:
                    name += f".{wavefront}"
                places.append(
                    AgentPlace(
                        group,
                        agents.kind or "",
                        first[agents.requester] + instance,
                        agents.lanes or 1,
                        name,
                    )
                )
    return places


def instance_name(group: str, instance: int) -> str:
    """``gpu0``; ``cpu2.0`` where the group's name ends in a digit."""
    return f"{group}.{instance}" if group[-1:].isdigit() else f"{group}{instance}"
