"""Stubs: functions and types that the protocol uses and that neither it nor the runtime has.

They come from the user's prelude file, else from the functions of older libraries
(``slicc.dialect``). Each is SLICC text and becomes a function of every machine that calls it, so
both engines run it like any other. One without a body is external: calling it ends the run.
Invariant: a stub that is never called is never resolved.
"""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache

from slicc import ir
from slicc.diagnostics.older_dialect import note_dialect
from slicc.dialect.declarations import snippet
from slicc.resolve.declarations.prototypes import name_overloads, prototype
from slicc.resolve.declarations.types import declare_types
from slicc.resolve.library.extensions import Extensions
from slicc.resolve.library.object_state import state_of
from slicc.resolve.scope.scopes import GlobalScope, MachineScope
from slicc.resolve.scope.symbols import (
    CallTarget,
    FunctionSymbol,
    Overload,
    TypeSymbol,
    VariableSymbol,
)
from slicc.source import Span
from slicc.syntax import nodes as syntax

_OLDER = "library.sm"
THIS = "this"
"""The name of its object in a method of a prelude."""


class Stubs:
    """Stubs by name: the user's, then those of older libraries."""

    def __init__(self, extensions: Extensions) -> None:
        self._given: dict[str, list[syntax.Function]] = {}
        for node in extensions.functions:
            self._given.setdefault(node.name.text, []).append(node)
        self._classes = extensions.classes
        self._state = extensions.state
        self._methods: dict[tuple[str, str], list[syntax.Function]] = {}
        for owner, nodes in extensions.methods.items():
            for node in nodes:
                self._methods.setdefault((owner, node.name.text), []).append(node)

    def find(self, name: str) -> list[syntax.Function]:
        """The user's overloads; ones without a body only stand behind those of older libraries."""
        given = self._given.get(name, [])
        if any(node.body is not None for node in given):
            return given
        return [*_older_functions().get(name, ()), *given]

    def find_method(self, owner: str, name: str) -> list[syntax.Function]:
        """The user's methods of an external class."""
        return self._methods.get((owner, name), [])

    def find_state(self, owner: str) -> list[syntax.ObjectDeclaration]:
        """The fields that the user gives to objects of a class."""
        return self._state.get(owner, [])

    def has_class(self, name: str) -> bool:
        """Whether the user's prelude declares an external class of that name."""
        return name in self._classes

    def declare_type(self, scope: GlobalScope, name: str) -> TypeSymbol | None:
        """An enumeration of older libraries, now one of the protocol; None if there is none."""
        node = _older_types().get(name)
        if node is None:
            return None
        declare_types(scope, [node])
        return scope.types[name]


@cache
def _older_functions() -> dict[str, list[syntax.Function]]:
    found: dict[str, list[syntax.Function]] = {}
    for node in snippet(_OLDER):
        if isinstance(node, syntax.Function):
            found.setdefault(node.name.text, []).append(node)
    return found


@cache
def _older_types() -> dict[str, syntax.Enumeration]:
    return {
        node.type.text: node for node in snippet(_OLDER) if isinstance(node, syntax.Enumeration)
    }


def declare_stub_functions(scope: MachineScope, name: str, span: Span) -> list[Overload]:
    """The stubs of that name, now functions of this machine; empty if there are none."""
    known = scope.declared_stubs.get(name)
    if known is None:
        nodes = scope.stubs.find(name)
        own_name = name
        if scope.functions.get(name):
            nodes = [node for node in nodes if node.span.file.name != _OLDER]
            own_name = f"{name}_of_library"
        known = scope.declared_stubs[name] = _declare(scope, nodes, own_name)
        name_overloads(known)
        scope.unresolved_stubs += known
        if nodes and nodes[0].span.file.name == _OLDER:
            note_dialect(scope.sink, f"`{name}`", span, "what it did")
    return [symbol.overload for symbol in known]


def declare_stub_methods(
    scope: MachineScope,
    owner: str,
    name: str,
    receiver: ir.Type = ir.UNKNOWN,
    variable: VariableSymbol | None = None,
) -> list[Overload]:
    """Stubs of a class's method, now functions of this machine.

    Where they name their object or it has state, there is one for each ``variable`` that holds an
    object; a value, like a set of nodes, is their first argument.
    """
    nodes = scope.stubs.find_method(owner, name)
    state = {} if variable is None else state_of(scope, variable)
    named = any(_names_this(node) for node in nodes)
    key = f"{owner}_{name}"
    visible: tuple[VariableSymbol, ...] = ()
    argument: ir.Type | None = None
    if named and not (isinstance(receiver, ir.ClassType) and not receiver.value):
        argument = receiver
    elif variable is not None and (named or state):
        key = f"{key}_{variable.ir_name}"
        fields = [replace(each, name=name) for name, each in state.items()]
        visible = (replace(variable, name=THIS), *fields)
    known = scope.declared_stubs.get(key)
    if known is None:
        known = scope.declared_stubs[key] = _declare(scope, nodes, key)
        for symbol in known:
            symbol.visible = visible
            symbol.overload.receiver = None if symbol.node.body is None else argument
        name_overloads(known)
        scope.unresolved_stubs += known
    return [symbol.overload for symbol in known]


def _names_this(node: syntax.Function) -> bool:
    return node.body is not None and re.search(rf"\b{THIS}\b", node.span.text) is not None


def _declare(scope: MachineScope, nodes: list[syntax.Function], name: str) -> list[FunctionSymbol]:
    """Each as an overload of ``name``; of two for the same parameters the first counts."""
    found: dict[tuple[ir.Type, ...], FunctionSymbol] = {}
    for node in nodes:
        declared = prototype(scope, node)
        declared.target = CallTarget.FUNCTION
        declared.name = name
        declared.function = ir.FunctionRef(scope.name, None, name)
        types = tuple(parameter.type for parameter in declared.parameters)
        found.setdefault(types, FunctionSymbol(declared, node, scope.name))
    return list(found.values())
