"""Text to syntax tree.

A text without mistakes takes one pass of lark's LALR parser, which builds nodes as it goes. Only a
text with mistakes pays for the search for causes (``slicc.parser.recovery``). Invariant: ``parse``
returns None exactly if it reported an error.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import cast

from lark import Lark, Token
from lark.exceptions import UnexpectedInput

from slicc.diagnostics.model import DiagnosticSink
from slicc.parser.ast_builder import TreeBuilder
from slicc.parser.limits import within_limits
from slicc.parser.table_cache import load_parser
from slicc.source import BUILTIN, SourceFile
from slicc.syntax import nodes as syntax
from slicc.text.garbage import uncollected


def parse(source: SourceFile, sink: DiagnosticSink) -> syntax.Unit | None:
    """The tree of one file, includes not yet read.

    Every syntax error that can be distinguished goes to ``sink``; then the result is None.
    """
    unit, complete = _parse(source, sink)
    return unit if complete else None


def parse_partially(source: SourceFile, sink: DiagnosticSink) -> syntax.Unit | None:
    """Likewise, but of a text with errors what was understood; None if that is nothing."""
    return _parse(source, sink)[0]


def _parse(source: SourceFile, sink: DiagnosticSink) -> tuple[syntax.Unit | None, bool]:
    """The tree, and whether the text has no errors."""
    if not within_limits(source, sink):
        return None, False
    parser, builder = _parser()
    builder.file = source
    try:
        with uncollected():
            return cast(syntax.Unit, parser.parse(source.text)), True
    except UnexpectedInput:
        from slicc.parser.common_mistakes import explain
        from slicc.parser.older_text import parse_older
        from slicc.parser.recovery import report_syntax_errors

        unit = parse_older(source, parser, sink)
        if unit is None:
            return report_syntax_errors(source, parser, sink, explain), False
        return unit, True
    finally:
        builder.file = BUILTIN


_PARSERS = threading.local()
"""A parser has one text under way, so each thread has its own."""


def _parser() -> tuple[Lark, TreeBuilder]:
    kept: tuple[Lark, TreeBuilder] | None = getattr(_PARSERS, "kept", None)
    if kept is None:
        builder = TreeBuilder()
        kept = _PARSERS.kept = (load_parser(builder), builder)
    return kept


def lex(text: str) -> list[Token]:
    """The tokens of a text, up to the first character that begins none."""
    tokens: list[Token] = []
    with suppress(UnexpectedInput):
        tokens.extend(_parser()[0].lex(text))
    return tokens
