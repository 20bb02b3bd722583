"""Parses texts of older dialects that today's grammar refuses.

Invariant: syntax errors of a text that is not older are not reported here but by the recovery.
"""

from __future__ import annotations

from typing import cast

from lark import Lark, Token
from lark.exceptions import UnexpectedInput

from slicc.diagnostics.model import DiagnosticSink
from slicc.diagnostics.older_dialect import note_dialect
from slicc.parser.older_tokens import listed_files, may_be_older, modern_tokens
from slicc.source import SourceFile, Span
from slicc.syntax import nodes as syntax


def parse_older(source: SourceFile, parser: Lark, sink: DiagnosticSink) -> syntax.Unit | None:
    """The tree of an older text; None if it is not older, or has other errors too."""
    files = listed_files(source)
    if files:
        note_dialect(sink, "a driver that lists files", files[0], '`include "…";`')
        return _includes(source, files)
    if not may_be_older(source.text):
        return None
    notes: list[tuple[str, Span, str]] = []
    try:
        tokens = list(parser.lex(source.text))
        modern = modern_tokens(
            tokens, source, lambda text: list(parser.lex(text)), lambda *note: notes.append(note)
        )
        reading = parser.parse_interactive("")
        for token in modern:
            reading.feed_token(token)
        unit = cast(syntax.Unit, reading.feed_eof())  # type: ignore[no-untyped-call]
    except UnexpectedInput:
        return None
    for what, span, now in notes:
        note_dialect(sink, what, span, now)
    return unit


def older_tokens(tokens: list[Token], source: SourceFile, parser: Lark) -> list[Token]:
    """The tokens of an older text in today's spelling, so that only real mistakes remain."""
    if not may_be_older(source.text):
        return tokens
    try:
        return modern_tokens(
            tokens, source, lambda text: list(parser.lex(text)), lambda *note: None
        )
    except UnexpectedInput:
        return tokens


def _includes(source: SourceFile, files: list[Span]) -> syntax.Unit:
    includes = [
        syntax.Include(
            syntax.StringLiteral(source.text[span.start : span.end], '"', span=span), span=span
        )
        for span in files
    ]
    return syntax.Unit(tuple(includes), span=Span(source, 0, len(source.text)))
