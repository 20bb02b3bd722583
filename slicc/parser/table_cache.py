"""The LALR table of ``grammar.lark``, kept between runs.

Building it takes a third of a second, loading it a tenth of that. Invariant: the copy is never
required. If there is none of this version (``slicc.text.private_files``), the table is built anew
without a message.
"""

from __future__ import annotations

import hashlib
import io
import sys
from pathlib import Path

import lark

from slicc.parser.ast_builder import TreeBuilder
from slicc.text import private_files

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
    grammar = grammar_text()
    name = f"grammar-{_key(grammar)}.table"
    parser = _load(name, builder)
    if parser is None:
        parser = _build(grammar, builder)
        _store(name, parser)
    return parser


def _key(grammar: str) -> str:
    parts = (grammar, repr(sorted(OPTIONS.items())), lark.__version__, sys.version)
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def _build(grammar: str, builder: TreeBuilder) -> lark.Lark:
    return lark.Lark(grammar, transformer=builder, **OPTIONS)


def _load(name: str, builder: TreeBuilder) -> lark.Lark | None:
    payload = private_files.load(name)
    if payload is None:
        return None
    try:
        parser: lark.Lark = lark.Lark.__new__(lark.Lark)
        # The entry that lark's own cache and its stand-alone parsers use: `load` takes no
        # transformer.
        parser._load(io.BytesIO(payload), transformer=builder)
        return parser
    except Exception:  # an unusable cache is no error, for any content of the file
        return None


def _store(name: str, parser: lark.Lark) -> None:
    buffer = io.BytesIO()
    parser.save(buffer, exclude_options=("transformer",))
    private_files.store(name, buffer.getvalue())
