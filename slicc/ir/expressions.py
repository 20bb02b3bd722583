"""Expressions. Every one has a ``type``; order of evaluation is left to right."""

from __future__ import annotations

from enum import Enum

from slicc.ir.nodes import FunctionRef, Node, PortRef
from slicc.ir.types import BOOL, STRING, EnumType, PointerType, Type
from slicc.text.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class IntConst(Node):
    value: int
    type: Type


@dataclass(frozen=True, slots=True)
class BoolConst(Node):
    value: bool
    type: Type = BOOL


@dataclass(frozen=True, slots=True)
class StringConst(Node):
    value: str
    type: Type = STRING


@dataclass(frozen=True, slots=True)
class EnumConst(Node):
    """``member`` may be ``NUM`` (the count) where a declaration has no default."""

    member: str
    type: EnumType


@dataclass(frozen=True, slots=True)
class Null(Node):
    """A null entry or TBE."""

    type: Type


@dataclass(frozen=True, slots=True)
class Local(Node):
    """A local variable, parameter, ``in_msg`` or ``out_msg``.

    A name has one meaning at every place and one type per body; only sibling blocks share names
    (each declares the name anew before it uses it).
    """

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class MachineObject(Node):
    """A parameter or body object of the machine, by the author's name."""

    name: str
    type: Type


class ControllerField(Enum):
    VERSION = "version"
    MACHINE_ID = "machineID"
    CLUSTER_ID = "clusterID"
    RECYCLE_LATENCY = "recycle_latency"
    NUMBER_OF_TBES = "number_of_TBEs"
    TRANSITIONS_PER_CYCLE = "transitions_per_cycle"
    BUFFER_SIZE = "buffer_size"
    MANDATORY_QUEUE_LATENCY = "mandatory_queue_latency"


@dataclass(frozen=True, slots=True)
class ControllerValue(Node):
    """A value of every controller. Only pair text can name others than the first four."""

    field: ControllerField
    type: Type


class TransactionField(Enum):
    ADDRESS = "address"
    TBE = "tbe"
    ENTRY = "cache_entry"


@dataclass(frozen=True, slots=True)
class TransactionValue(Node):
    """``address``, ``tbe`` or ``cache_entry`` inside an action."""

    field: TransactionField
    type: Type


@dataclass(frozen=True, slots=True)
class SelfField(Node):
    """A field of the structure whose method this is, named bare by the author."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class FieldAccess(Node):
    """``receiver.name``; through a pointer when the receiver has a :class:`PointerType`."""

    receiver: Expr
    name: str
    type: Type


class UnaryOperator(Enum):
    NOT = "!"
    NEGATE = "-"
    INCREMENT = "++"


class BinaryOperator(Enum):
    OR = "||"
    AND = "&&"
    EQUAL = "=="
    NOT_EQUAL = "!="
    LESS = "<"
    GREATER = ">"
    LESS_EQUAL = "<="
    GREATER_EQUAL = ">="
    SHIFT_LEFT = "<<"
    SHIFT_RIGHT = ">>"
    ADD = "+"
    SUBTRACT = "-"
    MULTIPLY = "*"
    DIVIDE = "/"
    REMAINDER = "%"


@dataclass(frozen=True, slots=True)
class Unary(Node):
    operator: UnaryOperator
    operand: Expr
    type: Type


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """Arithmetic is modulo 2**bits of ``type``; ``/`` and ``%`` truncate; zero is a verdict.

    ``&&`` and ``||`` do not evaluate the right side when the left decides.
    """

    operator: BinaryOperator
    left: Expr
    right: Expr
    type: Type


@dataclass(frozen=True, slots=True)
class Conditional(Node):
    """``a ? b : c``; only in initialisers written as pair text."""

    condition: Expr
    then: Expr
    orelse: Expr
    type: Type


@dataclass(frozen=True, slots=True)
class CallFunction(Node):
    """A call of a function with a body in the same machine.

    ``type`` is the result; ``by_reference`` when the result is an lvalue (``return_by_ref``).
    """

    function: FunctionRef
    arguments: tuple[Expr, ...]
    type: Type
    by_reference: bool = False


@dataclass(frozen=True, slots=True)
class CallStructMethod(Node):
    """A call of a method with a body in a structure."""

    receiver: Expr
    function: FunctionRef
    arguments: tuple[Expr, ...]
    type: Type


@dataclass(frozen=True, slots=True)
class CallMethod(Node):
    """A call of a method of a runtime class. ``method`` is the name in the runtime.

    ``mutates``: the receiver's value changes (value classes); ``needs_controller``: the runtime
    takes the calling controller as first argument; ``by_reference``: the result is part of the
    receiver, so that storing it elsewhere copies it.
    """

    receiver: Expr
    class_name: str
    method: str
    arguments: tuple[Expr, ...]
    type: Type
    mutates: bool = False
    needs_controller: bool = False
    by_reference: bool = False


class BuiltinHome(Enum):
    """Where the runtime keeps a function."""

    CONTROLLER = "controller"
    LIBRARY = "library"


@dataclass(frozen=True, slots=True)
class CallBuiltin(Node):
    """A call of a function that the runtime offers, by its name there."""

    name: str
    home: BuiltinHome
    arguments: tuple[Expr, ...]
    type: Type


@dataclass(frozen=True, slots=True)
class EnumToString(Node):
    operand: Expr
    type: Type = STRING


@dataclass(frozen=True, slots=True)
class StateToPermission(Node):
    """``M_State_to_permission(s)``: the table of the state declaration."""

    machine: str
    operand: Expr
    type: Type


class PortOperation(Enum):
    """Operations on an in-port, for every class that may back it."""

    IS_READY = "isReady"
    DEQUEUE = "dequeue"
    RECYCLE = "recycle"
    IS_EMPTY = "isEmpty"
    IS_STALL_MAP_EMPTY = "isStallMapEmpty"
    STALL_MAP_SIZE = "getStallMapSize"
    HAS_STALLED = "hasStalledMsg"
    GET_SIZE = "getSize"


@dataclass(frozen=True, slots=True)
class PortCall(Node):
    """An operation on an in-port at the current clock edge.

    The tick argument ``clockEdge()`` of the SLICC text is dropped; ``arguments`` holds the others
    (the latency of ``recycle``, the address of ``hasStalledMsg``).
    """

    port: PortRef
    operation: PortOperation
    arguments: tuple[Expr, ...]
    type: Type


@dataclass(frozen=True, slots=True)
class NewEntry(Node):
    """``new T`` of an entry structure: default fields, owned by the table that it is stored in."""

    type: PointerType


@dataclass(frozen=True, slots=True)
class NewStruct(Node):
    """A default-constructed value (an object or variable without initialiser)."""

    type: Type


@dataclass(frozen=True, slots=True)
class NullTest(Node):
    valid: bool
    operand: Expr
    type: Type = BOOL


@dataclass(frozen=True, slots=True)
class Cast(Node):
    """``static_cast``: the same pointer seen as another entry type, or an integer conversion."""

    operand: Expr
    type: Type


Expr = (
    IntConst
    | BoolConst
    | StringConst
    | EnumConst
    | Null
    | Local
    | MachineObject
    | ControllerValue
    | TransactionValue
    | SelfField
    | FieldAccess
    | Unary
    | Binary
    | Conditional
    | CallFunction
    | CallStructMethod
    | CallMethod
    | CallBuiltin
    | EnumToString
    | StateToPermission
    | PortCall
    | NewEntry
    | NewStruct
    | NullTest
    | Cast
)
