"""Which machines of a protocol are its first level, second level, directories and processors.

Profiles are written in terms of units and banks, a system description in terms of the protocol's
own machines. The mapping follows from the declarations: which machine has a requester that agents
use, which is interleaved over lines, which owns a directory memory. Invariant: only machines and
caches that the description already has are ever named, so a profile fits any protocol and ignores
what it lacks.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from protocols.accepted_requests import Accepted, called_functions
from runtime.controller.declarations import BufferParameter, Parameter
from runtime.controller.protocol_info import ProtocolInfo
from runtime.description import AgentsDescription, SystemDescription
from runtime.description.inference import DMA as DMA_SEQUENCER
from runtime.description.inference import REQUESTERS
from slicc.text.lazy_dataclass import dataclass
from tester.generator.config import Abilities
from tester.identity_cache import once_for_the_same
from tester.profiles.profile_draw import Shape
from tester.program.program import DMA, FETCH

_WRITE_BACK_PARAMETER = "WB"
_L3_WRITES_PARAMETER = "useL3OnWT"
SWITCHES = (_WRITE_BACK_PARAMETER, _L3_WRITES_PARAMETER)
"""Parameters of machines that a shape decides."""
EVICTIONS_PARAMETER: Final = "send_evictions"
"""Whether a machine says when a line leaves the cache: what load-linked relies on."""
_NEAREST: Final = {"line": (), "linked": (), "conditional": ("linked",), "far": ("linked",)}


@dataclass(frozen=True, slots=True)
class Roles:
    """Machine names by role; agents and requesters that drive the first level."""

    first: tuple[str, ...]
    second: tuple[str, ...]
    private: tuple[str, ...]
    """Caches between them that belong to one first-level cache each."""
    directories: tuple[str, ...]
    processors: tuple[str, ...]
    dmas: tuple[str, ...]
    fetchers: tuple[str, ...]
    """Instruction caches."""
    scalars: tuple[str, ...]
    """Caches for plain loads of readers, whose acquires empty them."""
    agents: tuple[str, ...]
    """Groups of agents on the first level."""
    is_gpu: bool


@once_for_the_same(4)
def find_roles(protocol: ProtocolInfo, description: SystemDescription) -> Roles:
    """Roles in a completed description."""
    kinds = agent_kinds(description)
    is_gpu = has_gpu(description)
    subject = "gpu" if is_gpu else "cpu"

    def machines(kind: str) -> tuple[str, ...]:
        return _machines_of([n for n, found in kinds.items() if found == kind], description)

    directories = tuple(
        group
        for m in protocol.machines
        if any(p.name == "requestToMemory" or _is_directory(p) for p in m.PARAMETERS)
        for group in description.groups_of(m.MACHINE)
    )
    readers = [n for n, kind in kinds.items() if kind == FETCH and not _fetches(n, description)]
    scalars = _machines_of(readers, description)
    first = machines(subject)
    away = (*directories, *first, *machines(DMA), *machines(FETCH), *machines("cpu"))
    return Roles(
        first=first,
        second=tuple(
            name
            for name, machine in description.machines.items()
            if machine.interleaved and machine.caches and name not in directories + first
        ),
        private=tuple(
            name
            for name, machine in description.machines.items()
            if machine.caches and not machine.interleaved and name not in away
        ),
        directories=directories,
        processors=machines("cpu") if is_gpu else (),
        dmas=machines(DMA),
        fetchers=tuple(name for name in machines(FETCH) if name not in scalars),
        scalars=scalars,
        agents=tuple(name for name, kind in kinds.items() if kind == subject),
        is_gpu=is_gpu,
    )


@once_for_the_same(4)
def agent_kinds(description: SystemDescription) -> Mapping[str, str]:
    """Kind of agent in each group, as `tester.program.program.AgentSpec` has it.

    Agents that fetch, or have a cache to walk and nothing to store, are FETCH; an engine that does
    not store stays one here.
    """
    kinds: dict[str, str] = {}
    for name, group in description.agents.items():
        requester = description.requesters[group.requester]
        kind = group.kind or "cpu"
        reads = kind == "cpu" and bool(requester.walk) and "stores" in group.without
        kinds[name] = FETCH if requester.fetch or reads else kind
    return kinds


def _fetches(group: str, description: SystemDescription) -> bool:
    """Whether the loads of a group of agents are instruction fetches."""
    return description.requesters[description.agents[group].requester].fetch


def _machines_of(groups: list[str], description: SystemDescription) -> tuple[str, ...]:
    """The machines that these groups of agents use."""
    agents, requesters = description.agents, description.requesters
    return tuple(dict.fromkeys(requesters[agents[name].requester].machine for name in groups))


def abilities(
    accepted: Mapping[str, Accepted], description: SystemDescription
) -> dict[str, Abilities]:
    """What the agents of each group can do, by what the ports of their machines accept.

    Agents that flush may do so while others store; engines and readers never flush.
    """
    kinds = agent_kinds(description)
    found: dict[str, Abilities] = {}
    for name, group in description.agents.items():
        requester = description.requesters[group.requester]
        known = accepted.get(group.requester, Accepted())
        processor = kinds[name] == "cpu"
        # An engine that only reads is issued as a reader, and a device may have the
        # requester of a processor; their accesses stay within a line.
        # Those of wavefronts that only read keep to the sizes of wavefronts.
        short = ("stores" in group.without and kinds[name] != "gpu") or (
            kinds[name] == DMA and requester.class_name != DMA_SEQUENCER
        )
        found[name] = Abilities(
            flush=kinds[name] in ("cpu", "gpu") and "flush" not in group.without and known.flushes,
            plain=processor
            and not (requester.walk or requester.needs_fences)
            and requester.invalidates is None,
            instructions=processor and "instructions" not in group.without and known.fetches,
            longest=Abilities.of_kind(FETCH if short else kinds[name]).longest,
            whole_lines="partial" in group.without,
            loads="loads" not in group.without,
            streams=processor and known.prefetches,
        )
    return found


def has_gpu(description: SystemDescription) -> bool:
    """Whether any agents are wavefronts."""
    return "gpu" in agent_kinds(description).values()


def has_prefetcher(accepted: Mapping[str, Accepted]) -> bool:
    """Whether a machine with a port may fetch lines ahead."""
    return any(each.prefetches for each in accepted.values())


def has_bus(description: SystemDescription) -> bool:
    """Whether processors see each other's requests on a bus."""
    return description.network.kind == "bus" and not has_gpu(description)


