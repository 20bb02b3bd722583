"""Which system kernels run on: how many of what, and which requesters are the ports.

A description whose table ``[gpu.ports]`` names the ports is used unchanged. To any other one with a
coalescer and a cache for instructions, what a GPU's front end needs is added: a coalescer of its
own, and a cache for scalar data beside that of instructions. Invariant: only the description says
which requesters the ports use, so that both engines build the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from itertools import zip_longest
from typing import Annotated, Final

from msgspec.structs import replace

from gpu.memory.coherent.system_scope import CannotFence, SystemScope, system_scope
from gpu.memory.interface import PortKind, Ports
from runtime.controller.protocol_info import ProtocolInfo
from runtime.description import (
    AgentsDescription,
    DescriptionError,
    MachineDescription,
    RequesterDescription,
    SystemDescription,
)
from runtime.description.inference import COALESCERS, DMA, SEQUENCERS, complete
from runtime.description.parts import Piece, Text, doc
from runtime.description.reader import read
from slicc.text.lazy_dataclass import dataclass

CUS_PER_SQC: Final = 4
"""Compute units that share a scalar and an instruction cache."""
TOKENS: Final = 16
FRONT: Final = "GpuFront"
SCALARS: Final = "GpuScalars"
_GROUP: Final = "Gpu"
_BANKS: Final = "TCC"


class Roles(Piece, frozen=True):
    """The table ``[gpu.ports]``."""

    vector: Annotated[Text, doc("requesters of vector memory: a group")]
    scalar: Annotated[Text, doc("requesters of scalar memory: a group")]
    fetch: Annotated[Text, doc("requesters of instructions: a group")]
    control: Annotated[Text, doc("the requester of the front end: a group")]
    banks: Annotated[Text | None, doc("the machine that is the shared cache")] = None
    cpu: Annotated[
        tuple[Text, ...], doc("requesters of processors: a group for each core of one machine")
    ] = ()
    dma: Annotated[Text | None, doc("requesters of DMA engines: a group")] = None

    @property
    def groups(self) -> tuple[str, ...]:
        """The requesters that are ports."""
        dma = () if self.dma is None else (self.dma,)
        return (self.vector, self.scalar, self.fetch, self.control, *self.cpu, *dma)


@dataclass(frozen=True, slots=True)
class KernelSystem:
    """A completed description and what its ports are."""

    protocol: ProtocolInfo
    description: SystemDescription
    roles: Roles
    system_scope: SystemScope = field(default_factory=SystemScope)

    @property
    def cus(self) -> int:
        return self._count(self.roles.vector)

    @property
    def sqcs(self) -> int:
        return self._count(self.roles.fetch)

    @property
    def cpus(self) -> int:
        return sum(map(self._count, self.roles.cpu))

    @property
    def dmas(self) -> int:
        return 0 if self.roles.dma is None else self._count(self.roles.dma)

    @property
    def timing(self) -> Mapping[str, object]:
        """What the table ``[gpu]`` says of the compute units."""
        tables = ("ports", "tlb")
        return {key: value for key, value in self.description.gpu.items() if key not in tables}

    @property
    def tlb(self) -> object:
        """What it says of TLBs; it may be anything."""
        return self.description.gpu.get("tlb", {})

    def _count(self, requester: str) -> int:
        machine = self.description.requesters[requester].machine
        return self.description.machines[machine].count or 0

    def ports(self) -> Ports:
        return Ports(self.cus, self.sqcs, self.cpus, self.dmas)

    def vector_cache(self, unit: int) -> str:
        """The name of the first-level cache of a unit: ``TCP1``."""
        group = self.description.requesters[self.roles.vector].machine
        machine = self.description.machines[group].of or group
        places = list(self.description.instances_of(machine))
        return f"{machine}{places.index((group, unit))}"

    def requesters(self) -> list[int]:
        """For each port, the position of its requester in ``System.requesters``."""
        first: dict[str, int] = {}
        total = 0
        for name in self.description.requesters:
            first[name] = total
            total += self._count(name)
        group = {
            PortKind.VECTOR: self.roles.vector,
            PortKind.SCALAR: self.roles.scalar,
            PortKind.FETCH: self.roles.fetch,
            PortKind.CONTROL: self.roles.control,
        }
        gpu = [port for port in self.ports() if port.kind in group]
        places = [first[group[port.kind]] + port.number for port in gpu]
        engine = 0 if self.roles.dma is None else first[self.roles.dma]
        return [*places, *self._cores(first), *range(engine, engine + self.dmas)]

    def _cores(self, first: Mapping[str, int]) -> list[int]:
        """The requesters of cores, in turn one of each machine."""
        groups = [range(first[name], first[name] + self._count(name)) for name in self.roles.cpu]
        machines = zip_longest(*groups)
        return [place for cores in machines for place in cores if place is not None]


def kernel_system(
    protocol: ProtocolInfo,
    written: SystemDescription,
    cus: int | None = None,
    tccs: int | None = None,
) -> KernelSystem:
    """The system that ``written`` describes, with other counts if given.

    Several banks share the size that ``written`` gives the shared cache as a whole. Raises
    DescriptionError for what does not fit the protocol, or a protocol without such ports.
    """
    described, roles = _with_roles(protocol, written)
    if cus is not None:
        described = _with_units(described, roles, cus)
    if tccs is not None:
        described = _with_banks(described, roles, tccs)
    described = replace(described, agents=_agents(roles), handovers=())
    completed = complete(described, protocol)
    system = KernelSystem(protocol, completed, roles)
    _check(system, written)
    try:
        scope = system_scope(protocol, completed, roles.banks, roles.vector, written)
    except CannotFence as error:
        raise _unfit(written, str(error)) from None
    return KernelSystem(protocol, completed, roles, scope)


def _with_roles(
    protocol: ProtocolInfo, written: SystemDescription
) -> tuple[SystemDescription, Roles]:
    ports = written.gpu.get("ports", {})
    if ports == {}:
        return _inferred(protocol, written)
    roles = read(Roles, ports, written.origin, ("gpu", "ports"))
    for role in ("vector", "scalar", "fetch", "control"):
        _check_group(written, getattr(roles, role), role)
    for number, name in enumerate(roles.cpu):
        _check_group(written, name, "cpu", number)
    if roles.dma is not None:
        _check_group(written, roles.dma, "dma")
    if roles.banks is not None and roles.banks not in written.machines:
        message = "no machine of this description has that name"
        raise written.origin.error(("gpu", "ports", "banks"), roles.banks, message)
    return written, roles


def _check_group(written: SystemDescription, name: str, *path: str | int) -> None:
    if name not in written.requesters:
        message = "a port is a group of requesters of this description"
        raise written.origin.error(("gpu", "ports", *path), name, message)


def _inferred(
    protocol: ProtocolInfo, written: SystemDescription
) -> tuple[SystemDescription, Roles]:
    """Take the first coalescer for compute units, the first other sequencer that fetches."""
    groups = complete(written, protocol).requesters
    coalescers = [name for name, each in groups.items() if each.class_name in COALESCERS]
    if not coalescers:
        raise _unfit(
            written,
            f"{protocol.name} has no coalescer, so no compute unit can use it; GPU_VIPER has one",
        )
    vector = groups[coalescers[0]]
    fetching = [
        name
        for name, each in groups.items()
        if each.class_name == "Sequencer" and (each.fetch or name == vector.invalidates)
    ]
    if not fetching:
        raise _unfit(
            written,
            f"{protocol.name} has no cache that compute units fetch instructions from (a group "
            "of requesters with `fetch = true`)",
        )
    fetch = groups[fetching[0]]
    machines = dict(written.machines)
    for added, like in ((FRONT, vector.machine), (SCALARS, fetch.machine)):
        _add_group(machines, added, like)
    machines = {name: _renamed(machine, machines) for name, machine in machines.items()}
    tokens = vector.tokens or TOKENS
    requesters = dict(written.requesters) or dict(groups)
    for name, each in requesters.items():
        requesters[name] = _moved(each, _group_of(machines, each.machine))
    vector, fetch = requesters[coalescers[0]], requesters[fetching[0]]
    vector = replace(vector, invalidates=None, context=None, tokens=tokens)
    requesters[coalescers[0]] = vector
    requesters[fetching[0]] = replace(fetch, walk=True, fetch=True, outstanding=64)
    requesters["front"] = _moved(vector, FRONT)
    requesters["scalars"] = replace(_moved(fetch, SCALARS), walk=True, fetch=False, outstanding=64)
    described = replace(written, machines=machines, requesters=requesters)
    banks = _BANKS if any(m.MACHINE == _BANKS for m in protocol.machines) else None
    return described, Roles(coalescers[0], "scalars", fetching[0], "front", banks)


def _add_group(machines: dict[str, MachineDescription], name: str, like: str) -> None:
    """Add one more instance of the machine of group ``like``, in a group of its own.

    A table that has the name of its machine holds for all of its groups, so its instances get a
    group as well.
    """
    described = machines.get(like, MachineDescription())
    if described.of is None:
        count = described.count
        machines[like] = replace(described, count=None)
        machines[_GROUP + like] = MachineDescription(of=like, count=count)
        described = MachineDescription(of=like)
    machines[name] = replace(described, count=1)


def _group_of(machines: Mapping[str, MachineDescription], name: str) -> str:
    return _GROUP + name if _GROUP + name in machines else name


def _renamed(
    machine: MachineDescription, groups: Mapping[str, MachineDescription]
) -> MachineDescription:
    """A machine's description with the names of machines that are now in groups replaced."""
    derived = {
        name: replace(each, count=None if each.count is None else _group_of(groups, each.count))
        for name, each in machine.derived.items()
    }
    many = machine.as_many_as
    return replace(
        machine,
        derived=derived,
        as_many_as=None if many is None else _group_of(groups, many),
        downstream=tuple(_group_of(groups, name) for name in machine.downstream),
        upstream=tuple(_group_of(groups, name) for name in machine.upstream),
    )


