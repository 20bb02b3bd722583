"""Plans of systems whose machines are known, written without building the system.

Legs of a campaign differ in counts, sizes and latencies; building each system in Python to read
its plan off it takes longer than running a short leg on it. What a controller of a machine says of
itself is read off one built system for each set of the machine's parameters, everything else
follows from the description. Invariant: a composed plan is word for word the one that
`runtime.native.plan` reads off the built system; what might not be is not composed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Final, NamedTuple

from msgspec import Struct

from runtime.controller.declarations import BufferParameter, once_a_class
from runtime.controller.protocol_info import ProtocolInfo
from runtime.controller.shapes import Controller
from runtime.description import (
    MAX_LANES,
    CacheDescription,
    MachineDescription,
    RequesterDescription,
    SystemDescription,
)
from runtime.description.inference import COALESCERS, DMA, REQUESTERS
from runtime.description.machine_groups import Place, neighbours
from runtime.native.plan_words import MAGIC, NONE, VERSION, RequesterKind
from runtime.network.network import NetworkPort
from runtime.prng import hash_name
from runtime.requesters.base import RequesterBase
from runtime.requesters.port import AtomicWay
from runtime.sim.delay_policy import POLICY_NAMES, SCRIPTED
from runtime.sim.engine import MAX_ROUNDS
from runtime.sim.message_buffer import MessageBuffer
from runtime.structures import replacement_policy
from runtime.structures.cache_memory import CacheMemory
from runtime.structures.directory_memory import DirectoryMemory
from runtime.system import watchdog
from runtime.types.messages import MachineType

_PARTS: Final = (DirectoryMemory, CacheMemory, MessageBuffer, NetworkPort, RequesterBase)


class _Blanks:
    """Words of which some are numbers of parts of the system, named by parameters."""

    def __init__(self, words: Sequence[int | str]) -> None:
        self._words = [0 if isinstance(word, str) else word for word in words]
        self._named = [(at, name) for at, name in enumerate(words) if isinstance(name, str)]

    def filled(self, number: Mapping[str, int], otherwise: int) -> list[int]:
        """How many there are, and the words. ``otherwise``: for what has no number."""
        words = self._words.copy()
        for at, name in self._named:
            words[at] = number.get(name, otherwise)
        return [len(words), *words]


class _Machine(Struct, frozen=True):
    """What the controllers of a machine with the same parameters say of themselves."""

    head: tuple[int, ...]
    """The words of ControllerWord from CLUSTER to MEMORY."""
    queues: tuple[str | None, ...]
    """Parameters that are the mandatory queue, requests to memory and its responses."""
    consumed: frozenset[str]
    """Parameters that are buffers which the controller consumes."""
    parameters: _Blanks
    objects: _Blanks
    """Of the author's objects."""


class Composer:
    """Composes plans of one protocol."""

    def __init__(self, protocol: ProtocolInfo, pools: int) -> None:
        """``pools``: how many words the capacities take."""
        self._protocol = protocol
        self._pools = pools
        self._known: dict[tuple[object, ...], _Machine | None] = {}
        """None: a machine that is not composed."""

    def learn(
        self,
        controllers: Sequence[Controller],
        objects: Sequence[list[int | str]],
        description: SystemDescription,
    ) -> None:
        """Take what there is to know of the machines of a built system. ``objects``: of each
        controller's list of that name, words or the parameters that they stand for."""
        groups = (
            group
            for machine in self._protocol.machines
            for group, _ in description.instances_of(machine.MACHINE)
        )
        for controller, words, group in zip(controllers, objects, groups, strict=True):
            key = _key(controller.MACHINE, description.machines[group])
            if key not in self._known:
                self._known[key] = _learned(controller, tuple(words))

    def compose(self, description: SystemDescription) -> tuple[list[int], int, int] | None:
        """All words, where those of SizeWord begin, and how many consumers there are; run key,
        consumers and capacities are not filled in. None: the system is to be built."""
        if description.network.delays == SCRIPTED:
            return None
        machines: dict[str, _Machine] = {}
        groups: dict[str, list[str]] = {machine.MACHINE: [] for machine in self._protocol.machines}
        for group, described in description.machines.items():
            groups[described.of or group].append(group)
            if any(buffer.joined for buffer in described.buffers.values()):
                return None
            if described.count:
                known = self._known.get(_key(described.of or group, described))
                if known is None:
                    return None
                machines[group] = known
        return _Composition(self._protocol, description, groups, machines).words(self._pools)


