"""Types that a protocol or machine declares: names first, then what they consist of.

Two steps, because a structure may name a type declared below it. Invariant: after
:func:`complete_types` every structure knows its fields, methods and interface.
"""

from __future__ import annotations

from collections.abc import Iterable

from slicc import ir, prelude, syntax, types
from slicc.diagnostics.model import Label
from slicc.diagnostics.suggest import suggest
from slicc.prelude.classes import OPAQUE_CLASSES
from slicc.resolve.pair_text import element_type
from slicc.resolve.pairs import check_keys
from slicc.resolve.scopes import GlobalScope, MachineScope
from slicc.symbols import (
    Callable_,
    CallTarget,
    FieldSymbol,
    FunctionSymbol,
    ParameterSymbol,
    TypeKind,
    TypeSymbol,
    did_you_mean,
)

_MACHINE_ONLY = {"State", "Event", "RequestType", "TBE"}


def declare_types(scope: GlobalScope, declarations: Iterable[syntax.Declaration]) -> None:
    """Enter the names of all types declared directly in this scope."""
    for node in declarations:
        match node:
            case syntax.Enumeration():
                _declare_enumeration(scope, node)
            case syntax.StateDeclaration():
                _declare_states(scope, node)
            case syntax.Structure():
                _declare_structure(scope, node)
            case syntax.ExternType():
                _declare_external(scope, node)
            case _:
                pass


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


# ------------------------------------------------------------------ names


def _is_new(scope: GlobalScope, name: syntax.TypeName, node: syntax.Node) -> bool:
    first = scope.types.get(name.text)
    if first is None:
        if scope.machine is None and name.text in _MACHINE_ONLY:
            scope.sink.error(
                "outside-machine",
                f"`{name.text}` belongs inside a machine",
                name.span,
                "declared outside any machine",
            )
            return False
        return True
    scope.sink.error(
        "multiple-tbe-types" if name.text == "TBE" else "duplicate-type",
        f"the type `{name.text}` is declared twice",
        name.span,
        "declared again",
        secondary=[Label(first.span, "first declared here")],
    )
    return False


def _declare_enumeration(scope: GlobalScope, node: syntax.Enumeration) -> None:
    check_keys(node.pairs, scope.sink)
    name = node.type.text
    if not _is_new(scope, node.type, node):
        return
    members: dict[str, syntax.Name] = {}
    for member in node.members:
        check_keys(member.pairs, scope.sink)
        _add_member(scope, name, members, member.name)
    if scope.machine is None and name in prelude.ENUMERATIONS:
        _match_library_enumeration(scope, node, members)
        return
    symbol = TypeSymbol(
        name,
        TypeKind.ENUM,
        ir.EnumType(ir.TypeRef(scope.machine, name)),
        node.type.span,
        machine=scope.machine,
        node=node,
        members={text: member.span for text, member in members.items()},
    )
    symbol.default = _default_member(scope, node.pairs, name, symbol.members)
    scope.add_type(symbol)
    if isinstance(scope, MachineScope):
        if name == "Event":
            scope.events = symbol
        elif name == "RequestType":
            scope.request_types = symbol


def _add_member(
    scope: GlobalScope, owner: str, members: dict[str, syntax.Name], name: syntax.Name
) -> None:
    first = members.get(name.text)
    if first is None:
        members[name.text] = name
        return
    kind = {"State": "state", "Event": "event"}.get(owner, "enum-member")
    scope.sink.error(
        f"duplicate-{kind}",
        f"`{owner}` has the member `{name.text}` twice",
        name.span,
        "declared again",
        secondary=[Label(first.span, "first declared here")],
    )


