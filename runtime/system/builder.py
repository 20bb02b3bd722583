"""Builds a system from a description: controllers, buffers, caches, network, memory, requesters.

Invariants: the same protocol, description and run key build systems that behave alike to the
tick; consumers are numbered controllers first (machines in the protocol's order, then instance
numbers), then requesters in the order of ``System.requesters``, then consumers added
later.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import partial
from typing import Any, cast

from runtime.controller.declarations import BufferParameter, ControllerContext, Parameter
from runtime.controller.protocol_info import ProtocolInfo
from runtime.controller.shapes import Controller
from runtime.description import (
    MAX_LANES,
    BufferDescription,
    CacheDescription,
    DescriptionError,
    MachineDescription,
    NetworkDescription,
    RequesterDescription,
    SystemDescription,
)
from runtime.description.inference import COALESCERS, DMA, complete
from runtime.description.machine_groups import Place, neighbours
from runtime.description.origin import unknown_name
from runtime.description.parameters import INHERITED
from runtime.description.parts import RequesterClass
from runtime.network.bus import BusNetwork
from runtime.network.network import Network, NetworkPort, Topology
from runtime.requesters.base import RequesterBase
from runtime.requesters.coalescer import VIPERCoalescer
from runtime.requesters.dma_sequencer import DMASequencer
from runtime.requesters.port import AtomicWay
from runtime.requesters.sequencer import HTMSequencer, Sequencer
from runtime.sim.delay_policy import SCRIPTED, DelayPolicy, Delays
from runtime.sim.engine import Engine
from runtime.sim.message_buffer import MessageBuffer
from runtime.structures.cache_memory import CacheMemory
from runtime.structures.directory_memory import DirectoryMemory
from runtime.structures.main_memory import Memory
from runtime.structures.prefetcher import RubyPrefetcher
from runtime.system import watchdog
from runtime.system.system import AnyCache, AnyRequester, System, instance_name
from runtime.types.values import MachineID


def build_system(protocol: ProtocolInfo, description: SystemDescription, run_key: int) -> System:
    """Build; ``run_key`` names the first contents of memory and the random delays.

    Raises DescriptionError for a description that does not fit the protocol.
    """
    return build_completed(protocol, complete(description, protocol), run_key)


def build_completed(protocol: ProtocolInfo, description: SystemDescription, run_key: int) -> System:
    """As `build_system`, for a description that `complete` has made."""
    return _Builder(protocol, description, run_key).build()


def steady_buffers(description: SystemDescription, protocol: ProtocolInfo) -> set[str]:
    """Names of the buffers whose messages are never delayed at random, in a whole description."""
    return {
        f"{machine.MACHINE}{i}.{buffer}"
        for machine in protocol.machines
        for i, (group, _) in enumerate(description.instances_of(machine.MACHINE))
        for buffer, described in description.machines[group].buffers.items()
        if not described.randomized
    }


def channel_names(network: Network, buffers: Mapping[str, MessageBuffer]) -> list[str]:
    """What a script can call the channels of a system, the messages of which it can delay."""
    received = {id(buffer) for buffer in network.receivers.values()}
    internal = [name for name, buffer in buffers.items() if id(buffer) not in received]
    return internal + [name for port in network.ports for name in port.channel_names()]


class _Delays(DelayPolicy):
    """A policy that draws none for the channels of some buffers."""

    def __init__(
        self, described: NetworkDescription, run_key: int, line_bits: int, steady: set[str]
    ) -> None:
        super().__init__(described.delays, run_key, line_bits, described.delayed())
        self.steady = steady if described.delays != SCRIPTED else set()

    def channel(self, name: str) -> Delays | None:
        if self.steady and not self.steady.isdisjoint(name.split("->")):
            return None
        return super().channel(name)


class _Builder:
    """Builds one system in the order in which its parts need each other: network and memory,
    caches, requesters, controllers with their buffers, and the requesters' links to these."""

    def __init__(self, protocol: ProtocolInfo, description: SystemDescription, key: int) -> None:
        self.protocol = protocol
        self.machines = protocol.machines
        """The controller classes to build."""
        self.description = description
        self.run_key = key
        self.line_bits = line_bits = description.line_size.bit_length() - 1
        self.engine = Engine()
        self.places = {m.MACHINE: description.instances_of(m.MACHINE) for m in protocol.machines}
        """Group and place in it of every instance, by machine."""
        counts = {m.MACHINE_TYPE: len(self.places[m.MACHINE]) for m in protocol.machines}
        self.topology = Topology(counts, line_bits)
        for machine in protocol.machines:
            groups = description.groups_of(machine.MACHINE)
            if len(groups) == 1 and description.machines[groups[0]].interleaved:
                self.topology.interleave(machine.MACHINE_TYPE)
        self.names = {
            place: f"{machine}{i}"
            for machine, places in self.places.items()
            for i, place in enumerate(places)
        }
        """What an instance is called in the names of its parts."""
        self.below, self.above = neighbours(description.machines)
        steady = steady_buffers(description, protocol)
        self.delays = _Delays(description.network, key, line_bits, steady)
        self.network = self._network()
        self.memory = Memory(key, description.memory.latency, line_bits)
        self.buffers: dict[str, MessageBuffer] = {}
        self.controllers: dict[Place, Controller] = {}
        self.caches: dict[tuple[str, int, str], AnyCache] = {}
        self.made: dict[tuple[str, int, str], AnyRequester] = {}
        """Requesters by group, place in it and parameter."""

    def _network(self) -> Network:
        described = self.description.network
        if described.kind == "bus":
            on_bus = described.bus or ()
            return BusNetwork(
                self.engine, self.topology, described.latency, self.delays, on_bus=on_bus
            )
        return Network(self.engine, self.topology, described.latency, self.delays)

    def _count(self, group: str) -> int:
        return self.description.machines[group].count or 0

    def build(self) -> System:
        for name, described in self.description.machines.items():
            for cache, geometry in described.caches.items():
                for i in range(self._count(name)):
                    self.caches[name, i, cache] = self._cache(
                        f"{self.names[name, i]}.{cache}", geometry
                    )
        listed = self._make_requesters()
        for machine in self.machines:
            for version, place in enumerate(self.places[machine.MACHINE]):
                self.controllers[place] = self._controller(machine, version, place)
        idle = [r for key, r in self.made.items() if key not in listed]
        for key in (*listed, *(key for key in self.made if key not in listed)):
            self._attach(key)
        self._check_script()
        controllers = list(self.controllers.values())
        requesters = [*self.made.values()]
        watch = watchdog.Watchdog(self.engine, controllers, requesters, self.buffers, self.network)
        self.engine.watched(watch, watchdog.limits_of(self.description))
        return System(
            self.description,
            self.protocol,
            self.run_key,
            self.engine,
            self.topology,
            self.network,
            self.memory,
            controllers,
            [self.made[key] for key in listed],
            idle,
            self.buffers,
        )

    def _check_script(self) -> None:
        """All channels of a script are there."""
        script = self.description.network.script
        if not script:
            return
        known = channel_names(self.network, self.buffers)
        for number, delay in enumerate(script):
            if delay.channel not in known:
                path = ("network", "script", number, "channel")
                message = unknown_name("channel", delay.channel, known)
                raise self.description.origin.error(path, delay.channel, message)

    def _cache(self, name: str, geometry: CacheDescription) -> AnyCache:
        engine = self.engine
        return CacheMemory(
            name,
            geometry.sets,
            geometry.ways,
            self.line_bits,
            geometry.replacement,
            geometry.start_index_bit,
            tag_latency=geometry.tag_latency,
            data_latency=geometry.data_latency,
            resource_stalls=geometry.resource_stalls,
            tag_banks=geometry.tag_banks,
            data_banks=geometry.data_banks,
            alus=geometry.atomic_alus,
            alu_latency=geometry.atomic_latency,
            now=lambda: engine.now,
        )

    # ------------------------------------------------------------------ requesters

    def _make_requesters(self) -> list[tuple[str, int, str]]:
        """Make them all; the keys of those that the description lists, in order."""
        listed = []
        groups = self.description.requesters
        # Coalescers come second: they are made with the sequencers that they are linked to. Both
        # passes count all requesters, so that an index is the place in the description.
        for coalescers in (False, True):
            index = 0
            for name, group in groups.items():
                for i in range(self._count(group.machine)):
                    key = (group.machine, i, group.parameter or "")
                    if (group.class_name in COALESCERS) == coalescers:
                        self.made[key] = self._requester(instance_name(name, i), index, group, i)
                    index += 1
                    if coalescers:
                        listed.append(key)
        for machine in self.protocol.machines:
            for parameter in machine.PARAMETERS:
                if isinstance(parameter, BufferParameter):
                    continue
                if parameter.type not in (*COALESCERS, DMA, "Sequencer", "HTMSequencer"):
                    continue
                for owner, i in self.places[machine.MACHINE]:
                    key = (owner, i, parameter.name)
                    if key not in self.made:
                        kind = cast(RequesterClass, parameter.type)
                        idle = RequesterDescription(owner, class_name=kind, caches=())
                        name = f"{self.names[owner, i]}.{parameter.name}"
                        self.made[key] = self._requester(name, -1, idle, i)
        return listed

    def _requester(
        self, name: str, index: int, group: RequesterDescription, i: int
    ) -> AnyRequester:
        line_size = self.description.line_size
        caches = tuple(self.caches[group.machine, i, cache] for cache in group.caches or ())
        if group.class_name == DMA:
            return DMASequencer(
                name, index, MAX_LANES, line_size, outstanding=group.outstanding or 64
            )
        if group.class_name not in COALESCERS:
            kind = HTMSequencer if group.class_name == "HTMSequencer" else Sequencer
            return kind(
                name,
                index,
                MAX_LANES,
                line_size,
                caches=caches,
                walk=bool(group.walk),
                fetch=group.fetch,
                outstanding=group.outstanding or 16,
                context=group.context or 0,
                atomics=AtomicWay[group.atomics.upper()],
                acquire_flags=self._flag(group.acquire_flag),
                release_flags=self._flag(group.release_flag),
            )
        return VIPERCoalescer(
            name,
            index,
            MAX_LANES,
            line_size,
            caches=caches if group.walk else (),
            linked=self._linked(group, i),
            tokens=group.tokens or 4,
            outstanding=group.outstanding or 2560,
            coalesces_per_cycle=group.coalesces_per_cycle,
            one_request_per_lane=group.one_request_per_lane,
            context=group.context or 0,
            atomic_log=self.protocol.atomic_log,
        )

    def _flag(self, name: str | None) -> int:
        """The bit of ``RubyRequest.flags`` of an added field."""
        return 0 if name is None else 1 << self.protocol.request_flags.index(name)

    def _linked(self, group: RequesterDescription, i: int) -> tuple[Sequencer, ...]:
        if group.invalidates is None:
            return ()
        target = self.description.requesters[group.invalidates]
        if not self._count(target.machine):
            return ()
        place = i * self._count(target.machine) // self._count(group.machine)
        linked = self.made[target.machine, place, target.parameter or ""]
        assert isinstance(linked, Sequencer), "completion checks the class of a link"
        return (linked,)

    def _attach(self, key: tuple[str, int, str]) -> None:
        machine, i, parameter = key
        controller = self.controllers[machine, i]
        queues = [
            group.queue
            for group in self.description.requesters.values()
            if (group.machine, group.parameter) == (machine, parameter)
        ]
        queue = controller.parameters.get(queues[0] if queues and queues[0] else "mandatoryQueue")
        if isinstance(queue, MessageBuffer):
            requester: RequesterBase = self.made[key]
            requester.attach(self.engine, controller, queue)

    # ------------------------------------------------------------------ controllers

    def _controller(self, machine: type[Controller], version: int, place: Place) -> Controller:
        described = self.description.machines[place[0]]
        identity = self.topology.machine_id(machine.MACHINE_TYPE, version)
        parameters = {
            declared.name: self._buffer(declared, place, identity)
            if isinstance(declared, BufferParameter)
            else self._parameter(declared, place, identity)
            for declared in machine.PARAMETERS
        }
        with_memory = any(
            "requestToMemory" in declared.name
            if isinstance(declared, BufferParameter)
            else declared.type == "DirectoryMemory"
            for declared in machine.PARAMETERS
        )
        inherited = {key: described.parameters[key] for key in INHERITED}
        context = ControllerContext(
            engine=self.engine,
            topology=self.topology,
            version=version,
            parameters=parameters,
            memory=self.memory if with_memory else None,
            downstream=self._machine_ids(self.below[place]),
            upstream=self._machine_ids(self.above[place]),
            **inherited,  # type: ignore[arg-type]
        )
        controller = machine(context)
        for value in parameters.values():
            if isinstance(value, RubyPrefetcher):
                value.attach(controller)
        return controller

    def _parameter(self, declared: Parameter, place: Place, identity: MachineID) -> Any:
        """What a machine parameter is that is no buffer: an object of the class that the machine
        names, or a value of the description. A pointer to what no description has is null."""
        group, i = place
        described = self.description.machines[group]
        name = f"{self.names[place]}.{declared.name}"
        if declared.type == "CacheMemory":
            return self.caches[group, i, declared.name]
        if declared.type == "DirectoryMemory":
            owns = partial(self.topology.owns, identity) if described.interleaved else None
            return DirectoryMemory(name, owns, self.line_bits, self.memory.read_line)
        if (group, i, declared.name) in self.made:
            return self.made[group, i, declared.name]
        if declared.type == "WireBuffer":
            return self._message_buffer(name, BufferDescription(), delayed=True)
        if declared.type == "RubyPrefetcher":
            return RubyPrefetcher(1 << self.line_bits)
        return None if declared.pointer else described.parameters[declared.name]

    def _machine_ids(self, places: Iterable[Place]) -> tuple[MachineID, ...]:
        found = []
        for group, i in places:
            machine = self.description.machines[group].of or group
            kind = self.protocol.machine(machine).MACHINE_TYPE
            found.append(self.topology.machine_id(kind, self.places[machine].index((group, i))))
        return tuple(found)

    def _buffer(
        self, parameter: BufferParameter, place: Place, identity: MachineID
    ) -> MessageBuffer | NetworkPort:
        group, i = place
        described = self.description.machines[group].buffers[parameter.name]
        name = f"{self.names[place]}.{parameter.name}"
        if parameter.virtual_network is not None and parameter.direction == "To":
            port = self.network.port(
                identity,
                name,
                parameter.virtual_network,
                described.capacity,
                described.ordered,
            )
            if described.latency is not None:
                port.latency = described.latency
            return port
        if parameter.virtual_network is None:
            group, key = self._joint(group, parameter.name)
            name = f"{self.names[group, i]}.{key}"
            if name in self.buffers:
                return self.buffers[name]
            described = self.description.machines[group].buffers[key]
        internal = parameter.virtual_network is None
        strict = internal and parameter.direction is None and parameter.ordered_hint is True
        buffer = self._message_buffer(name, described, internal, strict)
        if parameter.virtual_network is not None:
            try:
                self.network.attach(identity, buffer, parameter.virtual_network)
            except ValueError as error:
                raise DescriptionError(
                    self.description.origin.file, 0, f"machine.{group}", None, str(error)
                ) from None
        return buffer

    def _message_buffer(
        self, name: str, described: BufferDescription, delayed: bool, strict: bool = False
    ) -> MessageBuffer:
        """A buffer with delays of its own unless the network's channels bring them. ``strict``: a
        queue to itself that a machine declares as ordered; gem5 panics where it breaks that."""
        delays = self.delays.channel(name) if delayed else None
        buffer = MessageBuffer(
            name,
            described.capacity,
            described.ordered,
            engine=self.engine,
            delays=delays,
            strict=strict,
        )
        self.buffers[name] = buffer
        return buffer

    def _joint(self, machine: str, buffer: str) -> tuple[str, str]:
        """The name under which joined buffers are built: the smallest of them."""
        group = {(machine, buffer)}
        machines: Iterable[tuple[str, MachineDescription]] = self.description.machines.items()
        links = [
            ((name, key), (b.joined.partition(".")[0], b.joined.partition(".")[2]))
            for name, m in machines
            for key, b in m.buffers.items()
            if b.joined is not None
        ]
        for _ in links:
            for one, other in links:
                if one in group or other in group:
                    group |= {one, other}
        return min(group)
