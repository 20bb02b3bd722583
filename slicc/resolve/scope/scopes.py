"""Where names are looked up: the protocol, a machine, and nested blocks of a body.

Invariant: a local's name in the IR has one type per body and one meaning at every place, so a
backend needs no scopes.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol

from slicc import ir, prelude
from slicc.diagnostics.model import DiagnosticSink
from slicc.diagnostics.older_dialect import note_dialect
from slicc.diagnostics.other_languages import instead_of
from slicc.dialect import renamed as older
from slicc.ir import type_rules
from slicc.resolve.library.builtin_symbols import Library
from slicc.resolve.scope.symbols import (
    ActionSymbol,
    FunctionSymbol,
    Overload,
    PortSymbol,
    TypeKind,
    TypeSymbol,
    VariableKind,
    VariableSymbol,
    did_you_mean,
)
from slicc.resolve.scope.unknown_names import Misses
from slicc.resolve.scope.uses import CURSOR, NameKind, Uses
from slicc.source import NOWHERE, Span
from slicc.syntax import nodes as syntax


class Stubs(Protocol):
    """The source of functions and types that neither the protocol nor the runtime has."""

    def find(self, name: str) -> list[syntax.Function]: ...

    def find_method(self, owner: str, name: str) -> list[syntax.Function]: ...

    def find_state(self, owner: str) -> list[syntax.ObjectDeclaration]: ...

    def has_class(self, name: str) -> bool: ...

    def declare_type(self, scope: GlobalScope, name: str) -> TypeSymbol | None: ...


class GlobalScope:
    """Types and function prototypes outside machines."""

    machine: str | None = None

    def __init__(self, sink: DiagnosticSink, stubs: Stubs, library: Library) -> None:
        self.sink = sink
        self.stubs = stubs
        self.library = library
        self.constants: dict[str, VariableSymbol] = {}
        self.types: dict[str, TypeSymbol] = {}
        self.by_ref: dict[ir.TypeRef, TypeSymbol] = {}
        self.functions: dict[str, list[FunctionSymbol]] = {}
        self.prototypes: dict[str, list[Overload]] = {}
        self.machines: dict[str, Span] = {}
        self.used_library: dict[str, None] = {}
        self._builtins: dict[str, list[Overload]] = {}
        self.misses = Misses(sink)
        self.externals: dict[str, dict[str, Span]] = {}
        self.atomic_calls: set[str] = set()
        """See `slicc.resolve.atomic_log`."""
        self.uses: Uses | None = None

    # -- uses, for editors

    def note(self, span: Span, target: Span, kind: NameKind, type_: ir.Type | None = None) -> None:
        """A name that was looked up."""
        if self.uses is not None:
            self.uses.note(span, target, kind, type_)

    def note_variable(self, span: Span, variable: VariableSymbol) -> None:
        """The name of a variable or port."""
        if self.uses is not None:
            kind = NameKind.VARIABLE if variable.port is None else NameKind.PORT
            if variable.kind is VariableKind.FIELD:
                kind = NameKind.FIELD
            self.uses.note(span, variable.span, kind, variable.type)

    def completes(self, name: str) -> Uses | None:
        """Where to offer names, if this one stands for the cursor."""
        return self.uses if name == CURSOR else None

    # -- types

    def find_type(self, name: str) -> TypeSymbol | None:
        found = self.types.get(name)
        if found is None:
            found = self.library.find(name)
            if found is not None:
                self.used_library[name] = None
            elif name in older.TYPES:
                return self.find_type(older.TYPES[name])
            else:
                found = self.stubs.declare_type(self, name)
        if found is not None:
            found.used = True
        return found

    def type_names(self) -> Iterator[str]:
        yield from self.types
        yield from self.library.names()

    def add_type(self, symbol: TypeSymbol) -> None:
        self.types[symbol.name] = symbol
        if not isinstance(symbol.type, ir.ClassType | ir.ScalarType):
            assert isinstance(symbol.type, ir.EnumType | ir.StructType | ir.PointerType)
            self.by_ref[symbol.type.ref] = symbol

    def symbol_of(self, type_: ir.Type) -> TypeSymbol | None:
        """The symbol behind a type, or None for void and unknown."""
        match type_:
            case ir.PointerType(ref) | ir.StructType(ref) | ir.EnumType(ref):
                return self._by_ref(ref)
            case ir.ClassType(name=name):
                return self.find_type(name)
            case ir.ScalarType(kind):
                return self.library.find(kind.spelling)
            case _:
                return None

    def _by_ref(self, ref: ir.TypeRef) -> TypeSymbol | None:
        found = self.by_ref.get(ref)
        return found if found is not None else self.library.find(ref.name)

    def resolve_type(self, name: syntax.TypeName) -> ir.Type:
        """The type of that name, or UNKNOWN after reporting that there is none."""
        text = name.text
        found = self.find_type(text)
        if found is not None:
            self.note(name.span, found.span, NameKind.TYPE, found.type)
            if text in older.TYPES and found.name == older.TYPES[text]:
                note_dialect(self.sink, f"the type `{text}`", name.span, f"`{found.name}`")
            return found.type
        if not self.misses.first("type", text, name.span):
            return ir.UNKNOWN
        self.sink.error(
            "unknown-type",
            f"no type named `{text}`",
            name.span,
            "not declared",
            help=lambda: instead_of(text) or did_you_mean(text, self.type_names()),
        )
        return ir.UNKNOWN

    def type_text(self, name: str) -> ir.Type:
        """The type of a prelude text in this scope: ``Event``, ``State``… are the machine's own."""
        if name == "void":
            return ir.VOID
        found = self.find_type(name)
        return ir.UNKNOWN if found is None else found.type

    # -- functions

    def builtins(self, name: str) -> list[Overload]:
        """The runtime's overloads of a function, typed in this scope."""
        found = self._builtins.get(name)
        if found is None:
            found = self._builtins[name] = Library.functions(name, self.type_text)
        return found

    def find_functions(self, name: str) -> list[Overload]:
        """All overloads visible here: authors' first, then the runtime's, then prototypes."""
        own = [symbol.overload for symbol in self.functions.get(name, ())]
        return own + self.builtins(name) + self.prototypes.get(name, [])

    def function_names(self) -> Iterator[str]:
        yield from self.functions
        yield from prelude.FUNCTIONS
        yield from prelude.STATEMENT_FUNCTIONS
        yield from self.prototypes

    def find_variable(self, name: str) -> VariableSymbol | None:
        """Variables that exist everywhere."""
        type_name = prelude.CONTROLLER_VARIABLES.get(name)
        if type_name is None:
            return self.constants.get(name)
        return VariableSymbol(
            name, VariableKind.CONTROLLER, self.type_text(type_name), NOWHERE, ir_name=name
        )

    def variable_names(self) -> Iterator[str]:
        yield from prelude.CONTROLLER_VARIABLES
        yield from self.constants