def _key(machine: str, described: MachineDescription) -> tuple[object, ...]:
    return machine, *described.parameters.items()


def _learned(controller: Controller, objects: tuple[int | str, ...]) -> _Machine | None:
    parameters = controller.parameters
    words: list[int | str] = []
    for declared in controller.PARAMETERS:
        value = parameters[declared.name]
        if value is None:
            words.append(NONE)
        elif isinstance(value, bool | int):
            words.append(int(value))
        elif isinstance(value, str):
            words.append(0)
        elif isinstance(value, MessageBuffer) and not isinstance(declared, BufferParameter):
            return None  # a wire, which no description has
        elif isinstance(value, _PARTS):
            words.append(declared.name)
        else:
            return None
    names = {id(value): name for name, value in parameters.items()}
    queues = controller.mandatory_queue, controller.memory_request, controller.memory_response
    head = (
        controller.clusterID,
        controller.transitions_per_cycle,
        controller.max_transitions_per_tick,
        controller.recycle_latency,
        controller.number_of_TBEs,
        controller.mandatory_queue_latency,
        controller.buffer_size,
        int(controller.memory is not None),
    )
    consumed = (
        name
        for name, value in parameters.items()
        if isinstance(value, MessageBuffer) and value.consumer is controller
    )
    return _Machine(
        head,
        tuple(None if queue is None else names[id(queue)] for queue in queues),
        frozenset(consumed),
        _Blanks(words),
        _Blanks(objects),
    )


