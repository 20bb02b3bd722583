"""Expressions: what each name means, and the type of every node.

Each sub-expression is resolved exactly once, so typing is linear in the text. Invariant: a bad
expression is reported at its own place and becomes a node of unknown type.
"""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Final, assert_never

from slicc import ir
from slicc.diagnostics.older_dialect import note_dialect
from slicc.diagnostics.other_languages import instead_of
from slicc.dialect import renamed as older
from slicc.ir import type_rules
from slicc.resolve.bodies import calls, operators
from slicc.resolve.bodies.context import Body, BodyKind, unknown
from slicc.resolve.bodies.suggestions import (
    offer_members,
    offer_values,
    suggest_no_variable,
    suggest_variable,
)
from slicc.resolve.library.object_state import state_of
from slicc.resolve.scope.symbols import (
    TypeKind,
    TypeSymbol,
    VariableKind,
    VariableSymbol,
    did_you_mean,
    enumeration_constant,
    own_members,
)
from slicc.resolve.scope.uses import NameKind
from slicc.source import Span
from slicc.syntax import nodes as syntax

_ESCAPES = {"n": "\n", "t": "\t", "\\": "\\", '"': '"', "'": "'"}


def unescape(text: str) -> str:
    """A string's text with the backslash sequences that the language leaves in it resolved."""
    if "\\" not in text:
        return text
    return re.sub(r"\\(.)", lambda m: _ESCAPES.get(m[1], m[0]), text)


def expression(body: Body, node: syntax.Expression) -> ir.Expr:
    """Resolve one expression."""
    match node:
        case syntax.Variable():
            return _variable(body, node)
        case syntax.FieldAccess():
            return _field(body, node)
        case syntax.MethodCall():
            return calls.method_call(body, node)
        case syntax.EnumMember():
            return _enum_member(body, node)
        case syntax.Call():
            return calls.call(body, node)
        case syntax.Binary():
            return operators.binary(body, node)
        case syntax.NumberLiteral():
            return operators.number(body, node)
        case syntax.Parenthesized():
            return expression(body, node.inner)
        case syntax.Index():
            return calls.index(body, node)
        case syntax.BoolLiteral():
            return ir.BoolConst(node.value, span=node.span)
        case syntax.StringLiteral():
            return ir.StringConst(unescape(node.value), span=node.span)
        case syntax.NullTest():
            return _null_test(body, node)
        case syntax.Unary():
            return operators.unary(body, node)
        case syntax.StaticCast():
            return _cast(body, node)
        case syntax.New():
            return _new(body, node)
        case syntax.FloatLiteral():
            return operators.fraction(body, node)
        case syntax.OutOfDate():
            text = "`OOD` is only meaningful behind `return`"
            return misplaced(body, node.span, text, instead_of("null"))
        case syntax.LocalDeclaration():
            return misplaced(
                body, node.span, "a variable is declared by a statement, not inside an expression"
            )
        case _:
            assert_never(node)


def misplaced(body: Body, span: Span, text: str, help: str | None = None) -> ir.Expr:
    body.sink.error("misplaced-expression", text, span, "cannot stand here", help=help)
    return unknown(span)


# ------------------------------------------------------------------ names


def _variable(body: Body, node: syntax.Variable) -> ir.Expr:
    name = node.name.text
    variable = body.locals.find(name)
    if variable is None:
        offer_values(body, name)
        what = _other_kind(body, name)
        if what is not None:
            body.sink.error(
                "not-a-variable",
                f"{what} `{name}` has no value",
                node.name.span,
                "not a variable",
                help=suggest_no_variable(body, name),
            )
            return unknown(node.span)
        if body.misses.first("variable", name, node.name.span):
            _unknown_variable(body, node.name)
        return unknown(node.span)
    body.scope.note_variable(node.name.span, variable)
    if variable.port is not None:
        return misplaced(body, node.span, f"the port `{name}` is no value")
    of_controller = variable.kind in (VariableKind.OBJECT, VariableKind.CONTROLLER)
    if of_controller and body.kind is BodyKind.METHOD:
        return misplaced(
            body, node.span, f"`{name}` is of the controller, and a structure has none"
        )
    return variable_value(variable, node.span)


def _unknown_variable(body: Body, name: syntax.Name) -> None:
    body.sink.error(
        "unknown-variable",
        f"no variable named `{name.text}`",
        name.span,
        "not declared here",
        help=lambda: suggest_variable(body, name.text),
    )