def undriven(protocol: ProtocolInfo, description: SystemDescription) -> list[str]:
    """Machines with a port for a requester that no agents of a completed description use."""
    used = {
        description.machines[description.requesters[group.requester].machine].of
        or description.requesters[group.requester].machine
        for group in description.agents.values()
    }
    return [
        machine.MACHINE
        for machine in protocol.machines
        if machine.MACHINE not in used
        and any(isinstance(p, Parameter) and p.type in REQUESTERS for p in machine.PARAMETERS)
        and description.instances_of(machine.MACHINE)
    ]


def idle(shape: Shape, description: SystemDescription) -> list[str]:
    """Groups of agents that have nothing to do in a system of that shape."""
    return [name for name in description.agents if not _wanted(name, shape, description)]


def _wanted(group: str, shape: Shape, description: SystemDescription) -> bool:
    """Whether the shape has a place for these agents."""
    kind = agent_kinds(description)[group]
    if kind == FETCH:
        return bool(shape.fetchers if _fetches(group, description) else shape.scalars)
    if kind == "cpu" and has_gpu(description):
        return shape.cpus > 0
    return kind != DMA or shape.dmas > 0


def overrides(
    shape: Shape, protocol: ProtocolInfo, description: SystemDescription
) -> dict[str, object]:
    """Assignments for `SystemDescription.override` that give a completed description the shape."""
    roles = find_roles(protocol, description)
    return {
        "network.delays": shape.delays,
        **_widths(shape, roles, description),
        **_counts(shape, roles, protocol),
        **_geometries(shape, roles, description),
        **_switches(shape, roles, protocol, description),
    }


def _widths(shape: Shape, roles: Roles, description: SystemDescription) -> dict[str, object]:
    """How many agents a unit has, how wide they are, and what their ports have room for."""
    result: dict[str, object] = {}
    for name in roles.agents:
        # One-lane agents keep their width: a processor has no wavefronts.
        if roles.is_gpu:
            result[f"agents.{name}.wavefronts"] = shape.wavefronts
            result[f"agents.{name}.lanes"] = shape.lanes
        elif shape.processor_threads > 1:  # else as many as the description says
            result[f"agents.{name}.wavefronts"] = shape.processor_threads
    for name, kind in agent_kinds(description).items():
        if kind in ("cpu", DMA) and shape.outstanding:
            result[f"requester.{description.agents[name].requester}.outstanding"] = (
                shape.outstanding
            )
        if kind == FETCH and _wanted(name, shape, description):
            result[f"agents.{name}.wavefronts"] = shape.fetch_waves
    return result


