"""Author's text, however hostile, becomes harmless literals, docstrings and comments."""

from __future__ import annotations

import ast

from hypothesis import given
from hypothesis import strategies as st

from slicc.text import python_source as text
from slicc.text.escapes import one_line

PIECES = st.sampled_from(["a", "b c", '"', '"""', "'", "\\", "\n", "\t", "\r", "\x00", "\x1f", "#",
                          "{", "}", "%s", "é", "\u202e", "\U0001f600", "word " * 8])  # fmt: skip
TEXTS = st.lists(PIECES, max_size=24).map("".join)


@given(TEXTS)
def test_a_literal_means_the_text(value: str) -> None:
    literal = text.string_literal(value)
    assert ast.literal_eval(literal) == value
    assert literal.isprintable()


@given(TEXTS, st.sampled_from([0, 4, 8]))
def test_a_docstring_is_one_docstring(value: str, indent: int) -> None:
    if not one_line(value):
        return
    pad = " " * indent
    lines = text.docstring(value, indent)
    assert all(line.startswith(pad) for line in lines)
    tree = ast.parse("\n".join(["def f():", *[f"    {line}" for line in lines]]))
    function = tree.body[0]
    assert isinstance(function, ast.FunctionDef)
    assert len(function.body) == 1
    assert one_line(ast.get_docstring(function) or "") == one_line(value)


@given(TEXTS)
def test_a_comment_stays_one(value: str) -> None:
    lines = text.comment(value, 4)
    assert all(line.startswith("    # ") and line.isprintable() for line in lines)
