"""Functions that write and read every field of a protocol's values, for exploration.

One function a structure serves both directions: what a coder writes, its counterpart reads back, so
that a state is exactly what its code says. Invariant: a field is coded or its name stands among
the refusals; nothing is left out silently.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import field

from slicc import ir
from slicc.codegen import body_analysis
from slicc.codegen.cpp.emit.scope import Scope
from slicc.codegen.cpp.exploration.decisions import Decisions, decisions, structures_with_data
from slicc.codegen.cpp.exploration.line_fields import LineField, line_fields
from slicc.codegen.cpp.exploration.spent import SpentView, spent_views
from slicc.codegen.cpp.exploration.times import Place, Times, measured_times
from slicc.codegen.cpp.names import MachineNames, ProtocolNames
from slicc.codegen.time_expressions import compares_times
from slicc.text.lazy_dataclass import dataclass

_INTEGERS = {
    ir.ScalarKind.INT: "integer",
    ir.ScalarKind.UINT32: "word",
    ir.ScalarKind.UINT64: "word",
    ir.ScalarKind.ADDR: "address",
    ir.ScalarKind.NODE_ID: "word",
    ir.ScalarKind.REQUESTOR_ID: "word",
    ir.ScalarKind.BOOL: "flag",
}
_NUMBERED = (ir.ScalarKind.NODE_ID, ir.ScalarKind.REQUESTOR_ID)
"""Numbers of controllers: they mean others once controllers change places."""
_BY_NUMBER = frozenset(
    {
        "IDToInt",
        "clusterID",
        "createMachineID",
        "findSmallest",
        "intToID",
        "machineIDToNodeID",
        "smallestElement",
        "smallestElement_of",
        "typeOfSmallest",
        "version",
    }
)
"""What a body asks for when it treats controllers of a machine differently by their numbers."""
_VALUES = {
    "MachineID": "machine",
    "NetDest": "nodes",
    "DataBlock": "block",
    "WriteMask": "mask",
    "RequestPtr": "word",
}
_OBJECTS = frozenset(
    {
        "CacheMemory",
        "DirectoryMemory",
        "DMASequencer",
        "GPUCoalescer",
        "HTMSequencer",
        "MN_TBETable",
        "MessageBuffer",
        "PerfectCacheMemory",
        "Sequencer",
        "TBETable",
        "TimerTable",
        "VIPERCoalescer",
    }
)
"""Objects whose state the runtime's own coders know."""
_CODED = {
    "ExpectedMap": "code_expected",
    "PersistentTable": "code_persistent",
    "TBEStorage": "code_slots_of",
}
_QUEUES = {"TriggerQueue": "code_queue", "MN_TBEStorage": "code_parted_slots"}
"""Values with items of a type of the protocol."""
_PREFETCHERS = ("RubyPrefetcher", "prefetch::Base")
_PREFETCHING = "RubyPrefetcherProxy"
"""An object that hands on what its machine asks of such a prefetcher."""


@dataclass(slots=True)
class Refusals:
    """What cannot be explored, or only with care, of one machine or of what all share.

    ``unknown``: what cannot be coded, so that a system with it cannot be explored. ``numbered``:
    what means another controller when controllers change places. ``addressed``: what tells lines
    apart by their addresses, and ``ranges``: parameters that do so where they are not 0.
    ``asserted``: where data are asserted to be equal, so that states have to keep them apart.
    ``prefetchers``: those of machines whose parameters say whether they are used. ``times``: what
    is left out, as it only measures. ``mixed``: buffers to which messages are sent with several
    latencies. ``timed``: machines, and structures with methods, that assert something of times,
    which is not judged.
    """

    unknown: list[str] = field(default_factory=list)
    numbered: list[str] = field(default_factory=list)
    addressed: list[str] = field(default_factory=list)
    ranges: list[str] = field(default_factory=list)
    asserted: list[str] = field(default_factory=list)
    prefetchers: list[str] = field(default_factory=list)
    times: list[str] = field(default_factory=list)
    mixed: list[str] = field(default_factory=list)
    timed: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class CodedStruct:
    """``statements``: a call for each field, on ``code`` and ``self``."""

    full: str
    statements: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EncodingView:
    """What the template prints. ``objects``: of each machine, its values that are no parameters."""

    protocol: str
    structs: tuple[CodedStruct, ...]
    machines: tuple[CodedStruct, ...]
    refusals: Mapping[str, Refusals]
    """By machine; under an empty name, those of what all share."""
    spent: tuple[SpentView, ...]
    states: tuple[str, ...]
    """By machine: the call that says in which state a line is, or nothing."""
    fields: tuple[LineField, ...]


