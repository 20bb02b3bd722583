"""Reports characters, strings and comments that cannot be read, and blanks them out.

Invariant: the cleaned text has the same length as the original, so that offsets stay valid, and it
can be split into tokens.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_left
from dataclasses import field

from slicc.diagnostics.model import SHOWN_PER_FILE, DiagnosticSink
from slicc.source import SourceFile, Span
from slicc.text.lazy_dataclass import dataclass

_PIECES = re.compile(
    r"""(?P<fine> //[^\n]* | /\*.*?\*/ | "[^"\n]*" | '[^'\n]*'
           | [A-Za-z_0-9 \t\n;,:=.()\[\]{}&<>!+\-*%] | /(?![*/])
           | \|\| )
      | (?P<comment> /\*.* )
      | (?P<string> ["'][^\n]* )
      | (?P<other> . )""",
    re.VERBOSE | re.DOTALL,
)
# The order of alternatives matters: a complete comment or string is fine, a `/` that opens a
# comment without end must not pass as an operator.
_FINE_CHARACTER = re.compile(r"/(?![*/])|[A-Za-z_0-9 \t\n;,:=.()\[\]{}&<>!+\-*%]+")

_TAIL = re.compile(r"(.+?)(\)\s*+(?:\{\s*+\}?|;\s*+\}?)?\s*+|;\s*+\}?\s*+)(?://.*)?\Z", re.DOTALL)
"""Text that probably follows a string without closing quote. No character is tried twice."""

_OPERATORS_ELSEWHERE = {
    "|": "SLICC has no bit operators; the logical or is `||`",
    "^": "SLICC has no bit operators",
    "~": "SLICC has no bit operators; the logical not is `!`",
    "?": "SLICC has no `?:`; use `if` and `else`",
}
_QUOTES = "\u2018\u2019\u201a\u201c\u201d\u201e\u00ab\u00bb\u00b4`"


@dataclass(slots=True)
class Cleaned:
    """``damage``: ranges of characters, in order, whose loss may confuse the parser."""

    text: str
    damage: list[tuple[int, int]] = field(default_factory=list)

    def damaged(self, start: int, end: int) -> bool:
        """Whether a lexical error lies in that range, so that errors there may follow from it."""
        # No two ranges overlap, so the last one to begin before `end` also ends last.
        position = bisect_left(self.damage, (end, end))
        return position > 0 and start < self.damage[position - 1][1]


def clean(source: SourceFile, sink: DiagnosticSink) -> Cleaned:
    """Report what cannot be read, and return the text with it blanked out or closed."""
    text = source.text
    pieces: list[str] = []
    result = Cleaned("")
    returns = 0
    position = 0
    while position < len(text):
        plain = _FINE_CHARACTER.match(text, position)
        if plain is not None:
            pieces.append(plain[0])
            position = plain.end()
            continue
        match = _PIECES.match(text, position)
        assert match is not None, "the last alternative takes any character"
        piece = match[0]
        start, position = match.span()
        span = Span(source, start, position)
        if match["fine"] is not None:
            pieces.append(piece)
        elif match["comment"] is not None:
            result.damage.append((start, position))
            sink.error(
                "unterminated-comment",
                "this comment never ends",
                Span(source, start, start + 2),
                "opened here",
                help="close it with `*/`",
            )
            pieces.append(_blank(piece))
        elif match["string"] is not None:
            closed = _closed(piece)
            result.damage.append((start, start + max(closed.rfind(piece[0]), 1)))
            sink.error(
                "unterminated-string",
                "this string does not end on its line",
                Span(source, start, start + len(piece.rstrip())),
                f"no closing `{piece[0]}`",
            )
            pieces.append(closed)
        elif piece == "\r":
            returns += 1
            if returns == 1:
                _report_carriage_return(span, sink)
            pieces.append(" ")
        else:
            position = max(position, _end_of_foreign(text, start))
            result.damage.append((start, position))
            if len(result.damage) <= SHOWN_PER_FILE:
                _report_character(Span(source, start, position), sink)
            pieces.append(" " * (position - start))
    result.text = "".join(pieces)
    return result


def _blank(piece: str) -> str:
    return re.sub(r"[^\n]", " ", piece)


def _closed(piece: str) -> str:
    """A complete string of the same length, and what probably follows it."""
    quote = piece[0]
    tail = _TAIL.match(piece)
    if tail is not None and tail.end(1) < 2:
        tail = None
    end = tail.end(1) if tail is not None else len(piece)
    if end < 2:
        return " "
    inner = piece[1 : end - 1].replace(quote, " ")
    rest = re.sub(r"[^){};]", " ", tail[2]) if tail is not None else ""
    return (quote + inner + quote + rest).ljust(len(piece))


def _report_carriage_return(span: Span, sink: DiagnosticSink) -> None:
    windows = span.file.text[span.end : span.end + 1] == "\n"
    sink.error(
        "illegal-character",
        "a carriage return",
        span,
        "here, and possibly at the end of every line" if windows else "",
        help="save the file with Unix line ends (LF)" if windows else None,
    )


def _end_of_foreign(text: str, start: int) -> int:
    """The end of a run of characters that no program has; a run is reported as one error."""
    end = start
    while end < len(text) and _is_foreign(text[end]):
        end += 1
    return end


def _is_foreign(character: str) -> bool:
    return not character.isascii() or not (character.isprintable() or character in "\t\n\r")


def _report_character(span: Span, sink: DiagnosticSink) -> None:
    character = span.text[0]
    if character in _OPERATORS_ELSEWHERE:
        sink.error(
            "unsupported-construct",
            f"the operator `{character}` does not exist",
            span,
            _OPERATORS_ELSEWHERE[character],
        )
        return
    name = unicodedata.name(character, "")
    code = f"U+{ord(character):04X}"
    shown = f"`{character}`" if character.isprintable() else code
    described = f"{code} {name.lower()}".strip() if not character.isascii() else ""
    help = None
    if character == "\ufeff":
        shown, help = "a byte order mark", "save the file as UTF-8 without byte order mark"
    elif character in _QUOTES:
        help = 'strings are quoted with `"`'
    elif character == "#":
        help = 'SLICC has no preprocessor; files are included with `include "file.sm";`'
    elif character == "\xa0":
        shown, help = "a no-break space", "replace it by an ordinary space"
    headline = f"{shown} is not a character of SLICC"
    if len(set(span.text)) > 1:
        headline = f"{len(span.text)} characters that SLICC does not use"
        described = f"the first one is {described or code}"
    sink.error("illegal-character", headline, span, described, help=help)
