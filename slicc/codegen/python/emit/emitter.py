"""Lines of Python.

Invariant: no statement is longer than the layout allows unless nothing in it can be broken.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from slicc.codegen import emitter
from slicc.codegen.python.emit import line_breaks
from slicc.codegen.python.emit.python_tree import Code
from slicc.codegen.python.line_map import Marks
from slicc.source import Span
from slicc.text import python_source
from slicc.text.escapes import one_line


class Emitter(emitter.Emitter):
    """``marks`` takes the places of the lines."""

    def __init__(self, marks: Marks, indent: int) -> None:
        super().__init__(indent)
        self.marks = marks

    def mark(self, span: Span | None) -> str:
        return self.marks.mark(span)

    @contextmanager
    def indented(self) -> Iterator[None]:
        """Lines of a block; a block that stays empty becomes ``pass``."""
        before = len(self.lines)
        with super().indented():
            yield
            if len(self.lines) == before:
                self.line("pass")

    def statement(self, before: str, code: Code, after: str, span: Span | None = None) -> None:
        """``before`` + ``code`` + ``after``, broken over several lines when it is too long."""
        mark = self.mark(span)
        self.lines += [
            line + mark for line in line_breaks.lines(self.indent, before, code.text, after)
        ]

    def docstring(self, text: str) -> None:
        if one_line(text):
            self.lines += python_source.docstring(text, self.indent)

    def comment(self, text: str) -> None:
        self.lines += python_source.comment(text, self.indent)

    def blank(self) -> None:
        self.lines.append("")
