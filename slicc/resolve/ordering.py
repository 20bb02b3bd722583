"""Functions in the order of calling: callees first, else as declared.

Invariant: where every function stands before its callers already, the order does not change.
"""

from __future__ import annotations

from slicc import ir
from slicc.ir_walk import expressions_in


def calls_of(function: ir.Function) -> list[ir.FunctionRef]:
    """The machine functions called directly, each once, in order of occurrence."""
    found: dict[ir.FunctionRef, None] = {}
    for node in expressions_in(function.body):
        if isinstance(node, ir.CallFunction):
            found[node.function] = None
    return list(found)


def callees_first(functions: tuple[ir.Function, ...]) -> tuple[ir.Function, ...]:
    """A stable topological order (members of a cycle: in order of first visit)."""
    by_ref = {function.ref: function for function in functions}
    ordered: dict[ir.FunctionRef, ir.Function] = {}
    started: set[ir.FunctionRef] = set()

    def visit(function: ir.Function) -> None:
        if function.ref in started:
            return
        started.add(function.ref)
        for ref in calls_of(function):
            if ref in by_ref:
                visit(by_ref[ref])
        ordered[function.ref] = function

    for function in functions:
        visit(function)
    return tuple(ordered.values())
