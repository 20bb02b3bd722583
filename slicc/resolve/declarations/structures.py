"""The contents of structures: fields, methods, interface, and the runtime's part of a class.

Invariant: after :func:`complete_types` every structure of a scope has all of these.
"""

from __future__ import annotations

from collections.abc import Iterable

from slicc import ir, prelude
from slicc.diagnostics.older_dialect import note_dialect
from slicc.dialect import renamed as older
from slicc.ir import type_rules
from slicc.resolve.declarations.constructors import check_element
from slicc.resolve.declarations.pair_expressions import element_type
from slicc.resolve.declarations.prototypes import (
    match_runtime,
    name_overloads,
    prototype,
    report_duplicate_function,
)
from slicc.resolve.scope.pairs import check_keys
from slicc.resolve.scope.scopes import GlobalScope
from slicc.resolve.scope.symbols import (
    CallTarget,
    FieldSymbol,
    FunctionSymbol,
    TypeKind,
    TypeSymbol,
    did_you_mean,
)
from slicc.syntax import nodes as syntax


def complete_types(scope: GlobalScope) -> list[FunctionSymbol]:
    """Resolve fields, interfaces and methods; the structure methods with bodies are returned."""
    bodies: list[FunctionSymbol] = []
    symbols = [s for s in scope.types.values() if isinstance(s.node, syntax.Structure)]
    for symbol in symbols:
        assert isinstance(symbol.node, syntax.Structure)
        _find_interface(scope, symbol, symbol.node)
    for symbol in symbols:
        assert isinstance(symbol.node, syntax.Structure)
        if symbol.kind is TypeKind.CLASS:
            _complete_class(scope, symbol, symbol.node)
        else:
            bodies += _complete_structure(scope, symbol, symbol.node)
    return bodies


def check_library_structures(
    scope: GlobalScope, declarations: Iterable[syntax.Declaration]
) -> None:
    """A library structure written out again may leave out fields, not add or change any."""
    for node in declarations:
        if not isinstance(node, syntax.Structure) or node.type.text not in prelude.STRUCTURES:
            continue
        known = scope.library.find(node.type.text)
        assert known is not None
        for member in node.members:
            if not isinstance(member, syntax.ObjectDeclaration):
                continue
            name = member.name.text
            field = known.find_field(name)
            if field is None or not type_rules.same(field.type, scope.resolve_type(member.type)):
                had = (
                    "no such field"
                    if field is None
                    else f"`{type_rules.describe(field.type)} {name}`"
                )
                scope.sink.error(
                    "library-type-mismatch",
                    f"the runtime's `{known.name}` has no field `{member.type.text} {name}`",
                    member.name.span,
                    f"the runtime has {had}",
                )


def _find_interface(scope: GlobalScope, symbol: TypeSymbol, node: syntax.Structure) -> None:
    pair = node.pairs.find("interface")
    if pair is None:
        return
    today = older.INTERFACES.get(pair.value)
    if today is not None:
        what = f'`interface="{pair.value}"`'
        note_dialect(
            scope.sink, what, pair.value_span, f'`interface="{today}"`' if today else "none"
        )
    if "Message" in (pair.value, today) or today == "":
        return
    found = scope.find_type(pair.value)
    if found is None:
        scope.sink.error(
            "unknown-type",
            f"no type named `{pair.value}`",
            pair.value_span,
            "not declared",
            help=lambda: did_you_mean(pair.value, ["Message", *scope.type_names()]),
        )
        return
    symbol.interface = found


def _complete_class(scope: GlobalScope, symbol: TypeSymbol, node: syntax.Structure) -> None:
    """Merge the protocol's prototypes with the methods that the runtime has."""
    known = scope.library.find(symbol.name)
    for member in node.members:
        if isinstance(member, syntax.Function):
            declared = prototype(scope, member)
            match_runtime(declared, [] if known is None else known.find_methods(declared.name))
            symbol.methods.setdefault(declared.name, []).append(declared)
        else:
            symbol.fields[member.name.text] = FieldSymbol(
                member.name.text, scope.resolve_type(member.type), member.name.span, member
            )
    if known is not None:
        for name, overloads in known.methods.items():
            symbol.methods.setdefault(name, []).extend(overloads)


def _complete_structure(
    scope: GlobalScope, symbol: TypeSymbol, node: syntax.Structure
) -> list[FunctionSymbol]:
    bodies: list[FunctionSymbol] = []
    for member in node.members:
        check_keys(member.pairs, scope.sink)
        if isinstance(member, syntax.ObjectDeclaration):
            _add_field(scope, symbol, member)
        elif member.body is None:
            declared = prototype(scope, member)
            interface = symbol.interface
            match_runtime(
                declared, [] if interface is None else interface.find_methods(declared.name)
            )
            symbol.methods.setdefault(declared.name, []).append(declared)
        else:
            bodies.append(_add_method(scope, symbol, member))
    name_overloads(bodies)
    return bodies


def _add_field(scope: GlobalScope, symbol: TypeSymbol, member: syntax.ObjectDeclaration) -> None:
    name = member.name.text
    first = symbol.fields.get(name)
    if first is not None:
        scope.sink.declared_twice(
            "duplicate-field",
            f"`{symbol.name}` has the field `{name}` twice",
            member.name.span,
            first.span,
        )
        return
    type_ = element_type(scope, scope.resolve_type(member.type), member.pairs)
    type_ = check_element(scope, member, type_)
    symbol.fields[name] = FieldSymbol(name, type_, member.name.span, member)


def _add_method(scope: GlobalScope, symbol: TypeSymbol, member: syntax.Function) -> FunctionSymbol:
    declared = prototype(scope, member)
    declared.target = CallTarget.STRUCT_METHOD
    others = symbol.methods.setdefault(declared.name, [])
    if not report_duplicate_function(
        scope, others, declared, f"`{symbol.name}`", "duplicate-method"
    ):
        others.append(declared)
    declared.function = ir.FunctionRef(scope.machine, symbol.name, declared.name)
    return FunctionSymbol(declared, member, scope.machine, symbol)
