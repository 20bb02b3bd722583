"""A system as a value: how many of each machine, how large, how connected, and who drives it.

The same description builds every engine. It is read from TOML, completed from what the compiled
protocol declares (``runtime.description.inference``), changed by command-line options, and stored
whole in replay files. ``docs/system.md`` is the format's manual.

Invariant: a description that exists is within bounds; what it does not say is None until
``complete`` fills it in. Descriptions compare by contents; where they were written is left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path as FilePath
from typing import Annotated, Any

from msgspec import Meta, field
from msgspec.structs import replace

from runtime.description.origin import (
    MAX_TEXT_BYTES,
    DescriptionError,
    Origin,
    Path,
    dotted,
    loads,
    parse_toml,
)
from runtime.description.parts import (
    AgentsDescription,
    DefectDescription,
    FieldError,
    HandoverDescription,
    MachineDescription,
    MemoryDescription,
    NetworkDescription,
    Piece,
    RequesterDescription,
    Rows,
    Tables,
    Text,
    VariantDescription,
    doc,
)
from runtime.description.reader import plain, read, shallow
from runtime.files import read_bounded

MAX_DEPTH = 16
"""Levels of tables and lists in a table whose fields are not looked at here."""


class SystemDescription(Piece, frozen=True):
    """A whole system. Sizes in bytes, latencies in cycles (a tick is a cycle)."""

    protocol: Annotated[
        Text | None,
        doc(
            "the `.slicc` or `.sm` file, relative to the description; the command line refuses it "
            "for another one"
        ),
    ] = None
    line_size: Annotated[
        Annotated[int, Meta(ge=16, le=256)], doc("bytes per line, a power of two")
    ] = 64
    values: Annotated[
        bool,
        doc("whether loads return what was stored; false: completions are counted, not judged"),
    ] = True
    network: Annotated[NetworkDescription, doc("how messages travel")] = NetworkDescription()
    memory: Annotated[MemoryDescription, doc("memory behind the directories")] = MemoryDescription()
    machines: Annotated[Tables[MachineDescription], doc("groups of instances of a machine")] = (
        field(default_factory=dict, name="machine")
    )
    requesters: Annotated[
        Tables[RequesterDescription], doc("one requester on every instance of `machine`")
    ] = field(default_factory=dict, name="requester")
    agents: Annotated[Tables[AgentsDescription], doc("threads on each requester of a group")] = (
        field(default_factory=dict)
    )
    handovers: Annotated[
        Rows[HandoverDescription], doc("what makes bytes of one agent readable by another")
    ] = field(default=(), name="handover")
    variants: Annotated[
        Rows[VariantDescription], doc("what legs draw from to build parts of the system otherwise")
    ] = field(default=(), name="variant")
    defects: Annotated[Rows[DefectDescription], doc("known defects of the protocol")] = field(
        default=(), name="defect"
    )
    gpu: Annotated[
        Mapping[str, Any],
        doc("what [kernels on the model](gpu-memory.md#systems) need of a system besides caches"),
    ] = field(default_factory=dict)
    origin: Origin = field(default_factory=Origin, name="")

    def __post_init__(self) -> None:
        if self.line_size & (self.line_size - 1):
            raise FieldError("line_size", "must be a power of two")
        if _is_deeper(self.gpu, MAX_DEPTH):
            raise FieldError("gpu", "nested too deeply")

    @staticmethod
    def from_toml(text: str, file: str = "system description") -> SystemDescription:
        return _read_system(parse_toml(text, file), Origin(file, text))

    @staticmethod
    def from_dict(
        data: Mapping[str, object], file: str = "system description"
    ) -> SystemDescription:
        """The inverse of :meth:`to_dict`; checks everything again."""
        return _read_system(data, Origin(file))

    def to_dict(self) -> dict[str, Any]:
        """Plain dicts, lists, strings, numbers, in the shape of the TOML. Order has no meaning."""
        data = plain(self)
        data["machine"] = {name: _filled(machine) for name, machine in data["machine"].items()}
        for name in ("variant", "defect"):
            data[name] = [_filled(each) for each in data[name]]
        if self.values:
            del data["values"]
        return _filled(data)

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
        import tomlkit

        return tomlkit.dumps(self.to_dict())

    def override(self, assignments: Mapping[str, object]) -> SystemDescription:
        """A description with fields replaced: ``{"machine.TCP.count": 2}``.

        Errors name the option (``--set machine.TCP.count=0``) in place of a line.
        """
        data = shallow(self)
        opened: dict[Path, Any] = {(): data}
        origin = Origin(self.origin.file, self.origin.text)
        origin.options = dict(self.origin.options)
        for name, value in assignments.items():
            path, place = _split(name)
            origin.options[path] = (name, value)
            table = opened.get(place)
            if table is None:
                table = _opened(opened, place, path, value, origin)
            last = path[-1]
            if not isinstance(table, dict) or not isinstance(last, str):
                raise origin.error(path, value, f"{dotted(place)} has no field {last}")
            table[last] = value
            if path in opened:  # what was opened below it is gone
                opened = {(): data}
        return _read_system(data, origin)

    def summary(self) -> str:
        """A few lines for people: machines, requesters, agents, latencies."""
        machines = ", ".join(
            f"{m.count if m.count is not None else '?'} {name}" for name, m in self.machines.items()
        )
        agents = ", ".join(
            f"{name}: {a.wavefronts} x {a.lanes or 1} lanes per {a.requester}"
            for name, a in self.agents.items()
        )
        network = "bus" if self.network.kind == "bus" else "network"
        return (
            f"{self.protocol or 'protocol not named'}: {machines or 'machines to be inferred'}\n"
            f"agents {agents or 'to be inferred'}\n"
            f"lines of {self.line_size} bytes, {network} {self.network.latency} cycles "
            f"({self.network.delays} delays), memory {self.memory.latency} cycles"
        )


def load_description(path: str | FilePath) -> SystemDescription:
    """Read a file. Raises DescriptionError, also when the file cannot be read."""
    try:
        content = read_bounded(path, MAX_TEXT_BYTES)
    except OSError as error:
        reason = error.strerror or str(error)
        raise DescriptionError(str(path), 0, "", None, f"cannot be read: {reason}") from None
    if len(content) > MAX_TEXT_BYTES:
        raise DescriptionError(str(path), 0, "", None, f"larger than {MAX_TEXT_BYTES} bytes")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        message = f"not UTF-8 text: byte 0x{content[error.start]:02x}"
        raise DescriptionError(str(path), line, "", None, message) from None
    return SystemDescription.from_toml(text.replace("\r\n", "\n"), str(path))


def parse_assignment(text: str) -> tuple[str, object]:
    """``machine.TCP.count=4`` as a path and a TOML value; a bare word is a string."""
    name, equals, value = text.partition("=")
    name = name.strip()
    if not equals or not name:
        raise DescriptionError(f"--set {text}", 0, "", None, "expected path=value")
    try:
        return name, loads(f"v = {value.strip()}")["v"]
    except (ValueError, RecursionError):
        return name, value.strip()


def _read_system(data: Mapping[str, object], origin: Origin) -> SystemDescription:
    return replace(read(SystemDescription, data, origin), origin=origin)


def _is_deeper(value: object, levels: int) -> bool:
    """Whether tables and lists are nested in more levels."""
    if isinstance(value, str | int):  # most are
        return False
    if isinstance(value, Mapping):
        value = list(value.values())
    if not isinstance(value, list):
        return False
    return not levels or any(_is_deeper(inner, levels - 1) for inner in value)


def _filled(data: dict[str, object]) -> dict[str, object]:
    """Without empty tables and lists."""
    return {name: value for name, value in data.items() if value not in ({}, [])}


@lru_cache(1 << 12)
def _split(name: str) -> tuple[Path, Path]:
    """The path of a field, and that of the table around it."""
    path = tuple(int(part) if part.isdigit() else part for part in name.split("."))
    return path, path[:-1]


def _opened(opened: dict[Path, Any], place: Path, path: Path, value: object, origin: Origin) -> Any:
    """The table or list at ``place``, with tables made on the way to it. What leads there is
    opened, and no more: pieces that stay as they are were checked when they were made.
    ``opened``: what was opened before and need not be again. ``path``, ``value``: what for."""
    around = place[:-1]
    data = opened.get(around)
    if data is None:
        data = _opened(opened, around, path, value, origin)
    part = place[-1]
    if isinstance(data, dict) and isinstance(part, str):
        inner = data.get(part, {})
    elif isinstance(data, list) and isinstance(part, int) and part < len(data):
        inner = data[part]
    else:
        raise origin.error(path, value, f"{dotted(around)} is not a table")
    holder: Any = data
    inner = holder[part] = opened[place] = shallow(inner)
    return inner
