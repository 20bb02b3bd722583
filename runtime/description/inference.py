"""Fills in what a system description leaves out, from what the machines declare.

Invariants: the result says everything (no field that a system is built from is None), is
checked against the protocol, and is its own completion. The rules are in ``docs/system.md``.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from msgspec.structs import replace

from runtime.controller.declarations import BufferParameter, Parameter, once_a_class
from runtime.controller.protocol_info import ProtocolInfo
from runtime.controller.shapes import Controller
from runtime.description import (
    MAX_ENTRIES,
    AgentsDescription,
    BufferDescription,
    CacheDescription,
    MachineDescription,
    NetworkDescription,
    RequesterDescription,
    SystemDescription,
)
from runtime.description.direct_links import is_link, with_links
from runtime.description.machine_groups import with_groups
from runtime.description.origin import DescriptionError, MissingParameters, Path, unknown_name
from runtime.description.parameters import ParameterValues, Scalars
from runtime.requesters.coalescer import CONTEXT
from runtime.sim.delay_policy import SCRIPTED

COALESCERS: Final = ("VIPERCoalescer", "GPUCoalescer")
SEQUENCERS: Final = ("Sequencer", "HTMSequencer")
DMA: Final = "DMASequencer"
REQUESTERS: Final = (*COALESCERS, *SEQUENCERS, DMA)
MAX_AGENTS: Final = 4096
_ORDERED: Final = BufferDescription(ordered=True)
_UNORDERED: Final = BufferDescription(ordered=False)
_KIND_OF_CLASS: Final = {DMA: "dma"} | dict.fromkeys(COALESCERS, "gpu")


def complete(given: SystemDescription, protocol: ProtocolInfo) -> SystemDescription:
    """The complete description. Raises DescriptionError."""
    return _Completion(given, protocol).result()


def complete_with(
    given: SystemDescription, protocol: ProtocolInfo, values: Mapping[str, object]
) -> tuple[SystemDescription, SystemDescription]:
    """As written, with those of ``values`` that it cannot be completed without; and completed.

    ``values``: by path, as for `SystemDescription.override`. Raises DescriptionError.
    """
    try:
        return given, complete(given, protocol)
    except MissingParameters as error:
        needed = {path: values[path] for path in error.placeholders if path in values}
        if not needed:
            raise
    given = given.override(needed)
    return given, complete(given, protocol)


def unsized(requester: RequesterDescription) -> RequesterDescription:
    """A completed requester without what follows from the size of its system."""
    return replace(requester, tokens=None, outstanding=None, context=None)


@once_a_class
def _declarations(machine: type[Controller]) -> _Machine:
    """Every leg of a campaign asks for them."""
    return _Machine(machine.PARAMETERS)


class _Machine:
    """The declarations of one machine, sorted by what they describe."""

    def __init__(self, declared: Iterable[Parameter | BufferParameter]) -> None:
        self.buffers = {p.name: p for p in declared if isinstance(p, BufferParameter)}
        self.links = {name: p for name, p in self.buffers.items() if is_link(p)}
        plain = [p for p in declared if isinstance(p, Parameter)]
        self.caches = [p.name for p in plain if p.type == "CacheMemory"]
        self.requesters = {p.name: p.type for p in plain if p.type in REQUESTERS}
        self.scalars = Scalars({p.name: p for p in plain if not p.pointer})
        self.pointers = {p.name: p.type for p in plain if p.pointer}
        self.objects = self.pointers | dict.fromkeys(self.buffers, "MessageBuffer")
        """Classes of the parameters that are objects, by name."""
        self.others = [
            p.name
            for p in plain
            if p.pointer and p.name not in self.caches and p.name not in self.requesters
        ]
        self.main_requesters = self._main_requesters()
        self.drives = any(kind != DMA for kind in self.requesters.values())
        """Whether the machine has a coalescer or a sequencer."""

    def _main_requesters(self) -> list[str]:
        """The parameters that drive the machine when no table names one: see the manual."""
        for classes in (COALESCERS, SEQUENCERS, (DMA,)):
            found = [name for name, kind in self.requesters.items() if kind in classes]
            if found:
                return found
        return []


class _Completion:
    """A description while it is completed: first how many instances each group of machines has,
    then what the machines own, then requesters, agents and links between them."""

    def __init__(self, given: SystemDescription, protocol: ProtocolInfo) -> None:
        self.line_bits = given.line_size.bit_length() - 1
        declared = {m.MACHINE: _declarations(m) for m in protocol.machines}
        given = with_groups(given, list(declared))
        self.machines = {name: declared[m.of or name] for name, m in given.machines.items()}
        """The declarations behind every group."""
        self.counts: dict[str, int] = {}
        self._flags = protocol.request_flags
        self.given = with_links(given, {name: m.links for name, m in self.machines.items()})
        self.values = ParameterValues(
            given.origin,
            self.counts,
            self.line_bits,
            given.machines,
            {name: m.scalars for name, m in self.machines.items()},
        )

    def result(self) -> SystemDescription:
        given = self.given
        self._count_machines()
        machines = {name: self._machine(name) for name in self.machines}
        self._require_links(machines)
        self.values.require()
        lines = sum(
            (m.count or 1) * cache.sets * cache.ways
            for m in machines.values()
            for cache in m.caches.values()
        )
        if lines > 4 * MAX_ENTRIES:
            raise DescriptionError(
                given.origin.file, 0, "machine", lines, f"more than {4 * MAX_ENTRIES} cached lines"
            )
        requesters = self._requesters(machines)
        agents = self._agents(requesters)
        requesters = {
            name: self._sizes(name, requester, agents) for name, requester in requesters.items()
        }
        for position, row in enumerate(given.handovers):
            for field, name in (("giver", row.giver), ("taker", row.taker)):
                if name not in agents:
                    message = unknown_name("group of agents", name, list(agents))
                    raise self._error(("handover", position, field), name, message)
        return replace(
            given,
            network=self._network(),
            machines=machines,
            requesters=requesters,
            agents=agents,
        )

    def _network(self) -> NetworkDescription:
        """With the virtual networks that are on the bus, if there is one."""
        network = self.given.network
        self._check_script(network)
        declared = sorted(
            {
                buffer.virtual_network
                for machine in self.machines.values()
                for buffer in machine.buffers.values()
                if buffer.virtual_network is not None
            }
        )
        for position, number in enumerate(network.bus or ()):
            if number not in declared:
                there_are = ", ".join(map(str, declared)) or "none"
                message = f"no machine has a buffer on this virtual network; there are {there_are}"
                raise self._error(("network", "bus", position), number, message)
        if network.kind != "bus" or network.bus is not None:
            return network
        return replace(network, bus=tuple(declared))

    def _check_script(self, network: NetworkDescription) -> None:
        """Refuse a script with places that are no lines, a message twice, or that is not used."""
        seen = set()
        for position, delay in enumerate(network.script or ()):
            path = ("network", "script", position)
            if delay.line % self.given.line_size:
                message = f"must be a multiple of the line size, {self.given.line_size}"
                raise self._error((*path, "line"), delay.line, message)
            if (delay.channel, delay.line, delay.message) in seen:
                raise self._error((*path, "message"), delay.message, "delayed twice")
            seen.add((delay.channel, delay.line, delay.message))
        if network.script and network.delays != SCRIPTED:
            message = f'a script needs delays = "{SCRIPTED}"'
            raise self._error(("network", "delays"), network.delays, message)

    def _error(self, path: Path, value: object, message: str) -> DescriptionError:
        return self.given.origin.error(path, value, message)

    def _known(
        self, names: Iterable[str], known: Collection[str], what: str, *path: str | int
    ) -> None:
        for name in names:
            if name not in known:
                raise self._error((*path, name), None, unknown_name(what, name, list(known)))

    # ------------------------------------------------------------------ machines

    def _count_machines(self) -> None:
        given = self.given.machines
        joined: dict[str, list[str]] = {name: [] for name in self.machines}
        for name, machine in given.items():
            self._known(
                machine.buffers, self.machines[name].buffers, "buffer", "machine", name, "buffer"
            )
            for buffer, described in machine.buffers.items():
                if described.joined is not None:
                    other = self._joined(name, buffer, described.joined)
                    joined[name].append(other)
                    joined[other].append(name)
        for name, machine in given.items():
            if machine.count is not None:
                self.counts[name] = machine.count
        for name in self.machines:
            if name in self.counts and not joined[name]:
                continue
            group = self._group(name, joined)
            stated = [self.counts[other] for other in group if other in self.counts]
            self.counts.setdefault(name, stated[0] if stated else self._usual_count(group))
            if any(other != self.counts[name] for other in stated):
                raise self._error(
                    ("machine", name, "count"),
                    self.counts[name],
                    f"its buffers are joined to those of {', '.join(group[1:])}, "
                    "of which there is another number",
                )
        self.joined = joined
        for name, machine in given.items():
            if machine.as_many_as is not None and machine.count is None:
                path = ("machine", name, "as_many_as")
                self._known([machine.as_many_as], self.machines, "machine", *path)
                self.counts[name] = self.counts[machine.as_many_as]
            for field, others in (
                ("downstream", machine.downstream),
                ("upstream", machine.upstream),
            ):
                self._known(others, self.machines, "machine", "machine", name, field)
        self._require_memory()

    def _require_memory(self) -> None:
        """Without a directory, or where there are none a machine with memory's queues, the first
        miss would look like a mistake of the protocol."""
        homes = [
            name
            for name, machine in self.machines.items()
            if "DirectoryMemory" in machine.pointers.values()
        ] or [
            name
            for name, machine in self.machines.items()
            if any("requestToMemory" in buffer for buffer in machine.buffers)
        ]
        if homes and all(self.given.machines[name].count == 0 for name in homes):
            message = f"memory is behind {' and '.join(homes)}: at least one is needed"
            raise self._error(("machine", homes[0], "count"), 0, message)

    def _usual_count(self, group: list[str]) -> int:
        """The count of machines that share buffers, where none is given."""
        machines = [self.machines[name] for name in group]
        if any("WireBuffer" in machine.pointers.values() for machine in machines):
            return 0
        return 4 if any(machine.drives for machine in machines) else 1

    def _joined(self, name: str, buffer: str, text: str) -> str:
        path = ("machine", name, "buffer", buffer, "joined")
        other, _, far = text.partition(".")
        if other not in self.machines:
            raise self._error(path, text, unknown_name("machine", other, list(self.machines)))
        if far not in self.machines[other].buffers:
            known = list(self.machines[other].buffers)
            raise self._error(path, text, unknown_name("buffer", far, known))
        if (other, far) == (name, buffer):
            raise self._error(path, text, "a buffer cannot be joined to itself")
        return other

    @staticmethod
    def _group(name: str, joined: Mapping[str, list[str]]) -> list[str]:
        """Machines that share buffers, directly or not, ``name`` first."""
        group = [name]
        for member in group:
            group.extend(other for other in dict.fromkeys(joined[member]) if other not in group)
        return group

    def _machine(self, name: str) -> MachineDescription:
        declared = self.machines[name]
        given = self.given.machines[name]
        count = self.counts[name]
        interleaved = given.interleaved
        if interleaved is None:
            linked = self.joined[name] or given.as_many_as is not None
            interleaved = not declared.main_requesters and not linked
        self._known(given.caches, declared.caches, "cache", "machine", name, "cache")
        banked = interleaved and count and not count & (count - 1)
        bank_bits = count.bit_length() - 1 if banked else 0
        caches = {}
        for cache in declared.caches:
            described = given.caches.get(cache, CacheDescription())
            if described.start_index_bit is None:
                described = replace(described, start_index_bit=self.line_bits + bank_bits)
            caches[cache] = described
        buffers = {}
        for buffer, parameter in declared.buffers.items():
            stated = given.buffers.get(buffer)
            if stated is None:
                stated = self._usual_buffer(parameter)
            else:
                self._check_buffer(name, parameter, stated)
            buffers[buffer] = stated
        return replace(
            given,
            count=count,
            interleaved=interleaved,
            parameters=self.values.of(name, declared.objects),
            caches=caches,
            buffers=buffers,
        )

    def _usual_buffer(self, declared: BufferParameter) -> BufferDescription:
        """A buffer that the description does not mention."""
        ordered = declared.ordered_hint
        if ordered is None:
            ordered = declared.virtual_network is not None and self.given.network.ordered
        return _ORDERED if ordered else _UNORDERED

    def _check_buffer(
        self, machine: str, declared: BufferParameter, described: BufferDescription
    ) -> None:
        path = ("machine", machine, "buffer", declared.name)
        if declared.virtual_network is not None and described.joined is not None:
            raise self._error(
                (*path, "joined"), described.joined, "is connected to the network by its machine"
            )
        if described.latency is not None and declared.direction != "To":
            raise self._error(
                (*path, "latency"), described.latency, "only buffers towards the network have one"
            )

    def _require_links(self, machines: Mapping[str, MachineDescription]) -> None:
        """Ask for everything that hangs loose at once."""
        if not any(machine.links for machine in self.machines.values()):
            return
        ends = {b.joined for m in machines.values() for b in m.buffers.values()}
        loose = [
            (name, buffer)
            for name, described in machines.items()
            if described.count
            for buffer in self.machines[name].links
            if described.buffers[buffer].joined is None and f"{name}.{buffer}" not in ends
        ]
        if loose:
            name, buffer = loose[0]
            others = ", ".join(f"{name}.{buffer}" for name, buffer in loose[1:])
            also = f" (so have {others})" if others else ""
            raise self._error(
                ("machine", name, "buffer", buffer),
                None,
                f'has no virtual network{also}: say joined = "Machine.buffer" here or there',
            )

    # ------------------------------------------------------------------ requesters

    def _requesters(
        self, machines: Mapping[str, MachineDescription]
    ) -> dict[str, RequesterDescription]:
        given = dict(self.given.requesters) or self._every_requester()
        completed = {
            name: self._requester(name, requester, machines) for name, requester in given.items()
        }
        walked = {r.invalidates for r in completed.values()}
        taken: dict[tuple[str, str | None], str] = {}
        for name, requester in completed.items():
            owner = taken.setdefault((requester.machine, requester.parameter), name)
            if owner != name:
                raise self._error(
                    ("requester", name, "parameter"),
                    requester.parameter,
                    f"requester {owner} is {requester.machine}.{requester.parameter} already",
                )
            if requester.walk is None:
                walk = requester.class_name in COALESCERS or name in walked
                completed[name] = replace(requester, walk=walk)
            self._check_link(name, requester, completed)
        order = {
            (machine, parameter): (place, position)
            for place, (machine, declared) in enumerate(self.machines.items())
            for position, parameter in enumerate(declared.requesters)
        }
        by_place = sorted(
            completed.items(), key=lambda item: order[item[1].machine, item[1].parameter or ""]
        )
        return dict(by_place)

    def _every_requester(self) -> dict[str, RequesterDescription]:
        found: dict[str, RequesterDescription] = {}
        for machine, declared in self.machines.items():
            if not self.counts[machine]:
                continue
            for parameter in declared.main_requesters:
                kind = _KIND_OF_CLASS.get(declared.requesters[parameter], "cpu")
                number = sum(name.rstrip("0123456789") == kind for name in found)
                name = kind if not number else f"{kind}{number + 1}"
                found[name] = RequesterDescription(machine, parameter)
        return found

    def _requester(
        self,
        name: str,
        given: RequesterDescription,
        machines: Mapping[str, MachineDescription],
    ) -> RequesterDescription:
        """A group of requesters with what its machine's declarations say where it is silent."""
        path = ("requester", name)
        if given.machine not in self.machines:
            message = unknown_name("machine", given.machine, list(self.machines))
            raise self._error((*path, "machine"), given.machine, message)
        declared = self.machines[given.machine]
        parameter = self._requester_parameter(name, given)
        kind = declared.requesters[parameter]
        queue = self._mandatory_queue(name, given, machines)
        caches = given.caches
        if caches is None:
            caches = tuple(declared.caches)
        for position, cache in enumerate(caches):
            if cache not in declared.caches:
                message = unknown_name(f"cache of {given.machine}", cache, declared.caches)
                raise self._error((*path, "caches", position), cache, message)
        for field, flag in (
            ("acquire_flag", given.acquire_flag),
            ("release_flag", given.release_flag),
        ):
            self._check_flag((*path, field), flag, kind)
        context = given.context
        if context is None:
            context = CONTEXT
            if kind in SEQUENCERS:
                alike = [p for p, other in declared.requesters.items() if other in SEQUENCERS]
                context = alike.index(parameter)
        return replace(
            given,
            parameter=parameter,
            class_name=kind,
            queue=queue,
            caches=caches,
            context=context,
        )

    def _requester_parameter(self, name: str, given: RequesterDescription) -> str:
        """The parameter of its machine that a group of requesters is: the named one, or the only
        one of the kind that agents use."""
        path = ("requester", name)
        declared = self.machines[given.machine]
        parameter = given.parameter
        if parameter is None:
            main = declared.main_requesters
            if len(main) != 1:
                known = ", ".join(declared.requesters) or "none"
                raise self._error(
                    (*path, "parameter"),
                    None,
                    f"required: which requester parameter of {given.machine} ({known})",
                )
            parameter = main[0]
        if parameter not in declared.requesters:
            message = unknown_name("requester parameter", parameter, list(declared.requesters))
            raise self._error((*path, "parameter"), parameter, message)
        kind = declared.requesters[parameter]
        if given.class_name is not None and not _same_class(given.class_name, kind):
            raise self._error(
                (*path, "class"), given.class_name, f"{given.machine}.{parameter} is a {kind}"
            )
        return parameter

    def _mandatory_queue(
        self,
        name: str,
        given: RequesterDescription,
        machines: Mapping[str, MachineDescription],
    ) -> str:
        """The buffer that a group of requesters fills: one of the machine's own, without bound."""
        path = ("requester", name)
        declared = self.machines[given.machine]
        queue = given.queue or "mandatoryQueue"
        if queue not in declared.buffers:
            message = unknown_name("buffer", queue, list(declared.buffers))
            raise self._error((*path, "queue"), queue, message)
        if declared.buffers[queue].direction is not None:
            raise self._error((*path, "queue"), queue, "is connected to the network")
        if machines[given.machine].buffers[queue].capacity:
            raise self._error(
                ("machine", given.machine, "buffer", queue, "capacity"),
                machines[given.machine].buffers[queue].capacity,
                f"must be 0 (unbounded), because requester {name} fills this buffer",
            )
        return queue

    def _check_flag(self, path: tuple[str, ...], flag: str | None, kind: str) -> None:
        if flag is None:
            return
        if kind not in SEQUENCERS:
            raise self._error(path, flag, f"a {kind} marks no requests")
        known = self._flags
        if flag not in known:
            what = "bool field of RubyRequest in the protocol's library"
            raise self._error(path, flag, unknown_name(what, flag, known))

    def _check_link(
        self,
        name: str,
        requester: RequesterDescription,
        completed: Mapping[str, RequesterDescription],
    ) -> None:
        target = requester.invalidates
        if target is None:
            return
        path = ("requester", name, "invalidates")
        if target not in completed:
            raise self._error(path, target, unknown_name("requester", target, list(completed)))
        if completed[target].class_name not in SEQUENCERS or target == name:
            raise self._error(path, target, "only the caches behind a Sequencer can be linked")
        if requester.class_name not in COALESCERS:
            raise self._error(path, target, f"a {requester.class_name} links no other caches")

    def _sizes(
        self, name: str, requester: RequesterDescription, agents: Mapping[str, AgentsDescription]
    ) -> RequesterDescription:
        """Tokens and outstanding requests, for the most lanes that any agent brings."""
        users = [a for a in agents.values() if a.requester == name]
        lanes = max((a.lanes or 1 for a in users), default=1)
        tokens = requester.tokens
        if tokens is None:
            tokens = 4 * max(1, sum(a.wavefronts for a in users))
            if requester.one_request_per_lane:
                tokens *= lanes
        if requester.one_request_per_lane and tokens < lanes:
            raise self._error(
                ("requester", name, "tokens"),
                tokens,
                f"with one_request_per_lane the {lanes} lanes of its agents need as many",
            )
        outstanding = requester.outstanding
        if outstanding is None:
            outstanding = 2560 if requester.class_name in COALESCERS else 16
            if requester.class_name == DMA:
                outstanding = 64
            outstanding = max(outstanding, lanes)
        if requester.class_name not in COALESCERS and outstanding < lanes:
            raise self._error(
                ("requester", name, "outstanding"),
                outstanding,
                f"the {lanes} lanes of its agents need as many",
            )
        return replace(requester, tokens=tokens, outstanding=outstanding)

    # ------------------------------------------------------------------ agents

    def _agents(
        self, requesters: Mapping[str, RequesterDescription]
    ) -> dict[str, AgentsDescription]:
        given = dict(self.given.agents)
        if not given:
            linked = {r.invalidates for r in requesters.values()}
            given = {
                name: AgentsDescription(name)
                for name, requester in requesters.items()
                if not requester.fetch and name not in linked
            }
        completed = {}
        total = 0
        for name, agents in given.items():
            requester = requesters.get(agents.requester)
            if requester is None:
                message = unknown_name("requester", agents.requester, list(requesters))
                raise self._error(("agents", name, "requester"), agents.requester, message)
            natural = _KIND_OF_CLASS.get(requester.class_name or "", "cpu")
            kind = agents.kind or natural
            if natural == "dma" != kind:
                raise self._error(
                    ("agents", name, "kind"), kind, f"its requester is a {requester.class_name}"
                )
            if "loads" in agents.without and kind == "gpu":
                message = "wavefronts cannot do without loads"
                raise self._error(("agents", name, "without"), "loads", message)
            lanes = agents.lanes or (16 if natural == "gpu" else 1)
            completed[name] = replace(agents, kind=kind, lanes=lanes)
            total += agents.wavefronts * self.counts[requester.machine]
            if total > MAX_AGENTS:
                raise self._error(
                    ("agents", name, "wavefronts"),
                    agents.wavefronts,
                    f"makes more than {MAX_AGENTS} agents in all",
                )
        order = list(requesters)
        by_requester = sorted(
            completed.items(), key=lambda item: (order.index(item[1].requester), item[0])
        )
        return dict(by_requester)


def _same_class(given: str, declared: str) -> bool:
    return given == declared or (given in COALESCERS and declared in COALESCERS)
