"""What the native engine is told about a system: one list of 64-bit words.

The words are read off a system that was built for Python, so that both engines stand on the same
construction. Invariant: the run key and the capacities are the only words that differ between
two legs of one description; the rest is made once per description and kept.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Final, cast

import numpy as np
import numpy.typing as npt
from msgspec import structs

from runtime.controller.declarations import InPort
from runtime.controller.protocol_info import ProtocolInfo
from runtime.controller.shapes import Controller
from runtime.description import SystemDescription
from runtime.network.network import NetworkPort
from runtime.prng import hash_name
from runtime.requesters.dma_sequencer import DMASequencer
from runtime.requesters.sequencer import IFETCH, Sequencer
from runtime.sim.delay_policy import POLICY_NAMES
from runtime.sim.message_buffer import MessageBuffer
from runtime.structures.chi_tables import TBEStorage
from runtime.structures.directory_memory import DirectoryMemory
from runtime.structures.prefetcher import RubyPrefetcher
from runtime.structures.tbe_table import TBETable
from runtime.system.inspection import attributes
from runtime.system.system import AnyCache, AnyRequester, System, build_completed, steady_buffers
from runtime.types.messages import MachineType
from runtime.types.values import MachineID

Words = npt.NDArray[np.uint64]

SIZED_CLASSES: Final = ("TBETable", "MN_TBETable", "TBEStorage")
"""Classes of objects whose capacity is a word of the plan."""
POLICIES: Final = ("lru", "tree_plru")
MAGIC: Final = 0x31564C53
VERSION: Final = 1
NONE: Final = (1 << 64) - 1
_MASK64: Final = (1 << 64) - 1
_RUN_KEY: Final = 2
_CAPACITIES_AFTER: Final = 4
"""Words from the number of consumers to the first capacity."""
_KEPT: Final = 16
"""Descriptions whose words are kept."""


class NotNative(ValueError):
    """The system has something that the native engine has no words for."""


@dataclass(frozen=True)
class Capacities:
    """How much each pool holds, in the order of the plan."""

    messages: int = 1 << 11
    lines: int = 1 << 10
    increments: int = 1 << 10
    logs: int = 1 << 12
    atomics: int = 1 << 12
    flights: int = 1 << 10
    rows: int = 1 << 11
    events: int = 1 << 12
    words: int = 1 << 10
    far: int = 1 << 10
    triggers: int = 1 << 10

    def at_least(self, other: Capacities) -> Capacities:
        """The larger of both, pool by pool."""
        return Capacities(*(max(getattr(self, p), getattr(other, p)) for p in POOLS))

    def doubled(self, pool: str) -> Capacities:
        return replace(self, **{pool: 2 * getattr(self, pool)})


POOLS: Final = tuple(field.name for field in fields(Capacities))


@dataclass(frozen=True)
class MachineShape:
    """What the Python controllers do not tell: the author's objects of a machine, in order.

    ``objects``: (name, class of the runtime or an empty string for a plain value).
    """

    name: str
    objects: tuple[tuple[str, str], ...]


Shape = Mapping[str, MachineShape]
Tables = dict[str, list[str]]
"""By machine: the attributes that hold its tables, as far as they are known."""


class Plans:
    """The plans of one protocol."""

    def __init__(self, protocol: ProtocolInfo, shape: Shape) -> None:
        self.protocol = replace(protocol, machines=_light(protocol.machines))
        self.shape = shape
        self._tables: Tables = {}
        self._kept: list[tuple[SystemDescription, _Template]] = []

    def plan(
        self, description: SystemDescription, run_key: int, capacities: Capacities, agents: int
    ) -> Words:
        """``description`` is complete; ``agents``: consumers that will join controllers and
        requesters. Raises DescriptionError, NotNative."""
        return self._template(description).words(run_key, capacities, agents)

    def _template(self, description: SystemDescription) -> _Template:
        for place, (known, template) in enumerate(self._kept):
            if known is description or known == description:
                self._kept.append(self._kept.pop(place))
                return template
        system = _quiet_system(self.protocol, description)
        template = _Template(system, description, self.shape, self._tables)
        self._kept.append((description, template))
        del self._kept[:-_KEPT]
        return template


def _light(machines: tuple[type[Controller], ...]) -> tuple[type[Controller], ...]:
    """The same controllers without their tables, which are most of the work of building them."""
    return tuple(
        type(machine.__name__, (machine,), {"__slots__": (), "bind": _bind}) for machine in machines
    )


def _bind(controller: Controller, ports: tuple[InPort, ...], transitions: object) -> None:
    """What ``Controller.bind`` does for who is connected to what, and nothing else."""
    parameters = controller.parameters
    for port in ports:
        port.buffer.set_consumer(controller)
        if port.buffer is parameters.get("mandatoryQueue"):
            controller.mandatory_queue = cast("MessageBuffer", port.buffer)
        elif port.buffer is parameters.get("responseFromMemory"):
            controller.memory_response = cast("MessageBuffer", port.buffer)
    for declared in controller.PARAMETERS:
        if "requestToMemory" in declared.name:
            controller.connect_memory(parameters[declared.name])


def _quiet_system(protocol: ProtocolInfo, description: SystemDescription) -> System:
    """Built without random delays and without room in its caches: what takes time to build and is
    never used, because both are told in words."""
    machines = {
        name: structs.replace(
            machine,
            caches={
                key: structs.replace(each, sets=1, ways=1) for key, each in machine.caches.items()
            },
        )
        for name, machine in description.machines.items()
    }
    network = structs.replace(description.network, delays="nominal")
    return build_completed(
        protocol, structs.replace(description, network=network, machines=machines), 0
    )


class _Template:
    """The words of one description, but for run key, capacities and agents."""

    def __init__(
        self, system: System, description: SystemDescription, shape: Shape, tables: Tables
    ) -> None:
        exporter = _Exporter(system, description, shape, tables)
        words, self._consumers_at = exporter.words()
        self._consumers = exporter.consumers
        self._array: Words = np.array([word & _MASK64 for word in words], np.uint64)

    def words(self, run_key: int, capacities: Capacities, agents: int) -> Words:
        array = self._array.copy()
        array[_RUN_KEY] = run_key & _MASK64
        array[self._consumers_at] = self._consumers + agents
        first = self._consumers_at + _CAPACITIES_AFTER
        array[first : first + len(POOLS)] = [getattr(capacities, pool) for pool in POOLS]
        return array


class _Exporter:
    """Numbers everything in a system and says it in words, in the order that the header fixes."""

    def __init__(
        self, system: System, description: SystemDescription, shape: Shape, tables: Tables
    ) -> None:
        self.system = system
        self.description = description
        self.shape = shape
        self.line_bits = description.line_size.bit_length() - 1
        self.requesters: list[AnyRequester] = [*system.requesters, *system.idle_requesters]
        self.consumers = len(system.controllers) + len(self.requesters)
        self.buffers = list(system.buffers.values())
        self.ports = system.network.ports
        self.caches = [
            (controller.consumer_id, cache)
            for controller in system.controllers
            for cache in controller.caches()
        ]
        self.handle: dict[int, int] = {}
        """By ``id``: the number of a buffer, port, cache or requester among its kind."""
        for things in (self.buffers, self.ports, [c for _, c in self.caches], self.requesters):
            self.handle.update({id(thing): number for number, thing in enumerate(things)})
        self.tables = tables
        self.delayed = description.network.delays != "nominal"
        self.steady = steady_buffers(description, system.protocol)
        self.groups = [
            group
            for machine in system.protocol.machines
            for group, _ in description.instances_of(machine.MACHINE)
        ]
        """The group of each controller."""

    def words(self) -> tuple[list[int], int]:
        """All words, and where the number of consumers stands."""
        topology, description = self.system.topology, self.description
        words = [MAGIC, VERSION, 0, self.line_bits, POLICY_NAMES.index(description.network.delays)]
        words += [self.system.memory.latency, self.system.engine.max_rounds, MachineType.NUM]
        for kind in range(MachineType.NUM):
            bit = self.line_bits if topology.interleaved(kind) else NONE
            words += [topology.count(kind), topology.first_node(kind), bit]
        words += [len(topology.nodes), len(self.system.controllers), len(self.requesters)]
        consumers_at = len(words)
        words += [0, len(self.buffers), len(self.ports), len(self.caches)]
        words += [0] * len(POOLS)
        for buffer in self.buffers:
            words += self._buffer(buffer)
        for port in self.ports:
            words += self._port(port)
        for controller, cache in self.caches:
            words += self._cache(controller, cache)
        for one in self.system.controllers:
            words += self._controller(one)
        for requester in self.requesters:
            words += self._requester(requester)
        return words, consumers_at

    def _delay_name(self, name: str) -> int:
        """0 for what is never delayed at random."""
        if not self.delayed or not self.steady.isdisjoint(name.split("->")):
            return 0
        return _hash_name(name)

    def _buffer(self, buffer: MessageBuffer) -> list[int]:
        receives = any(buffer is other for other in self.system.network.receivers.values())
        consumer = NONE if buffer.consumer is None else buffer.consumer.consumer_id
        delay = 0 if receives else self._delay_name(buffer.name)
        return [buffer.capacity, buffer.ordered, consumer, delay, 1]

    def _cache(self, controller: int, cache: AnyCache) -> list[int]:
        described = self.description.machines[self.groups[controller]].caches[
            cache.name.rpartition(".")[2]
        ]
        return [
            controller,
            described.sets,
            described.ways,
            cache.start_index_bit,
            POLICIES.index(described.replacement),
            cache.resource_stalls,
            cache.tag_latency,
            cache.data_latency,
            cache.tag_array.banks,
            cache.data_array.banks,
            cache.alus.count,
            cache.alus.latency,
        ]

    def _port(self, port: NetworkPort) -> list[int]:
        channels = [
            (node, self.handle[id(buffer)], self._delay_name(f"{port.name}->{buffer.name}"))
            for (node, network), buffer in sorted(self.system.network.receivers.items(), key=_place)
            if network == port.virtual_network and buffer.consumer is not None
        ]
        words = [port.capacity, port.ordered, port.latency, port.virtual_network, port.owner.node]
        words.append(len(channels))
        for channel in channels:
            words += channel
        return words

    def _controller(self, controller: Controller) -> list[int]:
        machine = [m.MACHINE for m in self.system.protocol.machines].index(controller.MACHINE)
        only_caches = controller.RESOURCES_ONLY_CACHES and not controller.has_resource_stalls()
        words = [
            machine,
            controller.version,
            controller.MACHINE_TYPE,
            controller.clusterID,
            controller.transitions_per_cycle,
            controller.max_transitions_per_tick,
            controller.recycle_latency,
            controller.number_of_TBEs,
            controller.mandatory_queue_latency,
            controller.buffer_size,
            controller.memory is not None,
            self._optional(controller.mandatory_queue),
            self._optional(controller.memory_request),
            self._optional(controller.memory_response),
            not only_caches,
        ]
        words += _counted(_node(machine) for machine in controller.downstream)
        words += _counted(_node(machine) for machine in controller.upstream)
        words += _counted(
            self._parameter(controller, declared.name) for declared in controller.PARAMETERS
        )
        names = self.tables.get(controller.MACHINE)
        if names is None:
            names = self.tables[controller.MACHINE] = _table_names(controller)
        capacities = iter([_capacity(getattr(controller, name)) for name in names])
        return words + _counted(
            next(capacities) if kind in SIZED_CLASSES else 0
            for _, kind in self.shape[controller.MACHINE].objects
        )

    def _optional(self, thing: object) -> int:
        return NONE if thing is None else self.handle[id(thing)]

    def _parameter(self, controller: Controller, name: str) -> int:
        value = controller.parameters[name]
        if value is None:
            return NONE
        if isinstance(value, bool | int):
            return int(value)
        if isinstance(value, str):
            return 0
        if isinstance(value, DirectoryMemory):
            return int(value.owns is not None)
        if isinstance(value, RubyPrefetcher):
            return 0
        if id(value) in self.handle:
            return self.handle[id(value)]
        raise NotNative(
            f"parameter {name} of machine {controller.MACHINE} is a {type(value).__name__}, "
            "which the native engine does not have"
        )

    def _requester(self, requester: AnyRequester) -> list[int]:
        controller = getattr(requester, "controller", None)
        queue = getattr(requester, "queue", None)
        owner = self._owner(requester) if controller is None else controller.consumer_id
        caches: Iterable[AnyCache] = ()
        linked: Iterable[AnyRequester] = ()
        walk = fetch = tokens = one_lane = context = 0
        coalesces = 1
        if isinstance(requester, DMASequencer):
            kind = 2
        elif isinstance(requester, Sequencer):
            kind, walk, fetch = 0, int(requester.walks), int(requester._read_type == IFETCH)
            caches, context = requester.caches, requester.context
        else:
            kind, caches, linked = 1, requester._walk.caches, requester.linked
            walk, tokens, context = int(bool(caches)), requester.max_tokens, requester.context
            coalesces = requester.coalesces_per_cycle
            one_lane = int(requester.one_request_per_lane)
        words = [kind, owner, self._optional(queue), requester.lanes, walk, fetch]
        words += [requester.max_outstanding, tokens, coalesces, one_lane, context]
        words += _counted(self.handle[id(cache)] for cache in caches)
        return words + _counted(self.handle[id(other)] for other in linked)

    def _owner(self, requester: AnyRequester) -> int:
        """The controller that holds a requester which nobody drives."""
        for controller in self.system.controllers:
            if any(value is requester for value in controller.parameters.values()):
                return controller.consumer_id
        raise NotNative(f"{requester.name} belongs to no controller")


_hash_name = lru_cache(1 << 16)(hash_name)
"""Legs have the same few names again and again."""


def _place(item: tuple[tuple[int, int], MessageBuffer]) -> tuple[int, int]:
    return item[0]


def _counted(words: Iterable[int]) -> list[int]:
    """A list of words behind its length."""
    listed = list(words)
    return [len(listed), *listed]


def _node(machine: MachineID) -> int:
    return machine.node


def _capacity(thing: TBETable[object] | TBEStorage) -> int:
    return thing.capacity() if isinstance(thing, TBEStorage) else thing.capacity


def _table_names(controller: Controller) -> list[str]:
    """The attributes that hold objects of a size of their own, in order of construction."""
    found: dict[int, str] = {}
    for name, value in attributes(controller):
        if isinstance(value, TBETable | TBEStorage):
            found.setdefault(id(value), name)
    return list(found.values())