def encoding(
    protocol: ir.Protocol,
    names: ProtocolNames,
    scopes: Sequence[Scope],
    kinds: Mapping[ir.TypeRef, int],
) -> EncodingView:
    """The coders of a protocol. ``scopes``: what names mean in each of its machines; ``kinds``:
    numbers of structures of entries and records, where a machine has several."""
    refusals = {"": Refusals(), **{each.name: Refusals() for each in protocol.machines}}
    times = measured_times(protocol)
    structs: list[CodedStruct] = []
    machine_structs = [each for machine in protocol.machines for each in machine.structs]
    every = (*protocol.structs, *machine_structs)
    for struct in every:
        if not struct.library:
            where = struct.ref.name
            noted = refusals[struct.ref.machine or ""]
            statements = [
                _field(
                    names,
                    each.type,
                    names.field(struct.ref, each.name),
                    (struct.ref, each.name),
                    f"{where}.{each.name}",
                    times,
                    noted,
                )
                for each in struct.fields
            ]
            structs.append(CodedStruct(_full(names, struct.ref), _present(statements)))
            if _asserts_times(struct.methods):
                noted.timed.append(where)
    objects = [
        _machine(machine, names, scope.machine.names, times, refusals[machine.name])
        for machine, scope in zip(protocol.machines, scopes, strict=True)
    ]
    with_data = structures_with_data(every)
    shared = [each for each in protocol.structs if not each.library]
    _decided("", decisions(shared, with_data), refusals[""])
    for machine in protocol.machines:
        _bodies(machine, refusals[machine.name])
        made = decisions([machine], with_data, machine.parameters)
        _decided(machine.name, made, refusals[machine.name])
    spent = tuple(spent_views(protocol, scopes))
    states = tuple(
        _state_call(machine, scope)
        for machine, scope in zip(protocol.machines, scopes, strict=True)
    )
    fields = line_fields(protocol, names, kinds)
    return EncodingView(
        protocol.name, tuple(structs), tuple(objects), refusals, spent, states, fields
    )


def _state_call(machine: ir.Machine, scope: Scope) -> str:
    """`getState` of the line ``address``, whose storage ``entry`` and ``record`` are."""
    names = scope.names
    space = f"protocol::{names.machines[machine.name]}"
    function = next(each for each in machine.functions if each.written_name == "getState")
    arguments = ["x", f"static_cast<{space}::Machine&>(c)"]
    for parameter in function.parameters:
        match parameter.type:
            case ir.PointerType(ref=ref) if ref == machine.entry:
                arguments.append(f"static_cast<{_full(names, ref)}*>(entry)")
            case ir.PointerType(ref=ref) if ref == machine.tbe:
                arguments.append(f"static_cast<{_full(names, ref)}*>(record)")
            case ir.ScalarType(kind=ir.ScalarKind.ADDR):
                arguments.append("address")
            case _:
                return ""
    return f"{space}::{scope.machine.names.functions[function.ref.name]}({', '.join(arguments)})"


def _field(
    names: ProtocolNames,
    type_: ir.Type,
    field: str,
    place: Place,
    where: str,
    times: Times,
    refusals: Refusals,
) -> str:
    """The call that codes a field or an object of a machine; empty for what is no state."""
    if place in times.idle:
        refusals.times.append(where)
        return ""
    if place in times.held:
        return f"code.held(self.{field});"
    return _statement(names, type_, f"self.{field}", where, refusals)


def _machine(
    machine: ir.Machine,
    names: ProtocolNames,
    own: MachineNames,
    times: Times,
    refusals: Refusals,
) -> CodedStruct:
    statements = []
    for parameter in machine.parameters:
        type_ = parameter.type
        if isinstance(type_, ir.ClassType) and type_.name in _PREFETCHERS:
            refusals.prefetchers.append(f"{machine.name}.{parameter.name}")
        elif isinstance(type_, ir.ClassType) and not type_.value and type_.name not in _OBJECTS:
            refusals.unknown.append(f"{machine.name}.{parameter.name} of class {type_.name}")
    for each in machine.objects:
        if isinstance(each.type, ir.ClassType) and each.type.name in (*_OBJECTS, _PREFETCHING):
            continue
        if isinstance(each.type, ir.ScalarType) and each.type.kind is ir.ScalarKind.STRING:
            continue
        where = f"{machine.name}.{each.name}"
        place = (machine.name, each.name)
        object_ = own.objects[each.name]
        statements.append(_field(names, each.type, object_, place, where, times, refusals))
    full = f"protocol::{names.machines[machine.name]}::Machine"
    return CodedStruct(full, _present(statements))


