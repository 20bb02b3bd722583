"""Types of the IR as C++ spells them.

Invariant: types that the block of a system cannot hold (strings, pointers inside of structures,
classes that the native runtime does not have) are refused here, with their place.
"""

from __future__ import annotations

from typing import assert_never

from slicc import ir
from slicc.codegen.cpp.errors import Unsupported
from slicc.codegen.cpp.names import ProtocolNames
from slicc.codegen.cpp.runtime_names import OBJECT_CLASSES, VALUE_CLASSES
from slicc.source import Span
from slicc.text.lazy_dataclass import dataclass

_SCALARS = {
    ir.ScalarKind.INT: "i32",
    ir.ScalarKind.UINT32: "u32",
    ir.ScalarKind.UINT64: "u64",
    ir.ScalarKind.ADDR: "u64",
    ir.ScalarKind.TICK: "u64",
    ir.ScalarKind.CYCLES: "u64",
    ir.ScalarKind.NODE_ID: "u32",
    ir.ScalarKind.REQUESTOR_ID: "u32",
    ir.ScalarKind.STATISTIC: "i64",
    ir.ScalarKind.BOOL: "bool",
}


_OF_ELEMENTS = ("TriggerQueue", "MN_TBEStorage")
"""Classes that are templates in C++, too."""


def is_queue(type_: ir.Type) -> bool:
    """Whether a value has parts that are stored in a pool and change in place."""
    return isinstance(type_, ir.ClassType) and type_.name == "TriggerQueue"


def integer_type(kind: ir.ScalarKind) -> str:
    return _SCALARS[kind]


def wrapping_type(kind: ir.ScalarKind) -> str:
    """The unsigned type of the same width: its arithmetic wraps."""
    return f"u{kind.bits}"


def is_object(type_: ir.Type) -> bool:
    """Whether values are numbers of something in the block."""
    return isinstance(type_, ir.ClassType) and not type_.value


@dataclass(frozen=True, slots=True)
class Types:
    """Spells types."""

    names: ProtocolNames

    def __call__(self, type_: ir.Type, span: Span | None) -> str:
        match type_:
            case ir.ScalarType(kind=ir.ScalarKind.STRING):
                raise Unsupported("strings", span)
            case ir.ScalarType():
                return _SCALARS[type_.kind]
            case ir.EnumType():
                return "i32"
            case ir.StructType():
                return self.names.type(type_.ref)
            case ir.PointerType():
                return f"{self.names.type(type_.ref)}*"
            case ir.ClassType():
                if type_.name in _OF_ELEMENTS and type_.element is not None:
                    return f"{type_.name}<{self(type_.element, span)}>"
                if type_.name in VALUE_CLASSES:
                    return type_.name
                if type_.name in OBJECT_CLASSES:
                    return "u32"
                raise Unsupported(f"class `{type_.name}`", span)
            case ir.VoidType() | ir.UnknownType():
                return "void"
            case _:
                assert_never(type_)

    def field(self, type_: ir.Type, name: str, span: Span) -> str:
        """The type of something that stays in the block from one wake-up to the next."""
        opaque = isinstance(type_, ir.ClassType) and type_.name == "RequestPtr"
        if (isinstance(type_, ir.PointerType) or is_object(type_)) and not opaque:
            raise Unsupported(f"pointers in structures, as in field `{name}`", span)
        return self(type_, span)

    def parameter(self, parameter: ir.FunctionParameter) -> str:
        """What a function takes; values that can be changed in place go by reference."""
        name = self(parameter.type, parameter.span)
        if parameter.by_reference:
            return f"{name}&"
        if self.is_large(parameter.type):
            return f"const {name}&"
        return name

    @staticmethod
    def is_large(type_: ir.Type) -> bool:
        if isinstance(type_, ir.ClassType):
            return type_.value and not type_.immutable
        return isinstance(type_, ir.StructType)
