"""Types of the IR: closed, structural, compared by value."""

from __future__ import annotations

from enum import Enum

from slicc.ir.nodes import TypeRef
from slicc.text.lazy_dataclass import dataclass


class ScalarKind(Enum):
    """Scalars by meaning. ``bits``/``signed`` give the arithmetic (0 bits: not an integer)."""

    INT = ("int", 32, True)
    UINT32 = ("uint32_t", 32, False)
    UINT64 = ("uint64_t", 64, False)
    ADDR = ("Addr", 64, False)
    TICK = ("Tick", 64, False)
    CYCLES = ("Cycles", 64, False)
    NODE_ID = ("NodeID", 32, False)
    REQUESTOR_ID = ("RequestorID", 32, False)
    STATISTIC = ("Scalar", 64, True)
    BOOL = ("bool", 0, False)
    STRING = ("std::string", 0, False)

    def __init__(self, spelling: str, bits: int, signed: bool) -> None:
        self.spelling = spelling
        self.bits = bits
        self.signed = signed


@dataclass(frozen=True, slots=True)
class ScalarType:
    kind: ScalarKind


@dataclass(frozen=True, slots=True)
class EnumType:
    """Values are small integers from 0 in declaration order."""

    ref: TypeRef


@dataclass(frozen=True, slots=True)
class StructType:
    """A plain structure or message, held by value."""

    ref: TypeRef


@dataclass(frozen=True, slots=True)
class PointerType:
    """A nullable pointer to an entry or TBE structure."""

    ref: TypeRef


@dataclass(frozen=True, slots=True)
class ClassType:
    """A class of the runtime (``DataBlock``, ``CacheMemory``, …).

    ``value`` classes are copied on assignment, the others are references to an object.
    ``immutable`` value classes need no copy. ``element``: the type in ``template=``, else None.
    """

    name: str
    value: bool = False
    immutable: bool = False
    element: Type | None = None


@dataclass(frozen=True, slots=True)
class VoidType:
    pass


@dataclass(frozen=True, slots=True)
class UnknownType:
    """The type of an expression already reported; agrees with every type. Never in verified IR."""


Type = ScalarType | EnumType | StructType | PointerType | ClassType | VoidType | UnknownType

INT = ScalarType(ScalarKind.INT)
BOOL = ScalarType(ScalarKind.BOOL)
STRING = ScalarType(ScalarKind.STRING)
ADDR = ScalarType(ScalarKind.ADDR)
TICK = ScalarType(ScalarKind.TICK)
CYCLES = ScalarType(ScalarKind.CYCLES)
VOID = VoidType()
UNKNOWN = UnknownType()
