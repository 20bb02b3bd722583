"""Functions in the order of calling: callees first, else as declared.

Invariant: if every function already precedes its callers, the order does not change. A chain of
calls may have any length.
"""

from __future__ import annotations

from collections.abc import Iterable

import networkx as nx

from slicc import ir
from slicc.ir.walk import expressions_in


def call_graph(functions: Iterable[ir.Function]) -> nx.DiGraph[ir.FunctionRef]:
    """Which functions each one calls directly, in order of occurrence."""
    listed = {function.ref: function for function in functions}
    graph: nx.DiGraph[ir.FunctionRef] = nx.DiGraph()
    graph.add_nodes_from(listed)
    for function in listed.values():
        for node in expressions_in(function.body):
            match node:
                case ir.CallFunction(function=ref) | ir.CallStructMethod(function=ref):
                    if ref in listed:
                        graph.add_edge(function.ref, ref)
                case _:
                    pass
    return graph


def callees_first(functions: tuple[ir.Function, ...]) -> tuple[ir.Function, ...]:
    """A stable topological order (members of a cycle: in order of first visit)."""
    by_ref = {function.ref: function for function in functions}
    ordered = nx.dfs_postorder_nodes(call_graph(functions))
    return tuple([by_ref[ref] for ref in ordered])
