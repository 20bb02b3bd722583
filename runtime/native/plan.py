"""The plan of a system for the native engine: one list of 64-bit words.

The words are read off a system that was built for Python, so that both engines stand on the same
construction; once enough is known of its machines they are composed (`plan_composer`), to the
same words. Invariant: the run key and the capacities are the only words that differ between
two legs of one description; the rest is made once per description and kept.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from enum import IntEnum
from functools import lru_cache
from typing import Final, TypeVar, cast

import numpy as np
import numpy.typing as npt
from msgspec import Struct, structs

from runtime.controller.declarations import InPort
from runtime.controller.protocol_info import ProtocolInfo
from runtime.controller.shapes import Controller
from runtime.description import SystemDescription
from runtime.native.plan_composer import Composer
from runtime.native.plan_words import (
    MAGIC,
    NONE,
    VERSION,
    BufferWord,
    CacheWord,
    ChannelWord,
    ControllerList,
    ControllerWord,
    HeadWord,
    PortWord,
    RequesterKind,
    RequesterList,
    RequesterWord,
    ScriptWord,
    SizeWord,
    TypeWord,
)
from runtime.network.bus import BusPort
from runtime.network.network import NetworkPort
from runtime.prng import hash_name
from runtime.requesters.dma_sequencer import DMASequencer
from runtime.requesters.sequencer import IFETCH, Sequencer
from runtime.sim.delay_policy import POLICY_NAMES, SCRIPTED
from runtime.sim.message_buffer import MessageBuffer
from runtime.statistics.census import Census, census
from runtime.structures import replacement_policy
from runtime.structures.chi_tables import TBEStorage
from runtime.structures.directory_memory import DirectoryMemory
from runtime.structures.prefetcher import RubyPrefetcher, RubyPrefetcherProxy
from runtime.structures.tbe_table import TBETable
from runtime.system import watchdog
from runtime.system.builder import build_completed, steady_buffers
from runtime.system.inspection import attributes
from runtime.system.system import AnyCache, AnyRequester, System
from runtime.types.messages import MachineType

Words = npt.NDArray[np.uint64]
_Word = TypeVar("_Word", bound=IntEnum)

WORD_CLASSES: Final = ("TBETable", "MN_TBETable", "TBEStorage", "RubyPrefetcherProxy")
"""Classes of objects with a word in the plan: a capacity, or the queue of a prefetcher."""
_MASK64: Final = (1 << 64) - 1
_KEPT: Final = 16
"""Descriptions whose words are kept."""


class NotNative(ValueError):
    """The system has something that a plan cannot say."""


@dataclass(frozen=True)
class Capacities:
    """How much each pool holds, in the order of the plan."""

    messages: int = 1 << 11
    lines: int = 1 << 10
    increments: int = 1 << 10
    logs: int = 1 << 12
    atomics: int = 1 << 12
    flights: int = 1 << 10
    line_requests: int = 1 << 11
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


class MachineShape(Struct, frozen=True):
    """What the Python controllers do not have: the author's objects of a machine, in order.

    ``objects``: (name, class of the runtime or an empty string for a plain value).
    """

    name: str
    objects: tuple[tuple[str, str], ...]


Shape = Mapping[str, MachineShape]
Tables = dict[str, list[str]]
"""By machine: the attributes that hold its tables, as far as they are known."""


class Plans:
    """The plans of one protocol. ``counts``: each with its `census`."""

    def __init__(self, protocol: ProtocolInfo, shape: Shape, counts: bool = False) -> None:
        self._counts = counts
        self.protocol = replace(protocol, machines=_light(protocol.machines))
        self.shape = shape
        self._tables: Tables = {}
        self._composer = Composer(self.protocol, len(POOLS))
        self._kept: list[tuple[SystemDescription, _Template]] = []

    def plan(
        self, description: SystemDescription, run_key: int, capacities: Capacities, agents: int
    ) -> Words:
        """``description`` is complete; ``agents``: consumers that will join controllers and
        requesters. Raises DescriptionError, NotNative."""
        return self._template(description).words(run_key, capacities, agents)

    def template(self, description: SystemDescription) -> Words:
        """The words of `plan` for every run key, without capacities and agents; not to be written
        to. Raises DescriptionError, NotNative."""
        return self._template(description).array

    def census(self, description: SystemDescription) -> Census:
        """What there is to count in such a system. Raises DescriptionError, NotNative."""
        found = self._template(description).census
        assert found is not None, "only plans that count are asked"
        return found

    def _template(self, description: SystemDescription) -> _Template:
        for place, (known, template) in enumerate(self._kept):
            if known is description:
                self._kept.append(self._kept.pop(place))
                return template
        template = self.composed(description) or self.read_off(description)
        self._kept.append((description, template))
        del self._kept[:-_KEPT]
        return template

    def composed(self, description: SystemDescription) -> _Template | None:
        """Without a system, if that is enough."""
        found = None if self._counts else self._composer.compose(description)
        return None if found is None else _Template(*found)

    def read_off(self, description: SystemDescription) -> _Template:
        """By building the system."""
        system = _quiet_system(self.protocol, description)
        exporter = _Exporter(system, description, self.shape, self._tables)
        template = _Template(*exporter.words(), exporter.consumers)
        template.census = census(system) if self._counts else None
        self._composer.learn(system.controllers, exporter.objects, description)
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
    never used, because the plan has both."""
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

    def __init__(self, words: list[int], sizes_at: int, consumers: int) -> None:
        self._sizes_at = sizes_at
        self._consumers = consumers
        self.census: Census | None = None
        self.array: Words = np.frombuffer(_as_words(words), np.uint64)
        self.array.flags.writeable = False

    def words(self, run_key: int, capacities: Capacities, agents: int) -> Words:
        words = self.array.copy()
        words[HeadWord.RUN_KEY] = run_key & _MASK64
        words[self._sizes_at + SizeWord.CONSUMERS] = self._consumers + agents
        first = self._sizes_at + len(SizeWord)
        words[first : first + len(POOLS)] = [getattr(capacities, pool) for pool in POOLS]
        return words


