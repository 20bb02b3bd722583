"""Declarations: what a protocol consists of."""

from __future__ import annotations

from enum import Enum

from slicc.ir.expressions import Expr
from slicc.ir.nodes import ActionRef, FunctionRef, Node, PortRef, TypeRef
from slicc.ir.statements import Stmt
from slicc.ir.types import Type
from slicc.text.lazy_dataclass import dataclass


class AccessPermission(Enum):
    """Member order is the numbering."""

    READ_ONLY = "Read_Only"
    READ_WRITE = "Read_Write"
    MAYBE_STALE = "Maybe_Stale"
    BACKING_STORE = "Backing_Store"
    BACKING_STORE_BUSY = "Backing_Store_Busy"
    INVALID = "Invalid"
    NOT_PRESENT = "NotPresent"
    BUSY = "Busy"


@dataclass(frozen=True, slots=True)
class EnumMember(Node):
    name: str
    desc: str = ""
    short: str = ""
    permission: AccessPermission | None = None


@dataclass(frozen=True, slots=True)
class Enum_(Node):
    """An enumeration. ``library`` ones are defined by the runtime under the same name."""

    ref: TypeRef
    members: tuple[EnumMember, ...]
    default: str
    desc: str = ""
    library: bool = False


class StructKind(Enum):
    PLAIN = "plain"
    MESSAGE = "message"
    ENTRY = "entry"
    TBE = "tbe"


@dataclass(frozen=True, slots=True)
class Field(Node):
    """``default`` is never absent: the author's, else the type's default value."""

    name: str
    type: Type
    default: Expr
    desc: str = ""


@dataclass(frozen=True, slots=True)
class Struct(Node):
    """``library`` structures (``RubyRequest``, ``MemoryMsg``…) are defined by the runtime."""

    ref: TypeRef
    kind: StructKind
    fields: tuple[Field, ...]
    methods: tuple[Function, ...] = ()
    desc: str = ""
    library: bool = False


@dataclass(frozen=True, slots=True)
class FunctionParameter(Node):
    name: str
    type: Type
    by_reference: bool = False


@dataclass(frozen=True, slots=True)
class Function(Node):
    """``written_name`` is the author's; ``ref.name`` is unique."""

    ref: FunctionRef
    written_name: str
    parameters: tuple[FunctionParameter, ...]
    result: Type
    body: tuple[Stmt, ...]
    by_reference: bool = False
    desc: str = ""


class NetworkDirection(Enum):
    TO = "To"
    FROM = "From"


@dataclass(frozen=True, slots=True)
class NetworkLink:
    direction: NetworkDirection
    virtual_network: int | None
    vnet_type: str | None


@dataclass(frozen=True, slots=True)
class MachineParameter(Node):
    """Declared between ``machine(…) :`` and ``{``. ``default`` None: the system must set it."""

    name: str
    type: Type
    pointer: bool
    default: Expr | None
    network: NetworkLink | None = None
    ordered_hint: bool | None = None
    desc: str = ""


@dataclass(frozen=True, slots=True)
class Object(Node):
    """A body object, built when the controller starts, in declaration order.

    Exactly one of ``arguments`` (constructor arguments of a runtime class) and ``initial``
    (a value) applies: ``initial`` is None for runtime classes held by reference.
    """

    name: str
    type: Type
    arguments: tuple[Expr, ...] = ()
    initial: Expr | None = None
    desc: str = ""


@dataclass(frozen=True, slots=True)
class InPort(Node):
    """``guarded``: the whole body is an ``if (port.isReady(clockEdge()))`` without else."""

    ref: PortRef
    message: Type
    buffer: str
    rank: int
    body: tuple[Stmt, ...]
    guarded: bool
    resource_stall_handler: FunctionRef | None = None
    protocol_stall_handler: FunctionRef | None = None
    desc: str = ""


@dataclass(frozen=True, slots=True)
class OutPort(Node):
    ref: PortRef
    message: TypeRef
    buffer: str
    desc: str = ""


@dataclass(frozen=True, slots=True)
class SlotNeed:
    """``count`` free slots in machine object ``target`` (a buffer or table)."""

    target: str
    count: int


@dataclass(frozen=True, slots=True)
class Action(Node):
    """``needs``: slots that one run may take, over both branches of every ``if`` and all calls."""

    ref: ActionRef
    short: str
    desc: str
    body: tuple[Stmt, ...]
    needs: tuple[SlotNeed, ...] = ()


class NextKind(Enum):
    STAY = "stay"
    STATE = "state"
    COMPUTED = "*"


@dataclass(frozen=True, slots=True)
class NextState:
    kind: NextKind
    state: str | None = None


@dataclass(frozen=True, slots=True)
class Transition(Node):
    """As written: sets not expanded. ``stalls``: one of its actions is ``z_stall``."""

    states: tuple[str, ...]
    events: tuple[str, ...]
    next: NextState
    request_types: tuple[str, ...]
    actions: tuple[ActionRef, ...]
    needs: tuple[SlotNeed, ...]
    stalls: bool = False


@dataclass(frozen=True, slots=True)
class Cell:
    """One (state, event) pair; ``transition`` indexes ``Machine.transitions``."""

    state: str
    event: str
    transition: int


@dataclass(frozen=True, slots=True)
class Machine(Node):
    """One state machine.

    ``tbe``/``entry`` are the implicit types (None: the machine has none), which fix the shape of
    ``trigger``, ``getState``, ``setState`` and ``setAccessPermission``. ``cells`` is sorted by
    state then event in declaration order. ``functions`` is in declaration order (callees first).
    """

    name: str
    title: str
    parameters: tuple[MachineParameter, ...]
    states: Enum_
    events: Enum_
    request_types: Enum_ | None
    enums: tuple[Enum_, ...]
    structs: tuple[Struct, ...]
    tbe: TypeRef | None
    entry: TypeRef | None
    objects: tuple[Object, ...]
    functions: tuple[Function, ...]
    in_ports: tuple[InPort, ...]
    out_ports: tuple[OutPort, ...]
    actions: tuple[Action, ...]
    transitions: tuple[Transition, ...]
    cells: tuple[Cell, ...]
    machine_type: str = ""
    """The machine's member of ``MachineType`` at run time, if it is not the machine's name."""


@dataclass(frozen=True, slots=True)
class Protocol(Node):
    """A whole protocol. ``sources`` are the file names in reading order.

    ``atomic_log``: blocks of data keep what atomic operations replaced; else requesters compute it.
    ``request_flags``: fields that the author's library adds to requests, and requesters may set.
    """

    name: str
    enums: tuple[Enum_, ...]
    structs: tuple[Struct, ...]
    machines: tuple[Machine, ...]
    sources: tuple[str, ...] = ()
    atomic_log: bool = True
    request_flags: tuple[str, ...] = ()
