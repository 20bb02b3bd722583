"""A protocol as one unit of C++: prepared views, laid out by templates.

Invariant: the result depends on the IR alone (no clock, no directory, no order of a set), and
everything is in memory: nothing is written here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, replace

from slicc import ir
from slicc.codegen import body_analysis
from slicc.codegen.cpp import reachable_functions
from slicc.codegen.cpp.definitions import (
    Definitions,
    has_destination,
    kind_field,
    line_field,
    size_field,
)
from slicc.codegen.cpp.emit.emitter import placed
from slicc.codegen.cpp.exploration.encoding import EncodingView, encoding
from slicc.codegen.cpp.machine import MachineView, MachineWriter
from slicc.codegen.cpp.mutants.differences import differences
from slicc.codegen.cpp.mutants.machine_mutants import MachineMutants
from slicc.codegen.cpp.names import ProtocolNames
from slicc.codegen.cpp.source_sites import Place, Sites
from slicc.codegen.files import Package as Package
from slicc.codegen.python.names import ProtocolNames as ReportedNames
from slicc.text.data import json_text
from slicc.text.lazy_dataclass import dataclass
from slicc.text.templates import render

SITES = "sites.json"
METADATA = "metadata.json"
_LETTERS = {"TBETable": "T", "MN_TBETable": "T", "TBEStorage": "S", "RubyPrefetcherProxy": "P"}
"""The letter by which the runtime recognises the class of a machine's object."""


@dataclass(frozen=True, slots=True)
class MachineTypes:
    """A machine in the file of types. ``shape``: numbers for the runtime, in its order."""

    name: str
    several_entries: bool
    several_records: bool
    definitions: tuple[str, ...]
    states: tuple[str, ...]
    permissions: tuple[str, ...]
    ports: tuple[str, ...]
    structure: str
    shape: tuple[str, ...]
    waits: bool
    tracks: bool


@dataclass(frozen=True, slots=True)
class _Kind:
    """Expressions for what a message asks and for its size (empty: none). ``members``: what it may
    ask, else its class."""

    field: str
    size: str
    members: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MessageType:
    """A class of messages: name, and expressions for its line and destination (empty: none)."""

    name: str
    full: str
    line: str
    destination: str
    kind: _Kind


@dataclass(frozen=True, slots=True)
class MarkedRecord:
    """A structure of entries or records of a machine. ``kind``: its number if there are several."""

    machine: int
    full: str
    kind: int | None


@dataclass(frozen=True, slots=True)
class InvalidatedEntry:
    """A structure of entries with its own method for aborted transactions."""

    machine: int
    full: str
    kind: int | None
    method: str


@dataclass(frozen=True, slots=True)
class ProtocolView:
    """What the templates of the shared files print."""

    protocol: str
    definitions: tuple[str, ...]
    messages: tuple[MessageType, ...]
    machines: tuple[MachineTypes, ...]
    trigger_bytes: str
    atomic_log: bool
    row_type: str
    bits_type: str
    entries: tuple[MarkedRecord, ...]
    records: tuple[MarkedRecord, ...]
    invalidated: tuple[InvalidatedEntry, ...]
    shared_entries: bool
    mutated: tuple[int, ...]
    """By mutant: the machine that it changes, counted from 1."""


def package(protocol: ir.Protocol, mutants: Sequence[ir.Protocol] = ()) -> Package:
    """Every file of the native form of a protocol. Raises ``Unsupported``.

    ``mutants``: what the object can run instead, numbered from 1; each changes bodies and rows of
    one machine. Raises ``NotAVariant``.
    """
    names = ProtocolNames(protocol)
    reported = ReportedNames(protocol)
    sites = Sites()
    definitions = Definitions(names, sites)
    writers = [MachineWriter(names, reported, sites, protocol, each) for each in protocol.machines]
    machines = tuple(_machine_types(definitions, protocol, writer) for writer in writers)
    views = [writer.view() for writer in writers]
    if mutants:
        changes = differences(protocol, mutants)
        views = [
            replace(view, mutants=MachineMutants(writer, changes.machines[name]).text())
            for view, writer, name in zip(views, writers, changes.machines)
        ]
    bits = max([writer.wait_bits for writer in writers if writer.waits], default=1)
    queues = max((len(writer.waiting) for writer in writers), default=0)
    view = ProtocolView(
        protocol=protocol.name,
        definitions=(
            *[definitions.enumeration(each) for each in protocol.enums if not each.library],
            *[definitions.structure(each) for each in protocol.structs if not each.library],
        ),
        messages=tuple(_messages(names, protocol)),
        machines=machines,
        trigger_bytes=_trigger_bytes(names, protocol),
        atomic_log=protocol.atomic_log,
        row_type=next(f"u{size}" for size in (8, 16, 32, 64, 128) if bits <= size),
        bits_type="u64" if bits <= 64 and queues < 64 else "u128",
        entries=tuple(_marked(definitions, protocol, ir.StructKind.ENTRY)),
        records=tuple(_marked(definitions, protocol, ir.StructKind.TBE)),
        invalidated=tuple(_invalidated(definitions, writers)),
        shared_entries=has_shared_entries(protocol),
        mutated=tuple(place + 1 for place in changes.machine_of) if mutants else (),
    )
    files = {"types.hpp": _render("types.hpp.jinja", view)}
    for machine in views:
        files[f"{machine.name}.hpp"] = _render("machine.hpp.jinja", machine)
    files["protocol.cpp"] = _render("protocol.cpp.jinja", view, machines=views)
    coded = encoding(protocol, names, [writer.scope for writer in writers], definitions.kinds)
    files["encoding.hpp"] = _render("encoding.hpp.jinja", view, coded=coded)
    files = {name: placed(text, name) for name, text in files.items()}
    files[SITES] = _rows([("", 0, None), *sites.places])
    files[METADATA] = _metadata(protocol, sites, writers, view.messages, coded)
    return Package(reported.package, files)


