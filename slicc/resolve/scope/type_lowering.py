"""Type symbols as IR declarations.

Invariant: every field has a default and every enumeration a default member (``NUM`` if none).
"""

from __future__ import annotations

from slicc import ir
from slicc.resolve.declarations.pair_expressions import default_value, read_value
from slicc.resolve.scope.pairs import description
from slicc.resolve.scope.scopes import GlobalScope, MachineScope
from slicc.resolve.scope.symbols import FieldSymbol, TypeKind, TypeSymbol
from slicc.syntax import nodes as syntax

_STRUCT_KINDS = {
    TypeKind.PLAIN: ir.StructKind.PLAIN,
    TypeKind.MESSAGE: ir.StructKind.MESSAGE,
    TypeKind.ENTRY: ir.StructKind.ENTRY,
    TypeKind.TBE: ir.StructKind.TBE,
}


def to_enumeration(scope: GlobalScope, symbol: TypeSymbol | None, name: str) -> ir.Enum_:
    """An enumeration; an empty one if the declaration is missing."""
    if symbol is None:
        assert isinstance(scope, MachineScope)
        return ir.Enum_(ir.TypeRef(scope.machine, name), (), "NUM", span=scope.node.span)
    assert isinstance(symbol.type, ir.EnumType)
    node = symbol.node
    members: list[ir.EnumMember] = []
    desc = ""
    match node:
        case syntax.Enumeration():
            desc = description(node.pairs)
            members = [
                ir.EnumMember(m.name.text, description(m.pairs), _short(m.pairs), span=m.name.span)
                for m in node.members
            ]
        case syntax.StateDeclaration():
            assert isinstance(scope, MachineScope)
            desc = description(node.pairs)
            members = [
                ir.EnumMember(
                    m.name.text,
                    description(m.pairs),
                    _short(m.pairs),
                    ir.AccessPermission(scope.permissions[m.name.text]),
                    span=m.name.span,
                )
                for m in node.members
            ]
        case _:
            members = [ir.EnumMember(text, span=span) for text, span in symbol.members.items()]
    return ir.Enum_(
        symbol.type.ref,
        tuple(members),
        symbol.default,
        desc,
        symbol.library,
        span=symbol.span,
    )


def _short(pairs: syntax.Pairs) -> str:
    return pairs.get("short") or ""


def enumerations_of(scope: GlobalScope) -> tuple[ir.Enum_, ...]:
    """The enumerations declared in a scope, without a machine's states, events, request types."""
    special: list[TypeSymbol | None] = []
    if isinstance(scope, MachineScope):
        special = [scope.states, scope.events, scope.request_types]
    return tuple(
        to_enumeration(scope, symbol, symbol.name)
        for symbol in scope.types.values()
        if symbol.kind is TypeKind.ENUM and not any(symbol is other for other in special)
    )


def structures_of(scope: GlobalScope, methods: list[ir.Function]) -> tuple[ir.Struct, ...]:
    """The structures declared in a scope, with their methods."""
    by_owner: dict[str, list[ir.Function]] = {}
    for method in methods:
        assert method.ref.owner is not None
        by_owner.setdefault(method.ref.owner, []).append(method)
    return tuple(
        to_structure(scope, symbol, tuple(by_owner.get(symbol.name, ())))
        for symbol in scope.types.values()
        if symbol.kind in _STRUCT_KINDS
    )


def to_structure(
    scope: GlobalScope, symbol: TypeSymbol, methods: tuple[ir.Function, ...] = ()
) -> ir.Struct:
    """A structure with the default of every field."""
    assert isinstance(symbol.type, ir.StructType | ir.PointerType)
    node = symbol.node
    fields = tuple([_field(scope, field) for field in symbol.fields.values()])
    return ir.Struct(
        symbol.type.ref,
        _STRUCT_KINDS[symbol.kind],
        fields,
        methods,
        description(node.pairs) if isinstance(node, syntax.Structure) else "",
        symbol.library,
        span=symbol.span,
    )


def _field(scope: GlobalScope, field: FieldSymbol) -> ir.Field:
    node = field.node
    default: ir.Expr | None = None
    desc = ""
    if node is not None:
        desc = description(node.pairs)
        pair = node.pairs.find("default")
        if pair is not None and not isinstance(field.type, ir.UnknownType):
            default = read_value(scope, pair, field.type)
    elif field.default_text is not None and isinstance(field.type, ir.EnumType):
        default = ir.EnumConst(field.default_text, field.type, span=field.span)
    if default is None:
        default = default_value(scope, field.type, field.span)
    return ir.Field(field.name, field.type, default, desc, span=field.span)