class MachineScope(GlobalScope):
    """Names of one machine; others are looked up in the protocol."""

    def __init__(self, parent: GlobalScope, name: str, node: syntax.Machine) -> None:
        super().__init__(parent.sink, parent.stubs, parent.library)
        self.parent = parent
        self.by_ref = parent.by_ref
        self.atomic_calls = parent.atomic_calls
        self.machine = name
        self.name: str = name
        self.node = node
        self.variables: dict[str, VariableSymbol] = {}
        self.ports: dict[str, PortSymbol] = {}
        self.actions: dict[str, ActionSymbol] = {}
        self.states: TypeSymbol | None = None
        self.events: TypeSymbol | None = None
        self.request_types: TypeSymbol | None = None
        self.tbe: TypeSymbol | None = None
        self.entry: TypeSymbol | None = None
        self.permissions: dict[str, str] = {}
        self.declared_stubs: dict[str, list[FunctionSymbol]] = {}
        self.unresolved_stubs: list[FunctionSymbol] = []
        self.object_state: dict[str, dict[str, VariableSymbol]] = {}
        self.state_objects: list[ir.Object] = []
        self.externals = parent.externals
        self.uses = parent.uses

    def find_type(self, name: str) -> TypeSymbol | None:
        found = self.types.get(name)
        if found is not None:
            found.used = True
            return found
        return self.parent.find_type(name)

    def type_names(self) -> Iterator[str]:
        yield from self.types
        yield from self.parent.type_names()

    def find_functions(self, name: str) -> list[Overload]:
        own = [symbol.overload for symbol in self.functions.get(name, ())]
        found = own + self.builtins(name) + self.prototypes.get(name, [])
        return found + self.parent.prototypes.get(name, [])

    def function_names(self) -> Iterator[str]:
        yield from super().function_names()
        yield from self.parent.prototypes
        for symbol in (*self.types.values(), *self.parent.types.values()):
            if symbol.kind is TypeKind.ENUM:
                yield f"{symbol.name}_to_string"
        yield f"{self.name}_State_to_permission"

    def find_variable(self, name: str) -> VariableSymbol | None:
        found = self.variables.get(name)
        return found if found is not None else self.parent.find_variable(name)

    def variable_names(self) -> Iterator[str]:
        yield from self.variables
        yield from self.parent.variable_names()


