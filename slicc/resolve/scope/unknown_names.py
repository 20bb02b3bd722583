"""Reports of unknown names, one for all uses of a name.

A misspelt declaration is one mistake, however often the name is used; a misspelt use may occur in
several places. So an unknown name is reported at its first use, and the other uses are shown with
it. Invariant: one compilation shows all uses of an unknown name.
"""

from __future__ import annotations

from slicc.diagnostics.model import DiagnosticSink
from slicc.source import Span


class Misses:
    """The unknown names of one scope or body."""

    def __init__(self, sink: DiagnosticSink) -> None:
        self._sink = sink
        self._positions: dict[tuple[str, str], int] = {}

    def first(self, kind: str, name: str, span: Span) -> bool:
        """Whether this is the first use: then the caller reports it, at once."""
        key = (kind, name)
        position = self._positions.get(key)
        if position is None:
            self._positions[key] = len(self._sink.diagnostics)
            return True
        self._sink.add_place(position, span)
        return False
