"""Source texts and places in them.

A :class:`SourceFile` is read once and never changes; a :class:`Span` is a half-open range of
character offsets in one. Everything that a diagnostic can be about has a span.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import field
from functools import cached_property

from slicc.text.lazy_dataclass import dataclass


@dataclass(frozen=True)
class SourceFile:
    """One text. ``name`` is what diagnostics print (as the author gave it, never absolute-ised)."""

    name: str
    text: str = field(repr=False, compare=False)

    @cached_property
    def _line_starts(self) -> list[int]:
        return [0, *(match.end() for match in re.finditer("\n", self.text))]

    @property
    def line_count(self) -> int:
        return len(self._line_starts)

    def position(self, offset: int) -> tuple[int, int]:
        """1-based (line, column) of a character offset."""
        line = bisect_right(self._line_starts, offset)
        return line, offset - self._line_starts[line - 1] + 1

    def line_bounds(self, line: int) -> tuple[int, int]:
        """Offsets where a 1-based line begins, and where it ends without its newline."""
        assert 1 <= line <= self.line_count
        start = self._line_starts[line - 1]
        end = self._line_starts[line] if line < len(self._line_starts) else len(self.text)
        while end > start and self.text[end - 1] in "\r\n":
            end -= 1
        return start, end

    def line_text(self, line: int) -> str:
        """Text of a 1-based line without its newline."""
        start, end = self.line_bounds(line)
        return self.text[start:end]


@dataclass(frozen=True, slots=True)
class Span:
    """Characters ``start`` (inclusive) to ``end`` (exclusive) of ``file``."""

    file: SourceFile
    start: int
    end: int

    @property
    def line(self) -> int:
        return self.file.position(self.start)[0]

    def __reduce__(self) -> tuple[type[Span], tuple[SourceFile, int, int]]:
        return Span, (self.file, self.start, self.end)  # loads in half of the time

    @property
    def column(self) -> int:
        return self.file.position(self.start)[1]

    @property
    def text(self) -> str:
        return self.file.text[self.start : self.end]

    def to(self, other: Span) -> Span:
        """From the start of this span to the end of another in the same file."""
        assert other.file is self.file or other.file == self.file, "a span lies in one file"
        return Span(self.file, self.start, max(self.end, other.end))

    def __str__(self) -> str:
        line, column = self.file.position(self.start)
        return f"{self.file.name}:{line}:{column}"


BUILTIN = SourceFile("<built-in>", "")
NOWHERE = Span(BUILTIN, 0, 0)
