"""Text to syntax tree.

A text without mistakes takes one pass of the plain parser. Only a text with mistakes pays for lark
and the search for causes (``slicc.parser.recovery``). Invariant: ``parse`` returns None exactly if
it reported an error.
"""

from __future__ import annotations

import threading
from contextlib import suppress
from functools import cached_property
from typing import TYPE_CHECKING

from slicc.diagnostics.model import DiagnosticSink
from slicc.garbage import uncollected
from slicc.parser.ast_builder import TreeBuilder
from slicc.parser.limits import within_limits
from slicc.parser.plain_parser import PlainParser, keep_table, kept_parser, table_of
from slicc.source import BUILTIN, SourceFile
from slicc.syntax import nodes as syntax

if TYPE_CHECKING:
    from lark import Lark, Token


def parse(source: SourceFile, sink: DiagnosticSink) -> syntax.Unit | None:
    """The tree of one file, includes not yet read.

    Every syntax error that can be distinguished goes to ``sink``; then the result is None.
    """
    unit, complete = _parse(source, sink)
    return unit if complete else None


def parse_partially(source: SourceFile, sink: DiagnosticSink) -> syntax.Unit | None:
    """Parse a text; of one with errors, what was understood, and None if that is nothing."""
    return _parse(source, sink)[0]


def _parse(source: SourceFile, sink: DiagnosticSink) -> tuple[syntax.Unit | None, bool]:
    """The tree, and whether the text has no errors."""
    if not within_limits(source, sink):
        return None, False
    _PARSERS.builder.file = source
    try:
        with uncollected():
            unit = _PARSERS.plain.parse(source.text)
        return (unit, True) if unit is not None else _explained(source, sink)
    finally:
        _PARSERS.builder.file = BUILTIN


def _explained(source: SourceFile, sink: DiagnosticSink) -> tuple[syntax.Unit | None, bool]:
    """An older text, or one with mistakes."""
    from slicc.parser.mistakes.common import explain
    from slicc.parser.older_text import parse_older
    from slicc.parser.recovery import report_syntax_errors

    unit = parse_older(source, _PARSERS.lark, sink)
    if unit is None:
        return report_syntax_errors(source, _PARSERS.lark, sink, explain), False
    return unit, True


class _Parsers(threading.local):
    """A parser has one text under way, so each thread has its own."""

    def __init__(self) -> None:
        self.builder = TreeBuilder()

    @cached_property
    def lark(self) -> Lark:
        """What makes the table, and finds mistakes."""
        from slicc.parser.grammar import load_parser

        return load_parser(self.builder)

    @cached_property
    def plain(self) -> PlainParser:
        """What reads texts without mistakes."""
        kept = kept_parser(self.builder)
        if kept is None:
            keep_table(self.lark)
            kept = PlainParser(table_of(self.lark), self.builder)
        return kept


_PARSERS = _Parsers()


def lex(text: str) -> list[Token]:
    """The tokens of a text, up to the first character that begins none."""
    from lark.exceptions import UnexpectedInput

    tokens: list[Token] = []
    with suppress(UnexpectedInput):
        tokens.extend(_PARSERS.lark.lex(text))
    return tokens