def generate(protocol: ir.Protocol) -> dict[str, str]:
    """The files alone."""
    return package(protocol).files


# ------------------------------------------------------------------ types


def _structs_of(protocol: ir.Protocol, machine: ir.Machine, kind: ir.StructKind) -> list[ir.Struct]:
    """Structures of a kind that objects of the machine may be of."""
    return [
        each
        for each in (*protocol.structs, *machine.structs)
        if each.kind is kind and not each.library
    ]


def has_shared_entries(protocol: ir.Protocol) -> bool:
    """Whether entries are declared outside machines: every machine then numbers its own, too."""
    return any(each.kind is ir.StructKind.ENTRY and not each.library for each in protocol.structs)


def _machine_types(
    definitions: Definitions, protocol: ir.Protocol, writer: MachineWriter
) -> MachineTypes:
    machine, names = writer.machine, writer.names
    entries = _structs_of(protocol, machine, ir.StructKind.ENTRY)
    records = _structs_of(protocol, machine, ir.StructKind.TBE)
    shared = has_shared_entries(protocol)
    for alike, numbered in ((entries, shared), (records, False)):
        if numbered or len(alike) > 1:
            definitions.kinds |= {each.ref: number for number, each in enumerate(alike)}
    name = names.machines[machine.name]
    enums = [machine.states, machine.events, *machine.enums]
    if machine.request_types is not None:
        enums.append(machine.request_types)
    own = {each.ref: each for each in enums if each.ref.machine == machine.name}
    types = [each.type for each in machine.parameters] + [each.type for each in machine.objects]
    classes = [each.name for each in types if isinstance(each, ir.ClassType)]
    shape = (
        f"sizeof(protocol::{name}::Machine)",
        _largest(entries, names),
        _largest(records, names),
        str(classes.count("TBETable") + classes.count("MN_TBETable")),
        str(classes.count("DirectoryMemory")),
        str(classes.count("PerfectCacheMemory")),
        str(classes.count("TimerTable")),
        str(classes.count("PersistentTable")),
        str(classes.count("RubyPrefetcher")),
        str(len(machine.states.members)),
        str(len(machine.events.members)),
        f'"{"".join(_LETTERS.get(_class(each.type), ".") for each in machine.objects)}"',
    )
    return MachineTypes(
        name=name,
        several_entries=len(entries) > 1 and not shared,
        several_records=len(records) > 1,
        definitions=(
            *[definitions.enumeration(each) for each in own.values()],
            *[definitions.structure(each) for each in machine.structs if not each.library],
        ),
        states=tuple(each.name for each in machine.states.members),
        permissions=tuple(
            f"AccessPermission::{(each.permission or ir.AccessPermission.NOT_PRESENT).value},"
            f"  // {names.member(machine.states.ref, each.name)}"
            for each in machine.states.members
        ),
        ports=tuple(writer.own.polls[port.ref.name] for port in machine.in_ports),
        structure=writer.structure(),
        shape=shape,
        waits=writer.waits,
        tracks=writer.tracks,
    )


def _class(type_: ir.Type) -> str:
    return type_.name if isinstance(type_, ir.ClassType) else ""


def _trigger_bytes(names: ProtocolNames, protocol: ir.Protocol) -> str:
    """The size of an item of any queue of events; 0 where there is none."""
    found: dict[str, None] = {}
    machines = (protocol.structs, *[(m.structs, m.objects) for m in protocol.machines])
    for node in body_analysis.walk(machines):
        if isinstance(node, ir.Field | ir.Object) and isinstance(node.type, ir.ClassType):
            match node.type:
                case ir.ClassType(
                    name="TriggerQueue" | "MN_TBEStorage", element=ir.StructType(ref=ref)
                ):
                    found[_full(names, ref)] = None
                case ir.ClassType(name="TriggerQueue"):
                    found["i32"] = None
                case _:
                    pass
    sizes = [f"sizeof(TriggerItem<{name}>)" for name in found]
    return f"largest({', '.join(sizes)})" if sizes else "0"


