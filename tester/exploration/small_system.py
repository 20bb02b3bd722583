"""The smallest system of a protocol, and what an exploration has to know of it.

Caches have one frame, so that every second line evicts the first; buffers other than those of
requests to memory are unlimited, arrays are never busy. Invariant: what the explorer cannot follow
(limited buffers, busy arrays, fields that are not coded) is refused here, by name, before anything
is compiled.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import permutations, product
from typing import Any, Final

from msgspec import structs

from protocols.loader import LoadedProtocol
from runtime.description import SystemDescription
from runtime.description.inference import complete
from runtime.native.plan import Capacities, Plans, Words
from runtime.requesters.coalescer import VIPERCoalescer
from runtime.system.builder import build_completed, steady_buffers
from runtime.system.system import System
from slicc.text.lazy_dataclass import dataclass
from tester.errors import ConfigError
from tester.exploration import operations
from tester.profiles.machine_roles import Roles, abilities, find_roles

LINE_BYTES: Final = 16
FIRST_ADDRESS: Final = 0x1000
MOST_AGENTS: Final = 8
MOST_LOCATIONS: Final = 8
MOST_RENAMINGS: Final = 48
ENGINES: Final = "engines"
_PREFETCHES: Final = ("enable_prefetch", "use_prefetcher")
"""The parameters that say whether a machine asks its prefetcher."""


@dataclass(frozen=True, slots=True)
class Bounds:
    """How large the system is. ``set``: further assignments of its description."""

    caches: int = 2
    lines: int = 1
    locations: int = 2
    """Of each line."""
    agents: int = 1
    """On each first-level cache's port."""
    operations: tuple[str, ...] = ()
    """Empty: the usual ones of each kind of agent."""
    increments: int = 1
    """Fetch-adds of each agent to each word."""
    engines: bool = False
    """Whether DMA engines load and store."""
    assignments: tuple[tuple[str, object], ...] = ()


@dataclass(frozen=True, slots=True)
class ExploredAgent:
    name: str
    requester: int
    operations: tuple[str, ...]
    relaxed: bool
    """Its loads are ordered by its acquires only."""


@dataclass(frozen=True, slots=True)
class SmallSystem:
    """``buffers``: names by number. ``ordered``: those in which messages keep their order."""

    description: SystemDescription
    plan: Words
    bounds: Bounds
    agents: tuple[ExploredAgent, ...]
    idle: tuple[str, ...]
    """What its agents could do and none does: operations, and `ENGINES` that are there."""
    controllers: tuple[str, ...]
    machines: tuple[int, ...]
    """Of each controller, as in the protocol."""
    buffers: tuple[str, ...]
    receivers: tuple[str, ...]
    """Of each buffer: the controller that reads it."""
    ordered: frozenset[int]
    prompt: frozenset[int]
    """Buffers in which what has no latency comes before what was sent earlier with one."""
    to_memory: frozenset[int]
    spent: frozenset[str]
    """Machine and event of messages whose delivery changes nothing, whenever it happens."""
    times: tuple[str, ...]
    """Fields that only measure, which are no part of a state."""
    timed: tuple[str, ...]
    """Machines and structures that assert something of times, which is not judged."""
    private: frozenset[int]
    """Controllers with caches in which one writer excludes all readers."""
    compares: bool
    """Whether the protocol asserts that data are equal: states keep all values apart then."""
    renamings: tuple[tuple[int, ...], ...]
    """New numbers of controllers, of lines, and of agents; the first one changes nothing."""

    @property
    def operations(self) -> tuple[str, ...]:
        """All that any agent does."""
        used = {name for agent in self.agents for name in agent.operations}
        return tuple(name for name in operations.NAMES if name in used)

    @property
    def served_in_order(self) -> bool:
        """Whether one buffer that keeps its order has all requests to memory. When memory serves
        one of those makes no difference then: what it reads is what earlier requests wrote, and
        its answer may be delivered at any time afterwards."""
        return len(self.to_memory) == 1 and self.to_memory <= self.ordered

    @property
    def has_local_steps(self) -> bool:
        """Whether anything commutes with every other step."""
        return self.served_in_order or bool(self.spent)

    @property
    def counts_words(self) -> bool:
        return any(name.startswith("atomic") for name in self.operations)


