"""A system as a value: how many of each machine, how large, how connected, and who drives it.

The same description builds every engine. It is read from TOML, completed from what the compiled
protocol declares (``runtime.completion``), changed by command-line options, and stored whole in
replay files. ``docs/system.md`` is the format's manual.

Invariant: a description that exists is within bounds; what it does not say is None until
``complete`` fills it in. Descriptions compare by contents; where they were written is left out.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path as FilePath

from runtime.description_text import (
    MAX_TEXT_BYTES,
    DescriptionError,
    Origin,
    Path,
    Table,
    dotted,
    parse_toml,
    toml_text,
)

__all__ = [
    "AgentsDescription",
    "BufferDescription",
    "CacheDescription",
    "DescriptionError",
    "HandoverDescription",
    "MachineDescription",
    "MemoryDescription",
    "NetworkDescription",
    "RequesterDescription",
    "SystemDescription",
    "load_description",
    "parse_assignment",
]

MAX_COUNT = 64
MAX_LATENCY = 1 << 20
MAX_ENTRIES = 1 << 20
MAX_LANES = 64
MAX_WAVEFRONTS = 256

DELAYS = ("nominal", "uniform", "heavy_tail", "gem5", "skewed", "stragglers")
REPLACEMENTS = ("tree_plru", "lru")
REQUESTER_CLASSES = ("Sequencer", "VIPERCoalescer", "GPUCoalescer", "HTMSequencer", "DMASequencer")
AGENT_KINDS = ("gpu", "cpu", "dma")
GIVER_STEPS = ("release", "flush")
TAKER_STEPS = ("acquire", "invalidate_l2")

Scalar = int | bool | str


@dataclass(frozen=True, slots=True)
class NetworkDescription:
    """``latency`` cycles are added to every message; ``delays`` names the random part."""

    latency: int = 1
    delays: str = "nominal"


@dataclass(frozen=True, slots=True)
class MemoryDescription:
    """Cycles from a memory request to its response."""

    latency: int = 40


@dataclass(frozen=True, slots=True)
class CacheDescription:
    """One CacheMemory parameter. ``start_index_bit`` None: just above line and bank bits."""

    sets: int = 16
    ways: int = 4
    replacement: str = "tree_plru"
    start_index_bit: int | None = None
    tag_latency: int = 1
    data_latency: int = 1
    resource_stalls: bool = False
    tag_banks: int = 1
    data_banks: int = 1
    atomic_alus: int = 64
    atomic_latency: int = 0


@dataclass(frozen=True, slots=True)
class BufferDescription:
    """One MessageBuffer parameter. ``capacity`` messages, 0: unbounded.

    ``latency`` replaces the network's for messages sent from here (None: the network's).
    ``joined`` names a buffer of another machine (``"L1Cache.bufferFromL0"``): instance i of both
    machines then hold the very same buffer.
    """

    ordered: bool = False
    capacity: int = 0
    latency: int | None = None
    randomized: bool = True
    joined: str | None = None


@dataclass(frozen=True, slots=True)
class MachineDescription:
    """All instances of one machine.

    ``interleaved``: each line belongs to one instance, chosen by the address bits just above the
    line offset; otherwise every instance may hold every line.
    """

    count: int | None = None
    interleaved: bool | None = None
    parameters: Mapping[str, Scalar] = field(default_factory=dict)
    caches: Mapping[str, CacheDescription] = field(default_factory=dict)
    buffers: Mapping[str, BufferDescription] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class RequesterDescription:
    """A requester class attached to every instance of a machine.

    ``walk``: an acquire evicts every line resident in ``caches``; else it has nothing to do.
    ``invalidates`` names another group of requesters whose caches an acquire walks as well;
    instance i of n uses instance i*m//n of m. ``context`` is the ``contextId`` sent.
    ``fetch``: loads are sent as instruction fetches. ``tokens``: vector instructions that may
    wait to be coalesced; ``outstanding``: line requests in flight or waiting for their line.
    """

    machine: str
    parameter: str | None = None
    class_name: str | None = None
    queue: str | None = None
    caches: tuple[str, ...] | None = None
    walk: bool | None = None
    invalidates: str | None = None
    context: int | None = None
    fetch: bool = False
    tokens: int | None = None
    outstanding: int | None = None
    coalesces_per_cycle: int = 1
    one_request_per_lane: bool = False


@dataclass(frozen=True, slots=True)
class AgentsDescription:
    """``wavefronts`` threads of ``lanes`` lanes on each requester of a group."""

    requester: str
    kind: str | None = None
    wavefronts: int = 1
    lanes: int | None = None


@dataclass(frozen=True, slots=True)
class HandoverDescription:
    """What makes bytes written by ``giver`` agents readable by ``taker`` agents.

    ``scope`` empty: every scope. ``allowed`` false: such bytes are never handed over.
    """

    giver: str
    taker: str
    scope: str = ""
    allowed: bool = True
    giver_steps: tuple[str, ...] = ("release",)
    taker_steps: tuple[str, ...] = ("acquire",)


@dataclass(frozen=True, slots=True)
class SystemDescription:
    """A whole system. Sizes in bytes, latencies in cycles (a tick is a cycle)."""

    protocol: str | None = None
    line_size: int = 64
    network: NetworkDescription = NetworkDescription()
    memory: MemoryDescription = MemoryDescription()
    machines: Mapping[str, MachineDescription] = field(default_factory=dict)
    requesters: Mapping[str, RequesterDescription] = field(default_factory=dict)
    agents: Mapping[str, AgentsDescription] = field(default_factory=dict)
    handovers: tuple[HandoverDescription, ...] = ()
    origin: Origin = field(default_factory=Origin, compare=False, repr=False)

    @staticmethod
    def from_toml(text: str, file: str = "<description>") -> SystemDescription:
        data, origin = parse_toml(text, file)
        return _read_system(Table(data, (), origin))

    @staticmethod
    def from_dict(data: Mapping[str, object], file: str = "<description>") -> SystemDescription:
        """The inverse of :meth:`to_dict`; checks everything again."""
        return _read_system(Table(data, (), Origin(file)))

    def to_dict(self) -> dict[str, object]:
        """Plain dicts, lists, strings, numbers, in the shape of the TOML. Order has no meaning."""
        data: dict[str, object] = {}
        if self.protocol is not None:
            data["protocol"] = self.protocol
        data["line_size"] = self.line_size
        data["network"] = _plain(self.network)
        data["memory"] = _plain(self.memory)
        data["machine"] = {name: _plain_machine(m) for name, m in self.machines.items()}
        data["requester"] = {name: _plain(r) for name, r in self.requesters.items()}
        data["agents"] = {name: _plain(a) for name, a in self.agents.items()}
        data["handover"] = [_plain(h) for h in self.handovers]
        return {key: value for key, value in data.items() if value not in ({}, [])}

    def to_toml(self) -> str:
        """A file that reads back as an equal description."""
        return toml_text(self.to_dict())

    def override(self, assignments: Mapping[str, object]) -> SystemDescription:
        """A description with fields replaced: ``{"machine.TCP.count": 2}``.

        Errors name the option (``--set machine.TCP.count=0``) in place of a line.
        """
        data = self.to_dict()
        origin = Origin(self.origin.file, self.origin.lines)
        origin.options = dict(self.origin.options)
        for name, value in assignments.items():
            path = _split(name)
            origin.options[path] = f"--set {name}={value}"
            _assign(data, path, value, origin)
        return _read_system(Table(data, (), origin))

    def summary(self) -> str:
        """A few lines for people: machines, requesters, agents, latencies."""
        machines = ", ".join(
            f"{m.count if m.count is not None else '?'} {name}" for name, m in self.machines.items()
        )
        agents = ", ".join(
            f"{name}: {a.wavefronts} x {a.lanes or 1} lanes per {a.requester}"
            for name, a in self.agents.items()
        )
        return (
            f"{self.protocol or 'protocol not named'}: {machines or 'machines to be inferred'}\n"
            f"agents {agents or 'to be inferred'}\n"
            f"lines of {self.line_size} bytes, network {self.network.latency} cycles "
            f"({self.network.delays} delays), memory {self.memory.latency} cycles"
        )


def load_description(path: str | FilePath) -> SystemDescription:
    """Read a file. Raises DescriptionError, also when the file cannot be read."""
    try:
        with FilePath(path).open("rb") as stream:  # may be a device that never ends
            content = stream.read(MAX_TEXT_BYTES + 1)
    except OSError as slip:
        reason = slip.strerror or str(slip)
        raise DescriptionError(str(path), 0, "", None, f"cannot be read: {reason}") from None
    if len(content) > MAX_TEXT_BYTES:
        raise DescriptionError(str(path), 0, "", None, f"larger than {MAX_TEXT_BYTES} bytes")
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as slip:
        line = content.count(b"\n", 0, slip.start) + 1
        message = f"not UTF-8 text: byte 0x{content[slip.start]:02x}"
        raise DescriptionError(str(path), line, "", None, message) from None
    return SystemDescription.from_toml(text.replace("\r\n", "\n"), str(path))


def parse_assignment(text: str) -> tuple[str, object]:
    """``machine.TCP.count=4`` as a path and a TOML value; a bare word is a string."""
    name, equals, value = text.partition("=")
    name = name.strip()
    if not equals or not name:
        raise DescriptionError(f"--set {text}", 0, "", None, "expected path=value")
    try:
        return name, tomllib.loads(f"v = {value.strip()}")["v"]
    except (ValueError, RecursionError):
        return name, value.strip()


# ------------------------------------------------------------------ from tables


def _read_system(table: Table) -> SystemDescription:
    given = SystemDescription()
    protocol = table.string("protocol")
    line_size = table.integer("line_size", 16, 256, power_of_two=True)
    network = table.table("network")
    memory = table.table("memory")
    system = SystemDescription(
        protocol=protocol,
        line_size=line_size or given.line_size,
        network=NetworkDescription(
            latency=_or(network.integer("latency", 1, MAX_LATENCY), given.network.latency),
            delays=network.string("delays", DELAYS) or given.network.delays,
        ),
        memory=MemoryDescription(
            latency=_or(memory.integer("latency", 1, MAX_LATENCY), given.memory.latency)
        ),
        machines={name: _read_machine(t) for name, t in table.tables("machine").items()},
        requesters={name: _read_requester(t) for name, t in table.tables("requester").items()},
        agents={name: _read_agents(t) for name, t in table.tables("agents").items()},
        handovers=_read_handovers(table),
        origin=table.origin,
    )
    for finished in (network, memory, table):
        finished.finish()
    return system


def _read_machine(table: Table) -> MachineDescription:
    parameters = table.table("parameters")
    values: dict[str, Scalar] = {}
    for name in parameters.data:
        value = parameters.scalar(name)
        if value is None:  # TOML has no null, but a replay file's header may
            raise parameters.error(name, "expected a value")
        values[name] = value
    machine = MachineDescription(
        count=table.integer("count", 0, MAX_COUNT),
        interleaved=table.boolean("interleaved"),
        parameters=values,
        caches={name: _read_cache(t) for name, t in table.tables("cache").items()},
        buffers={name: _read_buffer(t) for name, t in table.tables("buffer").items()},
    )
    table.finish()
    return machine


def _read_cache(table: Table) -> CacheDescription:
    given = CacheDescription()
    cache = CacheDescription(
        sets=_or(table.integer("sets", 1, MAX_ENTRIES, power_of_two=True), given.sets),
        ways=_or(table.integer("ways", 1, 1 << 10), given.ways),
        replacement=table.string("replacement", REPLACEMENTS) or given.replacement,
        start_index_bit=table.integer("start_index_bit", 0, 48),
        tag_latency=_or(table.integer("tag_latency", 0, MAX_LATENCY), given.tag_latency),
        data_latency=_or(table.integer("data_latency", 0, MAX_LATENCY), given.data_latency),
        resource_stalls=table.boolean("resource_stalls") or False,
        tag_banks=_or(table.integer("tag_banks", 1, 1 << 10), given.tag_banks),
        data_banks=_or(table.integer("data_banks", 1, 1 << 10), given.data_banks),
        atomic_alus=_or(table.integer("atomic_alus", 1, 1 << 16), given.atomic_alus),
        atomic_latency=_or(table.integer("atomic_latency", 0, MAX_LATENCY), given.atomic_latency),
    )
    table.finish()
    if cache.sets * cache.ways > MAX_ENTRIES:
        raise table.error("sets", f"sets * ways is more than {MAX_ENTRIES} lines")
    if cache.replacement == "tree_plru" and cache.ways & (cache.ways - 1):
        raise table.error("ways", "tree_plru needs a power of two; lru takes any number")
    return cache


def _read_buffer(table: Table) -> BufferDescription:
    randomized = table.boolean("randomized")
    buffer = BufferDescription(
        ordered=table.boolean("ordered") or False,
        capacity=_or(table.integer("capacity", 0, MAX_ENTRIES), 0),
        latency=table.integer("latency", 1, MAX_LATENCY),
        randomized=True if randomized is None else randomized,
        joined=table.string("joined"),
    )
    table.finish()
    if buffer.joined is not None and buffer.joined.count(".") != 1:
        raise table.error("joined", "expected machine.buffer")
    return buffer


def _read_requester(table: Table) -> RequesterDescription:
    machine = table.string("machine")
    if machine is None:
        raise table.error("machine", "required: the machine this requester drives")
    requester = RequesterDescription(
        machine=machine,
        parameter=table.string("parameter"),
        class_name=table.string("class", REQUESTER_CLASSES),
        queue=table.string("queue"),
        caches=table.strings("caches"),
        walk=table.boolean("walk"),
        invalidates=table.string("invalidates"),
        context=table.integer("context", 0, 1 << 16),
        fetch=table.boolean("fetch") or False,
        tokens=table.integer("tokens", 1, 1 << 16),
        outstanding=table.integer("outstanding", 1, 1 << 16),
        coalesces_per_cycle=_or(table.integer("coalesces_per_cycle", 1, 1 << 10), 1),
        one_request_per_lane=table.boolean("one_request_per_lane") or False,
    )
    table.finish()
    return requester


def _read_agents(table: Table) -> AgentsDescription:
    requester = table.string("requester")
    if requester is None:
        raise table.error("requester", "required: the requester these agents use")
    agents = AgentsDescription(
        requester=requester,
        kind=table.string("kind", AGENT_KINDS),
        wavefronts=_or(table.integer("wavefronts", 1, MAX_WAVEFRONTS), 1),
        lanes=table.integer("lanes", 1, MAX_LANES),
    )
    table.finish()
    return agents


def _read_handovers(table: Table) -> tuple[HandoverDescription, ...]:
    items = table.take("handover")
    if items is None:
        return ()
    if not isinstance(items, list | tuple) or len(items) > 256:
        raise table.error("handover", "expected at most 256 tables [[handover]]")
    read = []
    for position, item in enumerate(items):
        row = Table(item, (*table.path, "handover", position), table.origin)
        giver, taker = row.string("giver"), row.string("taker")
        if giver is None or taker is None:
            raise row.error("taker" if giver else "giver", "required: a group of agents")
        given = HandoverDescription(giver, taker)
        allowed = row.boolean("allowed")
        giver_steps = row.strings("giver_steps", GIVER_STEPS)
        taker_steps = row.strings("taker_steps", TAKER_STEPS)
        read.append(
            HandoverDescription(
                giver=giver,
                taker=taker,
                scope=row.string("scope") or "",
                allowed=True if allowed is None else allowed,
                giver_steps=given.giver_steps if giver_steps is None else giver_steps,
                taker_steps=given.taker_steps if taker_steps is None else taker_steps,
            )
        )
        row.finish()
    return tuple(read)


# ------------------------------------------------------------------ to plain values

_RENAMED = {"class_name": "class"}


def _plain(value: object) -> dict[str, object]:
    """The fields that differ from nothing: None is left out, tuples become lists."""
    data: dict[str, object] = {}
    for item in fields(value):  # type: ignore[arg-type]
        content = getattr(value, item.name)
        if content is not None:
            plain = list(content) if isinstance(content, tuple) else content
            data[_RENAMED.get(item.name, item.name)] = plain
    return data


def _plain_machine(machine: MachineDescription) -> dict[str, object]:
    data: dict[str, object] = {}
    if machine.count is not None:
        data["count"] = machine.count
    if machine.interleaved is not None:
        data["interleaved"] = machine.interleaved
    if machine.parameters:
        data["parameters"] = dict(machine.parameters)
    if machine.caches:
        data["cache"] = {name: _plain(cache) for name, cache in machine.caches.items()}
    if machine.buffers:
        data["buffer"] = {name: _plain(buffer) for name, buffer in machine.buffers.items()}
    return data


def _or(value: int | None, default: int) -> int:
    return default if value is None else value


def _split(name: str) -> Path:
    return tuple(int(part) if part.isdigit() else part for part in name.split("."))


def _assign(data: object, path: Path, value: object, origin: Origin) -> None:
    """Set ``path`` in nested plain values, making tables on the way."""
    for depth, part in enumerate(path[:-1]):
        if isinstance(data, dict) and isinstance(part, str):
            data = data.setdefault(part, {})
        elif isinstance(data, list) and isinstance(part, int) and part < len(data):
            data = data[part]
        else:
            raise origin.error(path, value, f"{dotted(path[:depth])} is not a table")
    last = path[-1]
    if isinstance(data, dict) and isinstance(last, str):
        data[last] = value
    else:
        raise origin.error(path, value, f"{dotted(path[:-1])} has no field {last}")