def _full(names: ProtocolNames, ref: ir.TypeRef) -> str:
    """The name of a type outside of the namespace of the protocol."""
    scope = "" if ref.machine is None else f"{names.machines[ref.machine]}::"
    return f"protocol::{scope}{names.type(ref)}"


def _largest(structs: list[ir.Struct], names: ProtocolNames) -> str:
    """The size of the largest of these structures; 0 where there is none."""
    sizes = [f"sizeof({_full(names, each.ref)})" for each in structs]
    return f"largest({', '.join(sizes)})" if sizes else "0"


def _messages(names: ProtocolNames, protocol: ir.Protocol) -> Iterable[MessageType]:
    machine_structs = [each for machine in protocol.machines for each in machine.structs]
    for struct in (*protocol.structs, *machine_structs):
        if struct.kind is not ir.StructKind.MESSAGE or struct.library:
            continue
        line = line_field(struct)
        yield MessageType(
            name=names.number(struct.ref),
            full=_full(names, struct.ref),
            line="" if line is None else names.field(struct.ref, line),
            destination=names.field(struct.ref, "Destination") if has_destination(struct) else "",
            kind=_kind(names, protocol, struct),
        )


def _kind(names: ProtocolNames, protocol: ir.Protocol, struct: ir.Struct) -> _Kind:
    """What statistics tell the messages of a class apart by."""
    kind, size = kind_field(struct), size_field(struct)
    members: tuple[str, ...] = ()
    if kind is not None and isinstance(kind.type, ir.EnumType):
        enums = (each for each in _enums(protocol) if each.ref == kind.type.ref)
        members = tuple(member.name for each in enums for member in each.members)
    return _Kind(
        names.field(struct.ref, kind.name) if kind is not None and members else "",
        names.field(struct.ref, size.name) if size is not None else "",
        members or (struct.ref.name,),
    )


def _enums(protocol: ir.Protocol) -> Iterator[ir.Enum_]:
    yield from protocol.enums
    for machine in protocol.machines:
        yield from machine.enums


def _marked(
    definitions: Definitions, protocol: ir.Protocol, kind: ir.StructKind
) -> Iterable[MarkedRecord]:
    for number, machine in enumerate(protocol.machines):
        for struct in _structs_of(protocol, machine, kind):
            full = _full(definitions.names, struct.ref)
            yield MarkedRecord(number, full, definitions.kinds.get(struct.ref))


def _invalidated(
    definitions: Definitions, writers: list[MachineWriter]
) -> Iterable[InvalidatedEntry]:
    for number, writer in enumerate(writers):
        machine = writer.names.machines[writer.machine.name]
        for function in writer.functions:
            owner = function.ref.owner
            if owner is not None and function.written_name == reachable_functions.INVALIDATE:
                ref = ir.TypeRef(function.ref.machine, owner)
                method = f"protocol::{machine}::{writer.own.methods[function.ref]}"
                kind = definitions.kinds.get(ref)
                yield InvalidatedEntry(number, _full(definitions.names, ref), kind, method)


# ------------------------------------------------------------------ tables for the host


def _rows(rows: list[Place]) -> str:
    """A list with a row on each line, so that a difference shows which one changed."""
    return "[\n" + ",\n".join([json_text(row) for row in rows]) + "\n]\n"


def _metadata(
    protocol: ir.Protocol,
    sites: Sites,
    writers: list[MachineWriter],
    messages: Sequence[MessageType],
    coded: EncodingView,
) -> str:
    """``kinds``: of each class of messages, what they ask, or the class.
    ``required``: objects that a system must give a machine to be run by this engine.
    ``refusals``: what exploration refuses or leaves out, by machine. ``spent``: events of messages
    that it need not deliver. ``fields``: of entries and records, that invariants may ask for."""
    machines = [
        {
            "name": writer.machine.name,
            "states": [each.name for each in writer.machine.states.members],
            "events": [each.name for each in writer.machine.events.members],
            "required": writer.required,
        }
        for writer in writers
    ]
    data = {
        "protocol": protocol.name,
        "actions": [None, *sites.actions],
        "machines": machines,
        "messages": [each.name for each in messages],
        "kinds": [each.kind.members for each in messages],
        "refusals": {name: asdict(each) for name, each in coded.refusals.items()},
        "spent": [each.event for each in coded.spent],
        "fields": [
            [each.machine, each.storage, each.name, each.sort, each.members]
            for each in coded.fields
        ],
    }
    return json_text(data, indent=1) + "\n"


def _render(
    template: str,
    view: object,
    machines: list[MachineView] | None = None,
    coded: EncodingView | None = None,
) -> str:
    return render("slicc.codegen.cpp", template, view=view, machines=machines or [], coded=coded)
