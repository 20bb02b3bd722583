"""Author's text in C++ source: only ever in comments and in names of files.

Invariant: a comment of ours is exactly the lines that we made: nothing in it continues on the
next line, ends it early, or is anything but a comment.
"""

from __future__ import annotations

import textwrap

from slicc.codegen.python.text import one_line

WIDTH = 110


def _printable(text: str) -> str:
    return "".join([each if each.isprintable() else "?" for each in one_line(text)])


def comment(text: str, indent: int = 0) -> list[str]:
    """Lines of a comment; none for an empty text."""
    pad = " " * indent
    wrapped = textwrap.wrap(
        _printable(text), WIDTH - indent - 3, break_long_words=False, break_on_hyphens=False
    )
    # A backslash at the end of a line would make the next one part of the comment.
    return [f"{pad}// {each}{'.' if each.endswith(chr(92)) else ''}" for each in wrapped]


def beside(text: str) -> str:
    """A comment behind code on the same line, or nothing."""
    words = _printable(text)
    if not words:
        return ""
    return f"  // {words}{'.' if words.endswith(chr(92)) else ''}"


def file_literal(name: str) -> str:
    """A file name in the quotes of ``#line``."""
    kept = "".join([each if each.isprintable() and each not in '"\\' else "_" for each in name])
    return f'"{kept}"'
