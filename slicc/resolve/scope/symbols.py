"""Symbols of types, callables, variables and ports.

Symbols live during resolve only; the IR refers to declarations by small references instead.
Invariant: every symbol keeps the span of its declaration, so a message can point at it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import field
from enum import Enum, auto

from slicc import ir
from slicc.prelude import Signature
from slicc.source import NOWHERE, Span
from slicc.syntax import nodes as syntax
from slicc.text.lazy_dataclass import dataclass
from slicc.text.suggest import suggest


class TypeKind(Enum):
    SCALAR = auto()
    ENUM = auto()
    PLAIN = auto()
    MESSAGE = auto()
    ENTRY = auto()
    TBE = auto()
    CLASS = auto()


class CallTarget(Enum):
    """The kind of IR node that a call becomes."""

    FUNCTION = auto()
    STRUCT_METHOD = auto()
    CLASS_METHOD = auto()
    BUILTIN = auto()
    CAST = auto()
    MISSING = auto()
    """Declared by the protocol, unknown to the runtime: an error once it is called."""


@dataclass(frozen=True, slots=True)
class ParameterSymbol:
    """``mutated``: the callee writes the argument in place; ``dropped``: not passed on."""

    type: ir.Type
    by_reference: bool = False
    mutated: bool = False
    dropped: bool = False


@dataclass(slots=True)
class Overload:
    """One overload of a function or method."""

    name: str
    parameters: tuple[ParameterSymbol, ...]
    result: ir.Type
    target: CallTarget
    span: Span = NOWHERE
    by_reference: bool = False
    function: ir.FunctionRef | None = None
    signature: Signature | None = None
    home: ir.BuiltinHome = ir.BuiltinHome.LIBRARY
    owner: str = ""
    """The runtime class of a method."""
    element_result: bool = False
    """The result is the receiver's element type."""
    node: syntax.Function | None = None
    """The declaration, if it stands in a text of the user."""
    receiver: ir.Type | None = None
    """The type of the object, where a function takes it as its first argument."""


@dataclass(slots=True)
class FieldSymbol:
    name: str
    type: ir.Type
    span: Span
    node: syntax.ObjectDeclaration | None = None
    default_text: str | None = None


@dataclass(slots=True)
class TypeSymbol:
    """A type. ``type`` is that of a variable declared with its name (pointers included)."""

    name: str
    kind: TypeKind
    type: ir.Type
    span: Span = NOWHERE
    library: bool = False
    machine: str | None = None
    node: syntax.Declaration | None = None
    # enumerations
    members: dict[str, Span] = field(default_factory=dict)
    default: str = "NUM"
    further: dict[str, int | str] = field(default_factory=dict)
    """Members that the runtime lacks: a number behind its own, or the member it lends."""
    # structures and classes
    fields: dict[str, FieldSymbol] = field(default_factory=dict)
    constant_fields: dict[str, ir.Expr] = field(default_factory=dict)
    """Fields of a library structure that the runtime lacks, with their constant value."""
    flags: list[str] = field(default_factory=list)
    """Of a request: those of them that a requester may be asked to set, in order."""
    methods: dict[str, list[Overload]] = field(default_factory=dict)
    interface: TypeSymbol | None = None
    is_main_entry: bool = False
    # runtime classes
    inport: bool = False
    outport: bool = False
    buffer: bool = False
    parameter: bool = False
    missing_at_runtime: bool = False
    has_stubs: bool = False
    """A class whose methods are stubs of the user's prelude: its objects are never read."""
    used: bool = False

    def find_field(self, name: str) -> FieldSymbol | None:
        found = self.fields.get(name)
        if found is None and self.interface is not None:
            return self.interface.find_field(name)
        return found

    def find_methods(self, name: str) -> list[Overload]:
        """Overloads of the type itself, then those of its interface."""
        found = self.methods.get(name, [])
        if self.interface is not None:
            return found + self.interface.find_methods(name)
        return found

    def method_names(self) -> Iterator[str]:
        yield from self.methods
        if self.interface is not None:
            yield from self.interface.method_names()

    def field_names(self) -> Iterator[str]:
        yield from self.fields
        if self.interface is not None:
            yield from self.interface.field_names()


@dataclass(slots=True)
class FunctionSymbol:
    """An author's function or structure method with a body, before its body is resolved."""

    overload: Overload
    node: syntax.Function
    machine: str | None
    owner: TypeSymbol | None = None
    visible: tuple[VariableSymbol, ...] = ()
    """What the body sees besides: the state of its object, and ``this``."""

    @property
    def ref(self) -> ir.FunctionRef:
        assert self.overload.function is not None
        return self.overload.function


@dataclass(slots=True)
class PortSymbol:
    """An in-port or out-port. ``buffer`` is None after an error."""

    name: str
    node: syntax.InPort | syntax.OutPort
    ref: ir.PortRef
    message: ir.Type
    buffer: VariableSymbol | None
    used: bool = False


@dataclass(slots=True)
class ActionSymbol:
    name: str
    node: syntax.Action
    ref: ir.ActionRef


class VariableKind(Enum):
    OBJECT = auto()
    CONTROLLER = auto()
    TRANSACTION = auto()
    FIELD = auto()
    LOCAL = auto()
    PARAMETER = auto()
    CONSTANT = auto()
    REFERENCE = auto()
    IN_MESSAGE = auto()
    OUT_MESSAGE = auto()
    IN_PORT = auto()
    OUT_PORT = auto()


@dataclass(slots=True)
class VariableSymbol:
    """A name usable in expressions. ``ir_name`` is its name in the IR."""

    name: str
    kind: VariableKind
    type: ir.Type
    span: Span
    ir_name: str = ""
    port: PortSymbol | None = None
    node: syntax.ObjectDeclaration | None = None
    value: ir.Expr | None = None
    """The value of a constant."""


def did_you_mean(name: str, candidates: Iterable[str]) -> str | None:
    """The help line for a misspelt name, or None when nothing is close."""
    match = suggest(name, candidates)
    return None if match is None else f"did you mean `{match}`?"


def own_members(type_: str, members: Iterable[str]) -> str:
    """The help line for members that a protocol wants to add to an enumeration of the library."""
    return (
        f"members of your own go into a file of their own, `enumeration({type_}) "
        f"{{ {' '.join(f'{member};' for member in members)} }}`: --prelude FILE, or "
        "RubySlicc_Exports.sm beside the driver"
    )


def enumeration_constant(symbol: TypeSymbol, member: str, span: Span) -> ir.Expr:
    """A member; one that the runtime lacks is a number, or the member lent to it."""
    assert isinstance(symbol.type, ir.EnumType)
    further = symbol.further.get(member)
    if isinstance(further, int):
        return ir.IntConst(further, symbol.type, span=span)
    return ir.EnumConst(further or member, symbol.type, span=span)
