"""The names of the types that a protocol or machine declares.

The contents of structures come later (``structures``), because a field may have a type that is
declared below it. Invariant: a name is entered once; a second declaration of it is reported.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import partial

from slicc import ir, prelude
from slicc.diagnostics.model import Label
from slicc.dialect import renamed as older
from slicc.ir import type_rules
from slicc.prelude.classes import OPAQUE_CLASSES
from slicc.resolve.scope.pairs import check_keys
from slicc.resolve.scope.scopes import GlobalScope, MachineScope
from slicc.resolve.scope.symbols import (
    TypeKind,
    TypeSymbol,
    did_you_mean,
    own_members,
)
from slicc.syntax import nodes as syntax
from slicc.text.suggest import suggest

_MACHINE_ONLY = {"State", "Event", "RequestType", "TBE"}
_NO_MEMBER = "NUM"
"""Stands behind the members of each enumeration: their number, and "no value yet"."""


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


# ------------------------------------------------------------------ names


def _is_new(scope: GlobalScope, name: syntax.TypeName) -> bool:
    """Whether a type may be declared under that name here; reports why not."""
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
    scope.sink.declared_twice(
        "multiple-tbe-types" if name.text == "TBE" else "duplicate-type",
        f"the type `{name.text}` is declared twice",
        name.span,
        first.span,
    )
    return False


def _declare_enumeration(scope: GlobalScope, node: syntax.Enumeration) -> None:
    check_keys(node.pairs, scope.sink)
    name = node.type.text
    if not _is_new(scope, node.type):
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
    if name.text == _NO_MEMBER:
        scope.sink.error(
            "reserved-member",
            f"`{owner}` cannot have a member `{_NO_MEMBER}`",
            name.span,
            "every enumeration has it, behind its last member",
        )
    first = members.get(name.text)
    if first is None:
        members[name.text] = name
        return
    kind = {"State": "state", "Event": "event"}.get(owner, "enum-member")
    scope.sink.declared_twice(
        f"duplicate-{kind}",
        f"`{owner}` has the member `{name.text}` twice",
        name.span,
        first.span,
    )


def _default_member(
    scope: GlobalScope, pairs: syntax.Pairs, name: str, members: Iterable[str]
) -> str:
    """The member that ``default="Type_Member"`` names, else ``NUM``."""
    pair = pairs.find("default")
    if pair is None:
        return _NO_MEMBER
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
        help=lambda: (
            did_you_mean(pair.value, [prefixes[0] + member for member in known])
            or did_you_mean(wanted, known)
        ),
    )
    return _NO_MEMBER


def _match_library_enumeration(
    scope: GlobalScope, node: syntax.Enumeration, members: dict[str, syntax.Name]
) -> None:
    """A library enumeration that the protocol declares again must have the same members."""
    expected = prelude.ENUMERATIONS[node.type.text].names()
    if tuple(members) != expected:
        added = [name for name in members if name not in expected]
        scope.sink.error(
            "library-type-mismatch",
            f"the runtime's enumeration `{node.type.text}` has other members",
            node.type.span,
            "differs from the runtime",
            notes=[f"the runtime has: {', '.join(expected)}"],
            help=own_members(node.type.text, added) if added else None,
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
    if not _is_new(scope, node.type):
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
                help=partial(did_you_mean, text, permissions),
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
    if not _is_new(scope, node.type):
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
    main = node.pairs.get("main") != "false" and node.pairs.get("interface") != "AbstractEntry"
    symbol.is_main_entry = kind is TypeKind.ENTRY and main
    scope.add_type(symbol)
    if isinstance(scope, MachineScope):
        _note_implicit_type(scope, symbol)


def _meant_interface(pairs: syntax.Pairs) -> str | None:
    """The interface, with a misspelling corrected, which is reported once, at its place."""
    written = pairs.get("interface")
    written = older.INTERFACES.get(written or "", written)
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
        has_stubs=known is None and scope.stubs.has_class(name),
    )
    if known is not None:
        symbol.interface = known.interface
        symbol.inport, symbol.outport = known.inport, known.outport
        symbol.buffer, symbol.parameter = known.buffer, known.parameter
    scope.types[name] = symbol


def _declare_external(scope: GlobalScope, node: syntax.ExternType) -> None:
    check_keys(node.pairs, scope.sink)
    name = node.type.text
    if name in type_rules.SCALARS or name in OPAQUE_CLASSES or name in prelude.CLASSES:
        return
    if not _is_new(scope, node.type):
        return
    scope.types[name] = TypeSymbol(
        name,
        TypeKind.CLASS,
        ir.ClassType(name),
        node.type.span,
        machine=scope.machine,
        missing_at_runtime=True,
        has_stubs=scope.stubs.has_class(name),
    )
