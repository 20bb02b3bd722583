"""Fields of entries and records that an invariant may ask for, by number.

Invariant: numbers are places in the list, and the list has the fields in the order of the text.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from slicc import ir
from slicc.codegen.cpp.names import ProtocolNames
from slicc.text.lazy_dataclass import dataclass

_NUMBERS = (ir.ScalarKind.INT, ir.ScalarKind.UINT32, ir.ScalarKind.UINT64)
_SETS = {"NetDest": "{}.w[0]", "MachineID": "machine_in_set(x, {})"}
_STORAGE = {ir.StructKind.ENTRY: "entry", ir.StructKind.TBE: "tbe"}


@dataclass(frozen=True, slots=True)
class Stored:
    """Where a field stands. ``kind``: of the structure, if there are several; ``value``: the field
    of ``self`` as a word."""

    full: str
    kind: int | None
    value: str


@dataclass(frozen=True, slots=True)
class LineField:
    """``sort``: "number", "set" or "member" (of ``members``); "other": it cannot be asked for."""

    machine: int
    storage: str
    name: str
    sort: str
    members: tuple[str, ...]
    stored: tuple[Stored, ...]


def line_fields(
    protocol: ir.Protocol, names: ProtocolNames, kinds: Mapping[ir.TypeRef, int]
) -> tuple[LineField, ...]:
    """``kinds``: numbers of structures, where a machine has several."""
    members = {
        each.ref: tuple(member.name for member in each.members) for each in _enumerations(protocol)
    }
    return tuple(
        field
        for number, machine in enumerate(protocol.machines)
        for kind in _STORAGE
        for field in _of_storage(protocol, names, kinds, members, number, machine, kind)
    )


def _enumerations(protocol: ir.Protocol) -> Iterable[ir.Enum_]:
    yield from protocol.enums
    for machine in protocol.machines:
        yield from (machine.states, machine.events, *machine.enums)


def _of_storage(
    protocol: ir.Protocol,
    names: ProtocolNames,
    kinds: Mapping[ir.TypeRef, int],
    members: Mapping[ir.TypeRef, tuple[str, ...]],
    number: int,
    machine: ir.Machine,
    kind: ir.StructKind,
) -> Iterable[LineField]:
    """Fields of one name in several structures are one field, if they are of one type."""
    found: dict[tuple[str, ir.Type], list[Stored]] = {}
    for struct in (*protocol.structs, *machine.structs):
        if struct.kind is not kind or struct.library:
            continue
        scope = "" if struct.ref.machine is None else f"{names.machines[struct.ref.machine]}::"
        full = f"protocol::{scope}{names.type(struct.ref)}"
        for each in struct.fields:
            value = _value(each.type).format(f"self.{names.field(struct.ref, each.name)}")
            stored = Stored(full, kinds.get(struct.ref), value)
            found.setdefault((each.name, each.type), []).append(stored)
    for (name, type_), places in found.items():
        known = members.get(type_.ref, ()) if isinstance(type_, ir.EnumType) else ()
        sort = "member" if known else _sort(type_)
        yield LineField(number, _STORAGE[kind], name, sort, _words(type_, known), tuple(places))


def _words(type_: ir.Type, members: tuple[str, ...]) -> tuple[str, ...]:
    flag = isinstance(type_, ir.ScalarType) and type_.kind is ir.ScalarKind.BOOL
    return ("false", "true") if flag else members


def _sort(type_: ir.Type) -> str:
    match type_:
        case ir.ScalarType(kind=ir.ScalarKind.BOOL):
            return "member"
        case ir.ScalarType(kind=kind) if kind in _NUMBERS:
            return "number"
        case ir.ClassType(name=name) if name in _SETS:
            return "set"
        case _:
            return "other"


def _value(type_: ir.Type) -> str:
    """The field in braces, as a word: negative numbers as their complement."""
    if isinstance(type_, ir.ClassType):
        return _SETS.get(type_.name, "")
    return "static_cast<u64>(static_cast<i64>({}))"
