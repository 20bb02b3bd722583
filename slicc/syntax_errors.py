"""What is wrong with a text that does not parse.

Invariant: reports at least one error.
"""

from __future__ import annotations

from lark import Lark
from lark.exceptions import UnexpectedCharacters, UnexpectedInput, UnexpectedToken

from slicc.diagnostics.model import DiagnosticSink
from slicc.source import SourceFile, Span


def report_syntax_errors(source: SourceFile, parser: Lark, sink: DiagnosticSink) -> None:
    """Report the first place where the text leaves the grammar."""
    try:
        parser.parse(source.text)
    except UnexpectedCharacters as error:
        start = error.pos_in_stream or 0
        where = Span(source, start, start + 1)
        sink.error("illegal-character", "a character that SLICC does not use", where)
    except UnexpectedToken as error:
        end = len(source.text)
        begin = error.token.start_pos if error.token.type != "$END" else end
        where = Span(source, begin or 0, error.token.end_pos or end)
        sink.error("syntax-error", f"unexpected `{error.token}`", where)
    except UnexpectedInput:
        sink.error("syntax-error", "unexpected text", Span(source, 0, len(source.text)))