def small_system(protocol: LoadedProtocol, bounds: Bounds, *, symmetry: bool) -> SmallSystem:
    """Raises ConfigError for what cannot be explored, DescriptionError for bad assignments."""
    if protocol.native is None:
        raise ConfigError(f"{protocol.info.name} cannot be explored: {protocol.why_not_native}")
    if not protocol.description.values:
        raise ConfigError(
            f"{protocol.info.name} cannot be explored: its loads return no values (values = false)"
        )
    description = _described(protocol, bounds)
    system = build_completed(protocol.info, description, 0)
    _check_system(system)
    noted = _noted(protocol, system)
    _check_fields(protocol, noted["unknown"])
    _check_prefetchers(protocol, system, noted["prefetchers"])
    roles = find_roles(protocol.info, description)
    agents, idle = _agents(protocol, description, system, roles, bounds)
    _check_sizes(bounds, agents)
    names = tuple(str(each) for each in system.controllers)
    buffers = tuple(system.buffers)
    steady = steady_buffers(description, protocol.info)
    machines = {f"{c.MACHINE}{c.version}": c.MACHINE for c in system.controllers}
    prompt = {name for name in steady if _by_machine(name, machines) in noted["mixed"]}
    found = list(system.buffers.values())
    readers = [buffer.consumer for buffer in found]
    memories = {id(c.memory_request) for c in system.controllers if c.memory_request is not None}
    classes = [machine.MACHINE for machine in protocol.info.machines]
    renamings = _renamings(system, roles, agents, bounds, noted) if symmetry else ()
    identity = (*range(len(names)), *range(bounds.lines), *range(len(agents)))
    return SmallSystem(
        description=description,
        plan=_plan(protocol, description, agents, bounds),
        bounds=bounds,
        agents=agents,
        idle=idle,
        controllers=names,
        machines=tuple(classes.index(each.MACHINE) for each in system.controllers),
        buffers=buffers,
        receivers=tuple("" if each is None else str(each) for each in readers),
        ordered=frozenset(
            number
            for number, (name, buffer) in enumerate(system.buffers.items())
            if buffer.ordered or (name in steady and name not in prompt)
        ),
        prompt=frozenset(
            number
            for number, (name, buffer) in enumerate(system.buffers.items())
            if name in prompt and not buffer.ordered
        ),
        to_memory=frozenset(n for n, buffer in enumerate(found) if id(buffer) in memories),
        spent=frozenset(metadata(protocol)["spent"]),
        times=tuple(noted["times"]),
        timed=tuple(noted["timed"]),
        private=_private(system, agents),
        compares=bool(noted["asserted"]),
        renamings=tuple(dict.fromkeys((identity, *renamings))),
    )


# ------------------------------------------------------------------ what is refused


def metadata(protocol: LoadedProtocol) -> dict[str, Any]:
    """What the code generator noted: see slicc/codegen/cpp/package.py."""
    assert protocol.native is not None
    found: dict[str, Any] = json.loads(protocol.native.files["metadata.json"])
    return found


def _noted(protocol: LoadedProtocol, system: System) -> dict[str, list[str]]:
    """`slicc.codegen.cpp.exploration.encoding.Refusals` of all machines in the system, as one. What
    machines have that are not in the system does not matter."""
    present = {"", *(controller.MACHINE for controller in system.controllers)}
    found: dict[str, list[str]] = {}
    for machine, refusals in metadata(protocol)["refusals"].items():
        for kind, names in refusals.items():
            found.setdefault(kind, []).extend(names if machine in present else ())
    return found


def _by_machine(name: str, machines: Mapping[str, str]) -> str:
    """A buffer as the protocol's text names it. ``machines``: by controller, as in ``name``."""
    controller, _, buffer = name.partition(".")
    return f"{machines[controller]}.{buffer}"


def _check_fields(protocol: LoadedProtocol, unknown: Sequence[str]) -> None:
    if unknown:
        name = protocol.info.name
        raise ConfigError(f"{name} cannot be explored: it has {', '.join(unknown[:4])}")


def _check_system(system: System) -> None:
    # Who waits for room there is woken when memory takes a request.
    to_memory = {id(each.memory_request) for each in system.controllers}
    for buffer in system.buffers.values():
        if buffer.capacity and id(buffer) not in to_memory:
            raise ConfigError(f"buffer {buffer.name} is limited, which exploration cannot follow")
    for port in system.network.ports:
        if port.capacity:
            raise ConfigError(f"buffer {port.name} is limited, which exploration cannot follow")
    for controller in system.controllers:
        for cache in controller.caches():
            if cache.resource_stalls:
                raise ConfigError(
                    f"arrays of {cache.name} may be busy: set resource_stalls = false"
                )