def _default_member(
    scope: GlobalScope, pairs: syntax.Pairs, name: str, members: Iterable[str]
) -> str:
    """The member that ``default="Type_Member"`` names, else ``NUM``."""
    pair = pairs.find("default")
    if pair is None:
        return "NUM"
    known = list(members)
    prefixes = [f"{name}_"]
    if scope.machine is not None:
        prefixes.insert(0, f"{scope.machine}_{name}_")
    for prefix in prefixes:
        if pair.value.startswith(prefix) and pair.value[len(prefix) :] in known:
            return pair.value[len(prefix) :]
    wanted = pair.value.removeprefix(prefixes[0])
    scope.sink.error(
        "missing-default-state",
        f"the default of `{name}` names none of its members",
        pair.value_span,
        f"expected `{prefixes[0]}` and a member",
        help=did_you_mean(pair.value, [prefixes[0] + member for member in known])
        or did_you_mean(wanted, known),
    )
    return "NUM"


def _match_library_enumeration(
    scope: GlobalScope, node: syntax.Enumeration, members: dict[str, syntax.Name]
) -> None:
    """A library enumeration written out again must say the same."""
    expected = prelude.ENUMERATIONS[node.type.text].names()
    if tuple(members) != expected:
        scope.sink.error(
            "library-type-mismatch",
            f"the runtime's enumeration `{node.type.text}` has other members",
            node.type.span,
            "differs from the runtime",
            notes=[f"the runtime has: {', '.join(expected)}"],
        )


def _declare_states(scope: GlobalScope, node: syntax.StateDeclaration) -> None:
    check_keys(node.pairs, scope.sink)
    if not isinstance(scope, MachineScope):
        scope.sink.error(
            "outside-machine",
            "a state declaration belongs inside a machine",
            node.type.span,
            "declared outside any machine",
        )
        return
    if node.type.text != "State":
        scope.sink.error(
            "invalid-state-declaration",
            "the states of a machine are called `State`",
            node.type.span,
            f"called `{node.type.text}`",
            help="write `state_declaration(State, …)`",
        )
    if not _is_new(scope, node.type, node):
        return
    members: dict[str, syntax.Name] = {}
    permissions = prelude.ENUMERATIONS["AccessPermission"].names()
    for member in node.members:
        check_keys(member.pairs, scope.sink)
        _add_member(scope, "State", members, member.name)
        permission = member.permission
        text = permission.member.text
        if permission.type.text != "AccessPermission" or text not in permissions:
            scope.sink.error(
                "unknown-permission",
                f"state `{member.name.text}` needs an access permission",
                permission.span,
                f"there is no `{permission.type.text}:{text}`",
                help=did_you_mean(text, permissions),
            )
            text = "Invalid"
        scope.permissions.setdefault(member.name.text, text)
    symbol = TypeSymbol(
        node.type.text,
        TypeKind.ENUM,
        ir.EnumType(ir.TypeRef(scope.machine, node.type.text)),
        node.type.span,
        machine=scope.machine,
        node=node,
        members={text: member.span for text, member in members.items()},
    )
    symbol.default = _default_member(scope, node.pairs, node.type.text, symbol.members)
    scope.add_type(symbol)
    if scope.states is None:
        scope.states = symbol


def _declare_structure(scope: GlobalScope, node: syntax.Structure) -> None:
    check_keys(node.pairs, scope.sink)
    name = node.type.text
    if not _is_new(scope, node.type, node):
        return
    if scope.machine is None and name in prelude.STRUCTURES:
        return  # compared with the library's by check_library_structures
    if "external" in node.pairs or (scope.machine is None and name in prelude.CLASSES):
        _declare_class(scope, node)
        return
    interface = _meant_interface(node.pairs)
    ref = ir.TypeRef(scope.machine, name)
    type_: ir.Type
    if name == "TBE":
        kind, type_ = TypeKind.TBE, ir.PointerType(ref)
    elif interface == "AbstractCacheEntry":
        kind, type_ = TypeKind.ENTRY, ir.PointerType(ref)
    elif interface == "Message":
        kind, type_ = TypeKind.MESSAGE, ir.StructType(ref)
    else:
        kind, type_ = TypeKind.PLAIN, ir.StructType(ref)
    symbol = TypeSymbol(name, kind, type_, node.type.span, machine=scope.machine, node=node)
    symbol.is_main_entry = kind is TypeKind.ENTRY and node.pairs.get("main") != "false"
    scope.add_type(symbol)
    if isinstance(scope, MachineScope):
        _note_implicit_type(scope, symbol)


