"""Symbols for the declarations of the prelude, made when a protocol first uses a name.

Invariant: one :class:`Library` per compilation; it never changes the prelude.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from slicc import ir, prelude
from slicc.ir import type_rules
from slicc.prelude.classes import OPAQUE_CLASSES
from slicc.prelude.signature import Flag, Home, Signature
from slicc.resolve.scope.symbols import (
    CallTarget,
    FieldSymbol,
    Overload,
    ParameterSymbol,
    TypeKind,
    TypeSymbol,
)

TypeLookup = Callable[[str], ir.Type]


class Library:
    """Lazy type symbols by name; ``types`` holds those in use, in order of first use."""

    def __init__(self, further: Mapping[str, Mapping[str, int | str]] | None = None) -> None:
        """``further``: by enumeration, members that the runtime lacks (see ``TypeSymbol``)."""
        self.types: dict[str, TypeSymbol] = {}
        self._further = further or {}
        for name, scalar in type_rules.SCALARS.items():
            self.types[name] = TypeSymbol(name, TypeKind.SCALAR, scalar, library=True)

    def find(self, name: str) -> TypeSymbol | None:
        """The library's type of that name, or None."""
        found = self.types.get(name)
        if found is not None:
            return found
        if name in prelude.ENUMERATIONS:
            return self._enumeration(name)
        if name in prelude.STRUCTURES:
            return self._structure(name)
        if name in prelude.CLASSES:
            return self._class(name)
        if name in OPAQUE_CLASSES:
            row = OPAQUE_CLASSES[name]
            symbol = TypeSymbol(
                name, TypeKind.CLASS, ir.ClassType(name), library=True, parameter=row.parameter
            )
            self.types[name] = symbol
            return symbol
        return None

    def names(self) -> list[str]:
        """Every type name of the library, for suggestions."""
        return [
            *type_rules.SCALARS,
            *prelude.ENUMERATIONS,
            *prelude.STRUCTURES,
            *prelude.CLASSES,
            *OPAQUE_CLASSES,
        ]

    def type_of(self, name: str) -> ir.Type:
        """The type a prelude text means; ``any`` and ``element`` agree with everything."""
        if name == "void":
            return ir.VOID
        symbol = self.find(name)
        return ir.UNKNOWN if symbol is None else symbol.type

    def _enumeration(self, name: str) -> TypeSymbol:
        row = prelude.ENUMERATIONS[name]
        symbol = TypeSymbol(name, TypeKind.ENUM, ir.EnumType(ir.TypeRef(None, name)), library=True)
        symbol.further = dict(self._further.get(name, {}))
        symbol.members = dict.fromkeys((*row.names(), *symbol.further), symbol.span)
        symbol.default = row.default or "NUM"
        self.types[name] = symbol
        return symbol

    def _structure(self, name: str) -> TypeSymbol:
        row = prelude.STRUCTURES[name]
        symbol = TypeSymbol(
            name, TypeKind.MESSAGE, ir.StructType(ir.TypeRef(None, name)), library=True
        )
        self.types[name] = symbol
        for line in row.fields:
            declaration, _, default = line.partition(" = ")
            type_name, field_name = declaration.split()
            symbol.fields[field_name] = FieldSymbol(
                field_name, self.type_of(type_name), symbol.span, default_text=default or None
            )
        self._add_methods(symbol, row.methods, name)
        return symbol

    def _class(self, name: str) -> TypeSymbol:
        row = prelude.CLASSES[name]
        type_: ir.Type
        if row.pointer:
            type_ = ir.PointerType(ir.TypeRef(None, name))
        else:
            type_ = ir.ClassType(name, value=row.value, immutable=row.immutable)
        symbol = TypeSymbol(
            name,
            TypeKind.CLASS,
            type_,
            library=True,
            inport=row.inport,
            outport=row.outport,
            buffer=row.buffer,
            parameter=row.parameter,
        )
        self.types[name] = symbol
        if row.interface is not None:
            symbol.interface = self.find(row.interface)
        self._add_methods(symbol, row.methods, name)
        return symbol

    def _add_methods(self, symbol: TypeSymbol, lines: tuple[str, ...], owner: str) -> None:
        for line in lines:
            signature = prelude.parse_signature(line)
            method = self.overload(signature, self.type_of, CallTarget.CLASS_METHOD)
            method.owner = owner
            symbol.methods.setdefault(signature.name, []).append(method)

    @staticmethod
    def overload(signature: Signature, lookup: TypeLookup, target: CallTarget) -> Overload:
        """One overload, its type texts read by ``lookup``."""
        return Overload(
            name=signature.name,
            parameters=tuple(
                ParameterSymbol(lookup(p.type), mutated=p.mutated, dropped=p.dropped)
                for p in signature.parameters
            ),
            result=lookup(signature.result),
            target=target,
            by_reference=signature.by_reference,
            signature=signature,
            element_result=signature.result == "element",
        )

    @staticmethod
    def functions(name: str, lookup: TypeLookup) -> list[Overload]:
        """The runtime's overloads of a function; empty if it has none of that name."""
        row = prelude.FUNCTIONS.get(name)
        if row is None:
            return []
        home = ir.BuiltinHome(row.home.value)
        found = []
        for line in row.lines:
            signature = prelude.parse_signature(line)
            cast = Flag.CAST in signature.flags
            target = CallTarget.CAST if cast else CallTarget.BUILTIN
            overload = Library.overload(signature, lookup, target)
            overload.home = home
            found.append(overload)
        return found


assert {home.value for home in Home} == {home.value for home in ir.BuiltinHome}