def _check_prefetchers(protocol: LoadedProtocol, system: System, names: Sequence[str]) -> None:
    """They may be there, but nothing may ask them."""
    for name in names:
        machine = name.partition(".")[0]
        for controller in system.controllers:
            says = [each for each in _PREFETCHES if getattr(controller, each, False)]
            if machine == controller.MACHINE and says:
                raise ConfigError(
                    f"{protocol.info.name} cannot be explored with {name}: set "
                    f"machine.{machine}.parameters.{says[0]} = false"
                )


def _check_sizes(bounds: Bounds, agents: Sequence[ExploredAgent]) -> None:
    if not 1 <= len(agents) <= MOST_AGENTS:
        raise ConfigError(f"{len(agents)} agents, of 1 to {MOST_AGENTS} that can be explored")
    locations = bounds.lines * bounds.locations
    if locations > MOST_LOCATIONS:
        raise ConfigError(
            f"{bounds.lines} lines with {bounds.locations} locations each are {locations}, "
            f"of at most {MOST_LOCATIONS} that can be explored"
        )
    if bounds.increments * len(agents) > 24:
        raise ConfigError(
            f"{bounds.increments} fetch-adds of {len(agents)} agents are more than the 24 that a "
            "word can tell apart"
        )


# ------------------------------------------------------------------ the description


def _described(protocol: LoadedProtocol, bounds: Bounds) -> SystemDescription:
    full = protocol.description
    roles = find_roles(protocol.info, full)
    changes: dict[str, object] = {"line_size": LINE_BYTES, "network.delays": "nominal"}
    counts = {name: min(1, machine.count or 0) for name, machine in full.machines.items()}
    counts |= dict.fromkeys(roles.first, bounds.caches)
    counts |= dict.fromkeys(roles.scalars, 0)
    if roles.processors:
        counts |= dict.fromkeys(roles.processors, 1)
    written = protocol.written.machines
    for name, machine in full.machines.items():
        stated = name in written and written[name].count is not None
        follows = name in roles.private and not stated
        if machine.as_many_as is None and not follows:
            changes[f"machine.{name}.count"] = counts[name]
        for cache in machine.caches:
            path = f"machine.{name}.cache.{cache}"
            changes |= {f"{path}.sets": 1, f"{path}.ways": 1, f"{path}.replacement": "lru"}
    for name in full.agents:
        path = f"agents.{name}"
        changes |= {f"{path}.requester": full.agents[name].requester}
        changes |= {f"{path}.wavefronts": bounds.agents, f"{path}.lanes": 1}
    given = dict(bounds.assignments)
    unknown = [path for path in given if path in ("line_size", "network.delays")]
    if unknown:
        raise ConfigError(f"--set {unknown[0]}: exploration has its own")
    changed = protocol.written.override(changes | given)
    return complete(structs.replace(changed, defects=()), protocol.info)


def _agents(
    protocol: LoadedProtocol,
    description: SystemDescription,
    system: System,
    roles: Roles,
    bounds: Bounds,
) -> tuple[tuple[ExploredAgent, ...], tuple[str, ...]]:
    """Agents, and what none of them does."""
    known = abilities(protocol.accepted, description)
    wanted = set(bounds.operations)
    found = []
    could: set[str] = set()
    for place in system.agents():
        group = description.agents[place.group]
        requester = description.requesters[group.requester]
        relaxed = isinstance(system.requesters[place.requester], VIPERCoalescer)
        kind = "gpu" if relaxed else place.kind
        reads_by_acquires = not relaxed and (requester.fetch or requester.walk)
        if kind == "dma" and not bounds.engines:
            could.add(ENGINES)
        if reads_by_acquires or (kind == "dma" and not bounds.engines):
            continue
        able = operations.able(
            kind,
            fetches=known[place.group].instructions,
            flushes=known[place.group].flush,
            stores={"stores", "partial"}.isdisjoint(group.without),  # locations are parts of lines
            loads=known[place.group].loads,
        )
        usual = ("load", "store") if kind == "dma" else operations.DEFAULT[kind]
        could |= able
        names = able & (wanted or set(usual))
        if names:
            ordered = tuple(name for name in operations.NAMES if name in names)
            found.append(ExploredAgent(place.name, place.requester, ordered, relaxed))
    done = {name for agent in found for name in agent.operations}
    missing = wanted - done
    if missing:
        raise ConfigError(
            f"--ops {', '.join(sorted(missing))}: no agent of {protocol.info.name} can do that"
        )
    return tuple(found), tuple(n for n in (*operations.NAMES, ENGINES) if n in could - done)


