"""Author's text in C++ source: only ever in comments and in names of files.

A comment ends where a compiler sees a line end, and a lone carriage return is one. It continues if
its line ends in a backslash, blanks behind it or not, or in the trigraph of one. Invariant: a
comment of ours is exactly the lines that we made, all printable.
"""

from __future__ import annotations

import textwrap

from slicc.text.escapes import one_line, visible

WIDTH = 110


def in_comment(text: str) -> str:
    """A text inside of a comment of one line."""
    return _ended(visible(text).rstrip())


def comment(text: str, indent: int = 0) -> list[str]:
    """Lines of a comment; none for an empty text."""
    pad = " " * indent
    wrapped = textwrap.wrap(
        visible(one_line(text)),
        WIDTH - indent - 3,
        break_long_words=False,
        break_on_hyphens=False,
    )
    return [f"{pad}// {_ended(each)}" for each in wrapped]


def beside(text: str) -> str:
    """A comment behind code on the same line, or nothing."""
    body = in_comment(one_line(text))
    return f"  // {body}" if body else ""


def _ended(line: str) -> str:
    """A line that the next one does not continue."""
    return f"{line}." if line.endswith(("\\", "??/")) else line


def file_literal(name: str) -> str:
    """A file name in the quotes of ``#line``, where compilers disagree about escapes."""
    kept = "".join([each if each.isprintable() and each not in '"\\' else "_" for each in name])
    return f'"{kept}"'
