"""Author's text, however hostile, becomes harmless literals, docstrings and comments."""

from __future__ import annotations

import ast
from pathlib import Path

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from slicc.text import python_source as text
from slicc.text.escapes import one_line
from tests.codegen.tools import assert_formatted

PIECES = st.sampled_from(["a", "b c", '"', '"""', "'", "\\", "\n", "\t", "\r", "\x00", "\x1f", "#",
                          "{", "}", "%s", "é", "\u202e", "\U0001f600", "word " * 8])  # fmt: skip
TEXTS = st.lists(PIECES, max_size=24).map("".join)


@given(TEXTS)
def test_a_literal_means_the_text(words: str) -> None:
    literal = text.string_literal(words)
    assert ast.literal_eval(literal) == words
    assert literal.isprintable()


@given(TEXTS, st.sampled_from([0, 4, 8]))
def test_a_docstring_is_one_docstring(words: str, indent: int) -> None:
    if not one_line(words):
        return
    pad = " " * indent
    lines = text.docstring(words, indent)
    assert all(line.startswith(pad) for line in lines)
    tree = ast.parse("\n".join(["def f():", *[f"    {line}" for line in lines]]))
    function = tree.body[0]
    assert isinstance(function, ast.FunctionDef)
    assert len(function.body) == 1
    assert one_line(ast.get_docstring(function) or "") == one_line(words)


@given(TEXTS)
def test_a_comment_stays_one(words: str) -> None:
    lines = text.comment(words, 4)
    assert all(line.startswith("    # ") and line.isprintable() for line in lines)


@settings(
    max_examples=6,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(TEXTS, min_size=10, max_size=30))
def test_ruff_changes_nothing(tmp_path: Path, many: list[str]) -> None:
    functions = []
    for number, words in enumerate(many):
        body = text.docstring(words, 4) if one_line(words) else []
        body += text.comment(words, 4)
        functions.append("\n".join([f"def f{number}():", *body, f"    f({number})"]))
    (tmp_path / "made.py").write_text("\n\n\n".join(functions) + "\n", encoding="utf-8")
    assert_formatted(tmp_path)
