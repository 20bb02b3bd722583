"""The typed intermediate representation: what a protocol means, with no question left open.

``slicc.resolve`` makes it, ``slicc.verify`` checks it, every backend reads it. After resolve
nothing is found by comparing strings: names are references, conventions (``trigger``,
``z_stall``, ``network="To"``) are nodes and enums, overloads are chosen, integers have widths,
and it is decided once, here, when a value is copied (:class:`Copying`).

Invariants: nodes are frozen and compare by meaning (positions are left out); declarations are
referred to by small references, never embedded; tuples keep the order that has meaning
(in-ports in polling order, actions in execution order, objects in construction order).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from slicc.source import Span


@dataclass(frozen=True, slots=True)
class Node:
    """Anything that was caused by a place in a source file."""

    span: Span = field(kw_only=True, compare=False, repr=False)


# ------------------------------------------------------------------ references


@dataclass(frozen=True, slots=True)
class TypeRef:
    """A declared type: global when ``machine`` is None."""

    machine: str | None
    name: str


@dataclass(frozen=True, slots=True)
class FunctionRef:
    """A function with a body: of a machine, or a method of a structure (``owner``).

    ``name`` is unique in its scope: overloads carry their parameter types
    (``wakeUp_Addr``), the only one of its name is called as the author called it.
    """

    machine: str | None
    owner: str | None
    name: str


@dataclass(frozen=True, slots=True)
class ActionRef:
    machine: str
    name: str


@dataclass(frozen=True, slots=True)
class PortRef:
    """An in-port or out-port of the machine being compiled."""

    machine: str
    name: str


# ------------------------------------------------------------------ types


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
    ``immutable`` value classes need no copy. ``element`` is what ``template=`` named, else None.
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
    """Of an expression that was already reported; agrees with every type. Never in verified IR."""


Type = ScalarType | EnumType | StructType | PointerType | ClassType | VoidType | UnknownType

INT = ScalarType(ScalarKind.INT)
BOOL = ScalarType(ScalarKind.BOOL)
STRING = ScalarType(ScalarKind.STRING)
ADDR = ScalarType(ScalarKind.ADDR)
TICK = ScalarType(ScalarKind.TICK)
CYCLES = ScalarType(ScalarKind.CYCLES)
VOID = VoidType()
UNKNOWN = UnknownType()


# ------------------------------------------------------------------ expressions


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

    A name means one thing at every place and has one type per body; only blocks that stand
    beside each other share names (each declares the name anew before it uses it).
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
    """A value that every controller has. Authors name the first four, pair text also the rest."""

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

    ``mutates`` tells that the receiver's value changes (value classes); ``needs_controller``
    that the runtime wants the calling controller as first argument; ``by_reference`` that the
    result is part of the receiver, so that storing it elsewhere copies it.
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
    """What can be done to an in-port, whatever class backs it."""

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

    The tick argument ``clockEdge()`` that SLICC writes is gone; ``arguments`` holds the rest
    (the latency of ``recycle``, the address of ``hasStalledMsg``).
    """

    port: PortRef
    operation: PortOperation
    arguments: tuple[Expr, ...]
    type: Type


@dataclass(frozen=True, slots=True)
class NewEntry(Node):
    """``new T`` of an entry structure: default fields, then owned by whoever stores it."""

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


# ------------------------------------------------------------------ statements


class Copying(Enum):
    """How an assignment stores its value.

    REBIND: scalars, pointers, immutable values and temporaries: the slot takes the value itself.
    COPY: the slot gets a new copy. OVERWRITE: the object in the slot takes over the contents
    (also the only way to write through a reference).
    """

    REBIND = "rebind"
    COPY = "copy"
    OVERWRITE = "overwrite"


@dataclass(frozen=True, slots=True)
class Declare(Node):
    """A new local. ``initial`` is never absent: a missing one is the type's default value."""

    name: str
    type: Type
    initial: Expr
    copying: Copying


@dataclass(frozen=True, slots=True)
class Assign(Node):
    target: Expr
    value: Expr
    copying: Copying


@dataclass(frozen=True, slots=True)
class Evaluate(Node):
    """An expression for its effect."""

    expression: Expr