def _as_words(values: list[int]) -> array[int]:
    try:
        return array("Q", values)
    except OverflowError:  # negative ones are few, and not in every plan
        return array("Q", [value & _MASK64 for value in values])


class _Exporter:
    """Numbers everything in a system and writes its plan."""

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
        self.policy = description.network.delays
        self.script = sorted(
            (_hash_name(channel), *rest) for channel, *rest in description.network.delayed()
        )
        scripted = self.policy == SCRIPTED
        self.delayed = {channel for channel, *_ in self.script} if scripted else set()
        """Hashes of the names of those channels that a script delays."""
        self.steady = steady_buffers(description, system.protocol)
        self.machines = [machine.MACHINE for machine in system.protocol.machines]
        self.receivers = {id(buffer) for buffer in system.network.receivers.values()}
        self.listening: dict[int, list[tuple[int, MessageBuffer]]] = {}
        """By virtual network: see `NetworkPort.receivers`."""
        self.groups = [
            group
            for machine in system.protocol.machines
            for group, _ in description.instances_of(machine.MACHINE)
        ]
        """The group of each controller."""
        self.objects: list[list[int | str]] = []
        """What each controller's objects say, as far as they are written: see `_objects`."""

    def words(self) -> tuple[list[int], int]:
        """All words, and where those of SizeWord begin."""
        topology, description = self.system.topology, self.description
        limits = watchdog.limits_of(description)  # the system was built with small caches
        words = _in_order(
            HeadWord,
            {
                HeadWord.MAGIC: MAGIC,
                HeadWord.VERSION: VERSION,
                HeadWord.RUN_KEY: 0,
                HeadWord.LINE_BITS: self.line_bits,
                HeadWord.DELAY_POLICY: POLICY_NAMES.index(self.policy),
                HeadWord.MEMORY_LATENCY: self.system.memory.latency,
                HeadWord.MAX_ROUNDS: self.system.engine.max_rounds,
                HeadWord.MAX_MESSAGES: limits.messages,
                HeadWord.MAX_WORK: limits.work,
                HeadWord.CREDIT: limits.credit,
                HeadWord.SCRIPTED: len(self.script),
                HeadWord.TYPES: MachineType.NUM,
            },
        )
        for kind in range(MachineType.NUM):
            bit = self.line_bits if topology.interleaved(kind) else NONE
            words += _in_order(
                TypeWord,
                {
                    TypeWord.COUNT: topology.count(kind),
                    TypeWord.FIRST_NODE: topology.first_node(kind),
                    TypeWord.INTERLEAVE_BIT: bit,
                },
            )
        sizes_at = len(words)
        words += _in_order(
            SizeWord,
            {
                SizeWord.NODES: len(topology.nodes),
                SizeWord.CONTROLLERS: len(self.system.controllers),
                SizeWord.REQUESTERS: len(self.requesters),
                SizeWord.CONSUMERS: 0,
                SizeWord.BUFFERS: len(self.buffers),
                SizeWord.PORTS: len(self.ports),
                SizeWord.CACHES: len(self.caches),
            },
        )
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
        for delay in self.script:
            words += _in_order(ScriptWord, dict(zip(ScriptWord, delay, strict=True)))
        return words, sizes_at

    def _delay_name(self, name: str) -> int:
        """0 for what is never delayed."""
        if self.policy == "nominal":
            return 0
        if self.policy == SCRIPTED:
            return _hash_name(name) if _hash_name(name) in self.delayed else 0
        return _hash_name(name) if self.steady.isdisjoint(name.split("->")) else 0

    def _buffer(self, buffer: MessageBuffer) -> list[int]:
        consumer = NONE if buffer.consumer is None else buffer.consumer.consumer_id
        delay = 0 if id(buffer) in self.receivers else self._delay_name(buffer.name)
        return _in_order(
            BufferWord,
            {
                BufferWord.CAPACITY: buffer.capacity,
                BufferWord.ORDERED: buffer.ordered,
                BufferWord.CONSUMER: consumer,
                BufferWord.DELAY: delay,
                BufferWord.STRICT: buffer.strict,
            },
        )

    def _cache(self, controller: int, cache: AnyCache) -> list[int]:
        described = self.description.machines[self.groups[controller]].caches[
            cache.name.rpartition(".")[2]
        ]
        return _in_order(
            CacheWord,
            {
                CacheWord.CONTROLLER: controller,
                CacheWord.SETS: described.sets,
                CacheWord.WAYS: described.ways,
                CacheWord.START_INDEX_BIT: cache.start_index_bit,
                CacheWord.REPLACEMENT: replacement_policy.POLICY_NAMES.index(described.replacement),
                CacheWord.RESOURCE_STALLS: cache.resource_stalls,
                CacheWord.TAG_LATENCY: cache.tag_latency,
                CacheWord.DATA_LATENCY: cache.data_latency,
                CacheWord.TAG_BANKS: cache.tag_array.banks,
                CacheWord.DATA_BANKS: cache.data_array.banks,
                CacheWord.ALUS: cache.alus.count,
                CacheWord.ALU_LATENCY: cache.alus.latency,
            },
        )

    def _port(self, port: NetworkPort) -> list[int]:
        on_bus = isinstance(port, BusPort)
        if port.virtual_network not in self.listening:
            self.listening[port.virtual_network] = port.receivers()
        channels = [
            {
                ChannelWord.NODE: node,
                ChannelWord.BUFFER: self.handle[id(buffer)],
                ChannelWord.DELAY: (
                    0 if on_bus else self._delay_name(f"{port.name}->{buffer.name}")
                ),
            }
            for node, buffer in self.listening[port.virtual_network]
        ]
        words = _in_order(
            PortWord,
            {
                PortWord.CAPACITY: port.capacity,
                PortWord.ORDERED: port.ordered,
                PortWord.LATENCY: port.latency,
                PortWord.OWNER: port.owner.node,
                PortWord.BUS: port.virtual_network + 1 if on_bus else 0,
                PortWord.DELAY: self._delay_name(f"{port.name}->bus") if on_bus else 0,
                PortWord.CHANNELS: len(channels),
            },
        )
        for channel in channels:
            words += _in_order(ChannelWord, channel)
        return words

    def _controller(self, controller: Controller) -> list[int]:
        machine = self.machines.index(controller.MACHINE)
        only_caches = controller.RESOURCES_ONLY_CACHES and not controller.has_resource_stalls()
        words = _in_order(
            ControllerWord,
            {
                ControllerWord.MACHINE: machine,
                ControllerWord.MACHINE_VERSION: controller.version,
                ControllerWord.MACHINE_TYPE: controller.MACHINE_TYPE,
                ControllerWord.CLUSTER: controller.clusterID,
                ControllerWord.TRANSITIONS_PER_CYCLE: controller.transitions_per_cycle,
                ControllerWord.TRANSITIONS_PER_TICK: controller.max_transitions_per_tick,
                ControllerWord.RECYCLE_LATENCY: controller.recycle_latency,
                ControllerWord.NUMBER_OF_TBES: controller.number_of_TBEs,
                ControllerWord.MANDATORY_LATENCY: controller.mandatory_queue_latency,
                ControllerWord.BUFFER_SIZE: controller.buffer_size,
                ControllerWord.MEMORY: controller.memory is not None,
                ControllerWord.MANDATORY_QUEUE: self._optional(controller.mandatory_queue),
                ControllerWord.MEMORY_REQUEST: self._optional(controller.memory_request),
                ControllerWord.MEMORY_RESPONSE: self._optional(controller.memory_response),
                ControllerWord.ARRAYS: not only_caches,
            },
        )
        objects = self._objects(controller)
        self.objects.append(objects)
        lists = {
            ControllerList.DOWNSTREAM: [machine.node for machine in controller.downstream],
            ControllerList.UPSTREAM: [machine.node for machine in controller.upstream],
            ControllerList.PARAMETERS: [
                self._parameter(controller, declared.name) for declared in controller.PARAMETERS
            ],
            ControllerList.OBJECTS: [
                self._parameter(controller, said) if isinstance(said, str) else said
                for said in objects
            ],
        }
        return words + _counted(ControllerList, lists)

    def _objects(self, controller: Controller) -> list[int | str]:
        """The capacity, or the parameter that is the queue, of each of the author's objects that
        has one."""
        names = self.tables.get(controller.MACHINE)
        if names is None:
            names = self.tables[controller.MACHINE] = _table_names(controller)
        words = iter([_object(controller, getattr(controller, name)) for name in names])
        return [
            next(words) if kind in WORD_CLASSES else 0
            for _, kind in self.shape[controller.MACHINE].objects
        ]

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
        walk = fetch = tokens = one_lane = context = atomics = acquire = release = 0
        coalesces = 1
        if isinstance(requester, DMASequencer):
            kind = RequesterKind.DMA
        elif isinstance(requester, Sequencer):
            kind = RequesterKind.SEQUENCER
            walk, fetch = int(requester.walks), int(requester._read_type == IFETCH)
            caches, context = requester.caches, requester.context
            atomics = requester.atomics
            acquire, release = requester.acquire_flags, requester.release_flags
        else:
            kind, linked = RequesterKind.COALESCER, requester.linked
            caches = requester._walk.caches
            walk, tokens, context = int(bool(caches)), requester.max_tokens, requester.context
            coalesces = requester.coalesces_per_cycle
            one_lane = int(requester.one_request_per_lane)
        words = _in_order(
            RequesterWord,
            {
                RequesterWord.KIND: kind,
                RequesterWord.CONTROLLER: owner,
                RequesterWord.QUEUE: self._optional(queue),
                RequesterWord.LANES: requester.lanes,
                RequesterWord.WALK: walk,
                RequesterWord.FETCH: fetch,
                RequesterWord.OUTSTANDING: requester.max_outstanding,
                RequesterWord.TOKENS: tokens,
                RequesterWord.COALESCES_PER_CYCLE: coalesces,
                RequesterWord.ONE_REQUEST_PER_LANE: one_lane,
                RequesterWord.CONTEXT: context,
                RequesterWord.ATOMICS: atomics,
                RequesterWord.ACQUIRE_FLAGS: acquire,
                RequesterWord.RELEASE_FLAGS: release,
            },
        )
        lists = {
            RequesterList.CACHES: [self.handle[id(cache)] for cache in caches],
            RequesterList.LINKED: [self.handle[id(other)] for other in linked],
        }
        return words + _counted(RequesterList, lists)

    def _owner(self, requester: AnyRequester) -> int:
        """The controller that holds an idle requester."""
        for controller in self.system.controllers:
            if any(value is requester for value in controller.parameters.values()):
                return controller.consumer_id
        raise NotNative(f"{requester.name} belongs to no controller")