def _plan(
    protocol: LoadedProtocol,
    description: SystemDescription,
    agents: Sequence[ExploredAgent],
    bounds: Bounds,
) -> Words:
    assert protocol.native is not None
    slots = len(agents) * (1 + bounds.lines * bounds.locations)
    room = Capacities(
        messages=256,
        lines=bounds.lines,
        increments=1,
        logs=64,
        atomics=128,
        flights=slots + 1,
        line_requests=slots + len(agents) * bounds.lines + 1,
        events=16,
        words=1,
        far=1,
        triggers=256,
    )
    return Plans(protocol.info, protocol.native.shape).plan(description, 0, room, len(agents))


def _private(system: System, agents: Sequence[ExploredAgent]) -> frozenset[int]:
    """Where processors keep lines; none beside agents that tolerate stale lines."""
    if any(agent.relaxed for agent in agents):
        return frozenset()
    owners = [system.requesters[agent.requester].controller for agent in agents]
    return frozenset(owner.consumer_id for owner in owners if any(True for _ in owner.caches()))


# ------------------------------------------------------------------ symmetry


def _renamings(
    system: System,
    roles: Roles,
    agents: Sequence[ExploredAgent],
    bounds: Bounds,
    noted: Mapping[str, Sequence[str]],
) -> list[tuple[int, ...]]:
    """Which controllers and lines may take each other's places without any difference."""
    groups = [] if noted["numbered"] else _alike(system, roles, agents)
    lines = [tuple(range(bounds.lines))]
    if _lines_alike(system, noted):
        lines = list(permutations(range(bounds.lines)))
    found = []
    for orders in product(*(permutations(group) for group in groups)):
        moved = dict(zip((c for g in groups for c in g), (c for o in orders for c in o)))
        controllers = tuple(moved.get(i, i) for i in range(len(system.controllers)))
        agent_order = _moved_agents(system, agents, controllers)
        found += [(*controllers, *line, *agent_order) for line in lines]
        if len(found) >= MOST_RENAMINGS:
            break
    return found[:MOST_RENAMINGS]  # any of them may be left out


def _alike(system: System, roles: Roles, agents: Sequence[ExploredAgent]) -> list[list[int]]:
    """Controllers of one group of the first level with the same agents and neighbours."""
    description, found = system.description, []
    linked = _linked_groups(description)
    for group in dict.fromkeys((*roles.first, *roles.processors)):
        if group in linked:
            continue
        machine = description.machines[group].of or group
        places = description.instances_of(machine)
        owned: dict[tuple[object, ...], list[int]] = {}
        for controller in system.controllers:
            if machine != controller.MACHINE or places[controller.version][0] != group:
                continue
            ports = tuple(
                (agent.operations, agent.relaxed, _links(system, agent.requester))
                for agent in agents
                if system.requesters[agent.requester].controller is controller
            )
            if ports:
                alike = owned.setdefault((controller.downstream, *ports), [])
                alike.append(controller.consumer_id)
        found += [each for each in owned.values() if len(each) > 1]
    return found


def _linked_groups(description: SystemDescription) -> set[str]:
    """Groups whose instances share buffers with those of another group, one with one."""
    found = set()
    for name, machine in description.machines.items():
        for buffer in machine.buffers.values():
            other = name if buffer.joined is None else buffer.joined.partition(".")[0]
            if other != name:
                found |= {name, other}
    return found


def _links(system: System, requester: int) -> tuple[int, ...]:
    """The controllers whose caches an acquire empties as well."""
    one = system.requesters[requester]
    linked = one.linked if isinstance(one, VIPERCoalescer) else ()
    return tuple(other.controller.consumer_id for other in linked)


def _moved_agents(
    system: System, agents: Sequence[ExploredAgent], controllers: Sequence[int]
) -> tuple[int, ...]:
    places: dict[int, list[int]] = {}
    for number, agent in enumerate(agents):
        owner = system.requesters[agent.requester].controller.consumer_id
        places.setdefault(owner, []).append(number)
    moved = list(range(len(agents)))
    for owner, numbers in places.items():
        for old, new in zip(numbers, places[controllers[owner]], strict=True):
            moved[old] = new
    return tuple(moved)


def _lines_alike(system: System, noted: Mapping[str, Sequence[str]]) -> bool:
    """Whether an address decides nothing: no machine, no set of a cache, nothing in bodies."""
    one_set = all(cache.sets == 1 for c in system.controllers for cache in c.caches())
    topology = system.topology
    interleaved = any(
        topology.interleaved(c.MACHINE_TYPE) and topology.count(c.MACHINE_TYPE) > 1
        for c in system.controllers
    )
    ranged = any(
        getattr(controller, parameter)
        for machine, _, parameter in (each.partition(".") for each in noted["ranges"])
        for controller in system.controllers
        if machine == controller.MACHINE
    )
    return one_set and not (interleaved or ranged or noted["addressed"])
