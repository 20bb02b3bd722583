"""Annotations of GitHub: commands in the log of a workflow, shown beside the lines of a change.

A runner obeys commands on stdout and on stderr, wherever they are from. Invariant: a text ends
neither its property nor its command; a log that passed :func:`without_commands` has none.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import TextIO

from slicc.text.escapes import inert
from slicc.text.results.model import Found, Place

_LIMIT = 60_000
"""Characters of a message; a runner refuses much longer ones."""


def github_text(found: Iterable[Found]) -> str:
    """One line for each finding, each with its line end."""
    return "".join([f"{_annotation(each)}\n" for each in found])


def _annotation(found: Found) -> str:
    properties = {} if found.place is None else _place(found.place)
    properties["title"] = found.rule
    written = ",".join(f"{name}={_property(value)}" for name, value in properties.items())
    return f"::{found.level.value} {written}::{_message(found.message)}"


def _place(place: Place) -> dict[str, str]:
    """Columns only where they are of one line: GitHub refuses others."""
    numbers = {"line": place.line, "endLine": place.end_line}
    if place.end_line in (0, place.line):
        numbers |= {"col": place.column, "endColumn": place.end_column}
    return {"file": place.file, **{name: str(each) for name, each in numbers.items() if each}}


def _message(text: str) -> str:
    kept = inert(text[:_LIMIT], keep="\n\t")
    return kept.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _message(text).replace(":", "%3A").replace(",", "%2C")


def without_commands(text: str) -> str:
    """A text of a log that gives no commands: neither of today's form nor of the older one."""
    return text.replace("::", ": :").replace("##[", "# #[")


class PlainLog(io.TextIOBase):
    """A stream for the text beside annotations. No command reaches the log through it."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, text: str, /) -> int:
        self._stream.write(without_commands(text))
        return len(text)

    def flush(self) -> None:
        self._stream.flush()

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return False
