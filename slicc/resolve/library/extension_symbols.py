"""Symbols for extensions of the library: members, constant fields, constants.

Invariant: the runtime does not need to know them; an added member has a number after the runtime's
own, an added machine type borrows one that the protocol does not use.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slicc import ir, prelude
from slicc.dialect import renamed as older
from slicc.resolve.bodies.operators import INT_MAX
from slicc.resolve.declarations.pair_expressions import default_value, read_value
from slicc.resolve.library.extensions import Extensions
from slicc.resolve.scope.scopes import GlobalScope
from slicc.resolve.scope.symbols import VariableKind, VariableSymbol, enumeration_constant
from slicc.syntax import nodes as syntax

MACHINE_TYPE = "MachineType"
REQUEST = "RubyRequest"
MAX_FLAGS = 8
"""Bits of ``RubyRequest.flags``."""


def further_members(
    extensions: Extensions, machines: Sequence[str]
) -> Mapping[str, Mapping[str, int | str]]:
    """By library enumeration: the value at run time of each member that the runtime lacks."""
    found: dict[str, dict[str, int | str]] = {}
    for name, members in extensions.members.items():
        behind = len(prelude.ENUMERATIONS[name].names()) + 1  # the first one means "no value"
        if name == MACHINE_TYPE:
            found[name] = _lent_types([member.name.text for member in members], machines)
        else:
            found[name] = {
                member.name.text: behind + position for position, member in enumerate(members)
            }
    return found


def _lent_types(wanted: Sequence[str], machines: Sequence[str]) -> dict[str, int | str]:
    """Types of declared machines come first; types that are only named may get none."""
    known = prelude.ENUMERATIONS[MACHINE_TYPE].names()
    free = [name for name in reversed(known) if name not in machines and name != "NULL"]
    ordered = sorted(wanted, key=lambda name: name not in machines)
    return dict(zip(ordered, free))


def add_constant_fields(scope: GlobalScope, extensions: Extensions) -> None:
    """Fields of library structures that the runtime lacks have their default, always or until a
    requester is asked to set them (`TypeSymbol.flags`)."""
    for owner, fields in extensions.fields.items():
        symbol = scope.library.find(owner)
        assert symbol is not None
        for node in fields:
            name = node.name.text
            if name in symbol.fields or name in older.FIELDS.get(owner, {}):
                continue  # of ours, by today's name or by an older one
            type_ = scope.resolve_type(node.type)
            pair = node.pairs.find("default")
            value = None if pair is None else read_value(scope, pair, type_)
            symbol.constant_fields[name] = (
                default_value(scope, type_, node.span) if value is None else value
            )
            if owner == REQUEST and type_ == ir.BOOL and len(symbol.flags) < MAX_FLAGS:
                symbol.flags.append(name)


def declare_constants(scope: GlobalScope, extensions: Extensions) -> None:
    """``int LIMIT := 5;`` of a prelude: a name for a value."""
    for node in extensions.constants:
        type_ = scope.resolve_type(node.type)
        value = _constant(scope, node.initial, type_)
        if value is None:
            scope.sink.error(
                "type-mismatch-initial",
                f"the constant `{node.name.text}` needs a literal value of its type",
                node.span if node.initial is None else node.initial.span,
                f"is to be `{node.type.text}`",
            )
            continue
        name = node.name.text
        scope.constants[name] = VariableSymbol(
            name, VariableKind.CONSTANT, type_, node.name.span, value=value
        )


def _constant(scope: GlobalScope, node: syntax.Expression | None, type_: ir.Type) -> ir.Expr | None:
    match node:
        case syntax.NumberLiteral(value) if isinstance(type_, ir.ScalarType) and value <= INT_MAX:
            if type_ in (ir.BOOL, ir.STRING):
                return None
            return ir.IntConst(value, type_, span=node.span)
        case syntax.Unary("-", syntax.NumberLiteral(value)) if type_ == ir.INT:
            return ir.IntConst(-value, type_, span=node.span)
        case syntax.BoolLiteral(value) if type_ == ir.BOOL:
            return ir.BoolConst(value, span=node.span)
        case syntax.StringLiteral(value) if type_ == ir.STRING:
            return ir.StringConst(value, span=node.span)
        case syntax.EnumMember():
            symbol = scope.find_type(node.type.text)
            if symbol is None or symbol.type != type_ or node.member.text not in symbol.members:
                return None
            return enumeration_constant(symbol, node.member.text, node.span)
        case _:
            return None