class BodyScope:
    """Nested blocks of one body."""

    def __init__(self, outer: GlobalScope) -> None:
        self.outer = outer
        self.frames: list[dict[str, VariableSymbol]] = [{}]
        self._given: dict[str, VariableSymbol] = {}
        self._counts: dict[str, int] = {}

    def push(self) -> None:
        self.frames.append({})

    def pop(self) -> None:
        self.frames.pop()

    def find(self, name: str) -> VariableSymbol | None:
        for frame in reversed(self.frames):
            found = frame.get(name)
            if found is not None:
                return found
        return self.outer.find_variable(name)

    def names(self) -> Iterator[str]:
        for frame in reversed(self.frames):
            yield from frame
        yield from self.outer.variable_names()

    def declare(
        self, name: str, kind: VariableKind, type_: ir.Type, span: Span, *, empty: bool = False
    ) -> VariableSymbol | None:
        """Add a local; None (and no change) if the innermost block already has the name.

        ``empty``: it starts as null, so a backend may have to annotate its type; such a local
        never reuses a name of a sibling block.
        """
        if name in self.frames[-1]:
            return None
        symbol = VariableSymbol(name, kind, type_, span, ir_name=name)
        while not self._is_free(symbol, empty):
            self._counts[name] = self._counts.get(name, 1) + 1
            symbol.ir_name = f"{name}_{self._counts[name]}"
        self._given[symbol.ir_name] = symbol
        self._counts.setdefault(name, 1)
        self.frames[-1][name] = symbol
        if kind not in (VariableKind.IN_MESSAGE, VariableKind.OUT_MESSAGE):
            self.outer.note_variable(span, symbol)
        return symbol

    def _is_free(self, symbol: VariableSymbol, empty: bool) -> bool:
        """Whether the name is new, or belonged to a variable of the same type in an ended block."""
        earlier = self._given.get(symbol.ir_name)
        if earlier is None:
            return True
        if empty or earlier.type != symbol.type or earlier.kind is not symbol.kind:
            return False
        return not any(earlier is other for frame in self.frames for other in frame.values())

    def add(self, symbol: VariableSymbol) -> None:
        """Add an implicit name (``address``, a structure's field) to the innermost block."""
        self.frames[-1][symbol.name] = symbol


def accepts(target: ir.Type, value: ir.Type, scope: GlobalScope) -> bool:
    """Whether a value may be stored: same type, or related through the target's interface."""
    if type_rules.same(target, value):
        return True
    return is_interface_of(value, target, scope) or is_interface_of(target, value, scope)


def is_interface_of(interface: ir.Type, type_: ir.Type, scope: GlobalScope) -> bool:
    """Whether ``interface`` is a super-type that ``type_`` names in its pairs."""
    symbol = scope.symbol_of(type_)
    while symbol is not None and symbol.interface is not None:
        symbol = symbol.interface
        if type_rules.same(symbol.type, interface):
            return True
    return False
