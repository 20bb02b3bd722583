"""When a misspelt name is recognised."""

from __future__ import annotations

import pytest

from slicc.text.suggest import edit_distance, suggest


@pytest.mark.parametrize(
    ("word", "candidates", "expected"),
    [
        ("a_isueRequest", ["a_issueRequest", "b_issueRequest", "m_pop"], "a_issueRequest"),
        ("laod", ["Load", "Store"], None),
        ("Laod", ["Load", "Store"], "Load"),
        ("load", ["Load", "Store"], "Load"),
        ("x", ["y", "z"], None),
        ("IS", ["IM", "SM"], None),
        ("cat", ["bat", "rat"], None),
        ("Data", ["Data"], None),
        ("anything", [], None),
        ("completely", ["different"], None),
    ],
)
def test_suggestions(word: str, candidates: list[str], expected: str | None) -> None:
    assert suggest(word, candidates) == expected


def test_edit_distance_counts_a_swap_once() -> None:
    assert edit_distance("laod", "load", 5) == 1
    assert edit_distance("", "abc", 5) == 3
    assert edit_distance("kitten", "sitting", 5) == 3
    assert edit_distance("kitten", "sitting", 1) > 1