def _counts(shape: Shape, roles: Roles, protocol: ProtocolInfo) -> dict[str, object]:
    """How many instances machines have."""
    counts = (
        (roles.first, shape.units),
        (roles.second, shape.banks),
        (roles.directories, shape.directories),
        (roles.processors, max(1, shape.cpus)),
        (roles.dmas, 1 if answers_one_engine(protocol) else max(1, shape.dmas)),
        (roles.fetchers, max(1, shape.fetchers)),
        (roles.scalars, shape.scalars),
    )
    return {f"machine.{name}.count": count for machines, count in counts for name in machines}


def _geometries(shape: Shape, roles: Roles, description: SystemDescription) -> dict[str, object]:
    """Sets, ways and replacement of caches."""
    result: dict[str, object] = {}
    geometry = (
        (roles.first, shape.l1_sets, shape.l1_ways),
        (roles.fetchers, shape.l1_sets, shape.l1_ways),
        (roles.scalars, shape.l1_sets, shape.l1_ways),
        (roles.processors, shape.l1_sets, shape.l1_ways),
        (roles.second, shape.l2_sets, shape.l2_ways),
        (roles.private, shape.l2_sets, shape.l2_ways),
        (roles.directories, shape.l3_sets, shape.l3_ways),
    )
    for machines, sets, ways in geometry:
        for name in machines:
            for cache in description.machines[name].caches:
                path = f"machine.{name}.cache.{cache}"
                result[f"{path}.sets"] = sets
                result[f"{path}.ways"] = ways
                # Trees need a power of two, which ways fixed by the user may not be.
                result[f"{path}.replacement"] = "lru" if ways & (ways - 1) else shape.replacement
    return result


def _switches(
    shape: Shape, roles: Roles, protocol: ProtocolInfo, description: SystemDescription
) -> dict[str, object]:
    """Parameters of machines that turn something on, where a machine has them."""
    result: dict[str, object] = {}
    of_processors = dict.fromkeys(
        description.requesters[description.agents[name].requester].machine
        for name, kind in agent_kinds(description).items()
        if kind == "cpu"
    )
    switches = (
        (roles.second, _WRITE_BACK_PARAMETER, shape.write_back),
        (roles.directories, _L3_WRITES_PARAMETER, shape.l3_writes),
        (of_processors, EVICTIONS_PARAMETER, True),
    )
    for machines, switch, value in switches:
        for name in machines:
            machine = protocol.machine(description.machines[name].of or name)
            if any(switch == declared.name for declared in machine.PARAMETERS):
                result[f"machine.{name}.parameters.{switch}"] = value
    return result


def answers_one_engine(protocol: ProtocolInfo) -> bool:
    """Whether answers to DMA engines go to the first one, whichever asked: older texts named it by
    the address, not by the request."""
    return any("map_Address_to_DMA" in called_functions(machine) for machine in protocol.machines)


def atomic_ways(
    shape: Shape, accepted: Mapping[str, Accepted], description: SystemDescription
) -> dict[str, object]:
    """Assignments for the ways in which processors do atomic operations, where it is not `line`:
    the one that the shape wants, or the nearest one that machine and agents know.
    """
    result: dict[str, object] = {}
    for name, kind in agent_kinds(description).items():
        group = description.agents[name]
        known = accepted.get(group.requester, Accepted()).ways - set(group.without)
        if "loads" in group.without or not _evictions_said(group, description):
            known -= {"linked", "conditional"}
        wanted = (shape.atomics, *_NEAREST[shape.atomics])
        way = next((way for way in wanted if way in known), "line")
        if kind == "cpu" and way != "line":
            result[f"requester.{group.requester}.atomics"] = way
    return result


def loads_ahead(
    accepted: Mapping[str, Accepted], description: SystemDescription
) -> dict[str, object]:
    """Assignments for processors whose machines report lines that leave their caches: they may keep
    values of loads that ran ahead."""
    return {
        f"requester.{group.requester}.ahead": True
        for name, kind in agent_kinds(description).items()
        for group in (description.agents[name],)
        if kind == "cpu"
        and "ahead" not in group.without
        and _evictions_said(group, description)
        and "linked" in accepted.get(group.requester, Accepted()).ways
    }


def _evictions_said(group: AgentsDescription, description: SystemDescription) -> bool:
    """Whether the machine of a completed description is not told to keep evictions to itself."""
    machine = description.machines[description.requesters[group.requester].machine]
    return machine.parameters.get(EVICTIONS_PARAMETER) is not False


def _is_directory(parameter: Parameter | BufferParameter) -> bool:
    return isinstance(parameter, Parameter) and parameter.type == "DirectoryMemory"