def _moved(requester: RequesterDescription, machine: str) -> RequesterDescription:
    return replace(requester, machine=machine, context=None)


def _with_units(described: SystemDescription, roles: Roles, cus: int) -> SystemDescription:
    shared = (cus + CUS_PER_SQC - 1) // CUS_PER_SQC
    counts = {roles.vector: cus, roles.fetch: shared, roles.scalar: shared}
    return described.override(
        {
            f"machine.{described.requesters[name].machine}.count": count
            for name, count in counts.items()
        }
    )


def _with_banks(described: SystemDescription, roles: Roles, tccs: int) -> SystemDescription:
    if roles.banks is None:
        raise _unfit(described, "nothing says which machine is the shared cache: name it, `banks`")
    machine = described.machines.get(roles.banks, MachineDescription())
    changes: dict[str, object] = {f"machine.{roles.banks}.count": tccs}
    before = machine.count or 1
    for name, cache in machine.caches.items():
        sets = max(cache.sets * before // max(tccs, 1), 1)
        changes[f"machine.{roles.banks}.cache.{name}.sets"] = 1 << sets.bit_length() - 1
    return described.override(changes)


def _agents(roles: Roles) -> dict[str, AgentsDescription]:
    """One on each port."""
    ports = dict.fromkeys(roles.groups)
    return {name: AgentsDescription(requester=name, lanes=1) for name in ports}


def _check(system: KernelSystem, written: SystemDescription) -> None:
    roles, requesters = system.roles, system.description.requesters
    for role in ("vector", "control"):
        if requesters[getattr(roles, role)].class_name not in COALESCERS:
            raise _unfit(written, f"the {role} port is no coalescer", ("gpu", "ports", role))
    for role in ("scalar", "fetch"):
        if requesters[getattr(roles, role)].class_name != "Sequencer":
            raise _unfit(written, f"the {role} port is no sequencer", ("gpu", "ports", role))
    for name in roles.cpu:
        if requesters[name].class_name not in SEQUENCERS:
            raise _unfit(written, f"{name}, a CPU port, is no sequencer", ("gpu", "ports", "cpu"))
        if roles.groups.count(name) > 1:
            what = f"{name} is several ports, and a CPU port is one alone"
            raise _unfit(written, what, ("gpu", "ports", "cpu"))
    if roles.dma is not None and requesters[roles.dma].class_name != DMA:
        raise _unfit(written, "the dma port is no DMA engine", ("gpu", "ports", "dma"))
    scalars = system._count(roles.scalar)
    if not system.cus or not system.sqcs or scalars != system.sqcs:
        raise _unfit(
            written,
            f"{system.cus} compute units, {system.sqcs} instruction and {scalars} scalar caches: "
            "there must be some, and as many of these as of those",
        )
    if system._count(roles.control) != 1:
        raise _unfit(written, "there must be one control port", ("gpu", "ports", "control"))


def _unfit(
    written: SystemDescription, message: str, path: tuple[str, ...] = ()
) -> DescriptionError:
    if path:
        return written.origin.error(path, None, message)
    return DescriptionError(written.origin.file, 0, "", None, message)
