"""A whole protocol: global declarations first, then each machine.

Invariant: the IR lists library types only if the protocol uses them, in order of first use.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from slicc import ir, prelude
from slicc.diagnostics.model import DiagnosticSink
from slicc.dialect.declarations import modern_machine
from slicc.resolve.atomic_log import with_log
from slicc.resolve.bodies.bodies import function_body
from slicc.resolve.declarations.functions import declare_functions
from slicc.resolve.declarations.structures import check_library_structures, complete_types
from slicc.resolve.declarations.types import declare_types
from slicc.resolve.index import Index
from slicc.resolve.library.builtin_symbols import Library
from slicc.resolve.library.extension_symbols import (
    add_constant_fields,
    declare_constants,
    further_members,
)
from slicc.resolve.library.extensions import Extensions
from slicc.resolve.library.externals import report_externals
from slicc.resolve.library.stubs import Stubs
from slicc.resolve.machine import resolve_machine
from slicc.resolve.scope.pairs import check_keys
from slicc.resolve.scope.scopes import GlobalScope
from slicc.resolve.scope.symbols import TypeKind, did_you_mean
from slicc.resolve.scope.type_lowering import (
    enumerations_of,
    structures_of,
    to_enumeration,
    to_structure,
)
from slicc.source import Span
from slicc.syntax import nodes as syntax


def flatten(declarations: Iterable[syntax.Declaration]) -> list[syntax.Declaration]:
    """Declarations with those of included files in place of the includes."""
    found: list[syntax.Declaration] = []
    for node in declarations:
        if isinstance(node, syntax.Include):
            found += flatten(node.body or ())
        else:
            found.append(node)
    return found


def resolve(
    name: str,
    declarations: Sequence[syntax.Declaration],
    sources: tuple[str, ...],
    span: Span,
    sink: DiagnosticSink,
    extensions: Extensions | None = None,
    index: Index | None = None,
) -> ir.Protocol:
    """The protocol. After an error in ``sink`` parts are missing or of unknown type.

    ``extensions``: declarations of user libraries. ``index`` takes what an editor asks for.
    """
    flat = flatten(declarations)
    more = extensions or Extensions()
    machines_named = [one.type.member.text for one in flat if isinstance(one, syntax.Machine)]
    scope = GlobalScope(sink, Stubs(more), Library(further_members(more, machines_named)))
    if index is not None:
        index.begin(scope)
    declare_types(scope, [*more.types, *flat])
    methods = complete_types(scope)
    declare_constants(scope, more)
    add_constant_fields(scope, more)
    check_library_structures(scope, flat)
    declare_functions(scope, [node for node in flat if isinstance(node, syntax.Function)])
    resolved_methods = [function_body(scope, symbol) for symbol in methods]
    machines = []
    for node in flat:
        if isinstance(node, syntax.Machine):
            modern, body = modern_machine(node, flatten(node.body), sink)
            machine = resolve_machine(scope, modern, body, index)
            if machine is not None:
                machines.append(machine)
        else:
            _check_global(scope, node)
    report_externals(scope)
    if index is not None:
        index.note_declarations()
    enums = enumerations_of(scope)
    structs = structures_of(scope, resolved_methods)
    library_enums, library_structs = _library_types(scope)
    protocol = ir.Protocol(
        name,
        library_enums + enums,
        library_structs + structs,
        tuple(machines),
        sources,
        span=span,
    )
    protocol = with_log(protocol, scope.atomic_calls)
    if index is not None:
        index.protocol = protocol
    return protocol


def _library_types(
    scope: GlobalScope,
) -> tuple[tuple[ir.Enum_, ...], tuple[ir.Struct, ...]]:
    """Library types that the protocol uses, directly or through another library type."""
    structs = []
    for name in list(scope.used_library):
        symbol = scope.library.types[name]
        if symbol.kind is TypeKind.MESSAGE:
            structs.append(to_structure(scope, symbol))
            for field in symbol.fields.values():
                if isinstance(field.type, ir.EnumType):
                    scope.used_library[field.type.ref.name] = None
    enums = [
        to_enumeration(scope, scope.library.types[name], name)
        for name in prelude.ENUMERATIONS
        if name in scope.used_library
    ]
    return tuple(enums), tuple(structs)


def _check_global(scope: GlobalScope, node: syntax.Declaration) -> None:
    match node:
        case syntax.Action() | syntax.InPort() | syntax.OutPort() | syntax.Transition():
            what = {
                syntax.Action: "an action",
                syntax.InPort: "an in-port",
                syntax.OutPort: "an out-port",
                syntax.Transition: "a transition",
            }[type(node)]
            scope.sink.error(
                "outside-machine",
                f"{what} belongs inside a machine",
                node.span,
                "stands outside any machine",
            )
        case syntax.Protocol():
            for option in node.options:
                if option.text not in prelude.PROTOCOL_OPTIONS:
                    scope.sink.warning(
                        "unknown-option",
                        f"the protocol's option `{option.text}` means nothing and is ignored",
                        option.span,
                        "unknown option",
                        help=partial(did_you_mean, option.text, prelude.PROTOCOL_OPTIONS),
                    )
        case syntax.ObjectDeclaration():
            check_keys(node.pairs, scope.sink)
            if node.name.text not in prelude.CONTROLLER_VARIABLES:
                scope.sink.error(
                    "outside-machine",
                    f"the object `{node.name.text}` belongs inside a machine",
                    node.name.span,
                    "stands outside any machine",
                )
        case _:
            pass
