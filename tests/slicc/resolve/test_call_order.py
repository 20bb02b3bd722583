"""The search through graphs of calls, against a library of graphs."""

from __future__ import annotations

import networkx as nx
from hypothesis import given
from hypothesis import strategies as st

from slicc.resolve.call_order import Visit, depth_first

GRAPHS = st.dictionaries(
    st.integers(0, 7), st.lists(st.integers(0, 7), max_size=5, unique=True), max_size=8
)
_KINDS = {Visit.ENTERED: "forward", Visit.MET_AGAIN: "nontree", Visit.LEFT: "reverse"}


@given(GRAPHS)
def test_every_visit_is_that_of_networkx(drawn: dict[int, list[int]]) -> None:
    graph = {node: [to for to in successors if to in drawn] for node, successors in drawn.items()}
    known = nx.DiGraph()
    known.add_nodes_from(graph)
    known.add_edges_from((node, to) for node, successors in graph.items() for to in successors)
    expected = [(kind, node) for _, node, kind in nx.dfs_labeled_edges(known)]
    assert [(_KINDS[visit], node) for visit, node in depth_first(graph)] == expected


def test_a_chain_may_have_any_length() -> None:
    chain = {number: [number + 1] for number in range(50_000)} | {50_000: []}
    left = [node for visit, node in depth_first(chain) if visit is Visit.LEFT]
    assert left == list(range(50_000, -1, -1))