def _other_kind(body: Body, name: str) -> str | None:
    """The kind of a name that is no variable."""
    if body.machine is not None and name in body.machine.actions:
        return "the action"
    if body.scope.find_type(name) is not None:
        return "the type"
    return "the function" if body.scope.find_functions(name) else None


def variable_value(variable: VariableSymbol, span: Span) -> ir.Expr:
    """Reading (or writing) a variable."""
    match variable.kind:
        case VariableKind.OBJECT:
            return ir.MachineObject(variable.ir_name, variable.type, span=span)
        case VariableKind.CONTROLLER:
            field = ir.ControllerField(variable.ir_name)
            return ir.ControllerValue(field, variable.type, span=span)
        case VariableKind.TRANSACTION:
            transaction = ir.TransactionField(variable.ir_name)
            return ir.TransactionValue(transaction, variable.type, span=span)
        case VariableKind.FIELD:
            return ir.SelfField(variable.ir_name, variable.type, span=span)
        case VariableKind.CONSTANT:
            assert variable.value is not None
            return replace(variable.value, span=span)
        case _:
            return ir.Local(variable.ir_name, variable.type, span=span)


def _enum_member(body: Body, node: syntax.EnumMember) -> ir.Expr:
    name = node.type.text
    symbol = body.scope.find_type(name)
    if symbol is None:
        if not body.scope.misses.first("type", name, node.type.span):
            return unknown(node.span)
        body.sink.error(
            "unknown-type",
            f"no enumeration named `{name}`",
            node.type.span,
            "not declared",
            help=lambda: did_you_mean(name, body.scope.type_names()),
        )
        return unknown(node.span)
    if symbol.kind is not TypeKind.ENUM:
        body.sink.error(
            "not-an-enumeration",
            f"`{name}` is no enumeration, so it has no members",
            node.type.span,
            "not an enumeration",
        )
        return unknown(node.span)
    assert isinstance(symbol.type, ir.EnumType)
    if name != symbol.name and name in older.TYPES:
        note_dialect(body.sink, f"the type `{name}`", node.type.span, f"`{symbol.name}`")
    body.scope.note(node.type.span, symbol.span, NameKind.TYPE, symbol.type)
    member = node.member.text
    if member in symbol.members:
        body.scope.note(node.member.span, symbol.members[member], NameKind.MEMBER, symbol.type)
        return enumeration_constant(symbol, member, node.span)
    if (uses := body.scope.completes(member)) is not None:
        uses.offer(symbol.members, NameKind.MEMBER)
    if not body.scope.misses.first(name, member, node.member.span):
        return ir.Local("?", symbol.type, span=node.span)
    slug = {"State": "unknown-state", "Event": "unknown-event"}.get(name, "unknown-enum-member")
    otherwise = None
    if name == "RequestType":
        slug = "unknown-request-type"
    elif name == "MachineType":
        slug, otherwise = "unknown-machine", own_members(name, [member])
    body.sink.error(
        slug,
        f"`{name}` has no member `{member}`",
        node.member.span,
        "no such member",
        help=lambda: did_you_mean(member, symbol.members) or otherwise,
    )
    return ir.Local("?", symbol.type, span=node.span)


def _field(body: Body, node: syntax.FieldAccess) -> ir.Expr:
    if body.machine is not None and isinstance(node.receiver, syntax.Variable):
        holder = body.locals.find(node.receiver.name.text)
        state = {} if holder is None else state_of(body.machine, holder)
        offer_members(body, node.field.text, holder)
        if node.field.text in state:
            body.scope.note_variable(node.field.span, state[node.field.text])
            return variable_value(state[node.field.text], node.span)
    receiver = expression(body, node.receiver)
    type_ = receiver.type
    if isinstance(type_, ir.UnknownType):
        return unknown(node.span)
    name = node.field.text
    symbol = body.scope.symbol_of(type_)
    found = None if symbol is None else symbol.find_field(name)
    offer_members(body, name, symbol)
    if found is None and symbol is not None:
        today = older.FIELDS.get(symbol.name, {}).get(name)
        found = None if today is None else symbol.find_field(today)
        if found is not None:
            what = f"the field `{name}` of `{symbol.name}`"
            note_dialect(body.sink, what, node.field.span, f"`{found.name}`")
            name = found.name
    if found is not None:
        body.scope.note(node.field.span, found.span, NameKind.FIELD, found.type)
        return ir.FieldAccess(receiver, name, found.type, span=node.span)
    if symbol is not None and name in symbol.flags:
        return _flag(symbol, name, receiver, node.span)
    if symbol is not None and name in symbol.constant_fields:
        return replace(symbol.constant_fields[name], span=node.span)
    constant = None if symbol is None else older.CONSTANT_FIELDS.get(symbol.name, {}).get(name)
    if symbol is not None and constant is not None:
        what = f"the field `{name}` of `{symbol.name}`"
        note_dialect(body.sink, what, node.field.span, f"`{constant}`")
        enumeration, _, member = constant.partition(":")
        type_ = body.scope.type_text(enumeration)
        assert isinstance(type_, ir.EnumType)
        return ir.EnumConst(member, type_, span=node.span)
    if symbol is None or symbol.kind in (TypeKind.SCALAR, TypeKind.ENUM):
        body.sink.error(
            "not-a-structure",
            f"`{type_rules.describe(type_)}` has no fields",
            node.field.span,
            f"`.{name}` of {type_rules.with_article(type_)}",
        )
    elif body.scope.misses.first(type_rules.describe(type_), name, node.field.span):
        body.sink.error(
            "unknown-field",
            f"`{type_rules.describe(type_)}` has no field `{name}`",
            node.field.span,
            "no such field",
            help=lambda: did_you_mean(name, symbol.field_names()),
        )
    return unknown(node.span)


