"""Functions in the order of calling: callees first, else as declared.

Invariant: where every function stands before its callers already, the order does not change.
No recursion here: a chain of calls may be as long as its author likes.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from typing import TypeVar

from slicc import ir
from slicc.ir.walk import expressions_in

K = TypeVar("K", bound=Hashable)

Calls = dict[ir.FunctionRef, list[ir.FunctionRef]]


def call_graph(functions: Iterable[ir.Function]) -> Calls:
    """Which functions each one calls directly, in order of occurrence."""
    listed = tuple(functions)
    known = {function.ref for function in listed}
    graph: Calls = {}
    for function in listed:
        found: dict[ir.FunctionRef, None] = {}
        for node in expressions_in(function.body):
            match node:
                case ir.CallFunction(function=ref) | ir.CallStructMethod(function=ref):
                    if ref in known:
                        found[ref] = None
                case _:
                    pass
        graph[function.ref] = list(found)
    return graph


def walk(graph: Mapping[K, Iterable[K]]) -> tuple[list[K], list[list[K]]]:
    """All keys, those behind the arrows first, and the cycles met on the way."""
    ordered: list[K] = []
    cycles: list[list[K]] = []
    done: set[K] = set()
    for start in graph:
        path: list[K] = []
        waiting: list[Iterator[K]] = [iter([start])]
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
    ordered, _ = walk(call_graph(functions))
    return tuple([by_ref[ref] for ref in ordered])