def _meant_interface(pairs: syntax.Pairs) -> str | None:
    """The interface, with a slip put right: it is reported once, where it stands."""
    written = pairs.get("interface")
    known = ("Message", "AbstractCacheEntry")
    return written if written is None or written in known else suggest(written, known) or written


def _note_implicit_type(scope: MachineScope, symbol: TypeSymbol) -> None:
    if symbol.kind is TypeKind.TBE:
        scope.tbe = symbol
    elif symbol.is_main_entry:
        if scope.entry is not None:
            scope.sink.error(
                "multiple-entry-types",
                f"machine `{scope.name}` has two main entry types",
                symbol.span,
                "second one",
                secondary=[Label(scope.entry.span, "first one")],
                help='give the one that is not in the cache `main="false"`',
            )
            return
        scope.entry = symbol


def _declare_class(scope: GlobalScope, node: syntax.Structure) -> None:
    """A runtime class that the protocol declares for itself."""
    name = node.type.text
    known = scope.library.find(name)
    symbol = TypeSymbol(
        name,
        TypeKind.CLASS,
        known.type if known is not None else ir.ClassType(name),
        node.type.span,
        machine=scope.machine,
        node=node,
        missing_at_runtime=known is None,
    )
    if known is not None:
        symbol.interface = known.interface
        symbol.inport, symbol.outport = known.inport, known.outport
        symbol.buffer, symbol.parameter = known.buffer, known.parameter
    scope.types[name] = symbol


def _declare_external(scope: GlobalScope, node: syntax.ExternType) -> None:
    check_keys(node.pairs, scope.sink)
    name = node.type.text
    if name in types.SCALARS or name in OPAQUE_CLASSES or name in prelude.CLASSES:
        return
    if not _is_new(scope, node.type, node):
        return
    scope.types[name] = TypeSymbol(
        name,
        TypeKind.CLASS,
        ir.ClassType(name),
        node.type.span,
        machine=scope.machine,
        missing_at_runtime=True,
    )


# ------------------------------------------------------------------ contents


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
            if field is None or not types.same(field.type, scope.resolve_type(member.type)):
                had = "no such field" if field is None else f"`{types.describe(field.type)} {name}`"
                scope.sink.error(
                    "library-type-mismatch",
                    f"the runtime's `{known.name}` has no field `{member.type.text} {name}`",
                    member.name.span,
                    f"the runtime has {had}",
                )


def _find_interface(scope: GlobalScope, symbol: TypeSymbol, node: syntax.Structure) -> None:
    pair = node.pairs.find("interface")
    if pair is None or pair.value == "Message":
        return
    found = scope.find_type(pair.value)
    if found is None:
        scope.sink.error(
            "unknown-type",
            f"no type named `{pair.value}`",
            pair.value_span,
            "not declared",
            help=did_you_mean(pair.value, ["Message", *scope.type_names()]),
        )
        return
    symbol.interface = found


def _complete_class(scope: GlobalScope, symbol: TypeSymbol, node: syntax.Structure) -> None:
    """Merge the protocol's prototypes with what the runtime really has."""
    known = scope.library.find(symbol.name)
    for member in node.members:
        if isinstance(member, syntax.Function):
            declared = _prototype(scope, member)
            match_runtime(declared, [] if known is None else known.find_methods(declared.name))
            symbol.methods.setdefault(declared.name, []).append(declared)
        else:
            symbol.fields[member.name.text] = FieldSymbol(
                member.name.text, scope.resolve_type(member.type), member.name.span, member
            )
    if known is not None:
        for name, overloads in known.methods.items():
            symbol.methods.setdefault(name, []).extend(overloads)


