"""The abstract syntax tree of SLICC: the text as written, before names are resolved.

Every class mirrors one production of ``grammar.lark`` and keeps the text as written: names as
:class:`Name` (text with its own span), order, and the span of the whole node. Nothing here
knows about types or scopes; ``slicc.resolve`` turns this tree into ``slicc.ir``.

Invariant: equality ignores positions, so ``parse(print(tree)) == tree``.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import field, fields
from functools import cache
from typing import Literal, cast

from slicc.source import Span
from slicc.text.lazy_dataclass import dataclass


@dataclass(frozen=True, slots=True)
class Node:
    """Anything with a place in a source file."""

    span: Span = field(kw_only=True, compare=False, repr=False)

    def __reduce__(self) -> tuple[object, ...]:
        """Trees are kept between runs: in half of the time that a dataclass takes to load."""
        names = _names(cast(Hashable, type(self)))
        return _restored, (type(self), names, *[getattr(self, name) for name in names])


@cache
def _names(kind: Hashable) -> tuple[str, ...]:
    return tuple(each.name for each in fields(cast(type[Node], kind)))


def _restored(kind: type[Node], names: tuple[str, ...], *values: object) -> Node:
    node = kind.__new__(kind)
    for name, value in zip(names, values):
        object.__setattr__(node, name, value)
    return node


@dataclass(frozen=True, slots=True)
class Name(Node):
    """An identifier where it was written."""

    text: str


# ------------------------------------------------------------------ shared pieces


@dataclass(frozen=True, slots=True)
class TypeName(Node):
    """``A`` or ``A::B``; ``text`` joins the parts with ``::``."""

    parts: tuple[Name, ...]

    @property
    def text(self) -> str:
        return "::".join(part.text for part in self.parts)


PairKind = Literal["string", "name", "number"]


@dataclass(frozen=True, slots=True)
class Pair(Node):
    """``key=value``; a positional string is the pair ``short="…"`` with ``key is None``.

    ``value`` is the text without quotes; ``kind``: how it was written.
    """

    key: Name | None
    value: str
    kind: PairKind
    value_span: Span = field(kw_only=True, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class Pairs(Node):
    """The pair list of a declaration, in written order. The first of equal keys counts."""

    items: tuple[Pair, ...] = ()

    def find(self, key: str) -> Pair | None:
        """The first pair with that key (``short`` also matches a positional string)."""
        for pair in self.items:
            if (pair.key.text if pair.key is not None else "short") == key:
                return pair
        return None

    def find_any(self, *keys: str) -> Pair | None:
        """The first pair with one of the keys, the first key first."""
        return next((pair for pair in map(self.find, keys) if pair is not None), None)

    def get(self, key: str) -> str | None:
        """The text of the first pair with that key, or None."""
        pair = self.find(key)
        return None if pair is None else pair.value

    def __contains__(self, key: str) -> bool:
        return self.find(key) is not None


# ------------------------------------------------------------------ expressions


@dataclass(frozen=True, slots=True)
class StringLiteral(Node):
    """A quoted string, backslashes verbatim."""

    value: str
    quote: Literal['"', "'"] = field(default='"', compare=False)


@dataclass(frozen=True, slots=True)
class NumberLiteral(Node):
    """A decimal integer."""

    value: int


@dataclass(frozen=True, slots=True)
class FloatLiteral(Node):
    """``1.5``: lexed, kept as text; resolve reports that SLICC types it as int."""

    text: str


@dataclass(frozen=True, slots=True)
class BoolLiteral(Node):
    value: bool


@dataclass(frozen=True, slots=True)
class OutOfDate(Node):
    """``OOD``: the typed null of ``return``."""


@dataclass(frozen=True, slots=True)
class Variable(Node):
    """A bare name in an expression."""

    name: Name


@dataclass(frozen=True, slots=True)
class EnumMember(Node):
    """``Type:Member``."""

    type: Name
    member: Name


@dataclass(frozen=True, slots=True)
class LocalDeclaration(Node):
    """``T name`` used as an expression."""

    type: TypeName
    name: Name


@dataclass(frozen=True, slots=True)
class Call(Node):
    """``f(a, b)``."""

    function: Name
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class MethodCall(Node):
    """``x.m(a, b)``."""

    receiver: Expression
    method: Name
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, slots=True)
class FieldAccess(Node):
    """``x.f``."""

    receiver: Expression
    field: Name


@dataclass(frozen=True, slots=True)
class Index(Node):
    """``x[e]``, which means ``x.lookup(e)``."""

    receiver: Expression
    arguments: tuple[Expression, ...]


UnaryOperator = Literal["!", "-", "++", "--"]
BinaryOperator = Literal[
    "||", "&&", "==", "!=", "<", ">", "<=", ">=", "<<", ">>", "+", "-", "*", "/", "%"
]


@dataclass(frozen=True, slots=True)
class Unary(Node):
    operator: UnaryOperator
    operand: Expression


@dataclass(frozen=True, slots=True)
class Binary(Node):
    operator: BinaryOperator
    left: Expression
    right: Expression
    operator_span: Span = field(kw_only=True, compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class New(Node):
    """``new T``."""

    type: TypeName


@dataclass(frozen=True, slots=True)
class NullTest(Node):
    """``is_valid(e)`` (``valid=True``) or ``is_invalid(e)``."""

    valid: bool
    operand: Expression


@dataclass(frozen=True, slots=True)
class StaticCast(Node):
    """``static_cast(T, "pointer", e)``; ``mode`` is None for the two-argument form."""

    type: TypeName
    mode: StringLiteral | None
    operand: Expression


@dataclass(frozen=True, slots=True)
class Parenthesized(Node):
    """``(e)``: kept so that printing gives back what was written."""

    inner: Expression


Expression = (
    StringLiteral
    | NumberLiteral
    | FloatLiteral
    | BoolLiteral
    | OutOfDate
    | Variable
    | EnumMember
    | LocalDeclaration
    | Call
    | MethodCall
    | FieldAccess
    | Index
    | Unary
    | Binary
    | New
    | NullTest
    | StaticCast
    | Parenthesized
)


# ------------------------------------------------------------------ statements


@dataclass(frozen=True, slots=True)
class Block(Node):
    """``{ … }``."""

    statements: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class ExpressionStatement(Node):
    expression: Expression


@dataclass(frozen=True, slots=True)
class Assign(Node):
    """``target := value;``."""

    target: Expression
    value: Expression


@dataclass(frozen=True, slots=True)
class If(Node):
    """``if``; ``orelse`` is a Block, another If (``else if``), or absent."""

    condition: Expression
    then: Block
    orelse: Block | If | None


@dataclass(frozen=True, slots=True)
class Return(Node):
    value: Expression


@dataclass(frozen=True, slots=True)
class Peek(Node):
    """``peek(port, T, pairs) { … }``."""

    port: Name
    type: TypeName
    pairs: Pairs
    body: Block


@dataclass(frozen=True, slots=True)
class Enqueue(Node):
    """``enqueue(port, T[, latency[, bypass]]) { … }``."""

    port: Name
    type: TypeName
    latency: Expression | None
    bypass: Expression | None
    body: Block


@dataclass(frozen=True, slots=True)
class DeferEnqueueing(Node):
    port: Name
    type: TypeName
    body: Block


@dataclass(frozen=True, slots=True)
class StallAndWait(Node):
    port: Name
    address: Name


@dataclass(frozen=True, slots=True)
class WakeupPort(Node):
    port: Name
    address: Name


@dataclass(frozen=True, slots=True)
class CheckAllocate(Node):
    target: Name


@dataclass(frozen=True, slots=True)
class CheckNextCycle(Node):
    pass


@dataclass(frozen=True, slots=True)
class CheckOnCacheProbe(Node):
    port: Name
    address: Name


@dataclass(frozen=True, slots=True)
class CheckStopSlots(Node):
    target: Name
    condition: StringLiteral
    handler: StringLiteral


Statement = (
    ExpressionStatement
    | Assign
    | If
    | Return
    | Peek
    | Enqueue
    | DeferEnqueueing
    | StallAndWait
    | WakeupPort
    | CheckAllocate
    | CheckNextCycle
    | CheckOnCacheProbe
    | CheckStopSlots
)


# ------------------------------------------------------------------ declarations


@dataclass(frozen=True, slots=True)
class Protocol(Node):
    """``protocol "Name" option, option;``."""

    name: StringLiteral
    options: tuple[Name, ...] = ()


@dataclass(frozen=True, slots=True)
class Include(Node):
    """``include "file";`` with the declarations of the file, once the loader has read it."""

    path: StringLiteral
    body: tuple[Declaration, ...] | None = None


@dataclass(frozen=True, slots=True)
class ObjectDeclaration(Node):
    """``T [*] name[, pairs];`` or ``T name := expr;``: object, field or machine parameter."""

    type: TypeName
    pointer: bool
    name: Name
    pairs: Pairs
    initial: Expression | None


@dataclass(frozen=True, slots=True)
class Parameter(Node):
    """A function parameter; ``name`` is None in type-only prototypes."""

    type: TypeName
    mode: Literal["value", "pointer", "reference"]
    name: Name | None
    default: NumberLiteral | BoolLiteral | StringLiteral | None = None


@dataclass(frozen=True, slots=True)
class Function(Node):
    """A prototype (``body is None``) or a definition. ``result is None`` means ``void``."""

    result: TypeName | None
    name: Name
    parameters: tuple[Parameter, ...]
    pairs: Pairs
    body: Block | None


@dataclass(frozen=True, slots=True)
class ExternType(Node):
    type: TypeName
    pairs: Pairs


Member = ObjectDeclaration | Function


@dataclass(frozen=True, slots=True)
class Structure(Node):
    """``structure(T, pairs) { … }``; ``keyword`` is ``global`` for the ``global`` form."""

    type: TypeName
    pairs: Pairs
    members: tuple[Member, ...]
    keyword: Literal["structure", "global"] = "structure"


@dataclass(frozen=True, slots=True)
class EnumerationMember(Node):
    name: Name
    pairs: Pairs


@dataclass(frozen=True, slots=True)
class Enumeration(Node):
    type: TypeName
    pairs: Pairs
    members: tuple[EnumerationMember, ...]


@dataclass(frozen=True, slots=True)
class StateMember(Node):
    name: Name
    permission: EnumMember
    pairs: Pairs


@dataclass(frozen=True, slots=True)
class StateDeclaration(Node):
    type: TypeName
    pairs: Pairs
    members: tuple[StateMember, ...]


@dataclass(frozen=True, slots=True)
class InPort(Node):
    name: Name
    message: TypeName
    buffer: Name
    pairs: Pairs
    body: Block


@dataclass(frozen=True, slots=True)
class OutPort(Node):
    name: Name
    message: TypeName
    buffer: Name
    pairs: Pairs


@dataclass(frozen=True, slots=True)
class Action(Node):
    name: Name
    pairs: Pairs
    body: Block


@dataclass(frozen=True, slots=True)
class NameSet(Node):
    """``X`` (``braced=False``) or ``{X, Y; Z}``."""

    names: tuple[Name, ...]
    braced: bool


@dataclass(frozen=True, slots=True)
class Transition(Node):
    """``transition(states, events[, next]) [requests] actions``.

    ``next_state`` is None when absent (stay) and a Name with text ``*`` for the wildcard.
    ``requests`` is None when only one group was written.
    """

    states: NameSet
    events: NameSet
    next_state: Name | None
    requests: NameSet | None
    actions: NameSet


@dataclass(frozen=True, slots=True)
class Machine(Node):
    """``machine(MachineType:X, pairs) : parameters { declarations }``."""

    type: EnumMember
    pairs: Pairs
    parameters: tuple[ObjectDeclaration, ...]
    body: tuple[Declaration, ...]


Declaration = (
    Protocol
    | Include
    | Machine
    | Action
    | InPort
    | OutPort
    | Transition
    | ExternType
    | Structure
    | Enumeration
    | StateDeclaration
    | ObjectDeclaration
    | Function
)


@dataclass(frozen=True, slots=True)
class Unit(Node):
    """One file: its declarations in source order."""

    declarations: tuple[Declaration, ...]
