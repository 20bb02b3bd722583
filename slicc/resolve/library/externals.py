"""What is declared and not defined is accepted, with one warning for each kind.

A function or method without a body ends the run when it is called; an object of a class that the
runtime lacks is null. Invariant: everything accepted here is named in a warning.
"""

from __future__ import annotations

from dataclasses import replace

from slicc import ir
from slicc.ir import type_rules
from slicc.resolve.scope.scopes import GlobalScope, MachineScope
from slicc.resolve.scope.symbols import CallTarget, FunctionSymbol, Overload
from slicc.source import Span
from slicc.text.wording import first_few

_LISTED = 8
"""Names in one warning."""

CALL = "external-call"
OBJECT = "external-object"


def declare_external(scope: MachineScope, declared: Overload, owner: str) -> Overload:
    """A function (or ``owner``'s method) that the protocol declares without a body, to be called.

    It becomes a function of this machine whose call ends the run.
    """
    assert declared.node is not None
    types = [type_rules.describe(parameter.type) for parameter in declared.parameters]
    key = "_".join(["external", *filter(None, [owner]), declared.name, *types]).replace("::", "_")
    known = scope.declared_stubs.get(key)
    if known is None:
        called = replace(
            declared,
            target=CallTarget.FUNCTION,
            function=ir.FunctionRef(scope.name, None, key),
        )
        known = scope.declared_stubs[key] = [FunctionSymbol(called, declared.node, scope.name)]
        scope.unresolved_stubs += known
    return known[0].overload


def note_external(scope: GlobalScope, kind: str, name: str, span: Span) -> None:
    """Something external is used: it will be named by :func:`report_externals`."""
    scope.externals.setdefault(kind, {}).setdefault(name, span)


def report_externals(scope: GlobalScope) -> None:
    """One warning for each kind, at the first of its names."""
    texts = {
        CALL: ("calling it ends the run", "declared without a body: {}"),
        OBJECT: ("a null object", "of classes that the runtime lacks: {}"),
    }
    for kind, names in scope.externals.items():
        label, headline = texts[kind]
        scope.sink.warning(
            kind,
            headline.format(first_few([f"`{name}`" for name in names], _LISTED)),
            next(iter(names.values())),
            label,
            help="a prelude file (`--prelude FILE`) can say what it does",
        )