def match_runtime(declared: Callable_, offered: list[Callable_]) -> None:
    """Give a prototype the runtime's overload with the same parameters, if there is one."""
    for candidate in offered:
        if len(candidate.parameters) == len(declared.parameters) and all(
            types.same(ours.type, theirs.type)
            for ours, theirs in zip(declared.parameters, candidate.parameters)
        ):
            declared.target = candidate.target
            declared.signature = candidate.signature
            declared.owner = candidate.owner
            declared.home = candidate.home
            declared.by_reference = candidate.by_reference
            declared.parameters = tuple(
                ParameterSymbol(ours.type, ours.by_reference, theirs.mutated, theirs.dropped)
                for ours, theirs in zip(declared.parameters, candidate.parameters)
            )
            return


def prototype(scope: GlobalScope, node: syntax.Function) -> Callable_:
    """A prototype as written; the runtime's match is found by the caller."""
    return _prototype(scope, node)


def _prototype(scope: GlobalScope, node: syntax.Function) -> Callable_:
    return Callable_(
        node.name.text,
        tuple(
            ParameterSymbol(scope.resolve_type(p.type), by_reference=p.mode == "reference")
            for p in node.parameters
        ),
        ir.VOID if node.result is None else scope.resolve_type(node.result),
        CallTarget.MISSING,
        node.name.span,
        by_reference="return_by_ref" in node.pairs,
    )


def _complete_structure(
    scope: GlobalScope, symbol: TypeSymbol, node: syntax.Structure
) -> list[FunctionSymbol]:
    bodies: list[FunctionSymbol] = []
    for member in node.members:
        check_keys(member.pairs, scope.sink)
        if isinstance(member, syntax.ObjectDeclaration):
            _add_field(scope, symbol, member)
        elif member.body is None:
            declared = _prototype(scope, member)
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
        scope.sink.error(
            "duplicate-field",
            f"`{symbol.name}` has the field `{name}` twice",
            member.name.span,
            "declared again",
            secondary=[Label(first.span, "first declared here")],
        )
        return
    type_ = element_type(scope, scope.resolve_type(member.type), member.pairs)
    symbol.fields[name] = FieldSymbol(name, type_, member.name.span, member)


def _add_method(scope: GlobalScope, symbol: TypeSymbol, member: syntax.Function) -> FunctionSymbol:
    declared = _prototype(scope, member)
    declared.target = CallTarget.STRUCT_METHOD
    report_duplicate_function(
        scope,
        symbol.methods.get(declared.name, []),
        declared,
        f"`{symbol.name}`",
        "duplicate-method",
    )
    symbol.methods.setdefault(declared.name, []).append(declared)
    declared.function = ir.FunctionRef(scope.machine, symbol.name, declared.name)
    return FunctionSymbol(declared, member, scope.machine, symbol)


def report_duplicate_function(
    scope: GlobalScope,
    others: list[Callable_],
    declared: Callable_,
    where: str,
    slug: str = "duplicate-function",
) -> bool:
    """Report a second body for one signature."""
    for other in others:
        if other.function is not None and [p.type for p in other.parameters] == [
            p.type for p in declared.parameters
        ]:
            scope.sink.error(
                slug,
                f"{where} defines `{declared.name}` twice for the same parameters",
                declared.span,
                "defined again",
                secondary=[Label(other.span, "first defined here")],
            )
            return True
    return False


def name_overloads(functions: list[FunctionSymbol]) -> None:
    """Give overloads unique names that carry their parameter types."""
    by_name: dict[str, list[FunctionSymbol]] = {}
    for function in functions:
        by_name.setdefault(function.callable.name, []).append(function)
    for name, overloads in by_name.items():
        if len(overloads) == 1:
            continue
        for function in overloads:
            suffix = "_".join(
                types.describe(p.type).replace("::", "_") for p in function.callable.parameters
            )
            ref = function.ref
            function.callable.function = ir.FunctionRef(
                ref.machine, ref.owner, f"{name}_{suffix}" if suffix else name
            )
