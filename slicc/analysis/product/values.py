"""Abstract values: what matters for control is kept, data and time are not.

Enumeration members are their names, a MachineID is (machine type, number), NetDest and Set are
frozen sets, records are dictionaries, every block of data is `DATA`, and what is not modelled is
`UNKNOWN`, of which a condition may be true or false. Invariant: ``thaw(freeze(v))`` equals ``v``,
and a frozen value is hashable and holds no dictionary.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final, cast

from slicc import ir

Value = Any
"""One of the above; closures over the IR are typed as the IR is, not again in Python."""
Record = dict[str, Any]
KIND: Final = ""
"""The key of a record under which the name of its structure is kept."""

LINE: Final = 0
"""The address of the line that is looked at."""
OTHER_LINE: Final = 1 << 12
"""The address of a line that wants the frame of `LINE`."""


class _Token:
    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __repr__(self) -> str:
        return self.name

    def __reduce__(self) -> str:
        return self.name.upper()  # the name of the one object of its kind in this module


UNKNOWN: Final = _Token("unknown")
DATA: Final = _Token("data")
NO_MACHINE: Final = ("", 0)

_VALUES: Final[dict[str, Value]] = {
    "DataBlock": DATA,
    "MachineID": NO_MACHINE,
    "NetDest": frozenset(),
    "Set": frozenset(),
}
"""First values of runtime classes; those of others are unknown."""


class Unmodelled(Exception):
    """The text does something that this model has no counterpart for; the step is given up."""


class NullUsed(Exception):
    """A field of an entry or TBE that is not there is used, at ``span``."""

    def __init__(self, span: Any) -> None:
        super().__init__(str(span))
        self.span = span


def freeze(value: Value) -> Value:
    """The value as a hashable one."""
    if isinstance(value, dict):
        # Most fields hold no record: asking here saves a call for each.
        return _Frozen(
            [(key, freeze(each) if type(each) is dict else each) for key, each in value.items()]
        )
    return value


class _Frozen(tuple[tuple[str, Value], ...]):
    """A record, frozen; a class of its own so that a MachineID is not taken for one."""

    __slots__ = ()


def thaw(value: Value) -> Value:
    """A copy of a frozen value that may be changed."""
    if isinstance(value, _Frozen):
        return {key: thaw(each) if type(each) is _Frozen else each for key, each in value}
    return value


def copied(value: Value) -> Value:
    """A value of its own, where assignment copies."""
    if isinstance(value, dict):
        return {key: copied(each) if type(each) is dict else each for key, each in value.items()}
    return value


class Defaults:
    """First values of types and new records of structures."""

    def __init__(self, structs: Iterable[ir.Struct]) -> None:
        self._structs = {struct.ref: struct for struct in structs}
        self._records: dict[ir.TypeRef, Record] = {}

    def of(self, type: ir.Type) -> Value:
        """The value of a variable of this type that was never assigned."""
        match type:
            case ir.ScalarType(ir.ScalarKind.BOOL):
                return False
            case ir.ScalarType(ir.ScalarKind.STRING):
                return ""
            case ir.ScalarType():
                return 0
            case ir.EnumType():
                return "NUM"
            case ir.StructType(ref):
                return self.record(ref)
            case ir.PointerType():
                return None
            case ir.ClassType(name):
                return _VALUES.get(name, UNKNOWN)
            case _:
                return UNKNOWN

    def record(self, ref: ir.TypeRef) -> Record:
        """A new record of a structure, its fields at their defaults."""
        known = self._records.get(ref)
        if known is None:
            known = self._records[ref] = self._record(ref)
        return cast(Record, copied(known))

    def _record(self, ref: ir.TypeRef) -> Record:
        struct = self._structs.get(ref)
        found: Record = {KIND: ref.name}
        if struct is not None:
            for field in struct.fields:
                found[field.name] = self._default(field.default, field.type)
        return found

    def _default(self, default: ir.Expr, type: ir.Type) -> Value:
        match default:
            case ir.IntConst(value) | ir.BoolConst(value) | ir.StringConst(value):
                return value
            case ir.EnumConst(member):
                return member
            case ir.Unary(ir.UnaryOperator.NEGATE, ir.IntConst(value)):
                return -value
            case ir.NewStruct() | ir.Null():
                return self.of(type)
            case _:
                return UNKNOWN


def constant(expression: ir.Expr, defaults: Defaults) -> Value:
    """The value of a default that is written as a constant; else unknown."""
    match expression:
        case ir.IntConst(value) | ir.BoolConst(value) | ir.StringConst(value):
            return value
        case ir.EnumConst(member):
            return member
        case ir.Cast(operand):
            return constant(operand, defaults)
        case ir.NewStruct(type):
            return defaults.of(type)
        case _:
            return UNKNOWN
