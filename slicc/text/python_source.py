"""Author's text in Python source: string literals, docstrings, comments.

Invariant: for any text (with quotes, backslashes, control characters, line ends), the
result is one literal or comment that means that text.
"""

from __future__ import annotations

import re
import textwrap

from slicc.text.escapes import escaped, one_line

WIDTH = 100


def string_literal(text: str) -> str:
    """The text in quotes: double ones, unless single ones need fewer escapes."""
    body = escaped(text)
    if '"' not in body:
        return f'"{body}"'
    if body.count('"') > body.count("'"):
        return "'" + body.replace("'", "\\'") + "'"
    return '"' + body.replace('"', '\\"') + '"'


def docstring(text: str, indent: int) -> list[str]:
    """Lines of a docstring, indentation included; long text is wrapped."""
    pad = " " * indent
    # Quotes that touch each other or the ends could be read as part of the delimiters.
    pieces = re.split(r'(""+|^"|"$)', one_line(text))
    body = "".join(
        [
            piece.replace('"', '\\"') if index % 2 else escaped(piece)
            for index, piece in enumerate(pieces)
        ]
    )
    line = f'{pad}"""{body}"""'
    if len(line) <= WIDTH:
        return [line]
    # Room for the closing quotes on every line: a single line cannot hand them to the next one.
    first, *rest = _wrap(body, WIDTH - indent - 6)
    if not rest:
        return [line]
    return [f'{pad}"""{first}', *[pad + each for each in rest], f'{pad}"""']


def comment(text: str, indent: int) -> list[str]:
    """Lines of a comment on its own, indentation included; none for an empty text."""
    body = escaped(one_line(text))
    if not body:
        return []
    pad = " " * indent
    return [f"{pad}# {each}" for each in _wrap(body, WIDTH - indent - 2)]


def _wrap(text: str, width: int) -> list[str]:
    return textwrap.wrap(text, width, break_long_words=False, break_on_hyphens=False)