def _bodies(machine: ir.Machine, refusals: Refusals) -> None:
    """What bodies do that no state shows."""
    bodies = (machine.functions, machine.in_ports, machine.actions)
    asked: dict[str, None] = {}
    for node in body_analysis.walk(bodies):
        match node:
            case ir.CallMethod(method=name) | ir.CallBuiltin(name=name) if name in _BY_NUMBER:
                asked[name] = None
            case ir.ControllerValue(field=field) if field.value in _BY_NUMBER:
                asked[field.value] = None
            case _:
                pass
    refusals.numbered += [f"{name} in {machine.name}" for name in asked]
    refusals.mixed += [f"{machine.name}.{buffer}" for buffer in _mixed(machine)]
    if _asserts_times(bodies):
        refusals.timed.append(machine.name)


def _mixed(machine: ir.Machine) -> Iterator[str]:
    """Buffers in which a message may be due before those that were sent before it."""
    buffers = {port.ref: port.buffer for port in machine.out_ports}
    fixed = {each.name for each in machine.parameters}
    latencies: dict[str, set[ir.Expr]] = {}
    for node in body_analysis.walk((machine.functions, machine.in_ports, machine.actions)):
        if isinstance(node, ir.Enqueue):
            latencies.setdefault(buffers[node.port], set()).add(node.latency)
    for buffer, found in latencies.items():
        alike = len(found) == 1 and all(
            isinstance(node, ir.IntConst | ir.Cast)
            or (isinstance(node, ir.MachineObject) and node.name in fixed)
            for node in body_analysis.walk(tuple(found))
        )
        if not alike:
            yield buffer


def _asserts_times(root: object) -> bool:
    return any(
        isinstance(node, ir.Assert) and compares_times(node.condition)
        for node in body_analysis.walk(root)
    )


def _decided(machine: str, made: Decisions, refusals: Refusals) -> None:
    """``machine``: empty for what all share."""
    where = f" in {machine}" if machine else ""
    refusals.addressed += [f"{each}{where}" for each in made.addresses]
    refusals.ranges += [f"{machine}.{each}" for each in made.ranges]
    refusals.asserted += [f"== of data{where}"] if made.asserted else []
    refusals.unknown += [f"{each}{where}, not just asserted" for each in made.compared]


def _present(statements: list[str]) -> tuple[str, ...]:
    return tuple(each for each in statements if each)


def _statement(
    names: ProtocolNames, type_: ir.Type, value: str, where: str, refusals: Refusals
) -> str:
    """The call that codes a value; empty for what is no state, or refused. ``value``: it in C++;
    ``where``: its name for the author."""
    match type_:
        case ir.ScalarType(kind=ir.ScalarKind.STATISTIC):
            return ""
        case ir.ScalarType(kind=kind) if kind in _INTEGERS:
            if kind in _NUMBERED:
                refusals.numbered.append(where)
            return f"code.{_INTEGERS[kind]}({value});"
        case ir.EnumType(ref=ref):
            members = _full(names, ref) if names.defines(ref) else ref.name
            return f"code.member({value}, {members}::NUM);"
        case ir.ClassType(name=class_name) if class_name in _VALUES:
            return f"code.{_VALUES[class_name]}({value});"
        case ir.ClassType(name="Set" | "BoolVec"):
            refusals.numbered.append(where)
            return f"code.flags({value});"
        case ir.StructType(ref=ref) if names.defines(ref):
            return f"code_fields(code, {value});"
        case ir.ClassType(name=class_name) if class_name in _CODED:
            return f"{_CODED[class_name]}(code, {value});"
        case ir.ClassType(name=class_name, element=element) if class_name in _QUEUES and element:
            item = _statement(names, element, "value", where, refusals)
            coded = f"[](auto& code, auto& value) {{ {item} }}"
            return f"{_QUEUES[class_name]}(code, {value}, {coded});" if item else ""
        case ir.ScalarType(kind=kind):
            refusals.unknown.append(f"{where} of type {kind.spelling}")
        case ir.ClassType(name=class_name):
            refusals.unknown.append(f"{where} of class {class_name}")
        case _:
            refusals.unknown.append(where)
    return ""


def _full(names: ProtocolNames, ref: ir.TypeRef) -> str:
    """The name of a type outside of the namespace of the protocol."""
    scope = "" if ref.machine is None else f"{names.machines[ref.machine]}::"
    return f"protocol::{scope}{names.type(ref)}"
