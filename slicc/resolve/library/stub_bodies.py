"""The bodies of stubs, resolved after all other bodies.

Invariant: afterwards no stub of the machine is left unresolved.
"""

from __future__ import annotations

from slicc import ir
from slicc.resolve.bodies.bodies import function_body
from slicc.resolve.library.externals import CALL, note_external
from slicc.resolve.scope.scopes import MachineScope
from slicc.resolve.scope.symbols import FunctionSymbol


def stub_functions(scope: MachineScope) -> tuple[ir.Function, ...]:
    """All stubs that bodies of this machine call, directly or through each other."""
    found = []
    while scope.unresolved_stubs:
        symbol = scope.unresolved_stubs.pop(0)
        if symbol.node.body is None:
            note_external(scope, CALL, symbol.overload.name, symbol.node.name.span)
            found.append(_external_body(symbol))
        else:
            found.append(function_body(scope, symbol))
    return tuple(found)


def _external_body(symbol: FunctionSymbol) -> ir.Function:
    """A function without a body: calling it ends the run with a message that says so."""
    node, called = symbol.node, symbol.overload
    where = f"{node.name.span.file.name}:{node.name.span.line}"
    text = f"`{called.name}` is external: {where} declares it without a body"
    parameters = tuple(
        ir.FunctionParameter(
            f"argument_{position}" if written.name is None else written.name.text,
            parameter.type,
            parameter.by_reference,
            span=written.span,
        )
        for position, (written, parameter) in enumerate(
            zip(node.parameters, called.parameters), start=1
        )
    )
    return ir.Function(
        symbol.ref,
        called.name,
        parameters,
        called.result,
        (ir.Panic(text, span=node.span),),
        called.by_reference,
        text,
        span=node.name.span,
    )
