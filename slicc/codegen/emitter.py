"""A list of lines that knows how far it is indented and where each line came from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager

from slicc.source import Span

INDENT = 4


class Emitter(ABC):
    """Lines of one function or block, with their full indentation in columns."""

    def __init__(self, indent: int = 0) -> None:
        self.indent = indent
        self.lines: list[str] = []

    @abstractmethod
    def mark(self, span: Span | None) -> str:
        """The end of a line until its line number in the file is known."""

    def line(self, code: str, span: Span | None = None) -> None:
        self.lines.append(" " * self.indent + code + self.mark(span))

    @contextmanager
    def indented(self) -> Iterator[None]:
        self.indent += INDENT
        yield
        self.indent -= INDENT
        assert self.indent >= 0

    def text(self) -> str:
        return "\n".join(self.lines)
