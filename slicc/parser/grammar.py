"""The grammar of the language, ``grammar.lark``, and the parser that it gives."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from slicc.parser.ast_builder import TreeBuilder
from slicc.text.kept.grammar_tables import load_grammar

if TYPE_CHECKING:
    import lark

OPTIONS = {
    "start": "unit",
    "parser": "lalr",
    "lexer": "basic",
    "keep_all_tokens": True,
    "maybe_placeholders": False,
}
"""How the grammar is used; the test of the grammar adds ``strict``."""


def grammar_text() -> str:
    """The text of ``grammar.lark``."""
    return Path(__file__).with_name("grammar.lark").read_text(encoding="utf-8")


def load_parser(builder: TreeBuilder) -> lark.Lark:
    """A parser that builds the tree with ``builder``, from the cache if possible."""
    return load_grammar(grammar_text(), OPTIONS, builder)
