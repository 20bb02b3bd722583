"""Functions in the order of calling: callees first, else as declared.

The search is our own: importing a library of graphs takes longer than compiling most protocols.
Invariant: if every function already precedes its callers, the order does not change. A chain of
calls may have any length.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping
from enum import Enum, auto
from typing import TypeVar

from slicc import ir
from slicc.ir.walk import expressions_in

K = TypeVar("K", bound=Hashable)
Graph = Mapping[K, Iterable[K]]
"""The successors of every node, in order; each of them is a node, too."""


class Visit(Enum):
    """What a depth-first search does with a node."""

    ENTERED = auto()
    MET_AGAIN = auto()
    LEFT = auto()


def depth_first(graph: Graph[K]) -> Iterator[tuple[Visit, K]]:
    """Every node is entered and left once; an arrow to one that was entered before meets it."""
    seen: set[K] = set()
    for root in graph:
        if root in seen:
            continue
        seen.add(root)
        yield Visit.ENTERED, root
        path = [(root, iter(graph[root]))]
        while path:
            node, successors = path[-1]
            following = next(successors, None)
            if following is None:
                path.pop()
                yield Visit.LEFT, node
            elif following in seen:
                yield Visit.MET_AGAIN, following
            else:
                seen.add(following)
                yield Visit.ENTERED, following
                path.append((following, iter(graph[following])))


def call_graph(functions: Iterable[ir.Function]) -> dict[ir.FunctionRef, list[ir.FunctionRef]]:
    """Which functions each one calls directly, in order of occurrence."""
    listed = {function.ref: function for function in functions}
    return {
        function.ref: [ref for ref in dict.fromkeys(_called(function)) if ref in listed]
        for function in listed.values()
    }


def _called(function: ir.Function) -> Iterator[ir.FunctionRef]:
    for node in expressions_in(function.body):
        match node:
            case ir.CallFunction(function=ref) | ir.CallStructMethod(function=ref):
                yield ref
            case _:
                pass


def callees_first(functions: tuple[ir.Function, ...]) -> tuple[ir.Function, ...]:
    """A stable topological order (members of a cycle: in order of first visit)."""
    by_ref = {function.ref: function for function in functions}
    visits = depth_first(call_graph(functions))
    assert len(by_ref) == len(functions), "a function is declared once"
    return tuple([by_ref[ref] for visit, ref in visits if visit is Visit.LEFT])