class _Composition:
    """One plan while it is composed; parts are numbered as the built system numbers them."""

    def __init__(
        self,
        protocol: ProtocolInfo,
        description: SystemDescription,
        groups: Mapping[str, list[str]],
        machines: Mapping[str, _Machine],
    ) -> None:
        """``groups``: of every machine; ``machines``: what is known of each that has instances."""
        self._protocol = protocol
        self._description = description
        self._groups = groups
        self._machines = machines
        self._line_bits = description.line_size.bit_length() - 1
        self._delayed = description.network.delays != "nominal"
        self._places: dict[str, list[Place]] = {
            machine: [
                (group, i) for group in names for i in range(description.machines[group].count or 0)
            ]
            for machine, names in groups.items()
        }
        self._counts = {
            machine.MACHINE_TYPE: len(self._places[machine.MACHINE])
            for machine in protocol.machines
        }
        self._node: dict[Place, int] = {}
        nodes = 0
        for machine in sorted(protocol.machines, key=lambda each: each.MACHINE_TYPE):
            for place in self._places[machine.MACHINE]:
                self._node[place] = nodes
                nodes += 1
        self._number: dict[Place, dict[str, int]] = {place: {} for place in self._node}
        """Of each part of an instance, by parameter, among the parts of its kind."""
        self._controller_of: dict[Place, int] = {}

    def words(self, pools: int) -> tuple[list[int], int, int]:
        buffers, ports = self._buffers_and_ports()
        caches = self._caches()
        requesters = self._requesters()
        controllers = self._controllers()
        words = self._head()
        sizes_at = len(words)
        instances = len(self._node)
        consumers = instances + len(requesters)
        counts = (len(self._node), instances, len(requesters), 0)
        words += (*counts, len(buffers), len(ports), len(caches))
        words += [0] * pools
        assert len(controllers) == instances and len(words) == sizes_at + len(counts) + 3 + pools
        for part in (buffers, ports, caches, controllers, requesters):
            for each in part:
                words += each
        return words, sizes_at, consumers

    def _head(self) -> list[int]:
        description, counts = self._description, self._counts
        limits = watchdog.limits_of(description)
        words = [
            MAGIC,
            VERSION,
            0,
            self._line_bits,
            POLICY_NAMES.index(description.network.delays),
            description.memory.latency,
            MAX_ROUNDS,
            limits.messages,
            limits.work,
            limits.credit,
            0,
            MachineType.NUM,
        ]
        interleaved = set()
        for machine in self._protocol.machines:
            groups = self._groups[machine.MACHINE]
            if len(groups) == 1 and description.machines[groups[0]].interleaved:
                interleaved.add(machine.MACHINE_TYPE)
        first = 0
        for kind in range(MachineType.NUM):
            count = counts.get(kind, 0)
            words += (count, first, self._line_bits if kind in interleaved else NONE)
            first += count
        return words

    def _buffers_and_ports(self) -> tuple[list[list[int]], list[list[int]]]:
        """Their words, in the order in which controllers are built."""
        network = self._description.network
        buffers: list[list[int]] = []
        on_bus = (network.bus or ()) if network.kind == "bus" else ()
        ports: list[tuple[int, str, list[int]]] = []
        listening: dict[int, list[tuple[int, int, str]]] = {}
        for machine in self._protocol.machines:
            declared = _sorted_parameters(machine).buffers
            for version, place in enumerate(self._places[machine.MACHINE]):
                described = self._description.machines[place[0]].buffers
                known, number, node = (
                    self._machines[place[0]],
                    self._number[place],
                    self._node[place],
                )
                controller = self._controller_of[place] = len(self._controller_of)
                prefix = f"{machine.MACHINE}{version}."
                for parameter in declared:
                    name, buffer = parameter.name, described[parameter.name]
                    vn = parameter.virtual_network
                    full = prefix + name if self._delayed and buffer.randomized else ""
                    if vn is not None and parameter.direction == "To":
                        number[name] = len(ports)
                        latency = buffer.latency
                        latency = network.latency if latency is None else latency
                        words = [buffer.capacity, buffer.ordered, latency, node, 0, 0]
                        if vn in on_bus:
                            words[4:] = vn + 1, _hash_name(f"{full}->bus") if full else 0
                            full = ""
                        ports.append((vn, full, words))
                        continue
                    consumer = controller if name in known.consumed else NONE
                    delay = 0
                    if vn is None:
                        delay = _hash_name(full) if full else 0
                    elif consumer != NONE:
                        listening.setdefault(vn, []).append((node, len(buffers), full))
                    strict = vn is None and parameter.direction is None
                    strict = strict and parameter.ordered_hint is True
                    number[name] = len(buffers)
                    buffers.append([buffer.capacity, buffer.ordered, consumer, delay, strict])
        receivers = {vn: _Receivers(found) for vn, found in listening.items()}
        for vn, name, words in ports:
            words += receivers[vn].of(name) if vn in receivers else (0,)
        return buffers, [words for *_, words in ports]

    def _caches(self) -> list[list[int]]:
        found: list[list[int]] = []
        for machine in self._protocol.machines:
            names = _sorted_parameters(machine).caches
            for place in self._places[machine.MACHINE]:
                caches, number = self._description.machines[place[0]].caches, self._number[place]
                for name in names:
                    number[name] = len(found)
                    words = _cache_words(caches[name], self._line_bits)
                    found.append([self._controller_of[place], *words])
        return found

    def _controllers(self) -> list[list[int]]:
        below, above = neighbours(self._description.machines)
        node = self._node.__getitem__
        stalls = {
            name: any(cache.resource_stalls for cache in group.caches.values())
            for name, group in self._description.machines.items()
        }
        found = []
        for at, machine in enumerate(self._protocol.machines):
            for version, place in enumerate(self._places[machine.MACHINE]):
                described = self._description.machines[place[0]]
                known, number = self._machines[place[0]], self._number[place]
                words = [at, version, machine.MACHINE_TYPE, *known.head]
                words += [NONE if name is None else number[name] for name in known.queues]
                words.append(stalls[place[0]] or not machine.RESOURCES_ONLY_CACHES)
                for others in (below[place], above[place]):
                    words.append(len(others))
                    words += map(node, others)
                words += known.parameters.filled(number, bool(described.interleaved))
                words += known.objects.filled(number, NONE)
                found.append(words)
        return found

    # ------------------------------------------------------------------ requesters

    def _requesters(self) -> list[list[int]]:
        groups = self._description.requesters
        machines = self._description.machines
        count = {name: machines[group.machine].count or 0 for name, group in groups.items()}
        made: list[tuple[Place, _Requester]] = []
        links: dict[int, int] = {}
        first: dict[str, int] = {}
        for name, group in groups.items():
            first[name] = len(made)
            form = self._form(group)
            for i in range(count[name]):
                self._number[group.machine, i][group.parameter or ""] = len(made)
                made.append(((group.machine, i), form))
        for machine in self._protocol.machines:
            for parameter in _sorted_parameters(machine).requesters:
                for place in self._places[machine.MACHINE]:
                    if parameter.name in self._number[place]:
                        continue
                    self._number[place][parameter.name] = len(made)
                    idle = RequesterDescription(
                        place[0],
                        parameter.name,
                        class_name=parameter.type,  # type: ignore[arg-type]
                        caches=(),
                    )
                    made.append((place, self._form(idle)))
        for name, group in groups.items():
            target = group.invalidates
            if target is not None and count[target] and group.class_name in COALESCERS:
                for i in range(count[name]):
                    links[first[name] + i] = first[target] + i * count[target] // count[name]
        found = []
        for at, (place, form) in enumerate(made):
            number = self._number[place]
            queue = number.get(form.queue, NONE)
            words = [form.kind, self._controller_of[place], queue, MAX_LANES, *form.words]
            words += (len(form.caches), *(number[cache] for cache in form.caches))
            words += (1, links[at]) if at in links else (0,)
            found.append(words)
        return found

    def _form(self, group: RequesterDescription) -> _Requester:
        queues = (
            each.queue
            for each in self._description.requesters.values()
            if (each.machine, each.parameter) == (group.machine, group.parameter)
        )
        queue = next(queues, None) or "mandatoryQueue"
        caches = group.caches or ()
        context = group.context or 0
        words: tuple[int, ...]
        if group.class_name == DMA:
            words = 0, 0, group.outstanding or 64, 0, 1, 0, 0, 0, 0, 0
            return _Requester(RequesterKind.DMA, queue, words, ())
        if group.class_name in COALESCERS:
            caches = caches if group.walk else ()
            words = bool(caches), 0, group.outstanding or 2560, group.tokens or 4
            words += group.coalesces_per_cycle, group.one_request_per_lane, context, 0, 0, 0
            return _Requester(RequesterKind.COALESCER, queue, words, caches)
        words = bool(group.walk), group.fetch, group.outstanding or 16, 0, 1, 0, context
        words += AtomicWay[group.atomics.upper()], self._flag(group.acquire_flag)
        words += (self._flag(group.release_flag),)
        return _Requester(RequesterKind.SEQUENCER, queue, words, caches)

    def _flag(self, name: str | None) -> int:
        return 0 if name is None else 1 << self._protocol.request_flags.index(name)