_hash_name = lru_cache(1 << 16)(hash_name)
"""Legs have the same few names again and again."""


@lru_cache(None)
def _members(order: type[_Word]) -> tuple[_Word, ...]:
    """Iterating over the class itself takes several times as long."""
    return tuple(order)


def _in_order(order: type[_Word], words: Mapping[_Word, int]) -> list[int]:
    """The words in the order of their enumeration."""
    assert len(words) == len(_members(order)), "each word of the plan is said once"
    return [words[each] for each in _members(order)]


def _counted(order: type[_Word], lists: Mapping[_Word, list[int]]) -> list[int]:
    """The lists in the order of their enumeration, each behind its length."""
    assert len(lists) == len(_members(order)), "each list of the plan is said once"
    return [word for each in _members(order) for word in (len(lists[each]), *lists[each])]


def _table_names(controller: Controller) -> list[str]:
    """The attributes that hold objects with a word of their own, in order of construction."""
    found: dict[int, str] = {}
    for name, value in attributes(controller):
        if isinstance(value, TBETable | TBEStorage | RubyPrefetcherProxy):
            found.setdefault(id(value), name)
    return list(found.values())


def _object(controller: Controller, thing: object) -> int | str:
    if isinstance(thing, RubyPrefetcherProxy):
        return next(name for name, value in controller.parameters.items() if value is thing.queue)
    assert isinstance(thing, TBETable | TBEStorage)
    return thing.capacity() if isinstance(thing, TBEStorage) else thing.capacity
