"""The ``.sm`` file and line of every generated line.

While a module is being written, a line ends in a mark: a control character (which no literal or
comment of ours contains) and the number of a place. Invariant: :meth:`Marks.strip` removes all of
them, and the table it returns is in ascending order of generated lines.
"""

from __future__ import annotations

from dataclasses import field
from functools import cache
from pathlib import PurePath

from slicc.source import BUILTIN, Span
from slicc.text.lazy_dataclass import dataclass

_MARK = "\x1f"

Row = tuple[int, str, int]
"""Generated line, ``.sm`` file, line there; both from 1."""


def file_name(span: Span) -> str:
    """The file of a place without its directory: output must not depend on where a protocol lay."""
    return _last_part(span.file.name)


@cache
def _last_part(path: str) -> str:
    return PurePath(path).name


@dataclass(slots=True)
class Marks:
    """The places that the marks of one module stand for."""

    places: list[tuple[str, int]] = field(default_factory=list)
    _known: dict[tuple[str, int], str] = field(default_factory=dict)

    def mark(self, span: Span | None) -> str:
        """What to append to a line that came from ``span``."""
        if span is None or span.file is BUILTIN:
            return ""
        place = (file_name(span), span.line)
        mark = self._known.get(place)
        if mark is None:
            mark = self._known[place] = f"{_MARK}{len(self.places)}"
            self.places.append(place)
        return mark

    def strip(self, text: str) -> tuple[str, list[Row]]:
        """The text without marks, and the table."""
        clean: list[str] = []
        table: list[Row] = []
        for number, line in enumerate(text.split("\n"), start=1):
            code, found, place = line.partition(_MARK)
            clean.append(code)
            if found:
                assert _MARK not in place, "a line has one mark at most"
                table.append((number, *self.places[int(place)]))
        return "\n".join(clean), table