def _flag(symbol: TypeSymbol, name: str, receiver: ir.Expr, span: Span) -> ir.Expr:
    """An added field of a request that requesters may set: the flags say if it has its default."""
    place = ir.IntConst(symbol.flags.index(name), ir.INT, span=span)
    is_set = ir.CallMethod(receiver, symbol.name, "isFlagged", (place,), ir.BOOL, span=span)
    default = symbol.constant_fields[name]
    if isinstance(default, ir.BoolConst) and default.value:
        return ir.Unary(ir.UnaryOperator.NOT, is_set, ir.BOOL, span=span)
    return is_set


# ------------------------------------------------------------------ pointers


def _null_test(body: Body, node: syntax.NullTest) -> ir.Expr:
    operand = expression(body, node.operand)
    if not type_rules.is_pointer(operand.type) and not isinstance(operand.type, ir.UnknownType):
        word = "is_valid" if node.valid else "is_invalid"
        body.sink.error(
            "not-a-pointer",
            f"`{word}` asks whether a pointer is null",
            operand.span,
            f"`{type_rules.describe(operand.type)}` is never null",
        )
        return ir.Local("?", ir.BOOL, span=node.span)
    return ir.NullTest(node.valid, operand, span=node.span)


def _new(body: Body, node: syntax.New) -> ir.Expr:
    type_ = body.scope.resolve_type(node.type)
    if isinstance(type_, ir.UnknownType):
        return unknown(node.span)
    if not isinstance(type_, ir.PointerType):
        body.sink.error(
            "not-a-pointer",
            f"`new` makes entries, and `{node.type.text}` is none",
            node.type.span,
            "not an entry type",
            help='entries are structures with `interface="AbstractCacheEntry"`',
        )
        return unknown(node.span)
    return ir.NewEntry(type_, span=node.span)


_CAST_MODES: Final = frozenset({"pointer", "value"})


def _is_number(type_: ir.Type) -> bool:
    """What C++ keeps as a number; members of enumerations are numbered from 0."""
    return type_rules.is_integer(type_) or type_ == ir.BOOL or isinstance(type_, ir.EnumType)


def _cast(body: Body, node: syntax.StaticCast) -> ir.Expr:
    if node.mode is not None and node.mode.value not in _CAST_MODES:
        body.sink.error(
            "invalid-cast",
            f'there is no cast called "{node.mode.value}"',
            node.mode.span,
            "neither of the two that there are",
            help='write "pointer" for an entry, "value" for a number',
        )
    operand = expression(body, node.operand)
    type_ = body.scope.resolve_type(node.type)
    if isinstance(type_, ir.UnknownType) or isinstance(operand.type, ir.UnknownType):
        return ir.Local("?", type_, span=node.span)
    if type_rules.same(type_, operand.type):
        return operand
    both_pointers = isinstance(type_, ir.PointerType) and isinstance(operand.type, ir.PointerType)
    both_integers = _is_number(type_) and _is_number(operand.type)
    if not both_pointers and not both_integers:
        body.sink.error(
            "invalid-cast",
            f"`{type_rules.describe(operand.type)}` cannot be seen as "
            f"`{type_rules.describe(type_)}`",
            node.span,
            "no such conversion",
        )
    elif ir.INT not in (type_, operand.type) and (
        isinstance(type_, ir.EnumType) or isinstance(operand.type, ir.EnumType)
    ):
        operand = ir.Cast(operand, ir.INT, span=node.span)
    return ir.Cast(operand, type_, span=node.span)