class _Requester(NamedTuple):
    """What requesters of a group have in common."""

    kind: RequesterKind
    queue: str
    """The parameter that they fill."""
    words: tuple[int, ...]
    """Those of RequesterWord behind the lanes."""
    caches: tuple[str, ...]
    """The parameters that they walk."""


class _Receivers:
    """Who listens to a virtual network: (node, buffer, name of the buffer or, if its messages are
    never delayed, an empty one) of each."""

    def __init__(self, found: list[tuple[int, int, str]]) -> None:
        found.sort()
        nodes, buffers, self._names = zip(*found)
        assert len(set(nodes)) == len(found), "a node listens once"
        self._words = [0] * (1 + 3 * len(found))
        self._words[0] = len(found)
        self._words[1::3], self._words[2::3] = nodes, buffers

    def of(self, port: str) -> list[int]:
        """How many there are, and the words of each as a port has them; ``port``: its name, empty
        if its messages are never delayed."""
        words = self._words.copy()
        if port:
            words[3::3] = _channels(port, self._names)
        return words


@lru_cache(1 << 12)
def _channels(port: str, receivers: tuple[str, ...]) -> tuple[int, ...]:
    """Hashes of the names of the channels from a port, 0 for those that are never delayed."""
    return tuple(_hash_name(f"{port}->{other}") if other else 0 for other in receivers)


class _SortedParameters:
    """The parameters of a machine: its buffers, its caches and all that are no buffers."""

    def __init__(self, machine: type[Controller]) -> None:
        self.buffers = [p for p in machine.PARAMETERS if isinstance(p, BufferParameter)]
        self.others = [p for p in machine.PARAMETERS if not isinstance(p, BufferParameter)]
        self.caches = [p.name for p in self.others if p.type == "CacheMemory"]
        self.requesters = [p for p in self.others if p.type in REQUESTERS]


_sorted_parameters = once_a_class(_SortedParameters)


@lru_cache(1 << 12)
def _cache_words(described: CacheDescription, line_bits: int) -> tuple[int, ...]:
    start = described.start_index_bit
    return (
        described.sets,
        described.ways,
        line_bits if start is None else start,
        replacement_policy.POLICY_NAMES.index(described.replacement),
        described.resource_stalls,
        described.tag_latency,
        described.data_latency,
        described.tag_banks,
        described.data_banks,
        described.atomic_alus,
        described.atomic_latency,
    )


_hash_name = lru_cache(1 << 16)(hash_name)