@dataclass(frozen=True, slots=True)
class If(Node):
    condition: Expr
    then: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class Return(Node):
    value: Expr


@dataclass(frozen=True, slots=True)
class Peek(Node):
    """Bind ``local`` to the head message of the port, read-only, and run the body.

    ``block_on`` names an Addr field: leave the port body when that line is locked for another
    buffer. ``wake_up`` names one whose stalled messages are woken first.
    """

    port: PortRef
    message: TypeRef
    local: str
    body: tuple[Stmt, ...]
    block_on: str | None = None
    wake_up: str | None = None


@dataclass(frozen=True, slots=True)
class Enqueue(Node):
    """Build one message, run the body on it, then send it after ``latency`` cycles.

    ``fresh`` names the fields of mutable value type whose first use in the body is not a whole
    assignment, so that they need a default object of their own.
    """

    port: PortRef
    message: TypeRef
    local: str
    latency: Expr
    bypass: Expr | None
    body: tuple[Stmt, ...]
    fresh: tuple[str, ...] = ()
    deferred: bool = False


@dataclass(frozen=True, slots=True)
class Trigger(Node):
    """Try a transition; success leaves the port body, a stall goes on with the next statement."""

    event: Expr
    address: Expr
    entry: Expr | None
    tbe: Expr | None


@dataclass(frozen=True, slots=True)
class StallPort(Node):
    """``stallPort()``: look at this controller again next cycle."""


@dataclass(frozen=True, slots=True)
class StallAndWait(Node):
    port: PortRef
    address: Expr


@dataclass(frozen=True, slots=True)
class WakeupPort(Node):
    port: PortRef
    address: Expr


@dataclass(frozen=True, slots=True)
class CheckNextCycle(Node):
    pass


@dataclass(frozen=True, slots=True)
class CheckOnCacheProbe(Node):
    port: PortRef
    address: Expr


@dataclass(frozen=True, slots=True)
class CheckAllocate(Node):
    """No effect of its own: it adds to the slots its action needs (kept for printing)."""

    target: str


@dataclass(frozen=True, slots=True)
class SetTransaction(Node):
    """``set_tbe``/``set_cache_entry`` (a value) or ``unset_…`` (None)."""

    field: TransactionField
    value: Expr | None


@dataclass(frozen=True, slots=True)
class Panic(Node):
    """``error("…")``: the protocol says that this cannot happen."""

    text: str


@dataclass(frozen=True, slots=True)
class Assert(Node):
    condition: Expr


@dataclass(frozen=True, slots=True)
class Trace(Node):
    """``DPRINTF``: ``flag`` None for ``DPRINTFN``."""

    flag: str | None
    format: str
    arguments: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class TransitionComment(Node):
    value: Expr


Stmt = (
    Declare
    | Assign
    | Evaluate
    | If
    | Return
    | Peek
    | Enqueue
    | Trigger
    | StallPort
    | StallAndWait
    | WakeupPort
    | CheckNextCycle
    | CheckOnCacheProbe
    | CheckAllocate
    | SetTransaction
    | Panic
    | Assert
    | Trace
    | TransitionComment
)


# ------------------------------------------------------------------ declarations


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
    """``default`` is never absent: what the author gave, else the type's default value."""

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
    """Between ``machine(…) :`` and ``{``. ``default`` None: the system description must say."""

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
    """``guarded``: the whole body stands in ``if (port.isReady(clockEdge()))`` without else."""

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
    """``needs``: what one run may take, both branches of every ``if`` summed, calls included."""

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
    externals: tuple[ExternalClass, ...] = ()


@dataclass(frozen=True, slots=True)
class ExternalClass(Node):
    """A runtime class that the protocol declares for itself (``TBETable`` in a machine)."""

    ref: TypeRef
    runtime_name: str


@dataclass(frozen=True, slots=True)
class Protocol(Node):
    """A whole protocol. ``sources`` are the file names in reading order."""

    name: str
    enums: tuple[Enum_, ...]
    structs: tuple[Struct, ...]
    machines: tuple[Machine, ...]
    sources: tuple[str, ...] = ()
