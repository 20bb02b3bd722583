"""Places in texts as editors count them, and places in a text that has changed since.

Editors count lines from 0 and columns in UTF-16 units (or what was agreed on); spans count
characters. Invariant: a place is always inside its text, whatever the editor sends.
"""

from __future__ import annotations

import os.path
from collections.abc import Callable
from functools import lru_cache

from slicc.source import SourceFile
from slicc.text.lazy_dataclass import dataclass

Units = Callable[[str], int]


def utf16(text: str) -> int:
    """The length in UTF-16 units."""
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


def utf8(text: str) -> int:
    """The length in bytes."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def offset_of(source: SourceFile, line: int, column: int, units: Units = utf16) -> int:
    """The character at a line and column from 0; places behind an end are that end."""
    if line < 0:
        return 0
    if line >= source.line_count:
        return len(source.text)
    start, end = source.line_bounds(line + 1)
    text = source.text[start:end]
    if text.isascii():
        return start + max(0, min(column, len(text)))
    passed = 0
    for index, character in enumerate(text):
        if passed >= column:
            return start + index
        passed += units(character)
    return end


def place_of(source: SourceFile, offset: int, units: Units = utf16) -> tuple[int, int]:
    """The line and column, from 0, of a character."""
    offset = max(0, min(offset, len(source.text)))
    line, column = source.position(offset)
    return line - 1, units(source.text[offset - column + 1 : offset])


@dataclass(frozen=True, slots=True)
class Change:
    """What differs between two texts: all between a common beginning and a common end."""

    start: int
    old_end: int
    new_end: int

    def forward(self, offset: int) -> int:
        """Where a place in the old text is in the new one; inside the change, its end."""
        if offset <= self.start:
            return offset
        if offset >= self.old_end:
            return offset + self.new_end - self.old_end
        return self.new_end

    def backward(self, offset: int) -> int:
        """Where a place in the new text was in the old one."""
        return Change(self.start, self.new_end, self.old_end).forward(offset)


@lru_cache(maxsize=64)
def change(old: str, new: str) -> Change:
    """The change from one text to another."""
    if old == new:
        return Change(len(old), len(old), len(new))
    start = _common(old, new)
    longest = min(len(old), len(new)) - start
    behind = _common_end(old, new, longest)
    return Change(start, len(old) - behind, len(new) - behind)


def _common(old: str, new: str) -> int:
    low, high = 0, min(len(old), len(new))
    while low < high:
        middle = (low + high + 1) // 2
        if old[low:middle] == new[low:middle]:
            low = middle
        else:
            high = middle - 1
    return low


def _common_end(old: str, new: str, longest: int) -> int:
    low, high = 0, longest
    while low < high:
        middle = (low + high + 1) // 2
        if old[len(old) - middle : len(old) - low] == new[len(new) - middle : len(new) - low]:
            low = middle
        else:
            high = middle - 1
    return low


@lru_cache(maxsize=4096)
def real(name: str) -> str:
    """The path by which two names of one file are equal; links are followed once a session."""
    return os.path.realpath(name)
