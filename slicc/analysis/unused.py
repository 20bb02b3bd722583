"""Types, fields and values of messages that no machine of the protocol uses.

Invariant: what the runtime itself reads or fills is in use, and so is what any text names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from slicc import ir
from slicc.analysis.facts import storage_of
from slicc.analysis.rule import Findings, finding
from slicc.check.enum_uses import bodies_of
from slicc.diagnostics.model import Diagnostic, Label
from slicc.ir.walk import expressions_in, statements_in
from slicc.text.wording import first_few

SLUGS = ("unused-type", "unused-field", "unused-message-type")
_READ_BY_RUNTIME = frozenset({"addr", "Destination", "MessageSize"})
_SHOWN = 6


class _Uses:
    """What the texts of a protocol name."""

    def __init__(self, protocol: ir.Protocol) -> None:
        self.types: set[ir.TypeRef] = set()
        self.fields: set[tuple[ir.TypeRef, str]] = set()
        self.members: set[tuple[ir.TypeRef, str]] = set()
        self.computed: set[ir.TypeRef] = set()
        """Enumerations whose values come from numbers."""
        for struct in protocol.structs:
            self._structure(struct)
        for machine in protocol.machines:
            self._machine(machine)

    def _machine(self, machine: ir.Machine) -> None:
        for each in storage_of(machine):
            self._type(each.type)
        for struct in machine.structs:
            self._structure(struct)
        for function in machine.functions:
            self._signature(function)
        for port in machine.in_ports:
            self._type(port.message)
        self.types |= {port.message for port in machine.out_ports}
        for body in bodies_of(machine):
            self._body(body)

    def _structure(self, struct: ir.Struct) -> None:
        for field in struct.fields:
            self._type(field.type)
            self._expression(field.default)
        for method in struct.methods:
            self._signature(method)
            self._body(method.body)
            for node in expressions_in(method.body):
                if isinstance(node, ir.SelfField):
                    self.fields.add((struct.ref, node.name))

    def _signature(self, function: ir.Function) -> None:
        self._type(function.result)
        for parameter in function.parameters:
            self._type(parameter.type)

    def _body(self, body: tuple[ir.Stmt, ...]) -> None:
        for statement in statements_in(body):
            match statement:
                case ir.Declare(type=type_):
                    self._type(type_)
                case ir.Peek(message=message, block_on=block_on, wake_up=wake_up):
                    self.types.add(message)
                    self.fields |= {(message, name) for name in (block_on, wake_up) if name}
                case ir.Enqueue(message=message):
                    self.types.add(message)
                case _:
                    pass
        for node in expressions_in(body):
            self._expression(node)

    def _expression(self, node: ir.Expr) -> None:
        self._type(node.type)
        match node:
            case ir.EnumConst(member, type_):
                self.members.add((type_.ref, member))
            case ir.FieldAccess(receiver, name) if isinstance(
                receiver.type, ir.StructType | ir.PointerType
            ):
                self.fields.add((receiver.type.ref, name))
            case ir.Cast(type=ir.EnumType(ref)):
                self.computed.add(ref)
            case _:
                pass

    def _type(self, type_: ir.Type) -> None:
        match type_:
            case ir.EnumType(ref) | ir.StructType(ref) | ir.PointerType(ref):
                self.types.add(ref)
            case ir.ClassType(element=element) if element is not None:
                self._type(element)
            case _:
                pass


def unused(protocol: ir.Protocol) -> Findings:
    """The findings, in the order of declaration."""
    uses = _Uses(protocol)
    scopes: tuple[ir.Protocol | ir.Machine, ...] = (protocol, *protocol.machines)
    messages = _message_enums(scopes)
    for scope in scopes:
        own = () if isinstance(scope, ir.Protocol) else (scope.tbe, scope.entry)
        listed: list[ir.Enum_ | ir.Struct] = [*scope.enums, *scope.structs]
        for declared in listed:
            if not declared.library:
                yield from _declared(declared, uses, own, messages)


def _declared(
    declared: ir.Enum_ | ir.Struct,
    uses: _Uses,
    own: tuple[ir.TypeRef | None, ...],
    messages: set[ir.TypeRef],
) -> Findings:
    if declared.ref not in uses.types and declared.ref not in own:
        yield finding(
            "unused-type",
            f"nothing uses the type `{declared.ref.name}`",
            declared.span,
            "never used",
        )
    elif isinstance(declared, ir.Struct):
        yield from _fields(declared, uses)
    elif declared.ref in messages and declared.ref not in uses.computed:
        yield from _members(declared, uses)


def _message_enums(scopes: Iterable[ir.Protocol | ir.Machine]) -> set[ir.TypeRef]:
    """Enumerations that say what a message asks: types of fields of messages."""
    return {
        field.type.ref
        for scope in scopes
        for struct in scope.structs
        if struct.kind is ir.StructKind.MESSAGE
        for field in struct.fields
        if isinstance(field.type, ir.EnumType)
    }


def _fields(struct: ir.Struct, uses: _Uses) -> Findings:
    kept = _READ_BY_RUNTIME if struct.kind is ir.StructKind.MESSAGE else frozenset()
    left = [
        field
        for field in struct.fields
        if (struct.ref, field.name) not in uses.fields and field.name not in kept
    ]
    yield from _one_finding("unused-field", "field", f"`{struct.ref.name}`", left)


def _members(enum: ir.Enum_, uses: _Uses) -> Findings:
    left = [
        member
        for member in enum.members
        if (enum.ref, member.name) not in uses.members and member.name != enum.default
    ]
    yield from _one_finding("unused-message-type", "value", f"`{enum.ref.name}`", left)


def _one_finding(
    slug: str, what: str, owner: str, left: list[ir.Field] | list[ir.EnumMember]
) -> Iterator[Diagnostic]:
    if not left:
        return
    names = first_few([f"`{each.name}`" for each in left], _SHOWN)
    several = "s" if len(left) > 1 else ""
    yield finding(
        slug,
        f"nothing reads or sets the {what}{several} {names} of {owner}",
        left[0].span,
        "never used",
        secondary=[Label(each.span, "nor this one") for each in left[1:_SHOWN]],
    )
