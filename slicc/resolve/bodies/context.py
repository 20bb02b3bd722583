"""The state of resolving one body: its kind, its scope, the messages being built.

Invariant: one :class:`Body` per action, port, function or method; it is dropped afterwards.
"""

from __future__ import annotations

from dataclasses import field
from enum import Enum, auto

from slicc import ir
from slicc.diagnostics.model import DiagnosticSink
from slicc.ir import type_rules
from slicc.resolve.scope.scopes import BodyScope, GlobalScope, MachineScope
from slicc.resolve.scope.unknown_names import Misses
from slicc.source import Span
from slicc.text.lazy_dataclass import dataclass


class BodyKind(Enum):
    ACTION = auto()
    IN_PORT = auto()
    FUNCTION = auto()
    METHOD = auto()


@dataclass(slots=True)
class MessageUnderConstruction:
    """The mutable fields of an ``out_msg`` that already have an object of their own.

    ``owned``: on every path so far; ``maybe``: on some path; ``fresh``: given one before the
    body runs. A field in none of them holds the class-wide default, which must not be changed.
    """

    local: str
    mutable_fields: frozenset[str]
    owned: set[str] = field(default_factory=set)
    maybe: set[str] = field(default_factory=set)
    fresh: set[str] = field(default_factory=set)

    def change(self, name: str) -> None:
        """The field's object is changed in place."""
        if name in self.mutable_fields and name not in self.owned:
            self.fresh.add(name)
            self.owned.add(name)

    def assign(self, name: str) -> bool:
        """The field is assigned as a whole; True if it already has an object of its own."""
        had = name in self.owned
        if not had and name in self.maybe:
            self.fresh.add(name)
            had = True
        self.owned.add(name)
        self.maybe.add(name)
        return had


@dataclass(slots=True)
class Body:
    """``title`` names the body in messages (``action `a_send```)."""

    scope: GlobalScope
    kind: BodyKind
    title: str
    locals: BodyScope
    result: ir.Type = ir.VOID
    by_reference: bool = False
    messages: list[MessageUnderConstruction] = field(default_factory=list)
    asked: tuple[str, Span] | None = None
    """What a method of a structure asks of a controller, which it does not have."""
    misses: Misses = field(init=False)

    def __post_init__(self) -> None:
        self.misses = Misses(self.scope.sink)

    @property
    def sink(self) -> DiagnosticSink:
        return self.scope.sink

    @property
    def machine(self) -> MachineScope | None:
        return self.scope if isinstance(self.scope, MachineScope) else None

    def message_of(self, local: str) -> MessageUnderConstruction | None:
        for message in self.messages:
            if message.local == local:
                return message
        return None


def unknown(span: Span) -> ir.Expr:
    """A placeholder for an expression that was reported."""
    return ir.Local("?", ir.UNKNOWN, span=span)


def is_reported(node: ir.Expr) -> bool:
    """Whether an expression was reported (its type may still be known)."""
    return isinstance(node.type, ir.UnknownType) or (
        isinstance(node, ir.Local) and node.name == "?"
    )


def outgoing_field(body: Body, target: ir.Expr) -> tuple[MessageUnderConstruction, str] | None:
    """The message and its field, if ``target`` is (part of) a field of an ``out_msg``."""
    while isinstance(target, ir.FieldAccess):
        receiver = target.receiver
        if isinstance(receiver, ir.Local):
            message = body.message_of(receiver.name)
            return None if message is None else (message, target.name)
        if isinstance(receiver.type, ir.PointerType):
            return None
        target = receiver
    return None


def note_change(body: Body, target: ir.Expr) -> None:
    """``target`` is changed in place: its message field needs an object of its own."""
    found = outgoing_field(body, target)
    if found is not None:
        found[0].change(found[1])
    elif isinstance(target, ir.Local):
        message = body.message_of(target.name)
        if message is not None:
            for name in sorted(message.mutable_fields):
                message.change(name)


def is_temporary(value: ir.Expr) -> bool:
    """Values without another reference, so that a slot may take them without a copy."""
    match value:
        case ir.NewStruct() | ir.CallBuiltin():
            return True
        case ir.CallMethod():
            return not value.by_reference
        case ir.Conditional():
            return is_temporary(value.then) and is_temporary(value.orelse)
        case _:
            return False


def copying_for(body: Body, target: ir.Expr, value: ir.Expr) -> ir.Copying:
    """How an assignment to an existing slot stores its value."""
    if not type_rules.is_mutable_value(target.type):
        return ir.Copying.REBIND
    keeps_log = isinstance(target.type, ir.ClassType) and target.type.name == "DataBlock"
    found = outgoing_field(body, target)
    if found is not None and isinstance(target, ir.FieldAccess):
        message, name = found
        if isinstance(target.receiver, ir.Local):
            owned = message.assign(name)
            if owned and keeps_log:
                return ir.Copying.OVERWRITE
            return ir.Copying.REBIND if is_temporary(value) else ir.Copying.COPY
        message.change(name)
    if isinstance(target, ir.Local) and (message_ := body.message_of(target.name)) is not None:
        message_.owned |= message_.mutable_fields
        message_.maybe |= message_.mutable_fields
        return ir.Copying.OVERWRITE
    rebindable = isinstance(target, ir.FieldAccess | ir.SelfField | ir.MachineObject)
    if is_temporary(value) and rebindable and not keeps_log:
        return ir.Copying.REBIND
    return ir.Copying.OVERWRITE


def copying_for_new(type_: ir.Type, value: ir.Expr) -> ir.Copying:
    """How a declaration stores its initial value."""
    if not type_rules.is_mutable_value(type_) or is_temporary(value):
        return ir.Copying.REBIND
    return ir.Copying.COPY
