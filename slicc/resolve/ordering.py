"""Functions in the order of calling: callees first, else as declared.

Invariant: where every function stands before its callers already, the order does not change.
No recursion here: a chain of calls may be as long as its author likes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from slicc import ir
from slicc.ir_walk import expressions_in

Calls = dict[ir.FunctionRef, list[ir.FunctionRef]]


def call_graph(functions: Iterable[ir.Function]) -> Calls:
    """Which functions each one calls directly, in order of occurrence."""
    listed = tuple(functions)
    known = {function.ref for function in listed}
    graph: Calls = {}
    for function in listed:
        found: dict[ir.FunctionRef, None] = {}
        for node in expressions_in(function.body):
            if isinstance(node, ir.CallFunction) and node.function in known:
                found[node.function] = None
        graph[function.ref] = list(found)
    return graph


def walk_calls(
    graph: Calls,
) -> tuple[list[ir.FunctionRef], list[list[ir.FunctionRef]]]:
    """All functions with callees first, and the cycles met on the way."""
    ordered: list[ir.FunctionRef] = []
    cycles: list[list[ir.FunctionRef]] = []
    done: set[ir.FunctionRef] = set()
    for start in graph:
        path: list[ir.FunctionRef] = []
        waiting: list[Iterator[ir.FunctionRef]] = [iter([start])]
        while waiting:
            ref = next(waiting[-1], None)
            if ref is None:
                waiting.pop()
                if path:
                    ordered.append(path.pop())
                    done.add(ordered[-1])
            elif ref in path:
                cycles.append(path[path.index(ref) :])
            elif ref not in done:
                path.append(ref)
                waiting.append(iter(graph[ref]))
    return ordered, cycles


def callees_first(functions: tuple[ir.Function, ...]) -> tuple[ir.Function, ...]:
    """A stable topological order (members of a cycle: in order of first visit)."""
    by_ref = {function.ref: function for function in functions}
    ordered, _ = walk_calls(call_graph(functions))
    return tuple([by_ref[ref] for ref in ordered])
