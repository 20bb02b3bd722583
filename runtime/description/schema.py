"""A system as a value: how many of each machine, how large, how connected, and who drives it.

The same description builds every engine. It is read from TOML, completed from what the compiled
protocol declares (``runtime.description.inference``), changed by command-line options, and stored
whole in replay files. ``docs/system.md`` is the format's manual.

Invariant: a description that exists is within bounds; what it does not say is None until
``complete`` fills it in. Descriptions compare by contents; where they were written is left out.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path as FilePath

from runtime.bounded_file import read_bounded
from runtime.description.origin import (
    MAX_DEPTH,
    MAX_TEXT_BYTES,
    DescriptionError,
    Origin,
    Path,
    Table,
    dotted,
    parse_toml,
    toml_text,
)
from runtime.description.parts import (
    AgentsDescription,
    DefectDescription,
    HandoverDescription,
    MachineDescription,
    MemoryDescription,
    NetworkDescription,
    RequesterDescription,
)
from runtime.description.reader import (
    DELAYS,
    MAX_LATENCY,
    or_default,
    plain,
    plain_defect,
    plain_machine,
    read_agents,
    read_defects,
    read_handovers,
    read_machine,
    read_requester,
)


@dataclass(frozen=True, slots=True)
class SystemDescription:
    """A whole system. Sizes in bytes, latencies in cycles (a tick is a cycle)."""

    protocol: str | None = None
    line_size: int = 64
    values: bool = True
    """Whether loads return what was stored; else completions alone mean something."""
    network: NetworkDescription = field(default_factory=NetworkDescription)
    memory: MemoryDescription = field(default_factory=MemoryDescription)
    machines: Mapping[str, MachineDescription] = field(default_factory=dict)
    requesters: Mapping[str, RequesterDescription] = field(default_factory=dict)
    agents: Mapping[str, AgentsDescription] = field(default_factory=dict)
    handovers: tuple[HandoverDescription, ...] = ()
    defects: tuple[DefectDescription, ...] = ()
    gpu: Mapping[str, object] = field(default_factory=dict)
    """The table of that name, as written: it is not about memory, and who models compute units
    reads it."""
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
        if not self.values:
            data["values"] = False
        data["network"] = plain(self.network)
        data["memory"] = plain(self.memory)
        data["machine"] = {name: plain_machine(m) for name, m in self.machines.items()}
        data["requester"] = {name: plain(r) for name, r in self.requesters.items()}
        data["agents"] = {name: plain(a) for name, a in self.agents.items()}
        data["handover"] = [plain(h) for h in self.handovers]
        data["defect"] = [plain_defect(defect) for defect in self.defects]
        data["gpu"] = copied(self.gpu)
        return {key: value for key, value in data.items() if value not in ({}, [])}

    def groups_of(self, machine: str) -> list[str]:
        """The groups of a completed description that hold instances of a machine, in order."""
        return [name for name, group in self.machines.items() if (group.of or name) == machine]

    def instances_of(self, machine: str) -> list[tuple[str, int]]:
        """Group and place in it of every instance of a machine, by instance number."""
        return [
            (name, place)
            for name in self.groups_of(machine)
            for place in range(self.machines[name].count or 0)
        ]

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
        content = read_bounded(path, MAX_TEXT_BYTES)
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
    values = table.boolean("values")
    network = table.table("network")
    memory = table.table("memory")
    gpu = table.table("gpu").data
    if _is_deeper(gpu, MAX_DEPTH):
        raise table.origin.error(("gpu",), None, "nested too deeply")
    system = SystemDescription(
        protocol=protocol,
        line_size=line_size or given.line_size,
        values=values is not False,
        network=NetworkDescription(
            latency=or_default(network.integer("latency", 1, MAX_LATENCY), given.network.latency),
            delays=network.string("delays", DELAYS) or given.network.delays,
            ordered=network.boolean("ordered") or False,
        ),
        memory=MemoryDescription(
            latency=or_default(memory.integer("latency", 1, MAX_LATENCY), given.memory.latency)
        ),
        machines={name: read_machine(t) for name, t in table.tables("machine").items()},
        requesters={name: read_requester(t) for name, t in table.tables("requester").items()},
        agents={name: read_agents(t) for name, t in table.tables("agents").items()},
        handovers=read_handovers(table),
        defects=read_defects(table),
        gpu=copied(gpu),
        origin=table.origin,
    )
    for finished in (network, memory, table):
        finished.finish()
    return system


def _is_deeper(value: object, levels: int) -> bool:
    """Whether tables are nested in more levels."""
    if not isinstance(value, Mapping):
        return False
    return not levels or any(_is_deeper(inner, levels - 1) for inner in value.values())


def copied(table: Mapping[str, object]) -> dict[str, object]:
    """A table of plain values, with tables of its own."""
    return {
        key: copied(value) if isinstance(value, Mapping) else value for key, value in table.items()
    }


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
